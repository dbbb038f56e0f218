"""The stores that the documentation compares: how each is opened, and what it claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from langgraph.store.base import BaseStore, TTLConfig
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres import PostgresStore
from langgraph.store.sqlite import SqliteStore

from memoranda import open_store
from memoranda.testing.store_conformance import Capabilities, CheckResult, StoreFactory, run_conformance
from tests.support.postgres import create_database

OURS = Capabilities(ttl=True, dotted_labels=True)


class Opened(NamedTuple):
    """A store under test."""

    factory: StoreFactory
    claims: Capabilities


def _same(opening: Callable[[TTLConfig | None], BaseStore]) -> StoreFactory:
    """Open one store for each setting of expiry, however many checks ask for it."""
    known: dict[str, BaseStore] = {}

    def factory(*, ttl: TTLConfig | None = None) -> BaseStore:
        name = repr(ttl)
        if name not in known:
            known[name] = opening(ttl)
        return known[name]

    return factory


@contextmanager
def ours(url: str) -> Iterator[Opened]:
    with ExitStack() as stack:
        yield Opened(_same(lambda ttl: stack.enter_context(open_store(url, ttl=ttl))), OURS)


@contextmanager
def _langgraph_sqlite(path: Path) -> Iterator[Opened]:
    with ExitStack() as stack:

        def opening(ttl: TTLConfig | None) -> BaseStore:
            store = stack.enter_context(SqliteStore.from_conn_string(str(path), ttl=ttl))
            store.setup()
            return store

        yield Opened(_same(opening), Capabilities(asynchronous=False))


@contextmanager
def _langgraph_postgres(url: str) -> Iterator[Opened]:
    with ExitStack() as stack:

        def opening(ttl: TTLConfig | None) -> BaseStore:
            store = stack.enter_context(PostgresStore.from_conn_string(url, ttl=ttl))
            store.setup()
            return store

        yield Opened(_same(opening), Capabilities())


@contextmanager
def _langgraph_memory() -> Iterator[Opened]:
    yield Opened(InMemoryStore, Capabilities(ttl=False))


KEPT_IN_STEP = (
    "Memoranda on SQLite",
    "Memoranda on PostgreSQL",
    "Memoranda in memory",
    "InMemoryStore",
    "PostgresStore",
)
"""The columns that the tests compare with the page."""

ALL = (*KEPT_IN_STEP[:4], "SqliteStore", "PostgresStore")


def run_all(server: str, folder: Path, names: tuple[str, ...] = ALL) -> dict[str, list[CheckResult]]:
    """Run the checks over stores side by side; most of the time they wait for something to expire.

    Args:
        server: The URL of a PostgreSQL server.
        folder: An empty folder.
        names: The stores wanted.
    """
    opening = {
        "Memoranda on SQLite": lambda: ours(f"sqlite:///{folder / 'ours.db'}"),
        "Memoranda on PostgreSQL": lambda: ours(create_database(server, f"ours_{uuid4().hex[:12]}")),
        "Memoranda in memory": lambda: ours("memory://"),
        "InMemoryStore": _langgraph_memory,
        "SqliteStore": lambda: _langgraph_sqlite(folder / "langgraph.db"),
        "PostgresStore": lambda: _langgraph_postgres(create_database(server, f"langgraph_{uuid4().hex[:12]}")),
    }

    def run(name: str) -> list[CheckResult]:
        with opening[name]() as store:
            return run_conformance(store.factory, capabilities=store.claims)

    with ThreadPoolExecutor(len(names)) as pool:
        return dict(zip(names, pool.map(run, names), strict=True))
