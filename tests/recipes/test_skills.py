"""Procedural memory: skills in the store, shared or a user's own, read on demand, learned, or fixed."""

from __future__ import annotations

from typing import Any

from memoranda import MemoryStore
from memoranda.backends import (
    CompositeBackend,
    FilesystemPermission,
    StateBackend,
    StoreBackend,
    by_assistant,
    by_user,
)
from memoranda.testing.scripted import call, say
from tests.recipes.support import Context, agent, answers, tree, turn

ANN = Context(user_id="ann")


def skill(name: str, does: str) -> str:
    return f"---\nname: {name}\ndescription: {does}\n---\n\n# {name}\n\nThe steps of {name}.\n"


def routes() -> Any:
    return CompositeBackend(
        StateBackend(),
        {
            "/skills/shared/": StoreBackend(namespace=by_assistant + "skills"),
            "/skills/own/": StoreBackend(namespace=by_user + "skills"),
        },
    )


def test_skills_are_read_on_demand(store: MemoryStore) -> None:
    store.write(("cook", "skills"), "/brew/SKILL.md", skill("brew", "Brews tea."))
    store.write(("cook", "skills"), "/brew/times.md", "Green: 2 minutes.")
    script = [
        call("read_file", file_path="/skills/shared/brew/SKILL.md"),
        call("read_file", file_path="/skills/shared/brew/times.md"),
        say("2 minutes."),
    ]
    graph, model = agent(
        script,
        skills=["/skills/shared/", "/skills/own/"],
        backend=routes(),
        context_schema=Context,
        store=store,
        name="cook",
    )
    said = answers(turn(graph, "How long?", context=ANN))
    assert "Brews tea." in model.prompts[0] and "steps of brew" not in model.prompts[0]
    assert "The steps of brew." in said[0] and "2 minutes" in said[1]


def test_an_agent_learns_a_skill(store: MemoryStore) -> None:
    """It is offered at the next call already, to this user and to nobody else."""
    pour = skill("pour", "Pours tea.")
    script = [call("write_file", file_path="/skills/own/pour/SKILL.md", content=pour), say("Learned."), say("Hi.")]
    graph, model = agent(
        script,
        skills=["/skills/shared/", "/skills/own/"],
        backend=routes(),
        context_schema=Context,
        store=store,
        name="cook",
    )
    turn(graph, "Learn to pour.", context=ANN)
    turn(graph, "Hi.", context=Context(user_id="ben"))
    assert "Pours tea." not in model.prompts[0] and "Pours tea." in model.prompts[1]
    assert "Pours tea." not in model.prompts[2]
    assert tree(store) == {("ann", "skills"): {"/pour/SKILL.md": pour}}


def test_the_later_source_wins(store: MemoryStore) -> None:
    store.write(("cook", "skills"), "/brew/SKILL.md", skill("brew", "Brews tea for all."))
    store.write(("ann", "skills"), "/brew/SKILL.md", skill("brew", "Brews tea as Ann likes it."))
    graph, model = agent(
        ["Hi."],
        skills=["/skills/shared/", "/skills/own/"],
        backend=routes(),
        context_schema=Context,
        store=store,
        name="cook",
    )
    turn(graph, context=ANN)
    assert "as Ann likes it" in model.prompts[0] and "for all" not in model.prompts[0]


def test_skills_that_the_developer_fixes(store: MemoryStore) -> None:
    """The guides call skills read-only and leave it at that; a rule, or `read_only=True`, makes it so."""
    text = skill("brew", "Brews tea.")
    store.write(("cook", "skills"), "/brew/SKILL.md", text)
    script = [call("write_file", file_path="/skills/shared/brew/SKILL.md", content="mine"), say("I may not.")]
    graph, _ = agent(
        script,
        skills=["/skills/shared/"],
        permissions=[FilesystemPermission(operations=["write"], paths=["/skills/shared/**"], mode="deny")],
        backend=routes(),
        store=store,
        name="cook",
    )
    turn(graph)
    fixed: Any = {"/skills/": StoreBackend(namespace=by_assistant + "skills", read_only=True)}
    write = call("write_file", file_path="/skills/brew/SKILL.md", content="mine")
    graph, _ = agent(
        [write, say("Nor here.")],
        skills=["/skills/"],
        backend=CompositeBackend(StateBackend(), fixed),
        store=store,
        name="cook",
    )
    turn(graph)
    assert tree(store) == {("cook", "skills"): {"/brew/SKILL.md": text}}
