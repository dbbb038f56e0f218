"""Opening a SQLite database the way this store wants it."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import apsw

from memoranda.errors import StoreCorruptError, StoreUnavailableError
from memoranda.store.engines.sqlite.errors import translated

MINIMUM = (3, 40)
_MEMORY = ":memory:"
_SOON = 20


class Cursor(Protocol):
    """What is used of apsw's cursor."""

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        ...


class Connection(Protocol):
    """What is used of apsw's connection, whose own stubs leave parameters and rows untyped."""

    def execute(self, statements: str, bindings: Mapping[str, Any] | Sequence[Any] | None = None) -> Cursor:
        """Run a statement."""
        ...

    def get_autocommit(self) -> bool:
        """Whether no transaction is open."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


def connect(path: str, patience: Patience, *, read_only: bool = False) -> Connection:
    """Open a connection with the pragmas and the busy handler of this store.

    Args:
        path: The file, or `:memory:`.
        patience: How long to wait for another process.
        read_only: Refuse every write on this connection.

    Raises:
        StoreError: The file cannot be opened as a database.
    """
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split(".")[:2])
    if version < MINIMUM:
        raise StoreUnavailableError(
            f"apsw brings SQLite {apsw.sqlite_lib_version()}, which is too old.",
            "Upgrade with `pip install -U apsw`.",
        )
    if path != _MEMORY and not Path(path).parent.is_dir():
        raise StoreUnavailableError(f"The folder {Path(path).parent} does not exist.", "Create it first.")
    if path != _MEMORY and Path(path).is_dir():
        raise StoreUnavailableError(f"{path} is a folder.", "Name a file in it.")
    try:
        opened = apsw.Connection(path)
        opened.set_busy_handler(patience)
        connection = cast("Connection", opened)
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        # NORMAL: a commit survives the death of the process; after a loss of power the last ones may be missing,
        # never half there.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA cache_size = -32768")
        connection.execute("PRAGMA trusted_schema = OFF")
        if read_only:
            connection.execute("PRAGMA query_only = ON")
    except apsw.Error as error:
        raise translated(error, path) from error
    except UnicodeDecodeError as error:
        raise StoreCorruptError(f"{path} is no SQLite database.", "Choose another file.") from error
    return connection


class Patience:
    """A busy handler that sleeps a little and at random, so that no process is starved by another's rhythm.

    Args:
        timeout: Seconds to wait for another process.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.deadline: float | None = None
        """When to give up, on the monotonic clock; None: `timeout` after the first try."""
        self._first_deadline = 0.0

    def __call__(self, tries: int) -> bool:
        """Wait a moment; False gives up."""
        now = time.monotonic()
        if tries == 0:
            self._first_deadline = self.deadline if self.deadline is not None else now + self.timeout
        if now > self._first_deadline:
            return False
        time.sleep(random.uniform(0.000_1, 0.001 if tries < _SOON else 0.004))
        return True
