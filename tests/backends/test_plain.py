"""Files over LangGraph's own stores: whatever is promised over any `BaseStore`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres import PostgresStore
from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.sqlite import SqliteStore
from langgraph.store.sqlite.aio import AsyncSqliteStore

from memoranda.backends import StoreBackend
from memoranda.backends.plain import PlainFiles, decode_label, encode_label, encode_labels
from memoranda.backends.protocol import AppendFile, DeleteFile, EditFile, MoveFile, WriteFile

ANN = ("ann@example.com",)
pytestmark = pytest.mark.blank  # all tables here are LangGraph's


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def foreign(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseStore]:
    """LangGraph's own stores with blocking methods."""
    if request.param == "memory":
        yield InMemoryStore()
    elif request.param == "sqlite":
        with SqliteStore.from_conn_string(str(tmp_path / "plain.db")) as store:
            store.setup()
            yield store
    else:
        with PostgresStore.from_conn_string(_fresh(request)) as store:
            store.setup()
            yield store


@pytest.fixture(params=["memory", "sqlite", "postgres", "blocking sqlite", "blocking postgres"])
async def aforeign(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BaseStore]:
    """Every store that async code may be given."""
    url = _fresh(request) if "postgres" in request.param else str(tmp_path / "plain.db")
    match request.param:
        case "memory":
            yield InMemoryStore()
        case "sqlite":
            async with AsyncSqliteStore.from_conn_string(url) as store:
                await store.setup()
                yield store
        case "postgres":
            async with AsyncPostgresStore.from_conn_string(url) as store:
                await store.setup()
                yield store
        case "blocking sqlite":
            with SqliteStore.from_conn_string(url) as blocking:
                blocking.setup()
                yield blocking
        case _:
            with PostgresStore.from_conn_string(url) as blocking:
                blocking.setup()
                yield blocking


