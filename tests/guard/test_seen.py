"""What a thread has seen, with a guard that looks at files itself: looking is not the thread's seeing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.store.memory import InMemoryStore
from typing_extensions import TypedDict

from memoranda import MemoryStore
from memoranda.backends import GuardedBackend, Refuse, StoreBackend
from memoranda.backends.runtime import ToolCall, inside_tool_call


class State(TypedDict):
    n: int


def in_thread(thread: str, work: Callable[[], Any]) -> Any:
    """Run something in a node of a graph, in a thread."""
    results: list[Any] = []

    def node(state: State) -> dict[str, int]:
        results.append(work())
        return {"n": 1}

    builder = StateGraph(State)
    builder.add_node("work", node)
    builder.add_edge(START, "work")
    builder.add_edge("work", END)
    builder.compile().invoke({"n": 0}, {"configurable": {"thread_id": thread}})
    return results[0]


@pytest.fixture(params=["versioned", "plain"])
def inner(request: Any, store: MemoryStore) -> StoreBackend:
    backend = StoreBackend(namespace=("ann",), store=store if request.param == "versioned" else InMemoryStore())
    backend.write("/a.md", "one\ntwo\n")
    return backend


def text(backend: Any, path: str) -> str | None:
    (answer,) = backend.download_files([path])
    return None if answer.content is None else answer.content.decode()


def guarded(inner: Any) -> GuardedBackend:
    return GuardedBackend(inner, hooks=[lambda event: None])


def thread_name(request: Any) -> str:
    return f"{request.node.name} {uuid4()}"


def test_a_stale_write_is_not_made_fresh_by_the_guards_look(inner: Any, request: Any) -> None:
    guard, thread = guarded(inner), thread_name(request)
    in_thread(thread, lambda: guard.read("/a.md"))
    inner.edit("/a.md", "two", "TWO")
    for _ in range(2):  # once merged, the thread has still not seen the line of the others
        result = in_thread(thread, lambda: guard.write("/a.md", "ONE\ntwo\n"))
        if isinstance(result.revision, int):
            assert result.merged
            assert text(inner, "/a.md") == "ONE\nTWO\n"
        else:
            assert result.conflict
            assert f"The current text is:\n{text(inner, '/a.md')}" in (result.error or "")
            assert "TWO" in (text(inner, "/a.md") or "")
            break  # now it has seen it


def test_a_refused_change_leaves_the_file_unseen(inner: Any, request: Any) -> None:
    thread = thread_name(request)
    guard = GuardedBackend(inner, hooks=[lambda event: Refuse("no") if "no" in str(event.after) else None])
    in_thread(thread, lambda: guard.read("/a.md"))
    inner.edit("/a.md", "two", "TWO")
    assert in_thread(thread, lambda: guard.edit("/a.md", "one", "1")).error is None
    assert "refused: no" in in_thread(thread, lambda: guard.edit("/a.md", "1", "no")).error
    assert "refused: no" in in_thread(thread, lambda: guard.append("/a.md", "no")).error
    result = in_thread(thread, lambda: guard.write("/a.md", "one\ntwo\nthree\n"))
    assert "TWO" in (text(inner, "/a.md") or "")
    assert result.error is not None or result.merged


def test_what_the_thread_wrote_it_has_seen(inner: Any, request: Any) -> None:
    guard, thread = guarded(inner), thread_name(request)
    in_thread(thread, lambda: guard.read("/a.md"))
    assert in_thread(thread, lambda: guard.write("/a.md", "mine\n")).error is None
    assert in_thread(thread, lambda: guard.edit("/a.md", "mine", "mine too")).error is None
    result = in_thread(thread, lambda: guard.write("/a.md", "all new\n"))
    assert (result.error, result.merged) == (None, False)
    assert in_thread(thread, lambda: guard.write("/new.md", "new\n", base="seen")).error is None
    assert in_thread(thread, lambda: guard.write("/new.md", "newer\n", base="seen")).error is None


def test_a_file_that_the_thread_never_saw_is_not_replaced_by_a_tool(inner: Any, request: Any) -> None:
    guard, thread = guarded(inner), thread_name(request)
    first = in_thread(thread, lambda: guard.write("/a.md", "blind\n", base="seen"))
    assert first.conflict
    assert "you have not read it" in (first.error or "")
    assert text(inner, "/a.md") == "one\ntwo\n"
    again = in_thread(thread, lambda: guard.write("/a.md", "with open eyes\n", base="seen"))
    assert again.error is None


def test_a_file_that_was_deleted_meanwhile(inner: Any, request: Any) -> None:
    guard, thread = guarded(inner), thread_name(request)
    in_thread(thread, lambda: guard.read("/a.md"))
    inner.delete("/a.md")
    first = in_thread(thread, lambda: guard.write("/a.md", "mine\n"))
    assert first.conflict
    assert text(inner, "/a.md") is None
    assert in_thread(thread, lambda: guard.write("/a.md", "mine\n")).error is None


def test_notes_of_a_tool_call_are_used_and_kept(inner: Any, request: Any) -> None:
    """After a restart of the process only the thread's state knows what was seen."""
    guard, thread = guarded(inner), thread_name(request)
    seen: dict[str, list[Any]] = {}

    def call(work: Callable[[], Any]) -> Any:
        def inside() -> Any:
            with inside_tool_call(ToolCall("call", seen)):
                return work()

        return in_thread(thread, inside)

    call(lambda: guard.read("/a.md"))
    assert len(seen) == 1
    before = {file: list(entry) for file, entry in seen.items()}
    inner.edit("/a.md", "two", "TWO")
    thread += " restarted"
    result = call(lambda: guard.write("/a.md", "ONE\ntwo\n"))
    assert result.merged or result.conflict
    assert "TWO" in (text(inner, "/a.md") or "")
    if result.merged:
        assert {file: list(entry) for file, entry in seen.items()} == before
    thread += " again"
    call(lambda: guard.read("/a.md"))
    assert call(lambda: guard.write("/a.md", "all\n")).error is None
    assert text(inner, "/a.md") == "all\n"
