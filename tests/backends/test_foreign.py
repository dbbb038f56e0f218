"""Backends that are not ours, and subclasses that carry rules of their own, behind our composite and guard."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import CompositeBackend as TheirComposite
from deepagents.backends import FilesystemBackend as TheirDisk
from deepagents.backends import StateBackend as TheirState
from deepagents.backends import StoreBackend as TheirStore
from deepagents.backends.protocol import (
    BackendProtocol,
    EditResult,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from langgraph.store.memory import InMemoryStore

from memoranda import MemoryStore
from memoranda.backends import BackendOfRuntime, NoBackendError, StateBackend, StoreBackend, as_backend
from memoranda.backends.foreign import ForeignBackend
from memoranda.backends.places import Place, PlacedChange, placed
from memoranda.backends.protocol import SEEN, AppendFile, DeleteFile, EditFile, MoveFile, WriteFile
from memoranda.backends.steps import aperform, perform


def paths(entries: Any) -> list[str]:
    return [entry["path"] for entry in entries or []]


@pytest.fixture(params=["disk", "store", "composite"])
def theirs(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    store = TheirStore(namespace=lambda _: ("ann",), store=InMemoryStore())
    disk = TheirDisk(root_dir=tmp_path / "disk", virtual_mode=True)
    (tmp_path / "disk").mkdir()
    return {"disk": disk, "store": store, "composite": TheirComposite(disk, {"/memories/": store})}[request.param]


def test_every_operation_of_deep_agents_own_backends(theirs: Any) -> None:
    backend = as_backend(theirs)
    assert isinstance(backend, ForeignBackend)
    assert backend.write("/n/tea.md", "green\nblack").error is None
    assert backend.edit("/n/tea.md", "green", "white").occurrences == 1
    assert backend.append("/n/tea.md", "oolong").error is None
    assert backend.upload_files([("/a.md", b"a"), ("/pic.bin", b"\xff\x00")])[1].error is None
    assert backend.read("/n/tea.md").file_data["content"] == "white\nblack\noolong"  # type: ignore[index]
    assert backend.download_files(["/pic.bin", "/none"])[0].content == b"\xff\x00"
    assert backend.download_files(["/none"])[0].error == "file_not_found"
    assert {"/a.md", "/n/", "/pic.bin"} <= set(paths(backend.ls("/").entries))
    assert "/n/tea.md" in paths(backend.glob("**/*.md").matches)
    assert paths(backend.grep("oolong").matches) == ["/n/tea.md"]
    limited = backend.grep("l", max_count=1)
    assert len(limited.matches or []) == 1 and limited.truncated
    assert backend.move("/a.md", "/b.md").paths == ("/b.md",)
    assert backend.move("/b.md", "/n/tea.md").error == (
        "Error: /n/tea.md exists already. Choose another target, or overwrite it."
    )
    assert backend.delete("/n").error is None
    assert backend.read("/n/tea.md").error is not None
    done = backend.commit(
        [
            WriteFile("/c.md", "c"),
            AppendFile("/c.md", "d"),
            EditFile("/c.md", "d", "e"),
            MoveFile("/c.md", "/d.md"),
            DeleteFile("/b.md"),
        ]
    )
    assert done.error is None and done.paths == ("/c.md", "/c.md", "/c.md", "/d.md", "/b.md")
    assert backend.read("/d.md").file_data["content"] == "c\ne"  # type: ignore[index]
    half = backend.commit([WriteFile("/e.md", "e"), EditFile("/e.md", "nothing", "x")])
    assert half.error is not None and "The first 1 of 2 changes had landed already." in half.error
    assert "keeps no history" in (backend.history("/d.md").error or "")


async def test_the_async_methods(theirs: Any) -> None:
    backend = as_backend(theirs)
    assert (await backend.awrite("/n/tea.md", "green")).error is None
    assert (await backend.aedit("/n/tea.md", "green", "white")).error is None
    assert (await backend.aappend("/n/tea.md", "x")).error is None
    assert (await backend.aread("/n/tea.md")).error is None
    assert (await backend.adownload_files(["/n/tea.md"]))[0].content == b"white\nx"
    assert (await backend.amove("/n/tea.md", "/o.md")).error is None
    assert (await backend.adelete("/o.md")).error is None


def test_bases_are_checked(theirs: Any) -> None:
    backend = as_backend(theirs)
    base = backend.write("/a.md", "one").revision
    theirs.write("/a.md", "two")
    refused = backend.write("/a.md", "three", base=base)
    assert refused.conflict and (refused.error or "").endswith("The current text is:\ntwo")
    assert backend.edit("/a.md", "two", "x", base=base).conflict
    assert backend.append("/a.md", "x", base=base).conflict
    assert backend.delete("/a.md", base=base).conflict
    assert backend.write("/a.md", "three", base=0).conflict
    assert backend.write("/a.md", "three", base=SEEN).conflict
    current = backend.download_files(["/a.md"])[0].revision
    assert backend.write("/a.md", "three", base=current).error is None
    assert backend.write("/new.md", "x", base=0).error is None


def test_paths_in_answers_and_errors_are_those_that_the_agent_knows(theirs: Any) -> None:
    backend = as_backend(theirs)
    backend.write("/n/tea.md", "green")
    shown = Place("/n/none.md", "/mount/n/none.md")
    assert "'/mount/n/none.md'" in (perform(backend.read_steps(shown, 0, 10)).error or "")
    assert "'/mount/n/none.md'" in (perform(backend.edit_steps(shown, "a", "b", False, None)).error or "")
    assert "'/mount/n/none.md'" in (perform(backend.delete_steps(shown, None)).error or "")
    root = Place("/", "/mount")
    assert "/mount/n/" in paths(perform(backend.ls_steps(root)).entries)
    assert paths(perform(backend.glob_steps(root, "**/*.md")).matches) == ["/mount/n/tea.md"]
    assert paths(perform(backend.grep_steps(root, "green", None, None)).matches) == ["/mount/n/tea.md"]
    written = perform(backend.write_steps(Place("/n/tea.md", "/mount/n/tea.md"), "x", None, True))
    assert written.path == "/mount/n/tea.md"


@pytest.mark.parametrize(
    ("path", "shown", "said", "expected"),
    [
        ("/a.md", "/m/a.md", "File '/a.md' not found", "File '/m/a.md' not found"),
        ("/a.md", "/m/a.md", "Error: /a.md.", "Error: /m/a.md."),
        ("/a.md", "/m/a.md", "see /x/a.md and /a.mdx", "see /x/a.md and /a.mdx"),
        ("/a", "/m/a", "in /a/b.md", "in /m/a/b.md"),
        ("/", "/m", "File '/a.md' not found", "File '/m/a.md' not found"),
        ("/", "/m", "cannot list '/'", "cannot list '/m'"),
        ("/", "/m", "and/or http://x/y", "and/or http://x/y"),
    ],
)
def test_texts_are_corrected_at_whole_paths_only(path: str, shown: str, said: str, expected: str) -> None:
    from memoranda.backends.foreign.answers import shown_error

    assert shown_error(Place(path, shown), said) == expected


class Minimal(BackendProtocol):
    """What the documented policy wrappers bring: no delete, no uploads, no cap, no async."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def ls(self, path: str) -> LsResult:
        return LsResult(entries=[{"path": name} for name in self.files])

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        if file_path not in self.files:
            return ReadResult(error=f"File '{file_path}' not found")
        return ReadResult(file_data={"content": self.files[file_path], "encoding": "utf-8"})

    def grep(self, pattern: str, path: str | None = None, glob: str | None = None) -> GrepResult:  # type: ignore[override]
        found = [(n, t) for n, t in self.files.items() if pattern in t]
        return GrepResult(matches=[{"path": n, "line": 1, "text": t} for n, t in found])

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        return GlobResult(matches=[{"path": name.lstrip("/")} for name in self.files])

    def write(self, file_path: str, content: str) -> WriteResult:
        if "forbidden" in content:
            return WriteResult(error=f"Error: no such words in {file_path}")
        self.files[file_path] = content
        return WriteResult(path=file_path)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        self.files[file_path] = self.files[file_path].replace(old_string, new_string)
        return EditResult(path=file_path, occurrences=1)


