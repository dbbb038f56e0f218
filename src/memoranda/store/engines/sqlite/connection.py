"""Opening a SQLite database the way this store wants it."""

from __future__ import annotations

import logging
import os
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import apsw

from memoranda.errors import SchemaError, StoreCorruptError, StoreUnavailableError
from memoranda.store.engines.sqlite.errors import translated
from memoranda.store.migrations import VERSION_TABLE, unknown_schema

MINIMUM = (3, 40)
TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table'"
_CHECKPOINTS = frozenset({"checkpoints", "writes"})  # what LangGraph's SqliteSaver makes
_SQLITES_OWN = frozenset({"sqlite_sequence", "sqlite_stat1", "sqlite_stat4"})
_MEMORY = ":memory:"
_SOON = 20

logger = logging.getLogger(__name__)
_warned: set[str] = set()
"""The files that a warning was given about in this process."""


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
    if path != _MEMORY:
        _check_place(path)
    try:
        opened = apsw.Connection(path)
        opened.set_busy_handler(patience)
        connection = cast("Connection", opened)
        if not read_only:
            # Before anything is changed: the journal mode is kept in the file.
            _refuse_foreign(connection, path)
        _use_log(connection, patience)
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


def _check_place(path: str) -> None:
    """Refuse a path where no file can be, before SQLite makes one or says no more than that it cannot."""
    if "\0" in path:
        raise StoreUnavailableError(f"{path!r} holds a NUL character.", "Choose another name.")
    try:
        is_folder, has_folder = Path(path).is_dir(), Path(path).parent.is_dir()
    except OSError as error:
        raise StoreUnavailableError(
            f"{path} cannot be opened: {error.strerror}.", "Choose a file that this process may reach."
        ) from error
    if is_folder:
        raise StoreUnavailableError(f"{path} is a folder.", "Name a file in it.")
    if not has_folder:
        raise StoreUnavailableError(f"The folder {Path(path).parent} does not exist.", "Create it first.")


def _use_log(connection: Connection, patience: Patience) -> None:
    """Switch to the write-ahead log. Of two that do so at once SQLite refuses one without asking its busy handler."""
    tries = 0
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except apsw.BusyError:
            if not patience(tries):
                raise
            tries += 1


def _refuse_foreign(connection: Connection, path: str) -> None:
    """Refuse a file of somebody else's, and warn of one that LangGraph's checkpoints share with the store."""
    tables = frozenset(str(name) for (name,) in connection.execute(TABLES).fetchall()) - _SQLITES_OWN
    if VERSION_TABLE in tables:
        if tables >= _CHECKPOINTS:
            _warn_of_checkpoints(path)
    elif tables == _CHECKPOINTS:
        raise SchemaError(
            f"{path} holds LangGraph's checkpoints, which SqliteSaver keeps there, and no store.",
            "Give the store and SqliteSaver a file each; what is in this one stays as it is.",
        )
    elif tables:
        raise unknown_schema(path)


def _warn_of_checkpoints(path: str) -> None:
    """Say it once for each file: a store may be opened many times."""
    place = os.path.realpath(path)
    if place in _warned:
        return
    _warned.add(place)
    # SqliteSaver brings another SQLite library: closing its handle drops the locks of this one.
    logger.warning(
        "%s also holds LangGraph's checkpoints; give SqliteSaver a file of its own, or writes may be lost and the "
        "file damaged.",
        path,
    )


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
