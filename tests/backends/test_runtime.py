"""What a thread has seen, and what is known of the run."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from memoranda import Author, acting_as
from memoranda.backends import runtime
from memoranda.backends.runtime import ToolCall, forget, inside_tool_call, last_seen, running_author, saw

Run = Callable[..., Any]


@pytest.fixture
def thread() -> str:
    return uuid.uuid4().hex


def test_notes_are_of_one_thread_and_the_newest_counts(in_thread: Run, thread: str) -> None:
    in_thread(thread, lambda: saw("f", 1))
    in_thread(thread, lambda: saw("f", 2))
    assert in_thread(thread, lambda: last_seen("f")) == 2
    assert in_thread(thread + "x", lambda: last_seen("f")) is None
    in_thread(thread, lambda: saw("f", None))
    assert in_thread(thread, lambda: last_seen("f")) == 0
    in_thread(thread, lambda: forget("f"))
    assert in_thread(thread, lambda: last_seen("f")) is None


def test_outside_a_graph_nothing_is_noted() -> None:
    saw("f", 1)
    assert last_seen("f") is None and not runtime.in_graph() and runtime.current_thread() is None
    assert running_author() == Author()


def test_notes_of_the_state_and_of_the_process_are_compared_by_time(in_thread: Run, thread: str) -> None:
    call = ToolCall("1", seen={"old": [1, 1.0], "new": [9, 1e12]})

    def work() -> tuple[Any, Any]:
        saw("old", 5)
        with inside_tool_call(call):
            return last_seen("old"), last_seen("new")

    assert in_thread(thread, work) == (5, 9)
    assert call.seen == {"old": [1, 1.0], "new": [9, 1e12]}


def test_a_file_of_the_state_is_noted_with_the_state_only(in_thread: Run, thread: str) -> None:
    call = ToolCall("1")

    def work() -> Any:
        saw("f", "sha256:1", with_state=True)
        with inside_tool_call(call):
            saw("g", "sha256:2", with_state=True)
            return last_seen("f", with_state=True), last_seen("g", with_state=True)

    assert in_thread(thread, work) == (None, "sha256:2")
    assert in_thread(thread, lambda: last_seen("g")) is None and "g" in call.seen


def test_the_map_of_the_process_is_bounded(in_thread: Run, thread: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "_REMEMBERED", 3)
    monkeypatch.setattr(runtime, "_process", type(runtime._process)())
    in_thread(thread, lambda: [saw(str(number), number) for number in range(10)])
    assert len(runtime._process) == 3
    assert in_thread(thread, lambda: [last_seen("0"), last_seen("9")]) == [None, 9]


def test_authors_are_completed_from_the_run(in_thread: Run, thread: str) -> None:
    def work() -> Author:
        with acting_as(Author("user:ann", reason="asked")), inside_tool_call(ToolCall("call-1")):
            return running_author()

    author = in_thread(thread, work)
    assert (author.actor, author.thread_id, author.tool_call_id, author.reason) == (
        "user:ann",
        thread,
        "call-1",
        "asked",
    )
