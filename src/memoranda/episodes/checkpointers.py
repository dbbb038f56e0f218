"""Opening the database of a LangGraph checkpointer, to read the conversations that it holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from memoranda.store.urls import redacted
from memoranda.transfer.database_files import copied, is_database
from memoranda.transfer.errors import SourceError
from memoranda.transfer.langgraph_sources import connected, is_postgres, sqlite_path, sqlite_tables

_TABLE = "checkpoints"


def open_checkpointer(source: str) -> AbstractContextManager[BaseCheckpointSaver[Any]]:
    """Open a checkpointer by its path or URL, for reading: its database is not changed.

    Args:
        source: The file of a `SqliteSaver`, or `postgresql://…` of a `PostgresSaver`.

    Returns:
        The checkpointer, open within `with`.

    Raises:
        SourceError: It cannot be read, or holds no checkpoints, or a package lacks.
    """
    return _postgres(source) if is_postgres(source) else _sqlite(sqlite_path(source))


@contextmanager
def _sqlite(path: Path) -> Generator[BaseCheckpointSaver[Any]]:
    try:
        from langgraph.checkpoint.sqlite import SqliteSaver
    except ImportError as error:
        raise _lacks("langgraph-checkpoint-sqlite") from error
    try:
        known = is_database(path)
    except OSError as error:
        raise SourceError(
            f"{path} cannot be read: {error.strerror or error}.", "Give the path of a SQLite file."
        ) from error
    if not known:
        raise SourceError(f"{path} is no SQLite database.", "Give the file of a LangGraph SqliteSaver.")
    with copied(path) as copy:
        if _TABLE not in sqlite_tables(copy):
            raise _no_checkpoints(str(path))
        # The checkpointer brings another SQLite library, so it gets a connection of its own to the copy.
        with closing(sqlite3.connect(copy.filename, check_same_thread=False)) as connection:
            yield SqliteSaver(connection)


@contextmanager
def _postgres(url: str) -> Generator[BaseCheckpointSaver[Any]]:
    try:
        from langgraph.checkpoint.postgres import PostgresSaver
    except ImportError as error:
        raise _lacks("langgraph-checkpoint-postgres") from error
    with connected(url) as connection:
        found = connection.execute("SELECT to_regclass(%s)", (_TABLE,)).fetchone()
    if found is None or found[0] is None:
        raise _no_checkpoints(redacted(url))
    with PostgresSaver.from_conn_string(url) as saver:
        yield saver


def _no_checkpoints(place: str) -> SourceError:
    return SourceError(f"{place} holds no checkpoints.", "Give the database that the agent's checkpointer writes to.")


def _lacks(package: str) -> SourceError:
    return SourceError(f"Reading it needs {package}, which is not installed.", f"Run `pip install {package}`.")
