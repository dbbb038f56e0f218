"""The ready hooks about size and rate, and observers with the stream event."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from memoranda import Author, MemorandaError, MemoryStore, acting_as
from memoranda.backends import (
    CompositeBackend,
    FilesystemPermission,
    GuardedBackend,
    Refuse,
    StateBackend,
    StoreBackend,
)
from memoranda.backends.hooks import on_written, size_limit, write_rate
from memoranda.backends.protocol import DeleteFile, MoveFile, WriteFile


@pytest.fixture
def inner(store: MemoryStore) -> StoreBackend:
    return StoreBackend(namespace=("ann",), store=store)


def test_size(inner: Any) -> None:
    guard = GuardedBackend(inner, hooks=[size_limit(max_bytes=10)])
    assert guard.write("/a", "é" * 5).error is None
    refused = guard.edit("/a", "é" * 5, "é" * 6)
    assert "the file would have 12 bytes, and 10 are allowed" in (refused.error or "")
    assert "12 bytes" in (guard.upload_files([("/a", b"\xff" * 12)])[0].error or "")
    assert guard.delete("/a").error is None
    inner.write("/big", "x" * 30)
    assert guard.edit("/big", "x" * 30, "x" * 20).error is None  # smaller is better, if not yet good
    assert guard.edit("/big", "x" * 20, "y" * 20).error is not None
    assert guard.move("/big", "/other").error is not None
    assert guard.commit([WriteFile("/c", "x" * 11)]).error is not None


def test_growth(inner: Any) -> None:
    inner.write("/a", "x" * 100)
    guard = GuardedBackend(inner, hooks=[size_limit(max_growth=5)])
    assert guard.append("/a", "yy").error is None  # with the line's end that makes 3
    assert "would add 7 bytes, and 5 are allowed" in (guard.append("/a", "z" * 6).error or "")
    assert guard.write("/b", "12345").error is None
    assert guard.write("/c", "123456").error is not None
    assert guard.move("/a", "/d").error is None
    assert guard.delete("/d").error is None


@pytest.mark.parametrize("wrong", [{}, {"max_bytes": -1}, {"max_growth": -1}])
def test_wrong_limits(wrong: dict[str, int]) -> None:
    with pytest.raises(MemorandaError):
        size_limit(**wrong)


def test_wrong_rates() -> None:
    for limit, per in ((-1, 1.0), (1, 0.0), (1, -1.0)):
        with pytest.raises(MemorandaError):
            write_rate(limit, per)


def test_rate(inner: Any) -> None:
    guard = GuardedBackend(inner, hooks=[write_rate(3, per=0.3)])
    results = [guard.write(f"/{number}", "x") for number in range(5)]
    assert [result.error is None for result in results] == [True, True, True, False, False]
    assert "3 changes in 0.3 seconds are allowed" in (results[3].error or "")
    time.sleep(0.35)
    assert guard.move("/0", "/m").error is None  # one change, though it is told twice
    assert guard.append("/1", "x").error is None
    assert guard.delete("/1").error is None
    assert guard.delete("/2").error is not None


def test_each_writer_has_a_rate_of_its_own(inner: Any) -> None:
    guard = GuardedBackend(inner, hooks=[write_rate(1)])
    for who in ("ann", "bob"):
        with acting_as(Author(f"user:{who}")):
            assert guard.write(f"/{who}", "x").error is None
            assert guard.write(f"/{who}", "y").error is not None
    with acting_as(Author("user:ann", thread_id="t")):
        assert guard.write("/thread", "x").error is None


def test_rate_under_threads(inner: Any) -> None:
    guard = GuardedBackend(inner, hooks=[write_rate(5)])
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda number: guard.write(f"/{number}", "x"), range(20)))
    assert sum(result.error is None for result in results) == 5
    assert len(inner.ls("/").entries) == 5


# --- telling ------------------------------------------------------------------------------------------------


def changes(guard: Any) -> None:
    guard.write("/a.md", "one\n")
    guard.edit("/a.md", "one", "two")
    guard.append("/a.md", "three")
    guard.restore("/a.md", 1)
    guard.upload_files([("/b.md", b"b")])
    guard.move("/b.md", "/c/d.md")
    guard.commit([WriteFile("/e.md", "e"), MoveFile("/e.md", "/f.md"), DeleteFile("/a.md")])
    guard.delete("/c")
    guard.edit("/none", "x", "y")


EXPECTED = [
    ("write", "/a.md", 1),
    ("edit", "/a.md", 2),
    ("append", "/a.md", 3),
    ("restore", "/a.md", 4),
    ("upload", "/b.md", 1),
    ("move", "/b.md", 0),
    ("move", "/c/d.md", 1),
]


def test_observers_are_told_of_every_change(inner: Any) -> None:
    told: list[Any] = []
    guard = GuardedBackend(inner, hooks=[on_written(told.append)])
    with acting_as(Author("user:ann")):
        changes(guard)
    found = [(event.operation, event.path, event.revision) for event in told]
    assert found[:7] == EXPECTED
    assert {path for _, path, _ in found[7:]} == {"/e.md", "/f.md", "/a.md", "/c/d.md"}
    assert {event.author for event in told} == {Author("user:ann")}
    assert {event.namespace for event in told} == {("ann",)}
    assert {event.thread_id for event in told} == {None}


def test_observers_are_told_the_same_where_hooks_check(inner: Any) -> None:
    told: list[Any] = []
    guard = GuardedBackend(inner, hooks=[on_written(told.append), lambda event: None])
    changes(guard)
    assert [(event.operation, event.path, event.revision) for event in told][:7] == EXPECTED


def test_async_observers_and_failing_ones(inner: Any, caplog: Any) -> None:
    told: list[str] = []

    async def note(event: Any) -> None:
        await asyncio.sleep(0)
        told.append(event.path)

    def fail(event: Any) -> None:
        raise RuntimeError("full")

    guard = GuardedBackend(inner, hooks=[on_written(fail), on_written(note)])
    assert guard.write("/a", "x").error is None
    assert asyncio.run(guard.awrite("/b", "x")).error is None
    assert told == ["/a", "/b"]
    assert "The observer fail failed." in caplog.text


def test_nobody_is_told_of_what_did_not_land(inner: Any) -> None:
    told: list[Any] = []
    guard = GuardedBackend(
        inner,
        [FilesystemPermission(["write"], ["/p"], "propose"), FilesystemPermission(["write"], ["/i"], "interrupt")],
        [lambda event: Refuse("no") if event.path == "/r" else None, on_written(told.append)],
    )
    for path in ("/p", "/i", "/r"):
        assert guard.write(path, "x").error is not None
    assert told == []


def test_an_object_may_decide_and_observe(inner: Any) -> None:
    class Both:
        def __init__(self) -> None:
            self.calls: list[str] = []

        def __call__(self, event: Any) -> None:
            self.calls.append("before")

        def after_write(self, event: Any) -> None:
            self.calls.append("after")

    both = Both()
    GuardedBackend(inner, hooks=[both]).write("/a", "x")
    assert both.calls == ["before", "after"]


class State(TypedDict):
    files: dict[str, Any]


@pytest.mark.parametrize("is_async", [False, True])
def test_the_stream_tells_of_memory_written(store: MemoryStore, is_async: bool) -> None:
    memory = StoreBackend(namespace=("ann",), store=store)
    told: list[Any] = []
    guarded = GuardedBackend(memory, hooks=[on_written(told.append)])
    tree = GuardedBackend(CompositeBackend(StateBackend(), {"/memories/": guarded}))

    def node(state: State) -> dict[str, Any]:
        assert tree.write("/memories/a.md", "x").error is None
        tree.write("/scratch.md", "x")
        return {}

    async def anode(state: State) -> dict[str, Any]:
        assert (await tree.awrite("/memories/a.md", "x")).error is None
        await tree.awrite("/scratch.md", "x")
        return {}

    builder = StateGraph(State)
    builder.add_node("work", anode if is_async else node)
    builder.add_edge(START, "work")
    builder.add_edge("work", END)
    graph = builder.compile()
    thread = f"thread {uuid4()}"
    config: Any = {"configurable": {"thread_id": thread}}

    async def collect() -> list[Any]:
        return [event async for event in graph.astream({"files": {}}, config, stream_mode="custom")]

    events = asyncio.run(collect()) if is_async else list(graph.stream({"files": {}}, config, stream_mode="custom"))
    (event,) = events  # once, though two guards let it through; and none for the thread's own files
    author = event.pop("author")
    assert event == {
        "type": "memory_written",
        "path": "/memories/a.md",
        "operation": "write",
        "revision": 1,
        "merged": False,
        "thread_id": thread,
        "namespace": ["ann"],
    }
    assert author["actor"] == "agent:agent"
    assert [event.path for event in told] == ["/memories/a.md"]
