"""Fixtures: every storage test runs on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import faulthandler
import gc
import signal
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from memoranda import MemoryStore, open_store
from tests.support.postgres import Reused, create_database, drop_database, running_server

ENGINES = ("sqlite", "postgres")

# What is started in the background by a shell ignores Ctrl-C, and so would every process that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says more about the machine than about the code; what hangs is ended by pytest-timeout.
settings.register_profile("memoranda", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("memoranda")


def pytest_collection_finish() -> None:
    """Spare the collector what stays until the end: the modules and the tests are most of all there is."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """End a run that has nothing left to do but does not end, and tell where it stands."""
    faulthandler.dump_traceback_later(60, exit=True, file=sys.__stderr__)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a running server, this worker's own: the feed waits for every transaction of its server."""
    with running_server(Path(tempfile.gettempdir()) / f"memoranda-postgres-{uuid.uuid4().hex}") as url:
        yield url


@pytest.fixture(scope="session")
def postgres_database(postgres_server: str) -> Iterator[Reused]:
    """This worker's own database."""
    name = f"memoranda_{uuid.uuid4().hex[:12]}"
    yield Reused(create_database(postgres_server, name))
    drop_database(postgres_server, name)


@pytest.fixture
def postgres_url(postgres_database: Reused, request: pytest.FixtureRequest) -> str:
    """The URL of an empty store, or with the mark `blank` of a database without one; earlier tests left nothing."""
    if request.node.get_closest_marker("blank"):
        return postgres_database.blank()
    return postgres_database.with_empty_store()


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
