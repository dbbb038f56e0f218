"""Running Deep Agents' own agents, and looking at what they left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import deepagents
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from memoranda import MemoryStore
from memoranda.testing.scripted import ScriptedChatModel

WAYS = ("invoke", "stream", "ainvoke", "astream")


def agent(script: list[Any], **settings: Any) -> Any:
    """Deep Agents' own agent, with a scripted model."""
    settings.setdefault("checkpointer", InMemorySaver())
    return deepagents.create_deep_agent(model=ScriptedChatModel(script=script), **settings)


def run(graph: Any, text: str, *, thread: str | None = None, way: str = "invoke", **settings: Any) -> dict[str, Any]:
    """One turn, in one of the `WAYS`, and the state after it."""
    config = {"configurable": {"thread_id": thread or uuid4().hex, **settings.pop("configurable", {})}}
    given = {"messages": [{"role": "user", "content": text}], **settings.pop("given", {})}
    if way == "invoke":
        return graph.invoke(given, config, **settings)
    if way == "stream":
        return list(graph.stream(given, config, stream_mode="values", **settings))[-1]

    async def later() -> dict[str, Any]:
        if way == "ainvoke":
            return await graph.ainvoke(given, config, **settings)
        return [state async for state in graph.astream(given, config, stream_mode="values", **settings)][-1]

    return asyncio.run(later())


def answers(state: dict[str, Any]) -> list[str]:
    """What the tools said, in order."""
    return [message.text for message in state["messages"] if isinstance(message, ToolMessage)]


def text_in(store: MemoryStore, namespace: tuple[str, ...], key: str) -> str | None:
    """The text of a file in the store; None if it is not there."""
    item = store.get(namespace, key)
    return None if item is None else item.value["content"]


def keys_in(store: MemoryStore, namespace: tuple[str, ...]) -> list[str]:
    """Every key of one namespace."""
    return [entry.key for entry in store.list_keys(namespace, recursive=True)]


@contextmanager
def saver(kind: str, folder: Path) -> Iterator[Any]:
    """A checkpointer for blocking runs."""
    if kind == "memory":
        yield InMemorySaver()
    else:
        # Its own file: one file must never be open in two SQLite libraries of one process.
        with SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as made:
            yield made
