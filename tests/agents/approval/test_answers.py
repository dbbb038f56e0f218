"""Wrong answers to a request are refused, and the run can still be resumed."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command

from memoranda import MemoryStore
from memoranda.agents.middleware.approval_decisions import InvalidDecisionError
from tests.agents.approval.support import (
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

WRONG: list[Any] = [
    "approve",
    {"decisions": "approve"},
    {"decisions": []},
    {"decisions": [APPROVE, APPROVE]},
    {"decisions": ["approve"]},
    {"decisions": [{"type": "respond", "message": "hi"}]},
    {"decisions": [{"type": "reject", "message": 7}]},
    {"decisions": [{"type": "edit"}]},
    {"decisions": [{"type": "edit", "edited_action": {"name": "execute", "args": {"command": "rm"}}}]},
    {"decisions": [{"type": "edit", "edited_action": {"name": "write_file", "args": {"content": 7}}}]},
    {"decisions": [{"type": "edit", "edited_action": {"name": "write_file", "args": {"file_path": "/other.md"}}}]},
    {"decisions": [{"type": "edit", "edited_action": {"name": "write_file", "args": {"file_path": "/../x"}}}]},
    {"decisions": [{"type": "edit", "edited_action": {"args": {"content": "?", "encoding": "base64"}}}]},
]


def test_wrong_answers_are_refused_and_the_run_can_still_be_resumed(
    store: MemoryStore, checkpointer: BaseCheckpointSaver[str]
) -> None:
    agent = agent_on(guarded(store), write("green"), checkpointer=checkpointer)
    before = requests(run(agent))
    for answer in WRONG:
        with pytest.raises(InvalidDecisionError) as caught:
            agent.invoke(Command(resume=answer), THREAD)
        assert str(caught.value)
        assert text(store, "/policies/tea.md") is None
        (waiting,) = agent.get_state(THREAD).interrupts
        assert waiting.value["action_requests"] == before
    resume(agent, APPROVE)
    assert text(store, "/policies/tea.md") == "green"


def test_where_langgraph_keeps_every_answer_it_is_asked_again_with_the_error(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langgraph.types import interrupt

    from memoranda.agents.middleware import approval_decisions

    monkeypatch.setattr(approval_decisions, "interrupt", lambda value: interrupt(value))
    agent = agent_on(guarded(store), write("green"))
    run(agent)
    for answer in WRONG:
        (asked,) = agent.invoke(Command(resume=answer), THREAD)["__interrupt__"]
        assert asked.value["error"] and asked.value["action_requests"]
    resume(agent, APPROVE)
    assert text(store, "/policies/tea.md") == "green"
