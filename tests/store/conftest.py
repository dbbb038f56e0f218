"""Stores that many tests share; each test keeps to a namespace of its own."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import apsw
import psycopg
import pytest

from memoranda import FeedChange, MemoryStore, open_store
from tests.support.postgres import create_database, drop_database

Namespace = tuple[str, ...]
_numbers = itertools.count(1)


def fresh() -> Namespace:
    """A namespace that nobody else uses."""
    return (f"ns-{next(_numbers)}-{uuid.uuid4().hex[:6]}",)


@pytest.fixture(scope="session")
def shared_postgres_url(postgres_server: str) -> Iterator[str]:
    """The URL of a database that holds one store for the whole run."""
    name = f"memoranda_shared_{uuid.uuid4().hex[:12]}"
    yield create_database(postgres_server, name)
    drop_database(postgres_server, name)


@pytest.fixture(scope="session")
def shared_sqlite_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a file that holds one store for the whole run."""
    return f"sqlite:///{tmp_path_factory.mktemp('shared') / 'memory.db'}"


@pytest.fixture(scope="session", params=("sqlite", "postgres"))
def durable_url(request: pytest.FixtureRequest) -> str:
    """The URL of a store that others share, on each engine in turn."""
    return request.getfixturevalue(f"shared_{request.param}_url")


@pytest.fixture(scope="session")
def durable(durable_url: str) -> Iterator[MemoryStore]:
    """A store that others share, on each engine in turn."""
    with open_store(durable_url) as store:
        yield store


@pytest.fixture(scope="session", params=("sqlite", "postgres", "memory"))
def shared(request: pytest.FixtureRequest) -> Iterator[MemoryStore]:
    """A store that others share, on each engine in turn and in memory."""
    url = "memory://" if request.param == "memory" else request.getfixturevalue(f"shared_{request.param}_url")
    with open_store(url) as store:
        yield store


@pytest.fixture
def ns() -> Namespace:
    """A namespace of this test's own."""
    return fresh()


class Clock:
    """A clock that a test turns by hand, in seconds."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def forward(self, seconds: float) -> None:
        """Let time pass; a negative number sets the clock back."""
        self.now += int(seconds * 1_000_000)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def clocked(shared: MemoryStore, clock: Clock) -> Callable[..., MemoryStore]:
    """The shared store as a tenant and under a clock of the test's own, with settings of expiry where given."""
    tenant = fresh()[0]

    def opening(**settings: Any) -> MemoryStore:
        context = replace(shared.context, clock=clock, tenant=tenant, **settings)
        return MemoryStore(shared.engine, context, url=shared.url)

    return opening


def settled(store: MemoryStore) -> list[FeedChange]:
    """The whole feed, once it has caught up.

    On PostgreSQL it waits for every transaction that runs anywhere on the server, autovacuum's and those of tests
    beside this one too.
    """
    deadline = time.monotonic() + 20
    while True:
        changes = store.changes(limit=1_000_000)
        if len(changes) == store.stats().revisions or time.monotonic() > deadline:
            return changes
        time.sleep(0.01)


def run_sql(url: str, statement: str, *params: Any) -> int:
    """Change a store's tables behind its back; returns the number of rows changed."""
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        try:
            connection.set_busy_timeout(5_000)
            connection.execute(statement, params)
            return connection.changes()
        finally:
            connection.close()
    with psycopg.connect(url, autocommit=True, options="-c search_path=memoranda") as connection:
        return connection.execute(statement.replace("?", "%s"), params).rowcount  # type: ignore[arg-type]
