"""Memory that a program puts into the store before an agent runs, in both styles of keys."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memoranda import MemoryStore, create_file_data
from memoranda.backends import CompositeBackend, StateBackend, StoreBackend
from memoranda.testing.scripted import call, say
from tests.recipes.support import agent, tree, turn

NAMESPACE = ("my-agent",)
STYLE = "## Response style\n- Short answers\n"
SKILL = "---\nname: brew\ndescription: Brews tea.\n---\n\n# brew\n\nBoil water.\n"


def routes() -> dict[str, Any]:
    return {
        "/memories/": StoreBackend(namespace=NAMESPACE),
        "/skills/": StoreBackend(namespace=(*NAMESPACE, "skills")),
    }


@pytest.mark.parametrize("key", ["/AGENTS.md", "/memories/AGENTS.md"])
def test_a_seeded_memory_is_loaded_and_edited_where_it_lies(store: MemoryStore, key: str) -> None:
    """The guides seed `/memories/AGENTS.md` under the route `/memories/`, and nothing is loaded.

    The route's prefix is taken off before the store is asked, so the key behind it is `/AGENTS.md`; that is how to
    seed. Files that already lie under the longer key are found as well, and edited there, with one warning.
    """
    store.put(NAMESPACE, key, dict(create_file_data(STYLE)))
    edit = call("edit_file", file_path="/memories/AGENTS.md", old_string="Short", new_string="Detailed")
    graph, model = agent(
        [edit, say("Noted.")],
        memory=["/memories/AGENTS.md"],
        backend=CompositeBackend(StateBackend(), routes()),
        store=store,
    )
    turn(graph, "I prefer detailed explanations. Remember that.")
    assert "- Short answers" in model.prompts[0] and "- Detailed answers" in model.prompts[1]
    assert tree(store) == {NAMESPACE: {key: STYLE.replace("Short", "Detailed")}}
    assert [entry.operation for entry in store.history(NAMESPACE, key)] == ["edit", "write"]


@pytest.mark.parametrize("key", ["/brew/SKILL.md", "/skills/brew/SKILL.md"])
def test_a_seeded_skill_is_offered_and_read(store: MemoryStore, key: str) -> None:
    store.put((*NAMESPACE, "skills"), key, dict(create_file_data(SKILL)))
    read = call("read_file", file_path="/skills/brew/SKILL.md")
    graph, model = agent(
        [read, say("Boil water.")],
        skills=["/skills/"],
        backend=CompositeBackend(StateBackend(), routes()),
        store=store,
    )
    state = turn(graph, "How do I brew?")
    assert "Brews tea." in model.prompts[0] and "Boil water." not in model.prompts[0]
    assert "Boil water." in state["messages"][2].text


def test_memories_and_skills_in_one_namespace(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    """The guides give `/memories/` and `/skills/` the same namespace.

    Then `/memories/a.md` and `/skills/a.md` are one file, since both prefixes are taken off. It works while the names
    differ; a warning says so. Another label for each is the way out, as in `routes()` above.
    """
    store.put(NAMESPACE, "/memories/AGENTS.md", dict(create_file_data(STYLE)))
    store.put(NAMESPACE, "/skills/brew/SKILL.md", dict(create_file_data(SKILL)))
    shared = {"/memories/": StoreBackend(namespace=NAMESPACE), "/skills/": StoreBackend(namespace=NAMESPACE)}
    graph, model = agent(
        ["Hello."],
        memory=["/memories/AGENTS.md"],
        skills=["/skills/"],
        backend=CompositeBackend(StateBackend(), shared),
        store=store,
    )
    turn(graph)
    assert "- Short answers" in model.prompts[0] and "Brews tea." in model.prompts[0]
    assert any("/memories" in record.message and "/skills" in record.message for record in caplog.records)


def test_seeding_without_a_file_value(store: MemoryStore) -> None:
    """`write` needs no `create_file_data`, and says in the history who seeded."""
    store.write(NAMESPACE, "/AGENTS.md", STYLE)
    graph, model = agent(
        ["Hello."],
        memory=["/memories/AGENTS.md"],
        backend=CompositeBackend(StateBackend(), routes()),
        store=store,
    )
    turn(graph)
    assert "- Short answers" in model.prompts[0]


def test_the_older_form_of_files(store: MemoryStore) -> None:
    """Before 0.5 the content was a list of lines; it is read as it was meant, and written as a text from then on."""
    old = {"content": ["## Style", "- Short"], "created_at": "2025-01-01", "modified_at": "2025-01-01"}
    store.put(NAMESPACE, "/AGENTS.md", old)
    edit = call("edit_file", file_path="/memories/AGENTS.md", old_string="Short", new_string="Long")
    graph, model = agent(
        [edit, say("Noted.")],
        memory=["/memories/AGENTS.md"],
        backend=CompositeBackend(StateBackend(), routes()),
        store=store,
    )
    turn(graph)
    assert "## Style\n- Short" in model.prompts[0]
    assert tree(store) == {NAMESPACE: {"/AGENTS.md": "## Style\n- Long"}}


def test_a_preference_travels_to_the_next_thread(store: MemoryStore) -> None:
    graph, model = agent(
        [
            call("write_file", file_path="/memories/AGENTS.md", content="- Concise, please."),
            say("Noted."),
            say("Transformers attend."),
        ],
        memory=["/memories/AGENTS.md"],
        backend=CompositeBackend(StateBackend(), routes()),
        store=store,
    )
    turn(graph, "I prefer concise responses. Remember that.")
    turn(graph, "Explain how transformers work.")
    assert "Concise" not in model.prompts[0] and "- Concise, please." in model.prompts[2]
    assert tree(store) == {NAMESPACE: {"/AGENTS.md": "- Concise, please."}}


def test_seeding_in_an_event_loop(store: MemoryStore) -> None:
    async def seed() -> None:
        await store.aput(NAMESPACE, "/AGENTS.md", dict(create_file_data(STYLE)))

    asyncio.run(seed())
    assert tree(store) == {NAMESPACE: {"/AGENTS.md": STYLE}}
