"""Deep Agents' own agent on our `StoreBackend`: what it did is read from the store."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore

from memoranda import MemoryStore, create_file_data
from memoranda.backends import StoreBackend, by_user
from memoranda.testing.scripted import call, calls, say
from tests.integrations.support import WAYS, agent, answers, keys_in, run, saver, text_in

ANN = ("ann",)


@pytest.mark.parametrize("way", WAYS)
def test_every_tool_reaches_the_store(store: MemoryStore, way: str) -> None:
    script = [
        call("write_file", file_path="/tea.md", content="Ann likes green tea.\n"),
        calls(
            ("edit_file", {"file_path": "/tea.md", "old_string": "green", "new_string": "black"}),
            ("write_file", {"file_path": "/trips/2031/oslo.md", "content": "In May."}),
            ("write_file", {"file_path": "/draft.md", "content": "soon gone"}),
        ),
        calls(
            ("ls", {"path": "/"}),
            ("read_file", {"file_path": "/tea.md"}),
            ("glob", {"pattern": "**/*.md"}),
            ("grep", {"pattern": "May"}),
        ),
        call("delete", file_path="/draft.md"),
        call("read_file", file_path="/draft.md"),
        say("Done."),
    ]
    graph = agent(script, backend=StoreBackend(namespace=ANN), store=store)
    state = run(graph, "Note it.", way=way)
    assert keys_in(store, ANN) == ["/tea.md", "/trips/2031/oslo.md"]
    assert text_in(store, ANN, "/tea.md") == "Ann likes black tea.\n"
    assert [entry.operation for entry in store.history(ANN, "/tea.md")] == ["edit", "write"]
    said = answers(state)
    listed, read, found, matched = said[4:8]
    assert "/tea.md" in listed and "/trips/" in listed
    assert "Ann likes black tea." in read
    assert "/trips/2031/oslo.md" in found and "/draft.md" in found
    assert "/trips/2031/oslo.md" in matched and "/tea.md" not in matched
    assert "/draft.md" in said[-1] and "not found" in said[-1]
    assert store.history(ANN, "/draft.md")[0].operation == "delete"


@pytest.mark.parametrize("way", WAYS)
def test_the_history_says_who_and_where(store: MemoryStore, way: str) -> None:
    write = call("write_file", file_path="/tea.md", content="green")
    graph = agent([write, say("Done.")], backend=StoreBackend(namespace=ANN), store=store, name="secretary")
    thread = uuid4().hex
    run(graph, "Note it.", thread=thread, way=way)
    (entry,) = store.history(ANN, "/tea.md")
    assert entry.author.actor == "agent:secretary"
    assert entry.author.thread_id == thread
    (line,) = store.blame(ANN, "/tea.md")
    assert line.revision.author == entry.author


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_memory_outlives_the_thread(store: MemoryStore, tmp_path: Path, kind: str) -> None:
    settings: dict[str, Any] = {"backend": StoreBackend(namespace=by_user), "store": store, "context_schema": dict}
    with saver(kind, tmp_path) as checkpointer:
        write = call("write_file", file_path="/tea.md", content="green")
        first = agent([write, say("Done.")], checkpointer=checkpointer, **settings)
        run(first, "I like green tea.", context={"user_id": "ann@example.org"})
        read = call("read_file", file_path="/tea.md")
        second = agent([read, say("Green.")], checkpointer=checkpointer, **settings)
        assert "green" in answers(run(second, "Tea?", context={"user_id": "ann@example.org"}))[0]
        other = agent([read, say("?")], checkpointer=checkpointer, **settings)
        assert "not found" in answers(run(other, "Tea?", context={"user_id": "ben@example.org"}))[0]
    assert keys_in(store, ("ann@example.org",)) == ["/tea.md"]
    assert keys_in(store, ("ben@example.org",)) == []


def test_async_checkpoints_on_sqlite(store: MemoryStore, tmp_path: Path) -> None:
    async def conversation() -> None:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as checkpointer:
            script = [call("write_file", file_path="/tea.md", content="green"), say("Done."), say("Green.")]
            graph = agent(script, backend=StoreBackend(namespace=ANN), store=store, checkpointer=checkpointer)
            config = {"configurable": {"thread_id": uuid4().hex}}
            await graph.ainvoke({"messages": "I like green tea."}, config)
            state = await graph.ainvoke({"messages": "Tea?"}, config)
            assert len(state["messages"]) == 6

    asyncio.run(conversation())
    assert text_in(store, ANN, "/tea.md") == "green"


def test_a_missing_user_is_told_and_the_run_goes_on(store: MemoryStore) -> None:
    write = call("write_file", file_path="/tea.md", content="green")
    state = run(agent([write, say("Sorry.")], backend=StoreBackend(namespace=by_user), store=store), "Note it.")
    assert "user_id" in answers(state)[0] and "context" in answers(state)[0]
    assert state["messages"][-1].text == "Sorry."
    assert store.list_namespaces() == []


def test_files_from_outside_are_seen(store: MemoryStore) -> None:
    store.put(ANN, "/a.md", dict(create_file_data("one\ntwo\n")))
    store.put(ANN, "/old.md", {"content": ["first", "second"], "created_at": "2025-01-01", "modified_at": "2025-01-01"})
    script = [calls(("read_file", {"file_path": "/a.md"}), ("read_file", {"file_path": "/old.md"})), say("Done.")]
    new, old = answers(run(agent(script, backend=StoreBackend(namespace=ANN), store=store), "Read."))
    assert "one\ntwo" in new and "first\nsecond" in old


def test_over_another_store() -> None:
    """Our backend takes any LangGraph store, without history then."""
    other = InMemoryStore()
    other.put((*ANN, "private"), "/secret.md", dict(create_file_data("nobody else's")))
    script = [
        call("write_file", file_path="/tea.md", content="green"),
        call("edit_file", file_path="/tea.md", old_string="green", new_string="black"),
        calls(("ls", {"path": "/"}), ("grep", {"pattern": "nobody"}), ("glob", {"pattern": "**"})),
        say("Done."),
    ]
    said = answers(run(agent(script, backend=StoreBackend(namespace=ANN), store=other), "Note it."))
    item = other.get(ANN, "/tea.md")
    assert item is not None and item.value["content"] == "black"
    assert not any("secret" in answer for answer in said), "a child namespace is another scope"