async def test_what_a_backend_lacks_is_done_by_other_means_or_said() -> None:
    inner = Minimal()
    backend = as_backend(inner)
    assert backend.upload_files([("/a.md", b"x"), ("/b.bin", b"\xff")])[0].error is None
    assert "only text" in (backend.upload_files([("/b.bin", b"\xff")])[0].error or "")
    assert backend.download_files(["/a.md", "/none"])[0].content == b"x"
    assert backend.download_files(["/none"])[0].error == "file_not_found"
    assert backend.append("/a.md", "y").error is None and inner.files["/a.md"] == "x\ny"
    inner.files["/c.md"] = "x"
    assert backend.grep("x", max_count=1).truncated
    assert paths(backend.glob("*").matches) == ["/a.md", "/c.md"]  # relative ones are made absolute
    assert (await backend.awrite("/d.md", "z")).error is None
    assert backend.delete("/a.md").error == "Error: /a.md lies in a backend that cannot delete files."
    assert "no such words in /m/x" in (
        perform(backend.write_steps(Place("/x", "/m/x"), "forbidden", None, True)).error or ""
    )


def test_results_outside_the_place_are_left_out_with_a_warning() -> None:
    inner = Minimal()
    inner.files = {"/in/a.md": "x", "/out/b.md": "x"}
    found = as_backend(inner).grep("x", "/in")
    assert paths(found.matches) == ["/in/a.md"]
    assert found.warnings == ("1 results lay outside /in and were left out.",)


