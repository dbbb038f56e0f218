"""Background consolidation by hand: an agent of its own merges what conversations brought into the user's memory."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from memoranda import Author, ChangeSet, ConflictError, CursorMove, MemoryStore, Write
from memoranda.backends import CompositeBackend, StateBackend, StoreBackend, by_user
from memoranda.testing.scripted import call, say
from tests.recipes.support import Context, agent, tree, turn

MEMORY = "/memories/preferences.md"
ANN = Context(user_id="ann")


def routes() -> Any:
    return CompositeBackend(StateBackend(), {"/memories/": StoreBackend(namespace=by_user)})


def conversation(store: MemoryStore) -> tuple[Any, str]:
    """An agent that only talks, and the thread in which it did."""
    chat, _ = agent(["Noted."], backend=routes(), context_schema=Context, store=store)
    thread = uuid4().hex
    turn(chat, "I moved to Lisbon, and I am a vegetarian.", context=ANN, thread=thread)
    return chat, thread


def messages_of(chat: Any, thread: str) -> list[Any]:
    """The messages of a thread.

    The published handler reads `history["values"]["messages"]` from `threads.get_history`, which returns a list with
    one entry per checkpoint. What is meant is the last state.
    """
    return chat.get_state({"configurable": {"thread_id": thread}}).values["messages"]


def test_an_agent_consolidates(store: MemoryStore) -> None:
    """The published consolidation agent is made without `backend` and `memory`.

    It would write into the state of its own thread, which ends with the run. It needs the routes of the agent that it
    works for, and to run as the user whose memory it keeps.
    """
    store.write(("ann",), "/preferences.md", "- Lives in Oslo.\n")
    chat, thread = conversation(store)
    transcript = "\n".join(f"{message.type}: {message.text}" for message in messages_of(chat, thread))
    edit = call(
        "edit_file", file_path=MEMORY, old_string="- Lives in Oslo.", new_string="- Lives in Lisbon.\n- Vegetarian."
    )
    consolidation, model = agent(
        [edit, say("Merged.")],
        system_prompt="Merge what is new in the conversation into the memory, and keep it short.",
        memory=[MEMORY],
        backend=routes(),
        context_schema=Context,
        store=store,
        name="consolidation",
    )
    turn(consolidation, transcript, context=ANN)
    assert "Lives in Oslo" in model.prompts[0]
    assert tree(store) == {("ann",): {"/preferences.md": "- Lives in Lisbon.\n- Vegetarian.\n"}}
    assert store.history(("ann",), "/preferences.md")[0].author.actor == "agent:consolidation"


def merged(known: str, more: str) -> str:
    """What a model would do: here one line more."""
    return known + more


def test_a_function_consolidates_each_conversation_once(store: MemoryStore) -> None:
    r"""The published handler joins the content of a file with `"\n".join(…)`.

    That was right when it was a list of lines; it is a text now, so a line break comes between all of its characters.
    It also writes without a base, so what anybody wrote meanwhile is gone, and a run that is repeated adds everything
    again. Here the write names the revision that it was made from, and a cursor moves in the same transaction.
    """
    store.write(("ann",), "/preferences.md", "- Lives in Oslo.\n")
    chat, thread = conversation(store)

    def consolidate() -> None:
        item = store.get(("ann",), "/preferences.md")
        assert item is not None and isinstance(item.value["content"], str)
        seen = len(messages_of(chat, thread))
        text = merged(item.value["content"], "- Vegetarian.\n")
        # Meanwhile Ann corrects the first line.
        store.edit(("ann",), "/preferences.md", "Oslo", "Lisbon", author=Author("user:ann"))
        write = Write(("ann",), "/preferences.md", text, base=item.revision)
        cursor = CursorMove(f"consolidation of {thread}", ("ann",), expect=0, to=seen)
        store.commit(ChangeSet([write], Author("consolidation", thread_id=thread), [cursor]))

    consolidate()
    assert tree(store) == {("ann",): {"/preferences.md": "- Lives in Lisbon.\n- Vegetarian.\n"}}
    store.edit(("ann",), "/preferences.md", "Lisbon", "Oslo")
    with pytest.raises(ConflictError, match="cursor"):
        consolidate()
    assert tree(store)[("ann",)]["/preferences.md"].count("Vegetarian") == 1
