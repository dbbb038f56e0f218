"""Approvals inside subagents, in our own deep agent and in Deep Agents'."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from memoranda import MemoryStore
from memoranda.agents import create_deep_agent
from memoranda.agents.middleware.approval import ApprovalMiddleware
from memoranda.backends import CompositeBackend, FilesystemPermission, GuardedBackend, StateBackend, StoreBackend
from memoranda.testing.scripted import ScriptedChatModel, call, calls, say
from tests.agents.approval.support import ACME, APPROVE, text

SENSITIVE = FilesystemPermission(["write"], ["/policies/**"], "interrupt")


@pytest.fixture
def thread() -> Any:
    return {"configurable": {"thread_id": uuid4().hex}}


@pytest.fixture
def files(store: MemoryStore) -> StoreBackend:
    return StoreBackend(namespace=ACME, store=store)


def requests(result: Any) -> list[dict[str, Any]]:
    return [request for asked in result["__interrupt__"] for request in asked.value["action_requests"]]


def approve(agent: Any, thread: Any, count: int = 1) -> Any:
    return agent.invoke(Command(resume={"decisions": [APPROVE] * count}), thread)


def told(result: Any) -> list[str]:
    return [message.text for message in result["messages"] if isinstance(message, ToolMessage)]


def test_in_our_deep_agent(store: MemoryStore, files: StoreBackend, thread: Any) -> None:
    script = [call("write_file", file_path="/policies/tea.md", content="green"), say("Done.")]
    agent = create_deep_agent(
        ScriptedChatModel(script=script),
        backend=files,
        permissions=[SENSITIVE],
        memory=["/policies/tea.md"],
        checkpointer=InMemorySaver(),
    )
    (request,) = requests(agent.invoke({"messages": "Go."}, thread))
    assert request["name"] == "write_file" and text(store, "/policies/tea.md") is None
    store.write(ACME, "/policies/tea.md", "theirs")
    assert "-theirs" in requests(approve(agent, thread))[0]["description"]
    done = approve(agent, thread)
    assert done["messages"][-1].text == "Done." and text(store, "/policies/tea.md") == "green"
    assert store.history(ACME, "/policies/tea.md")[0].author.tool_call_id == script[0].tool_calls[0]["id"]  # type: ignore[union-attr]


def test_with_other_hooks_before_the_model(store: MemoryStore, files: StoreBackend, thread: Any) -> None:
    """Where ours is not the first hook, and an agent that has hooks at its end."""
    from langchain.agents import create_agent
    from langchain.agents.middleware import AgentMiddleware

    from memoranda.agents.middleware import FilesMiddleware

    ran: list[str] = []

    class Before(AgentMiddleware[Any, Any, Any]):
        def before_model(self, state: Any, runtime: Any) -> None:
            ran.append("before")

    class After(AgentMiddleware[Any, Any, Any]):
        def before_model(self, state: Any, runtime: Any) -> None:
            ran.append("after")

        def after_model(self, state: Any, runtime: Any) -> None:
            ran.append("model")

    guard = GuardedBackend(files, [SENSITIVE])
    model = ScriptedChatModel(script=[call("write_file", file_path="/policies/tea.md", content="green"), say("Done.")])
    agent: Any = create_agent(
        model,
        middleware=[Before(), FilesMiddleware(guard), ApprovalMiddleware(guard), After()],
        checkpointer=InMemorySaver(),
    )
    agent.invoke({"messages": "Go."}, thread)
    store.write(ACME, "/policies/tea.md", "theirs")
    approve(agent, thread)
    assert ran == ["before", "after", "model", "before"] and len(model.requests) == 1
    approve(agent, thread)
    assert ran[-2:] == ["after", "model"] and len(model.requests) == 2
    assert text(store, "/policies/tea.md") == "green"


def worker(*script: Any, name: str = "worker") -> dict[str, Any]:
    return {"name": name, "description": name, "model": ScriptedChatModel(script=list(script))}


def task(name: str) -> tuple[str, dict[str, Any]]:
    return "task", {"description": "Do it.", "subagent_type": name}


def test_inside_a_subagent(store: MemoryStore, files: StoreBackend, thread: Any) -> None:
    """The subagent pauses, and with it the agent that waits for it; nothing is asked or done twice."""
    own = worker(
        call("write_file", file_path="/log.md", content="began"),
        call("write_file", file_path="/policies/tea.md", content="green"),
        lambda messages: f"The tool said: {messages[-1].text}",
    )
    model = ScriptedChatModel(script=[calls(task("worker")), lambda messages: messages[-1].text])
    agent = create_deep_agent(
        model, backend=files, permissions=[SENSITIVE], subagents=[own], checkpointer=InMemorySaver()
    )
    (request,) = requests(agent.invoke({"messages": "Go."}, thread))
    assert request["args"]["content"] == "green" and text(store, "/log.md") == "began"
    store.write(ACME, "/policies/tea.md", "theirs")
    (again,) = requests(approve(agent, thread))
    assert "-theirs" in again["description"] and text(store, "/policies/tea.md") == "theirs"
    done = approve(agent, thread)
    assert text(store, "/policies/tea.md") == "green"
    assert done["messages"][-1].text.startswith("The tool said: A person approved this.")
    assert len(store.history(ACME, "/log.md")) == 1
    assert len(own["model"].requests) == 3 and len(model.requests) == 2


def test_two_subagents_side_by_side(store: MemoryStore, files: StoreBackend, thread: Any) -> None:
    """Each has its own interrupt, answered by its id."""
    workers = [
        worker(call("write_file", file_path=f"/policies/{name}.md", content=name), say("Did it."), name=name)
        for name in ("one", "two")
    ]
    model = ScriptedChatModel(script=[calls(task("one"), task("two")), say("Both did.")])
    agent = create_deep_agent(
        model, backend=files, permissions=[SENSITIVE], subagents=workers, checkpointer=InMemorySaver()
    )
    asked = agent.invoke({"messages": "Go."}, thread)["__interrupt__"]
    assert len(asked) == 2
    answers = {each.id: {"decisions": [APPROVE if "one" in str(each.value) else {"type": "reject"}]} for each in asked}
    done = agent.invoke(Command(resume=answers), thread)
    assert done["messages"][-1].text == "Both did."
    assert (text(store, "/policies/one.md"), text(store, "/policies/two.md")) == ("one", None)


@pytest.mark.parametrize("is_async", [False, True])
async def test_in_deep_agents_own_agent(store: MemoryStore, files: StoreBackend, thread: Any, is_async: bool) -> None:
    import deepagents

    guard = GuardedBackend(
        CompositeBackend(StateBackend(), {"/memories/": files}),
        [FilesystemPermission(["write"], ["/memories/policies/**"], "interrupt")],
    )
    script = [
        calls(
            ("write_file", {"file_path": "/memories/policies/tea.md", "content": "green"}),
            ("write_file", {"file_path": "/memories/notes.md", "content": "free"}),
        ),
        call("delete", file_path="/memories/policies/tea.md"),
        say("Done."),
    ]
    agent: Any = deepagents.create_deep_agent(
        ScriptedChatModel(script=script),
        backend=guard,  # type: ignore[arg-type]
        middleware=[ApprovalMiddleware(guard)],
        checkpointer=InMemorySaver(),
    )

    async def go(value: Any) -> Any:
        return await agent.ainvoke(value, thread) if is_async else agent.invoke(value, thread)

    resume = Command(resume={"decisions": [APPROVE]})
    (request,) = requests(await go({"messages": [("human", "Go.")]}))
    assert request["args"]["content"] == "green"
    assert text(store, "/policies/tea.md") is None and text(store, "/notes.md") == "free"
    store.write(ACME, "/policies/tea.md", "theirs")
    assert "-theirs" in requests(await go(resume))[0]["description"]
    (request,) = requests(await go(resume))
    assert text(store, "/policies/tea.md") == "green" and request["name"] == "delete"
    done = await go(resume)
    assert text(store, "/policies/tea.md") is None
    assert done["messages"][-1].text == "Done."
    assert [text.startswith("A person approved this.") for text in told(done)] == [True, False, True]
    assert "pending_approvals" not in done