def test_exceptions_become_errors_without_a_foreign_path() -> None:
    class Broken(Minimal):
        def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
            raise TimeoutError(f"db timeout on {file_path}")

        def download_files(self, paths: list[str]) -> Any:
            raise ConnectionError("no route")

    backend = as_backend(Broken())
    result = backend.read("/a.md")
    assert result.error == (
        "Error: The backend behind /a.md failed with TimeoutError: db timeout on /a.md. Try again, or go on without it."
    )
    assert "ConnectionError: no route" in (backend.download_files(["/a.md"])[0].error or "")


# --- rules in subclasses ----------------------------------------------------------------------------------------


class Blocking(TheirStore):
    """The documented way to add a policy: override the blocking methods only."""

    def write(self, file_path: str, content: str) -> WriteResult:
        return WriteResult(error="Error: denied")

    def delete(self, file_path: str) -> Any:
        return WriteResult(error="Error: denied")


class Awaiting(TheirStore):
    async def awrite(self, file_path: str, content: str) -> WriteResult:
        return WriteResult(error="Error: denied")


@pytest.mark.parametrize("kind", [Blocking, Awaiting])
def test_a_rule_in_one_form_holds_in_both(kind: Any) -> None:
    store = InMemoryStore()
    backend = as_backend(kind(namespace=lambda _: ("ann",), store=store))
    assert backend.write("/a.md", "x").error == "Error: denied"
    assert asyncio.run(backend.awrite("/a.md", "x")).error == "Error: denied"
    assert store.get(("ann",), "/a.md") is None
    if kind is Blocking:
        store.put(("ann",), "/b.md", {"content": "x", "encoding": "utf-8"})
        assert asyncio.run(backend.adelete("/b.md")).error == "Error: denied"
        assert store.get(("ann",), "/b.md") is not None


class Refusing:
    """A mixin with a rule, as users write them."""

    def write(self, file_path: str, content: str, **more: Any) -> Any:
        if "forbidden" in content:
            from memoranda.backends.protocol import WriteResult as Ours

            return Ours(error=f"Error: not these words in {file_path}.")
        return super().write(file_path, content, **more)  # type: ignore[misc]


class Mixed(Refusing, StoreBackend):
    pass


