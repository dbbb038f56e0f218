"""`create_deep_agent`: what it writes is in the store, and what is in the store reaches it."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from memoranda import MemoryStore
from memoranda.agents import create_deep_agent
from memoranda.backends import CompositeBackend, StateBackend, StoreBackend, by_user
from memoranda.testing.scripted import ScriptedChatModel, call, say

ANN = {"user_id": "ann"}


def remembering() -> CompositeBackend:
    return CompositeBackend(StateBackend(), {"/memories/": StoreBackend(namespace=by_user)})


def thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


def test_what_one_thread_writes_another_reads(store: MemoryStore) -> None:
    model = ScriptedChatModel(
        script=[
            call("write_file", file_path="/memories/tea.md", content="Ann likes green tea."),
            say("Noted."),
            call("read_file", file_path="/memories/tea.md"),
            lambda messages: messages[-1].text,
        ]
    )
    agent = create_deep_agent(
        model, backend=remembering(), store=store, checkpointer=InMemorySaver(), context_schema=dict
    )
    agent.invoke({"messages": "I like green tea."}, thread("1"), context=ANN)
    item = store.get(("ann",), "/tea.md")
    assert item is not None and item.value["content"] == "Ann likes green tea."
    reply = agent.invoke({"messages": "What do I like?"}, thread("2"), context=ANN)["messages"][-1]
    assert reply.text == "@@ lines 1-1 of 1 @@\nAnn likes green tea."
