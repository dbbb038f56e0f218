"""Fixtures: every storage test runs on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from memoranda import MemoryStore, open_store
from tests.support.postgres import create_database, drop_database, running_server

ENGINES = ("sqlite", "postgres")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a running server; workers of one test run share it."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid.uuid4().hex)
    with running_server(Path(tempfile.gettempdir()) / f"memoranda-postgres-{run}") as url:
        yield url


@pytest.fixture(scope="session")
def postgres_database(postgres_server: str) -> Iterator[str]:
    """The URL of this worker's own database."""
    name = f"memoranda_{uuid.uuid4().hex[:12]}"
    yield create_database(postgres_server, name)
    drop_database(postgres_server, name)


@pytest.fixture
def postgres_url(postgres_database: str) -> str:
    """The URL of an empty database; what earlier tests left, LangGraph's tables too, is gone."""
    with psycopg.connect(postgres_database, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS memoranda CASCADE")
        connection.execute("DROP SCHEMA IF EXISTS public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return postgres_database


@pytest.fixture
def other_postgres_url(postgres_server: str) -> Iterator[str]:
    """The URL of a second, empty database."""
    name = f"memoranda_{uuid.uuid4().hex[:12]}"
    yield create_database(postgres_server, name)
    drop_database(postgres_server, name)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """The name of the engine under test."""
    return request.param


@pytest.fixture
def store_url(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store, on each engine in turn."""
    if engine == "postgres":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path / 'memory.db'}"


@pytest.fixture
def other_store_url(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a second empty store on the same engine."""
    if engine == "postgres":
        return request.getfixturevalue("other_postgres_url")
    return f"sqlite:///{tmp_path / 'other.db'}"


@pytest.fixture
def open_here() -> Iterator[Callable[..., MemoryStore]]:
    """`open_store`, with everything opened closed at the end of the test."""
    opened: list[MemoryStore] = []

    def opening(url: str, **settings: object) -> MemoryStore:
        opened.append(open_store(url, **settings))  # type: ignore[arg-type]
        return opened[-1]

    yield opening
    for store in opened:
        store.close()


@pytest.fixture
def store(store_url: str, open_here: Callable[..., MemoryStore]) -> MemoryStore:
    """An empty store, on each engine in turn."""
    return open_here(store_url)