async def test_our_own_class_with_an_overridden_method_keeps_its_rule_everywhere(store: MemoryStore) -> None:
    mixed = Mixed(namespace=("ann",), store=store)
    backend = as_backend(mixed)
    assert isinstance(backend, ForeignBackend)
    shown = Place("/a.md", "/m/a.md")
    change = PlacedChange(shown, WriteFile("/a.md", "forbidden"))
    refused = [
        perform(backend.write_steps(shown, "forbidden", None, True)).error,
        perform(backend.append_steps(shown, "forbidden", None)).error,
        perform(backend.upload_steps([(shown, b"forbidden")]))[0].error,
        perform(backend.commit_steps([change])).error,
        (await aperform(backend.write_steps(shown, "forbidden", None, True))).error,
        (await aperform(backend.commit_steps([change]))).error,
    ]
    assert set(refused) == {"Error: not these words in /m/a.md."}
    assert (await mixed.awrite("/a.md", "forbidden")).error == "Error: not these words in /a.md."
    assert store.get(("ann",), "/a.md") is None
    assert perform(backend.write_steps(shown, "fine", None, True)).revision == 1
    assert perform(backend.write_steps(shown, "stale", 0, True)).conflict
    assert perform(backend.edit_steps(shown, "fine", "finer", False, None)).revision == 2
    assert len(perform(backend.history_steps(shown, None)).revisions or []) == 2
    assert perform(backend.restore_steps(shown, 1)).error is None
    assert perform(backend.read_steps(shown, 0, 10)).file_data["content"] == "fine"  # type: ignore[index]
    assert backend.store_changes([placed(WriteFile("/x", "y"))]) is not None
    assert backend.scope_key() == mixed.scope_key()


def test_an_async_rule_of_our_own_class_holds_for_blocking_callers(store: MemoryStore) -> None:
    class Async(StoreBackend):
        async def awrite(self, file_path: str, content: str, **more: Any) -> Any:  # type: ignore[override]
            return WriteResult(error="Error: denied")

    assert Async(namespace=("ann",), store=store).write("/a.md", "x").error == "Error: denied"
    assert as_backend(Async(namespace=("ann",), store=store)).write("/a.md", "x").error == "Error: denied"
    assert store.get(("ann",), "/a.md") is None


def test_ours_come_back_as_they_are(store: MemoryStore) -> None:
    backend = StoreBackend(namespace=("ann",), store=store)
    assert as_backend(backend) is backend

    class Extended(StoreBackend):
        def greet(self) -> str:
            return "hello"

    extended = Extended(namespace=("ann",), store=store)
    assert as_backend(extended) is extended


# --- functions --------------------------------------------------------------------------------------------------


def test_functions_of_the_runtime_are_asked_at_every_operation(store: MemoryStore) -> None:
    asked: list[Any] = []

    def factory(runtime: Any) -> Any:
        asked.append(runtime)
        return StoreBackend(runtime, namespace=(f"user{len(asked)}",), store=store)

    backend = as_backend(factory)
    assert isinstance(backend, BackendOfRuntime)
    assert backend.write("/a.md", "one").error is None
    assert backend.write("/a.md", "two").error is None
    assert store.get(("user1",), "/a.md") is not None and store.get(("user2",), "/a.md") is not None
    assert isinstance(as_backend(StateBackend), BackendOfRuntime)
    assert "running graph" in (as_backend(StateBackend).read("/a.md").error or "")


@pytest.mark.parametrize(
    ("factory", "part"),
    [
        (lambda _: None, "returned None"),
        (lambda _: 7, "is no backend"),
        (lambda runtime: runtime.context.user_id, "failed outside a graph"),
        (lambda _: lambda _: None, "returned another function"),
    ],
)
def test_functions_that_give_no_backend_are_errors(factory: Any, part: str) -> None:
    assert part in (as_backend(factory).read("/a.md").error or "")


@pytest.mark.parametrize("nothing", [None, 7, "/a/path", object()])
def test_what_is_no_backend_is_refused(nothing: Any) -> None:
    with pytest.raises(NoBackendError):
        as_backend(nothing)


def test_what_backends_around_it_ask(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/k.txt").write_text("k")
    (tmp_path / "pub").symlink_to("secrets")
    disk = as_backend(TheirDisk(root_dir=tmp_path, virtual_mode=True))
    assert perform(disk.names_steps([Place("/pub/k.txt", "/m/pub/k.txt")])) == [("/pub/k.txt", "/secrets/k.txt")]
    assert disk.is_lasting(Place("/", "/")) and not as_backend(TheirState()).is_lasting(Place("/", "/"))
    inner = Minimal()
    assert as_backend(inner).scope_key() == as_backend(inner).scope_key() != as_backend(Minimal()).scope_key()
    composite = TheirComposite(Minimal(), {}, artifacts_root="/kept")
    assert as_backend(composite).artifacts_root == "/kept"  # type: ignore[attr-defined]
