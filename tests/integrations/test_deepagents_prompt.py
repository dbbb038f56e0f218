"""Deep Agents' own memory, skills and permissions, on our backends."""

from __future__ import annotations

from typing import Any

import deepagents
import pytest
from langgraph.checkpoint.memory import InMemorySaver

from memoranda import MemoryStore
from memoranda.backends import StoreBackend
from memoranda.testing.scripted import ScriptedChatModel, call, calls, say
from tests.integrations.support import WAYS, answers, keys_in, run, text_in

ANN = ("ann",)
SKILL = "---\nname: {name}\ndescription: {what}\n---\n\n# {name}\n\nSteps of {name}.\n"


def made(script: list[Any], **settings: Any) -> tuple[Any, ScriptedChatModel]:
    model = ScriptedChatModel(script=script)
    return deepagents.create_deep_agent(model=model, checkpointer=InMemorySaver(), **settings), model


@pytest.mark.parametrize("way", WAYS)
def test_memory_is_in_the_prompt(store: MemoryStore, way: str) -> None:
    store.write(ANN, "/AGENTS.md", "Ann likes green tea.\n<!-- not for the model -->\n")
    graph, model = made(
        [call("edit_file", file_path="/AGENTS.md", old_string="green", new_string="black"), say("Noted.")],
        backend=StoreBackend(namespace=ANN),
        store=store,
        memory=["/AGENTS.md", "/missing.md"],
    )
    run(graph, "Black from now on.", way=way)
    assert "Ann likes green tea." in model.prompts[0] and "not for the model" not in model.prompts[0]
    assert text_in(store, ANN, "/AGENTS.md") == "Ann likes black tea.\n<!-- not for the model -->\n"
    following, later = made([say("Black.")], backend=StoreBackend(namespace=ANN), store=store, memory=["/AGENTS.md"])
    run(following, "Tea?", way=way)
    assert "Ann likes black tea." in later.prompts[0]


@pytest.mark.parametrize("way", WAYS)
def test_skills_are_in_the_prompt_and_can_be_written(store: MemoryStore, way: str) -> None:
    store.write(ANN, "/skills/brew/SKILL.md", SKILL.format(name="brew", what="Brews tea."))
    store.write(ANN, "/skills/broken/SKILL.md", "no frontmatter")
    skill = SKILL.format(name="pour", what="Pours tea.")
    graph, model = made(
        [
            call("read_file", file_path="/skills/brew/SKILL.md"),
            call("write_file", file_path="/skills/pour/SKILL.md", content=skill),
            say("Done."),
        ],
        backend=StoreBackend(namespace=ANN),
        store=store,
        skills=["/skills/"],
    )
    state = run(graph, "Learn to pour.", way=way)
    assert "Brews tea." in model.prompts[0] and "Steps of brew." not in model.prompts[0]
    assert "Steps of brew." in answers(state)[0]
    assert text_in(store, ANN, "/skills/pour/SKILL.md") == skill
    following, later = made([say("Hi.")], backend=StoreBackend(namespace=ANN), store=store, skills=["/skills/"])
    run(following, "Hi.", way=way)
    assert "Brews tea." in later.prompts[0] and "Pours tea." in later.prompts[0]


@pytest.mark.parametrize("way", WAYS)
def test_their_permissions_hold(store: MemoryStore, way: str) -> None:
    store.write(ANN, "/policies/rules.md", "Be kind.")
    store.write(ANN, "/secrets/key.md", "hunter2")
    rules = [
        deepagents.FilesystemPermission(operations=["read", "write"], paths=["/secrets/**"], mode="deny"),
        deepagents.FilesystemPermission(operations=["write"], paths=["/policies/**"], mode="deny"),
    ]
    graph, _ = made(
        [
            calls(
                ("write_file", {"file_path": "/policies/rules.md", "content": "Be rude."}),
                ("delete", {"file_path": "/policies"}),
                ("read_file", {"file_path": "/policies/rules.md"}),
                ("read_file", {"file_path": "/secrets/key.md"}),
                ("grep", {"pattern": "hunter", "output_mode": "content"}),
                ("write_file", {"file_path": "/notes.md", "content": "allowed"}),
            ),
            say("Done."),
        ],
        backend=StoreBackend(namespace=ANN),
        store=store,
        permissions=rules,
    )
    said = answers(run(graph, "Try it.", way=way))
    assert text_in(store, ANN, "/policies/rules.md") == "Be kind."
    assert keys_in(store, ANN) == ["/notes.md", "/policies/rules.md", "/secrets/key.md"]
    assert len(store.history(ANN, "/policies/rules.md")) == 1
    assert "Be kind." in said[2]
    assert not any("hunter2" in answer for answer in said)
