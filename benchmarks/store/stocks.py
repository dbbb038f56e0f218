"""Filled stores: every contender of one comparison, with the same files in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from benchmarks.support.contenders import Contender, DeepAgents, Namespace, Native, Raw, fill
from benchmarks.support.postgres import database, settle
from benchmarks.support.texts import files
from memoranda import open_store

NAMESPACE: Namespace = ("acme", "ann", "notes")
OURS = "Memoranda"
LABELS = {"sqlite": "SqliteStore", "postgres": "PostgresStore"}


class Entry(NamedTuple):
    """One contender and its share of a store that it may share with one other.

    Args:
        contender: Who.
        offset: Its own files are those whose number is `offset` modulo 2.
    """

    contender: Contender
    offset: int = 0


@contextmanager
def stocks(
    engine: str,
    size: int,
    *,
    folder: Path,
    server: str | None,
    peers: bool,
    progress: Callable[[str, int], None],
) -> Iterator[list[Entry]]:
    """All contenders of one engine with `size` files each, ours first.

    Args:
        engine: `sqlite` or `postgres`.
        size: Files in the namespace.
        folder: Where database files go.
        server: The PostgreSQL server.
        peers: Whether anybody beside Memoranda takes part.
        progress: Called with the store's name and the number of files that were put.
    """
    with ExitStack() as stack:
        entries: list[Entry] = []

        def add(store: BaseStore, name: str, *contenders: Contender) -> None:
            fill(store, NAMESPACE, files(size), lambda count: progress(name, count))
            entries.extend(Entry(contender, offset) for offset, contender in enumerate(contenders))

        urls: list[str] = []

        def place(name: str) -> str:
            if engine == "sqlite":
                return str(folder / f"{name}-{size}.db")
            assert server is not None
            urls.append(stack.enter_context(database(server, f"memoranda_bench_{name}")))
            return urls[-1]

        url = place("ours")
        ours = stack.enter_context(open_store(url if engine == "postgres" else f"sqlite:///{url}"))
        if peers:
            add(
                ours,
                OURS,
                Native(OURS, ours, NAMESPACE),
                DeepAgents(f"Deep Agents / {OURS}", ours, NAMESPACE),
            )
            theirs = stack.enter_context(peer(engine, place("peer")))
            label = LABELS[engine]
            add(
                theirs,
                label,
                Raw(label, theirs, NAMESPACE),
                DeepAgents(f"Deep Agents / {label}", theirs, NAMESPACE),
            )
            memory = InMemoryStore()
            add(
                memory,
                "InMemoryStore",
                Raw("InMemoryStore", memory, NAMESPACE),
                DeepAgents("Deep Agents / InMemoryStore", memory, NAMESPACE),
            )
        else:
            add(ours, OURS, Native(OURS, ours, NAMESPACE))
        for filled in urls:
            settle(filled)
        yield entries


@contextmanager
def peer(engine: str, where: str) -> Iterator[BaseStore]:
    """LangGraph's own store on this engine, opened as its documentation says and set up."""
    if engine == "sqlite":
        from langgraph.store.sqlite import SqliteStore

        with SqliteStore.from_conn_string(where) as store:
            store.setup()
            yield store
    else:
        from langgraph.store.postgres import PostgresStore

        with PostgresStore.from_conn_string(where) as store:
            store.setup()
            yield store
