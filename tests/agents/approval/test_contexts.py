"""Approvals of other users, of subagents and of a storage that fails."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from memoranda import MemoryStore, create_deep_agent
from memoranda.agents.middleware.approval import ApprovalContextError
from memoranda.backends import (
    FilesystemPermission,
    GuardedBackend,
    StoreBackend,
    by_user,
)
from memoranda.testing.scripted import ScriptedChatModel, call, say
from tests.agents.approval.support import (
    ACME,
    APPROVE,
    THREAD,
    agent_on,
    requests,
    resume,
    run,
    write,
)


def of_a_user(store: MemoryStore) -> tuple[Any, Any]:
    """An agent whose policies are those of its user, and where the policies of somebody lie."""
    rule = FilesystemPermission(["write"], ["/policies/**"], "interrupt")
    backend = GuardedBackend(StoreBackend(namespace=by_user, store=store), [rule])
    return agent_on(backend, write("Be kind."), checkpointer=InMemorySaver()), backend


def with_user(agent: Any, wish: Any, user: str | None) -> Any:
    return agent.invoke(wish, THREAD, context=None if user is None else {"user_id": user})


@pytest.mark.parametrize("other", ["boss", None])
def test_an_approval_lands_with_the_user_who_asked_or_not_at_all(store: MemoryStore, other: str | None) -> None:
    agent, _ = of_a_user(store)
    asked = with_user(agent, {"messages": "go"}, "ann")
    assert len(requests(asked)) == 1
    with pytest.raises(ApprovalContextError, match="same context"):
        with_user(agent, Command(resume={"decisions": [APPROVE]}), other)
    assert store.list_namespaces() == []
    # The right run goes on as if nothing had been.
    with_user(agent, Command(resume={"decisions": [APPROVE]}), "ann")
    item = store.get(("ann",), "/policies/tea.md")
    assert item is not None and item.value["content"] == "Be kind."
    assert store.list_namespaces() == [("ann",)]


def test_an_approval_is_not_used_up_while_the_storage_fails(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, _ = of_a_user(store)
    with_user(agent, {"messages": "go"}, "ann")

    def fail(*_: Any, **__: Any) -> Any:
        raise ConnectionError("the database is away")

    with monkeypatch.context() as patched:
        patched.setattr(MemoryStore, "commit", fail)
        asked = with_user(agent, Command(resume={"decisions": [APPROVE]}), "ann")
    (request,) = requests(asked)
    assert "the database is away" in request["description"]
    with_user(agent, Command(resume={"decisions": [APPROVE]}), "ann")
    item = store.get(("ann",), "/policies/tea.md")
    assert item is not None and item.value["content"] == "Be kind."


@pytest.mark.parametrize("again", [False, True], ids=["same agent", "built anew"])
def test_an_approved_change_of_a_subagent_is_signed_by_it(store: MemoryStore, again: bool) -> None:
    saver = InMemorySaver()
    rule = FilesystemPermission(["write"], ["/secret/**"], "interrupt")
    lines = [
        call("task", description="d", subagent_type="researcher"),
        write("x", "/free.md"),
        write("x", "/secret/a.md"),
    ]

    def build(*script: Any) -> Any:
        return create_deep_agent(
            ScriptedChatModel(script=script),
            backend=StoreBackend(namespace=ACME),
            store=store,
            checkpointer=saver,
            name="boss",
            permissions=[rule],
            subagents=[{"name": "researcher", "description": "d", "system_prompt": "p"}],
        )

    agent = build(*lines, say("done"), say("done"))
    asked = run(agent)
    assert len(requests(asked)) == 1
    resume(build(say("done"), say("done")) if again else agent, APPROVE)
    (free,), (secret,) = store.history(ACME, "/free.md"), store.history(ACME, "/secret/a.md")
    assert free.author.actor == secret.author.actor == "agent:researcher"
    assert secret.author.tool_call_id == lines[2].tool_calls[0]["id"]
    assert secret.author.reason is not None and "approved by" in secret.author.reason
