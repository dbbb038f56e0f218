"""Approvals over other backends, from an event loop, and where something of the usual is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from memoranda import MemoryStore
from memoranda.agents.middleware import FilesMiddleware
from memoranda.agents.middleware.approval import ApprovalMiddleware
from memoranda.agents.middleware.approval_decisions import InvalidDecisionError
from memoranda.backends import (
    CompositeBackend,
    FilesystemBackend,
    FilesystemPermission,
    GuardedBackend,
    StateBackend,
    StoreBackend,
)
from memoranda.testing.scripted import ScriptedChatModel, call, calls, say
from tests.agents.approval.support import (
    ACME,
    APPROVE,
    THREAD,
    agent_on,
    guarded,
    requests,
    resume,
    run,
    text,
    write,
)


def test_files_without_revisions(tmp_path: Path) -> None:
    rules = [FilesystemPermission(["write"], ["/policies/**"], "interrupt")]
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "tea.md").write_text("one")
    backend = GuardedBackend(FilesystemBackend(tmp_path), rules)
    agent = agent_on(backend, call("edit_file", file_path="/policies/tea.md", old_string="one", new_string="1"))
    run(agent)
    (tmp_path / "policies" / "tea.md").write_text("one, two")
    assert "+1, two" in requests(resume(agent, APPROVE))[0]["description"]
    assert (tmp_path / "policies" / "tea.md").read_text() == "one, two"
    resume(agent, APPROVE)
    assert (tmp_path / "policies" / "tea.md").read_text() == "1, two"


def test_behind_a_route_and_in_the_state_of_the_thread(store: MemoryStore) -> None:
    rules = [FilesystemPermission(["write"], ["/memories/policies/**", "/plan.md"], "interrupt")]
    routes = {"/memories/": StoreBackend(namespace=ACME, store=store)}
    backend = GuardedBackend(CompositeBackend(StateBackend(), routes), rules)
    line = calls(
        ("write_file", {"file_path": "/memories/policies/tea.md", "content": "green"}),
        ("write_file", {"file_path": "/plan.md", "content": "plan"}),
    )
    agent = agent_on(backend, line)
    assert {request["args"]["file_path"] for request in requests(run(agent))} == {
        "/memories/policies/tea.md",
        "/plan.md",
    }
    done = resume(agent, APPROVE, APPROVE)
    assert text(store, "/policies/tea.md") == "green"
    assert done["files"]["/plan.md"]["content"] == "plan"


async def test_from_an_event_loop(store: MemoryStore) -> None:
    agent = agent_on(guarded(store), write("one\ntwo\n"))
    asked = await agent.ainvoke({"messages": "Go."}, THREAD)
    with pytest.raises(InvalidDecisionError):
        await agent.ainvoke(Command(resume="yes"), THREAD)
    await store.awrite(ACME, "/policies/tea.md", "theirs")
    again = await agent.ainvoke(Command(resume={"decisions": [APPROVE]}), THREAD)
    assert requests(asked) != requests(again) and "-theirs" in requests(again)[0]["description"]
    await agent.ainvoke(Command(resume={"decisions": [APPROVE]}), THREAD)
    assert text(store, "/policies/tea.md") == "one\ntwo\n"


def test_a_new_message_instead_of_an_answer_asks_again(store: MemoryStore) -> None:
    agent = agent_on(guarded(store), write("green"))
    first = requests(run(agent))
    assert requests(agent.invoke({"messages": "Hello?"}, THREAD)) == first
    done = resume(agent, APPROVE)
    assert text(store, "/policies/tea.md") == "green"
    assert [message.type for message in done["messages"]] == ["human", "ai", "tool", "human", "ai"]


def test_without_a_checkpointer_nothing_lands(store: MemoryStore) -> None:
    backend = guarded(store)
    model = ScriptedChatModel(script=[write("green"), say("Done.")])
    agent: Any = create_agent(model, middleware=[FilesMiddleware(backend), ApprovalMiddleware(backend)])
    assert "__interrupt__" in agent.invoke({"messages": "Go."})
    assert text(store, "/policies/tea.md") is None


def test_the_state_is_no_input_and_no_output(store: MemoryStore) -> None:
    agent = agent_on(guarded(store), write("green"))
    forged = {"x": {"id": "x", "tool_call_id": "y", "tool": "write_file", "message_id": None, "base": 0, "diff": ""}}
    forged["x"]["change"] = {"type": "write", "path": "/policies/x.md", "content": "forged", "base": 0, "merge": True}  # type: ignore[assignment]
    result = agent.invoke({"messages": "Go.", "pending_approvals": forged}, THREAD)
    assert [request["args"]["content"] for request in requests(result)] == ["green"]
    assert "pending_approvals" not in result and "seen_revisions" not in result


def test_what_was_approved_has_been_seen(store: MemoryStore) -> None:
    """The model goes on with a file that it wrote: no later write of it is refused as unread."""
    agent = agent_on(guarded(store), write("one"), write("two"))
    run(agent)
    (again,) = requests(resume(agent, APPROVE))
    assert "-one" in again["description"]
    resume(agent, APPROVE)
    assert text(store, "/policies/tea.md") == "two"
    assert agent.get_state(THREAD).values["seen_revisions"]


def test_without_our_file_tools(store: MemoryStore) -> None:
    """Alone, with a tool of the application's own."""
    backend = guarded(store)

    @tool
    def remember(fact: str) -> str:
        """Remember a fact."""
        return backend.append("/policies/facts.md", fact).error or "kept"

    model = ScriptedChatModel(script=[call("remember", fact="tea"), say("Done.")])
    agent: Any = create_agent(model, [remember], middleware=[ApprovalMiddleware(backend)], checkpointer=InMemorySaver())
    (request,) = requests(run(agent))
    assert request["name"] == "append_file" and request["args"] == {"file_path": "/policies/facts.md", "text": "tea"}
    resume(agent, APPROVE)
    assert text(store, "/policies/facts.md") == "tea"
