"""What the tests of episodes share: agents that are recorded, checkpointers of all kinds, and looking at what came."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, cast

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from memoranda import MemoryStore
from memoranda.episodes import EpisodeRecorder
from memoranda.testing.scripted import ScriptedChatModel

ANN = {"user_id": "ann"}
BEN = {"user_id": "ben"}


def recorded_agent(script: list[Any], store: Any, *, recorder: EpisodeRecorder | None = None, **settings: Any) -> Any:
    """LangChain's own agent with a recorder, the last of its middleware."""
    tools = settings.pop("tools", [])
    middleware = [*settings.pop("middleware", []), recorder or EpisodeRecorder()]
    settings.setdefault("checkpointer", InMemorySaver())
    model, form = ScriptedChatModel(script=script), cast("Any", dict)
    return create_agent(model, tools, middleware=middleware, store=store, context_schema=form, **settings)


def config(thread: str = "t") -> Any:
    """The configuration of a thread, with whose it is in the metadata, for a backfill."""
    return {"configurable": {"thread_id": thread}, "metadata": {"user_id": "ann"}}


def talk(agent: Any, text: Any, thread: str = "t", *, context: Any = ANN, way: str = "invoke") -> dict[str, Any]:
    """One turn, with or without an event loop."""
    given: Any = {"messages": text} if isinstance(text, (str, list)) else text
    if way == "invoke":
        return agent.invoke(given, config(thread), context=context)
    return asyncio.run(agent.ainvoke(given, config(thread), context=context))


def told(store: MemoryStore, scope: tuple[str, ...] = ("ann",), thread: str = "t") -> list[tuple[str, str]]:
    """Who said what in a conversation."""
    return [(turn.role, turn.text) for turn in store.turns(scope, thread, limit=None)]


def ids(store: MemoryStore, scope: tuple[str, ...] = ("ann",), thread: str = "t") -> list[str]:
    """The ids of its messages."""
    return [turn.message_id for turn in store.turns(scope, thread, limit=None)]


def owner(found: Any) -> tuple[str, ...]:
    """Whose conversation a checkpoint is of."""
    return (found.metadata["user_id"],)


@contextmanager
def saver(kind: str, folder: Path, postgres_url: str | None = None) -> Iterator[Any]:
    """A checkpointer for blocking runs."""
    if kind == "memory":
        yield InMemorySaver()
    elif kind == "sqlite":
        with SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as made:
            yield made
    else:
        assert postgres_url is not None
        with PostgresSaver.from_conn_string(postgres_url) as made:
            made.setup()
            yield made


@asynccontextmanager
async def async_saver(kind: str, folder: Path, postgres_url: str | None = None) -> AsyncIterator[Any]:
    """A checkpointer for an event loop."""
    if kind == "memory":
        yield InMemorySaver()
    elif kind == "sqlite":
        async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as made:
            yield made
    else:
        assert postgres_url is not None
        async with AsyncPostgresSaver.from_conn_string(postgres_url) as made:
            await made.setup()
            yield made
