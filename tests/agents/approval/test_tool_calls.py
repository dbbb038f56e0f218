"""What surrounds a tool call: one `ToolCall` for all middleware around it, and state that keeps what came of it."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from memoranda.agents.middleware.approval_requests import change_from_state, change_to_state
from memoranda.agents.middleware.tool_calls import (
    SEEN_LIMIT,
    ToolCallMiddleware,
    ToolCallState,
    keep_newest,
    keep_pending,
)
from memoranda.backends.protocol import (
    AppendFile,
    ApprovalRequest,
    DeleteFile,
    EditFile,
    FileChange,
    MoveFile,
    WriteFile,
)
from memoranda.backends.runtime import ToolCall, current_tool_call, saw
from memoranda.testing.scripted import ScriptedChatModel, call, calls, say

Id = Annotated[str, InjectedToolCallId]


class Noting(ToolCallState):
    note: NotRequired[str]


class Outer(ToolCallMiddleware):
    state_schema = Noting


class Inner(ToolCallMiddleware):
    pass


def wait_for(path: str) -> ToolCall:
    found = current_tool_call()
    assert found is not None
    found.approvals.append(ApprovalRequest(WriteFile(path, "x"), 0, "diff"))
    return found


def run(tools: list[Any], *script: AIMessage) -> tuple[Any, Any]:
    model = ScriptedChatModel(script=[*script, say("Done.")])
    agent: Any = create_agent(model, tools, middleware=[Outer(), Inner()], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": uuid4().hex}}
    result = agent.invoke({"messages": "Go."}, config)
    return result, agent.get_state(config).values


def told(state: Any) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def test_middleware_around_one_call_share_it() -> None:
    @tool
    def look() -> str:
        """Look."""
        wait_for("/a.md")
        saw("file", 7)
        return "Error: waits"

    result, state = run([look], call("look"))
    (pending,) = state["pending_approvals"].values()
    (message,) = told(state)
    assert pending["message_id"] == message.id and pending["tool_call_id"] == message.tool_call_id
    assert state["seen_revisions"]["file"][0] == 7
    assert result.keys() == {"messages"}


def test_a_command_of_the_tool_is_kept() -> None:
    @tool
    def note(tool_call_id: Id) -> Command[Any]:
        """Note."""
        wait_for("/a.md")
        return Command(update={"note": "noted", "messages": [ToolMessage("kept", tool_call_id=tool_call_id)]})

    _, state = run([note], call("note"))
    assert state["note"] == "noted" and told(state)[0].text == "kept"
    (pending,) = state["pending_approvals"].values()
    assert pending["message_id"] == told(state)[0].id


def test_several_results_of_one_tool_are_kept() -> None:
    @tool
    def both(tool_call_id: Id) -> Any:
        """Give a message and a command."""
        wait_for("/a.md")
        return [ToolMessage("kept", tool_call_id=tool_call_id), Command(update={"note": "noted"})]

    _, state = run([both], call("both"))
    assert state["note"] == "noted" and len(state["pending_approvals"]) == 1
    (pending,) = state["pending_approvals"].values()
    assert pending["message_id"] == told(state)[0].id


def test_a_call_with_nothing_to_keep_gives_what_the_tool_gave() -> None:
    @tool
    def idle() -> str:
        """Do nothing."""
        assert current_tool_call() is not None
        return "idle"

    _, state = run([idle], call("idle"))
    assert told(state)[0].text == "idle"
    assert not state.get("pending_approvals") and not state.get("seen_revisions")


def test_calls_side_by_side_have_their_own() -> None:
    ids: list[tuple[str | None, int]] = []

    @tool
    def ask(path: str) -> str:
        """Ask."""
        found = wait_for(path)
        ids.append((found.id, id(found)))
        return "Error: waits"

    line = calls(*(("ask", {"path": f"/{n}.md"}) for n in range(4)))
    _, state = run([ask], line)
    assert len({one for one, _ in ids}) == 4
    by_call = {each["tool_call_id"]: each["change"]["path"] for each in state["pending_approvals"].values()}
    assert by_call == {each["id"]: each["args"]["path"] for each in line.tool_calls}


def test_a_call_id_that_recurs_replaces_no_older_message() -> None:
    @tool
    def ask() -> str:
        """Ask."""
        wait_for("/a.md")
        return "Error: waits"

    line = call("ask")
    _, state = run([ask], line, line)
    assert len(told(state)) == 2 and len(state["pending_approvals"]) == 2


def test_an_agent_inside_a_tool_has_calls_of_its_own() -> None:
    seen: list[ToolCall | None] = []

    @tool
    def deep() -> str:
        """Look at the call from inside."""
        seen.append(wait_for("/inner.md"))
        return "Error: waits"

    same = call("deep")
    inner: Any = create_agent(ScriptedChatModel(script=[same, say("In.")]), [deep], middleware=[Inner()])

    @tool
    def task() -> str:
        """Start another agent."""
        found = current_tool_call()
        assert found is not None
        found.untrusted = True
        seen.append(found)
        inner.invoke({"messages": "Go."})
        return "in"

    # Even where both calls have the same id.
    outer = AIMessage("", tool_calls=[{**same.tool_calls[0], "name": "task"}])
    _, state = run([task], outer)
    assert seen[0] is not seen[1] and seen[0] is not None and seen[0].approvals == []
    assert seen[1] is not None and seen[1].untrusted
    assert not state.get("pending_approvals")


def test_what_was_seen_is_bounded() -> None:
    many = {f"file {n}": [n, float(n)] for n in range(SEEN_LIMIT)}
    merged = keep_newest(many, {"new": [1, 1000.0], "file 5": ["old", 1.0]})
    assert len(merged) == SEEN_LIMIT and "file 0" not in merged and merged["new"] == [1, 1000.0]
    assert merged["file 5"] == [5, 5.0]


def test_none_takes_a_request_out() -> None:
    assert keep_pending({"a": {"id": "a"}, "b": {"id": "b"}}, {"a": None, "c": {"id": "c"}}) == {
        "b": {"id": "b"},
        "c": {"id": "c"},
    }


@pytest.mark.parametrize(
    "change",
    [
        WriteFile("/a", "text", 3, merge=False),
        WriteFile("/a", b"\xff\x00", "sha256:12"),
        EditFile("/a", "old", "new", replace_all=True, base=2),
        AppendFile("/a", "text", 0),
        DeleteFile("/a", 1),
        MoveFile("/a", "/b", overwrite=True),
    ],
)
def test_a_change_survives_the_checkpoint(change: FileChange) -> None:
    import json

    assert change_from_state(json.loads(json.dumps(change_to_state(change)))) == change
