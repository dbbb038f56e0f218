"""Writing what is there already: no new revision, nothing merged, nothing refused."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from memoranda import ChangeSet, MemoryStore, Write
from memoranda.backends import SEEN, EditFile, FilesystemBackend, GuardedBackend, StagedBackend, StoreBackend, WriteFile
from memoranda.backends.foreign import ForeignBackend
from memoranda.backends.hooks import Allow, WriteEvent

ANN = ("ann",)
Run = Callable[..., Any]


@pytest.fixture
def files(store: MemoryStore) -> StoreBackend:
    return StoreBackend(namespace=ANN, store=store)


@pytest.fixture
def thread() -> str:
    return uuid.uuid4().hex


def told(result: Any) -> tuple[Any, ...]:
    assert result.error is None, result.error
    return result.path, result.revision, result.merged, result.unchanged


def revisions(files: StoreBackend, path: str = "/a.md") -> int:
    return len(files.history(path).revisions or [])


@pytest.mark.parametrize("guarded", [False, True], ids=["plain", "hooks"])
@pytest.mark.parametrize("content", ["Ann likes tea.\n", "", b"\xff\x00"], ids=["text", "empty", "binary"])
def test_in_another_thread(files: StoreBackend, in_thread: Run, thread: str, content: Any, guarded: bool) -> None:
    asked: list[WriteEvent] = []

    def hook(event: WriteEvent) -> Allow:
        asked.append(event)
        return Allow()

    backend: Any = GuardedBackend(files, hooks=[hook]) if guarded else files

    def write(base: Any) -> Any:
        if isinstance(content, str):
            return backend.write("/a.md", content, base=base)
        landed = backend.commit([WriteFile("/a.md", content, base)])
        assert landed.error is None, landed.error
        return landed

    first = in_thread(thread, lambda: write(SEEN))
    again = in_thread(thread + "b", lambda: write(SEEN))  # never saw it
    same = in_thread(thread + "b", lambda: write(SEEN))  # saw it by writing
    if isinstance(content, str):
        assert told(first) == ("/a.md", 1, False, False)
        assert told(again) == told(same) == ("/a.md", 1, False, True)
    else:
        assert again.revisions == (1,)
    assert revisions(files) == (1 if isinstance(content, str) or guarded else 2)  # a commit with a current base lands
    # Having written it, the thread has seen it.
    assert told(in_thread(thread + "b", lambda: backend.write("/a.md", "more", base=SEEN)))[1:] == (
        revisions(files),
        False,
        False,
    )


def test_over_a_base_that_is_past(files: StoreBackend, in_thread: Run, thread: str) -> None:
    files.write("/a.md", "1\n2\n")
    in_thread(thread, lambda: files.read("/a.md"))
    files.write("/a.md", "one\n2\n")
    assert told(in_thread(thread, lambda: files.write("/a.md", "one\n2\n"))) == ("/a.md", 2, False, True)
    assert told(files.write("/a.md", "one\n2\n", base=1)) == ("/a.md", 2, False, True)
    assert told(files.write("/a.md", "1\n2\nthree\n", base=1)) == ("/a.md", 3, True, False)
    refused = files.write("/a.md", "uno\n2\n", base=1)
    assert refused.conflict and "The current text is:\none\n2\nthree\n" in (refused.error or "")


async def test_from_async_code(files: StoreBackend, ain_thread: Run, thread: str) -> None:
    await files.awrite("/a.md", "tea")
    again = await ain_thread(thread, lambda: files.awrite("/a.md", "tea", base=SEEN))
    assert told(again) == ("/a.md", 1, False, True)
    assert (await files.aedit("/a.md", "tea", "tea")).unchanged and revisions(files) == 1


@pytest.mark.parametrize("guarded", [False, True], ids=["plain", "hooks"])
def test_edits_that_change_nothing(files: StoreBackend, guarded: bool) -> None:
    backend: Any = GuardedBackend(files, hooks=[lambda event: None]) if guarded else files
    backend.write("/a.md", "x y x\n")
    edited = backend.edit("/a.md", "x", "x", replace_all=True)
    assert told(edited) == ("/a.md", 1, False, True) and edited.occurrences == 2
    assert told(backend.edit("/a.md", "y", "y", base=1))[1:] == (1, False, True)
    assert told(backend.append("/a.md", ""))[1:] == (1, False, True)
    # What would be refused still is.
    assert "appears 2 times" in backend.edit("/a.md", "x", "x").error
    assert "not found" in backend.edit("/a.md", "z", "z").error
    assert "cannot be empty" in backend.edit("/a.md", "", "").error
    assert backend.edit("/none.md", "x", "x").error == "Error: File '/none.md' not found"
    backend.edit("/a.md", "y", "z")
    assert backend.edit("/a.md", "z", "z", base=1).conflict
    assert revisions(files) == 2


def test_an_edit_that_changes_nothing_shows_nothing(files: StoreBackend, in_thread: Run, thread: str) -> None:
    files.write("/a.md", "x\n")
    in_thread(thread, lambda: files.edit("/a.md", "x", "x"))
    assert in_thread(thread, lambda: files.write("/a.md", "mine", base=SEEN)).conflict


def test_of_several_the_rest_lands(files: StoreBackend, in_thread: Run, thread: str) -> None:
    files.upload_files([("/a.md", b"a"), ("/b.md", b"b")])
    in_thread(thread, lambda: files.download_files(["/a.md", "/b.md"]))
    files.write("/a.md", "A")
    answers = in_thread(thread, lambda: files.upload_files([("/a.md", b"A"), ("/b.md", b"B"), ("/c.md", b"c")]))
    assert [(one.error, one.revision) for one in answers] == [(None, 2), (None, 2), (None, 1)]
    changes = [WriteFile("/b.md", "B", base=1), WriteFile("/d.md", "d", base=0), EditFile("/c.md", "c", "C")]
    landed = files.commit(changes)
    assert (landed.error, landed.revisions) == (None, (2, 1, 2))
    refused = files.commit([WriteFile("/b.md", "B", base=1), WriteFile("/a.md", "other", base=1)])
    assert len(refused.conflicts) == 1 and "/a.md" in refused.conflicts[0]
    # Changes of one file that build on each other all land.
    assert files.commit([WriteFile("/b.md", "B", base=1), EditFile("/b.md", "B", "b")]).error is None


def test_a_base_that_is_current_costs_one_commit(files: StoreBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def counted(name: str) -> Any:
        real = getattr(MemoryStore, name)

        def method(*args: Any, **more: Any) -> Any:
            calls.append(name)
            return real(*args, **more)

        return method

    for name in ("commit", "get"):
        monkeypatch.setattr(MemoryStore, name, counted(name))
    files.write("/a.md", "a")
    files.write("/a.md", "b", base=1)
    files.write("/b.md", "b", base=SEEN)
    files.edit("/a.md", "b", "c")
    files.append("/a.md", "d")
    assert calls == ["commit"] * 5


def test_a_document_becomes_a_file_by_writing_it(files: StoreBackend, store: MemoryStore) -> None:
    store.put(ANN, "/hand.md", {"content": "tea"})
    assert told(files.write("/hand.md", "tea"))[1:] == (2, False, False)
    assert (
        store.commit(ChangeSet([Write(ANN, "/hand.md", "tea")])).revisions[0].revision == 3
    )  # the store's own is as it was


def test_without_revisions(tmp_path: Path) -> None:
    for files in (
        FilesystemBackend(tmp_path / "disk"),
        StoreBackend(namespace=ANN, store=InMemoryStore()),
        ForeignBackend(StoreBackend(namespace=("bob",), store=InMemoryStore())),
        StagedBackend(FilesystemBackend(tmp_path / "staged")),
    ):
        first = files.write("/a.md", "tea\n")
        again = files.write("/a.md", "tea\n", base=0)
        assert told(again) == ("/a.md", first.revision, False, True), files
        edited = files.edit("/a.md", "tea", "tea")
        assert told(edited) == ("/a.md", first.revision, False, True) and edited.occurrences == 1
        assert told(files.append("/a.md", ""))[1:] == (first.revision, False, True)
        assert told(files.write("/a.md", "black\n"))[2:] == (False, False)


def test_nothing_is_written_to_a_disk(tmp_path: Path) -> None:
    files = FilesystemBackend(tmp_path)
    files.write("/a.md", "tea")
    before = (tmp_path / "a.md").stat()
    assert files.write("/a.md", "tea").unchanged
    after = (tmp_path / "a.md").stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
