"""Who writes: Memoranda through its own methods, and Deep Agents' `StoreBackend` over LangGraph's stores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from memoranda import ConflictError, MemoryStore, open_store

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

Namespace = tuple[str, ...]
NAMESPACE: Namespace = ("acme", "team", "shared")


class Refused(Exception):  # noqa: N818 - an outcome, not an error
    """The change was not made, and the caller was told: the text to replace is not there (any more)."""


class Rival(Protocol):
    """Files that many write."""

    def write(self, key: str, text: str, namespace: Namespace = NAMESPACE) -> None:
        """Set a file's text."""
        ...

    def read(self, key: str) -> str:
        """A file's text."""
        ...

    def edit(self, key: str, old: str, new: str) -> None:
        """Replace a piece of text, or raise `Refused`."""
        ...

    def append(self, key: str, line: str) -> None:
        """Add a line at the end."""
        ...


class Ours:
    """Memoranda's own methods."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store

    def write(self, key: str, text: str, namespace: Namespace = NAMESPACE) -> None:
        self.store.write(namespace, key, text)

    def read(self, key: str) -> str:
        item = self.store.get(NAMESPACE, key)
        assert item is not None, key
        return item.value["content"]

    def edit(self, key: str, old: str, new: str) -> None:
        try:
            self.store.edit(NAMESPACE, key, old, new)
        except ConflictError as error:
            raise Refused(str(error)) from error

    def append(self, key: str, line: str) -> None:
        self.store.append(NAMESPACE, key, line)


class Theirs:
    """Deep Agents' backend. It has no append; an agent reads the file and writes it with the line added."""

    def __init__(self, store: BaseStore) -> None:
        from deepagents.backends import StoreBackend  # takes a second, which our own workers need not wait

        self.store = store
        self._backends = partial(StoreBackend, store=store)
        self._backend = self._backends(namespace=lambda _: NAMESPACE)

    def write(self, key: str, text: str, namespace: Namespace = NAMESPACE) -> None:
        result = self._backends(namespace=lambda _: namespace).write(key, text)
        if result.error:
            raise RuntimeError(result.error)

    def read(self, key: str) -> str:
        result = self._backend.read(key, 0, 1_000_000)
        if result.error or result.file_data is None:
            raise RuntimeError(result.error or f"{key} has no content")
        return result.file_data["content"]

    def edit(self, key: str, old: str, new: str) -> None:
        result = self._backend.edit(key, old, new)
        if result.error:
            raise Refused(result.error)

    def append(self, key: str, line: str) -> None:
        before = self.read(key)
        self.write(key, before + ("" if before.endswith("\n") else "\n") + line)


@dataclass(frozen=True, slots=True)
class Opening:
    """Opens a rival in whatever process it is called in.

    Args:
        name: `memoranda`, `sqlite` or `postgres`.
        url: A store URL for Memoranda, a file for LangGraph's SqliteStore, a libpq URL for its PostgresStore.
        threads: How many will use it at once.
    """

    name: str
    url: str
    threads: int = 8

    @contextmanager
    def __call__(self) -> Iterator[Any]:
        if self.name == "memoranda":
            with open_store(self.url) as store:
                yield Ours(store)
        elif self.name == "sqlite":
            from langgraph.store.sqlite import SqliteStore

            with SqliteStore.from_conn_string(self.url) as store:
                yield Theirs(store)
        else:
            from langgraph.store.postgres import PostgresStore
            from langgraph.store.postgres.base import PoolConfig

            pool = PoolConfig(min_size=1, max_size=self.threads)
            with PostgresStore.from_conn_string(self.url, pool_config=pool) as store:
                yield Theirs(store)


@dataclass(frozen=True, slots=True)
class Given:
    """Hands out a rival that is open already, to the threads of this process."""

    rival: Rival

    @contextmanager
    def __call__(self) -> Iterator[Rival]:
        yield self.rival
