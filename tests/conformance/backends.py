"""The backends that the documentation compares: how each is made over an empty tree, and what it claims."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import deepagents.backends as theirs
from deepagents.middleware.filesystem import FilesystemState
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres import PostgresStore
from langgraph.store.sqlite import SqliteStore

from memoranda import open_store
from memoranda.backends import (
    CompositeBackend,
    FilesystemBackend,
    GuardedBackend,
    StagedBackend,
    StateBackend,
    StoreBackend,
)
from memoranda.testing.backend_conformance import Capabilities, CheckResult, Routed, in_graph, run_conformance
from tests.support.postgres import create_database

_numbers = count(1)


class Subject(NamedTuple):
    """A backend under test."""

    factory: Callable[[], Any]
    routed: Callable[[Mapping[str, Any]], Any] | None = None
    inside: Callable[[Callable[[], None]], None] | None = None
    claims: Capabilities = Capabilities()


Opened = AbstractContextManager[Subject]

ONE_STEP = Capabilities(concurrent=False)
"""What files in the state of one step of a graph claim."""


def _over(store: BaseStore) -> Callable[[], StoreBackend]:
    return lambda: StoreBackend(namespace=("checks", str(next(_numbers))), store=store)


def _routed(composite: Any, tree: Callable[[], Any]) -> Callable[[Mapping[str, Any]], Routed]:
    def build(routes: Mapping[str, Any]) -> Routed:
        default = tree()
        return Routed(composite(default, {name: tree() if to is None else to for name, to in routes.items()}), default)

    return build


@contextmanager
def _folder(made: Callable[[Path], Any]) -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as folder:
        yield made(Path(folder))


@contextmanager
def _store(
    opening: AbstractContextManager[BaseStore], made: Callable[[Callable[[], StoreBackend]], Subject]
) -> Iterator[Subject]:
    with opening as store:
        if hasattr(store, "setup"):
            store.setup()
        yield made(_over(store))


def _composite(tree: Callable[[], Any]) -> Subject:
    return Subject(lambda: CompositeBackend(tree(), {}), _routed(CompositeBackend, tree))


def _guarded(tree: Callable[[], Any]) -> Subject:
    return Subject(
        lambda: GuardedBackend(CompositeBackend(tree(), {})),
        lambda routes: _around(GuardedBackend, _routed(CompositeBackend, tree)(routes)),
    )


def _around(kind: Any, routed: Routed) -> Routed:
    return Routed(kind(routed.tree), routed.default)


def _settling(routed: Routed) -> Routed:
    return routed._replace(settle=routed.tree.commit_staged)


def _staged(tree: Callable[[], Any]) -> Subject:
    return Subject(
        lambda: StagedBackend(CompositeBackend(tree(), {})),
        lambda routes: _settling(_around(StagedBackend, _routed(CompositeBackend, tree)(routes))),
    )


def _their_store() -> Any:
    return theirs.StoreBackend(namespace=lambda _: ("checks",), store=InMemoryStore())


def _in_their_graph(check: Callable[[], None]) -> None:
    in_graph(check, schema=FilesystemState)


def openings(server: str, folder: Path) -> dict[str, Callable[[], Opened]]:
    """How each backend is opened, by the name of its column.

    Args:
        server: The URL of a PostgreSQL server.
        folder: An empty folder.
    """

    def ours(made: Callable[[Callable[[], StoreBackend]], Subject] = Subject) -> Opened:
        return _store(open_store(f"sqlite:///{folder / f'{uuid4().hex}.db'}"), made)

    def postgres() -> str:
        return create_database(server, f"checks_{uuid4().hex[:12]}")

    return {
        "StoreBackend, SQLite": ours,
        "StoreBackend, PostgreSQL": lambda: _store(open_store(postgres()), Subject),
        "StoreBackend, InMemoryStore": lambda: _store(nullcontext(InMemoryStore()), Subject),
        "StoreBackend, SqliteStore": lambda: _store(
            SqliteStore.from_conn_string(str(folder / "langgraph.db")),
            lambda tree: Subject(tree, claims=Capabilities(asynchronous=False)),
        ),
        "StoreBackend, PostgresStore": lambda: _store(PostgresStore.from_conn_string(postgres()), Subject),
        "StateBackend": lambda: nullcontext(Subject(StateBackend, inside=in_graph, claims=ONE_STEP)),
        "FilesystemBackend": lambda: nullcontext(Subject(lambda: _folder(FilesystemBackend))),
        "CompositeBackend": lambda: ours(_composite),
        "GuardedBackend": lambda: ours(_guarded),
        "StagedBackend": lambda: ours(_staged),
        "their StoreBackend": lambda: nullcontext(Subject(_their_store)),
        "their StateBackend": lambda: nullcontext(
            Subject(theirs.StateBackend, inside=_in_their_graph, claims=ONE_STEP)
        ),
        "their FilesystemBackend": lambda: nullcontext(
            Subject(lambda: _folder(lambda path: theirs.FilesystemBackend(path, virtual_mode=True)))
        ),
        "their CompositeBackend": lambda: nullcontext(
            Subject(lambda: theirs.CompositeBackend(_their_store(), {}), _routed(theirs.CompositeBackend, _their_store))
        ),
    }


OURS = (
    "StoreBackend, SQLite",
    "StoreBackend, PostgreSQL",
    "StoreBackend, InMemoryStore",
    "StoreBackend, SqliteStore",
    "StoreBackend, PostgresStore",
    "StateBackend",
    "FilesystemBackend",
    "CompositeBackend",
    "GuardedBackend",
    "StagedBackend",
)
THEIRS = ("their StoreBackend", "their StateBackend", "their FilesystemBackend", "their CompositeBackend")


def run_all(server: str, folder: Path, names: tuple[str, ...] = (*OURS, *THEIRS)) -> dict[str, list[CheckResult]]:
    """Run the checks over backends, two at a time.

    Args:
        server: The URL of a PostgreSQL server.
        folder: An empty folder.
        names: The backends wanted.
    """
    opening = openings(server, folder)

    def run(name: str) -> list[CheckResult]:
        with opening[name]() as subject:
            return run_conformance(
                subject.factory, routed=subject.routed, inside=subject.inside, capabilities=subject.claims
            )

    logging.getLogger("memoranda").addHandler(logging.NullHandler())
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(names, pool.map(run, names), strict=True))
