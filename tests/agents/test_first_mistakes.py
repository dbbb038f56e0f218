"""What a newcomer gets wrong is told when the agent is built, with the way out."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from memoranda import MemoryStore, create_deep_agent
from memoranda.agents import UnknownToolError
from memoranda.agents.middleware import SkillsMiddleware
from memoranda.backends import StoreBackend
from memoranda.testing.scripted import ScriptedChatModel, say

MODEL = ScriptedChatModel(script=[say("ok")])
SKILL = "---\nname: brew\ndescription: Brews tea.\n---\nBoil water.\n"


@pytest.mark.parametrize(
    ("interrupt_on", "remedy"),
    [({"writefile": True}, "'write_file'"), ({"zzz": True}, "edit_file"), (["write_file"], "no mapping")],
)
def test_an_interrupt_on_a_tool_that_is_not_there(interrupt_on: Any, remedy: str) -> None:
    with pytest.raises(UnknownToolError, match=remedy):
        create_deep_agent(MODEL, interrupt_on=interrupt_on)
    spec: Any = {"name": "a", "description": "b", "interrupt_on": interrupt_on}
    with pytest.raises(UnknownToolError, match=remedy):
        create_deep_agent(MODEL, subagents=[spec])


def test_interrupts_on_tools_that_are_there() -> None:
    def pay(amount: int) -> str:
        """Pay."""
        return str(amount)

    spec: Any = {"name": "a", "description": "b", "tools": [pay]}
    create_deep_agent(
        MODEL, interrupt_on={"pay": True, "task": True, "write_todos": True, "ls": True}, subagents=[spec]
    )


@pytest.mark.parametrize("tool", ["ls", 3, None])
def test_what_is_no_tool(tool: Any) -> None:
    with pytest.raises(UnknownToolError, match="no tool"):
        create_deep_agent(MODEL, [tool])
    with pytest.raises(UnknownToolError, match="no tool"):
        create_deep_agent(MODEL, subagents=[{"name": "a", "description": "b", "tools": [tool]}])


@pytest.mark.parametrize(
    ("source", "key", "said"),
    [
        (
            "/skills/brew/",
            "/skills/brew/SKILL.md",
            "is itself a skill. Name the folder that holds",
        ),
        ("/skills/brew/SKILL.md", "/skills/brew/SKILL.md", "is a skill's file. Name the folder"),
        ("/skills/", "/skills/brew/skill.md", "the file of a skill is named SKILL.md"),
    ],
)
def test_skills_that_are_pointed_at_wrongly(
    store: MemoryStore, source: str, key: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    store.write(("ann",), key, SKILL)
    model = ScriptedChatModel(script=[say("ok")])
    files = StoreBackend(namespace=("ann",), store=store)
    agent = create_deep_agent(model, middleware=[SkillsMiddleware(files, [source])])
    with caplog.at_level(logging.WARNING):
        agent.invoke({"messages": "x"})
    assert said in model.prompts[0] and said in caplog.text


def test_an_empty_folder_of_skills_is_fine(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    files = StoreBackend(namespace=("ann",), store=store)
    agent = create_deep_agent(ScriptedChatModel(script=[say("ok")]), backend=files, skills=["/skills/"])
    with caplog.at_level(logging.WARNING):
        agent.invoke({"messages": "x"})
    assert "skill" not in caplog.text