def _fresh(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue("postgres_url")


def paths(entries: Any) -> list[str]:
    return [entry["path"] for entry in entries or []]


def test_every_operation_works_under_an_e_mail_address(foreign: BaseStore) -> None:
    backend = StoreBackend(namespace=ANN, store=foreign)
    assert backend.write("/notes/tea.md", "green\nblack").error is None
    assert backend.edit("/notes/tea.md", "green", "white").occurrences == 1
    assert backend.append("/notes/tea.md", "oolong").error is None
    assert backend.upload_files([("/pic.bin", b"\xff\x00"), ("/a.md", b"a")])[1].error is None
    assert paths(backend.ls("/").entries) == ["/a.md", "/notes/", "/pic.bin"]
    assert backend.read("/notes/tea.md").file_data["content"] == "white\nblack\noolong"  # type: ignore[index]
    assert backend.download_files(["/pic.bin"])[0].content == b"\xff\x00"
    assert set(paths(backend.glob("*.md").matches)) == {"/notes/tea.md", "/a.md"}
    assert backend.grep("oolong").matches == [{"path": "/notes/tea.md", "line": 3, "text": "oolong"}]
    assert backend.move("/notes", "/old").paths == ("/old/tea.md",)
    assert backend.delete("/old").paths == ("/old/tea.md",)
    assert paths(backend.ls("/").entries) == ["/a.md", "/pic.bin"]
    assert backend.history("/a.md").error == (
        "Error: /a.md keeps no history. Only files under a StoreBackend on a Memoranda store do; "
        "work with the current text."
    )


async def test_every_operation_works_from_async_code(aforeign: BaseStore) -> None:
    backend = StoreBackend(namespace=ANN, store=aforeign)
    assert (await backend.awrite("/notes/tea.md", "green\nblack")).error is None
    assert (await backend.aedit("/notes/tea.md", "green", "white")).occurrences == 1
    assert (await backend.aappend("/notes/tea.md", "oolong")).error is None
    assert (await backend.aupload_files([("/pic.bin", b"\xff\x00"), ("/a.md", b"a")]))[1].error is None
    assert paths((await backend.als("/")).entries) == ["/a.md", "/notes/", "/pic.bin"]
    assert (await backend.aread("/notes/tea.md")).file_data["content"] == "white\nblack\noolong"  # type: ignore[index]
    assert (await backend.adownload_files(["/pic.bin"]))[0].content == b"\xff\x00"
    assert set(paths((await backend.aglob("*.md")).matches)) == {"/notes/tea.md", "/a.md"}
    assert len((await backend.agrep("oolong")).matches or []) == 1
    assert (await backend.amove("/notes", "/old")).paths == ("/old/tea.md",)
    assert (await backend.adelete("/old")).paths == ("/old/tea.md",)
    assert (await backend.acommit([WriteFile("/b.md", "b"), DeleteFile("/a.md")])).error is None
    assert paths((await backend.als("/")).entries) == ["/b.md", "/pic.bin"]


def test_a_scope_sees_neither_its_children_nor_its_siblings(foreign: BaseStore) -> None:
    org = StoreBackend(namespace=("org1",), store=foreign)
    ann = StoreBackend(namespace=("org1", "ann"), store=foreign)
    sibling = StoreBackend(namespace=("org1-x",), store=foreign)
    for backend, text in ((org, "policy"), (ann, "SECRET"), (sibling, "SECRET")):
        backend.write("/AGENTS.md", text)
    ann.write("/private.md", "SECRET")
    assert paths(org.ls("/").entries) == ["/AGENTS.md"]
    assert paths(org.glob("**").matches) == ["/AGENTS.md"]
    assert org.grep("SECRET").matches == []
    assert org.delete("/").paths == ("/AGENTS.md",)
    assert ann.read("/AGENTS.md").error is None and ann.read("/private.md").error is None
    assert sibling.read("/AGENTS.md").error is None


def test_more_files_than_a_page_are_all_listed(foreign: BaseStore) -> None:
    backend = StoreBackend(namespace=("many",), store=foreign)
    backend.upload_files([(f"/d{number % 7}/{number}.md", b"x") for number in range(1_234)])
    assert len(backend.glob("*.md").matches or []) == 1_234
    assert len(backend.delete("/d3").paths) == len(range(3, 1_234, 7))
    assert len(backend.grep("x").matches or []) == 1_234 - len(range(3, 1_234, 7))


def test_a_store_that_gives_a_hundred_at_most_is_asked_on() -> None:
    class Capped(InMemoryStore):
        calls = 0

        def search(self, namespace_prefix: Any, /, *, limit: int = 10, **kwargs: Any) -> Any:
            self.calls += 1
            return super().search(namespace_prefix, limit=min(limit, 100), **kwargs)

    store = Capped()
    backend = StoreBackend(namespace=("capped",), store=store)
    backend.upload_files([(f"/{number}.md", b"x") for number in range(250)])
    assert len(backend.ls("/").entries or []) == 250
    assert store.calls == 4


def test_an_uncapped_store_is_asked_once() -> None:
    class Counting(InMemoryStore):
        calls = 0

        def search(self, *args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return super().search(*args, **kwargs)

    store = Counting()
    backend = StoreBackend(namespace=("one",), store=store)
    backend.upload_files([(f"/{number}.md", b"x") for number in range(2_501)])
    assert len(backend.ls("/").entries or []) == 2_501
    assert store.calls == 1


@pytest.mark.parametrize("writers", [8])
def test_threads_of_one_process_lose_no_edit(foreign: BaseStore, writers: int) -> None:
    backend = StoreBackend(namespace=("busy",), store=foreign)
    backend.write("/log.md", "start\n")

    def work(writer: int) -> list[str | None]:
        return [backend.append("/log.md", f"{writer}:{number}\n").error for number in range(10)]

    with ThreadPoolExecutor(writers) as pool:
        errors = [error for answers in pool.map(work, range(writers)) for error in answers]
    assert errors == [None] * writers * 10
    lines = backend.read("/log.md").file_data["content"].splitlines()  # type: ignore[index]
    assert len(set(lines)) == len(lines) == writers * 10 + 1


async def test_tasks_of_one_process_lose_no_edit(aforeign: BaseStore) -> None:
    backend = StoreBackend(namespace=("busy",), store=aforeign)
    await backend.awrite("/log.md", "start\n")
    answers = await asyncio.gather(*(backend.aappend("/log.md", f"{number}\n") for number in range(60)))
    assert {answer.error for answer in answers} == {None}
    assert len((await backend.aread("/log.md")).file_data["content"].splitlines()) == 61  # type: ignore[index]


async def test_a_cancelled_change_lets_the_next_one_through() -> None:
    class Slow(InMemoryStore):
        async def aput(self, *args: Any, **kwargs: Any) -> None:
            await asyncio.sleep(5)

    store = Slow()
    backend = StoreBackend(namespace=("slow",), store=store)
    first = asyncio.create_task(backend.awrite("/a.md", "x"))
    second = asyncio.create_task(backend.awrite("/a.md", "y"))
    await asyncio.sleep(0.05)
    first.cancel()
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    assert backend.write("/a.md", "z").error is None
    assert backend.read("/a.md").file_data["content"] == "z"  # type: ignore[index]


async def test_a_blocking_call_inside_an_event_loop_does_not_wait_for_its_own_loop() -> None:
    class Slow(InMemoryStore):
        async def aput(self, *args: Any, **kwargs: Any) -> None:
            await asyncio.sleep(0.2)
            await super().aput(*args, **kwargs)

    backend = StoreBackend(namespace=("slow",), store=Slow())
    running = asyncio.create_task(backend.awrite("/a.md", "x"))
    await asyncio.sleep(0.05)
    assert backend.write("/b.md", "y").error is None
    assert (await running).error is None


def test_creation_time_stays_and_foreign_fields_too(foreign: BaseStore) -> None:
    value = {"content": ["old", "form"], "created_at": "2020-01-01T00:00:00+00:00", "modified_at": "", "tag": "kept"}
    foreign.put(("ann",), "/a.md", value)
    backend = StoreBackend(namespace=("ann",), store=foreign)
    assert backend.read("/a.md").file_data["content"] == "old\nform"  # type: ignore[index]
    for change in (
        lambda: backend.write("/a.md", "new").error,
        lambda: backend.upload_files([("/a.md", b"newer")])[0].error,
        lambda: backend.edit("/a.md", "newer", "newest").error,
    ):
        assert change() is None
        held = foreign.get(("ann",), "/a.md")
        assert held is not None
        assert held.value["created_at"] == "2020-01-01T00:00:00+00:00"
        assert held.value["tag"] == "kept"
    assert held.value["content"] == "newest"


def test_documents_are_shown_as_json_and_stay_json(foreign: BaseStore) -> None:
    foreign.put(("ann",), "/profile", {"name": "Ann", "likes": ["tea"]})
    foreign.put(("ann",), "named", {"no": "path"})
    backend = StoreBackend(namespace=("ann",), store=foreign)
    assert paths(backend.ls("/").entries) == ["/profile"]
    assert backend.edit("/profile", '"tea"', '"coffee"').error is None
    held = foreign.get(("ann",), "/profile")
    assert held is not None and held.value == {"name": "Ann", "likes": ["coffee"]}
    refused = backend.edit("/profile", '"coffee"', '"coffee')
    assert refused.error is not None and "keep it valid" in refused.error


def test_keys_that_are_no_proper_paths_are_reported(foreign: BaseStore) -> None:
    foreign.put(("ann",), "//q.md", {"content": "x", "encoding": "utf-8"})
    backend = StoreBackend(namespace=("ann",), store=foreign)
    listing = backend.ls("/")
    assert listing.entries == [] and listing.warnings == ("1 stored keys are no proper paths and cannot be reached.",)


def test_a_commit_is_planned_as_a_whole(foreign: BaseStore) -> None:
    backend = StoreBackend(namespace=("ann",), store=foreign)
    backend.write("/a.md", "a")
    refused = backend.commit([WriteFile("/b.md", "b"), EditFile("/a.md", "nothing", "x")])
    assert refused.error is not None and paths(backend.ls("/").entries) == ["/a.md"]
    done = backend.commit(
        [WriteFile("/b.md", "b"), AppendFile("/b.md", "c"), MoveFile("/a.md", "/z.md"), EditFile("/b.md", "c", "d")]
    )
    assert done.error is None and done.paths == ("/b.md", "/b.md", "/z.md", "/b.md")
    assert backend.read("/b.md").file_data["content"] == "b\nd"  # type: ignore[index]
    assert paths(backend.ls("/").entries) == ["/b.md", "/z.md"]


def test_a_stale_base_is_refused_with_the_current_text(foreign: BaseStore) -> None:
    backend = StoreBackend(namespace=("ann",), store=foreign)
    base = backend.write("/a.md", "one").revision
    backend.write("/a.md", "two")
    refused = backend.write("/a.md", "three", base=base)
    assert refused.conflict and refused.error is not None and refused.error.endswith("The current text is:\ntwo")
    assert backend.edit("/a.md", "two", "x", base=base).conflict
    assert backend.delete("/a.md", base=base).conflict
    assert backend.write("/a.md", "three", base=backend.read("/a.md").revision).error is None


def test_the_default_time_to_live_of_a_store_holds_for_batches() -> None:
    class Watching(InMemoryStore):
        supports_ttl = True
        ttls: list[Any]

        def batch(self, ops: Any) -> Any:
            ops = list(ops)
            self.ttls = [op.ttl for op in ops if hasattr(op, "ttl")]
            return super().batch(ops)

    store = Watching()
    store.ttl_config = {"default_ttl": 7.0}
    StoreBackend(namespace=("ann",), store=store).upload_files([("/a", b"a"), ("/b", b"b")])
    assert store.ttls == [7.0, 7.0]


def test_a_failing_store_is_an_error_not_an_exception() -> None:
    class Broken(InMemoryStore):
        def batch(self, ops: Any) -> Any:
            raise ConnectionError("no route")

    backend = StoreBackend(namespace=("ann",), store=Broken())
    for result in (backend.read("/a"), backend.ls("/"), backend.write("/a", "x"), backend.delete("/a")):
        assert result.error is not None and "ConnectionError: no route" in result.error
    assert "no route" in (backend.download_files(["/a"])[0].error or "")


labels = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@given(st.lists(st.one_of(labels, st.sampled_from(["langgraph", "~2E", "~7E2E", "a.b", "~6Canggraph"])), min_size=1))
def test_labels_are_encoded_reversibly_and_pass_every_check(namespace: list[str]) -> None:
    from langgraph.store.base import _validate_namespace  # the check itself

    encoded = encode_labels(tuple(namespace))
    _validate_namespace(encoded)
    assert [decode_label(label) for label in encoded] == namespace


@given(st.text("abcXYZ019-_@+:~ /%"))
def test_labels_that_are_fine_stay_as_they_are(label: str) -> None:
    if label and not any(sign in label for sign in ("~2E", "~7E", "~6C")):
        assert encode_label(label, is_root=True) == label


def test_files_of_one_store_and_scope_are_known_as_the_same() -> None:
    store = InMemoryStore()
    assert PlainFiles(store, ANN).scope_key() == PlainFiles(store, ANN).scope_key()
    assert PlainFiles(store, ANN).scope_key() != PlainFiles(store, ("bob",)).scope_key()
    assert PlainFiles(store, ANN).scope_key() != PlainFiles(InMemoryStore(), ANN).scope_key()
