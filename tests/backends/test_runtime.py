"""What a thread has seen, and what is known of the run."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from memoranda import Author, acting_as
from memoranda.backends import runtime
from memoranda.backends.runtime import ToolCall, forget, inside_tool_call, knows, last_seen, running_author, saw
from memoranda.backends.seen_map import Moment, SeenMap, Viewer

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


def test_inside_a_tool_call_only_its_own_view_counts(in_thread: Run, thread: str) -> None:
    call = ToolCall("1", seen={"old": [1, 1.0]})

    def work() -> Any:
        saw("old", 5)  # by a call beside it, or on another branch
        saw("else", 3)
        with inside_tool_call(call):
            before = [last_seen("old"), last_seen("else"), last_seen("else", or_elsewhere=True)]
            saw("old", 7)
            return [*before, last_seen("old")]

    assert in_thread(thread, work) == [1, None, 3, 7]
    assert call.seen["old"][0] == 7 and "else" not in call.seen


def test_calls_of_one_message_build_on_each_other_but_were_not_made_from_each_other(
    in_thread: Run, thread: str
) -> None:
    first, second = ToolCall("1", message="m"), ToolCall("2", message="m")
    other = ToolCall("3", message="n")

    def work() -> Any:
        with inside_tool_call(first):
            saw("f", 2)
        with inside_tool_call(second):
            found = [last_seen("f"), knows("f", 2), knows("f", 3), knows("f", 0)]
        with inside_tool_call(other):
            return [*found, knows("f", 2)]

    assert in_thread(thread, work) == [None, True, False, True, False]


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
    monkeypatch.setattr(runtime, "_process", SeenMap(limit=3))
    in_thread(thread, lambda: [saw(str(number), number) for number in range(10)])
    assert len(runtime._process) == 3
    assert in_thread(thread, lambda: [last_seen("0"), last_seen("9")]) == [None, 9]


def test_a_branch_has_not_seen_what_came_after_its_beginning() -> None:
    seen, ann = SeenMap(), Viewer("t", "")
    seen.note(ann, "f", 1, Moment(2, "c2"))
    seen.note(ann, "f", 2, Moment(6, "c6"))
    assert seen.find(ann, "f", Moment(7, "c7")) == 2
    assert seen.find(ann, "f", Moment(9, "d9", origin="c3")) == 1  # from an older checkpoint, as it says
    seen.note(ann, "f", 3, Moment(10, "d10", origin="c3"))
    assert seen.find(ann, "f", Moment(13, "d13")) == 3  # and on from there
    assert seen.find(ann, "f", Moment(10, "e10")) == 1  # from an older one that was put there as the newest
    assert seen.find(Viewer("u", ""), "f", None) is None


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
