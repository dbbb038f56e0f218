"""Telling what a source is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, TypeAlias

from memoranda.store.migrations import VERSION_TABLE
from memoranda.store.urls import redacted
from memoranda.transfer.bundles import require_bundle
from memoranda.transfer.database_files import copied, is_database
from memoranda.transfer.errors import NotABundleError, SourceError
from memoranda.transfer.langgraph_sources import (
    connected,
    holds_langgraph,
    is_postgres,
    postgres_columns,
    sqlite_columns,
    sqlite_path,
    sqlite_tables,
)

SourceKind: TypeAlias = Literal["folder", "bundle", "langgraph-sqlite", "langgraph-postgres", "memoranda"]

_KNOWN = "Give a folder, a bundle, or the database of a LangGraph or Memoranda store."


def detect(path_or_url: str | Path) -> SourceKind:
    """Say what a path or URL is, for `memoranda import SOURCE`.

    Args:
        path_or_url: A folder, a file, `sqlite:///…` or `postgresql://…`.

    Returns:
        `"memoranda"` stands for another Memoranda store. A PostgreSQL database that holds both a LangGraph store and a
        Memoranda store is `"langgraph-postgres"`.

    Raises:
        SourceError: It does not exist, cannot be read, or is none of these.
        BundleTruncatedError: It is a bundle, as far as one can see, that ends early.
        BundleCorruptError: It is a bundle, as far as one can see, that is damaged.

    Example:
        >>> from tempfile import mkdtemp
        >>> detect(mkdtemp())
        'folder'
    """
    source = os.fspath(path_or_url)
    if is_postgres(source):
        return _postgres(source)
    path = sqlite_path(source)
    if path.is_dir():
        return "folder"
    try:
        if is_database(path):
            return _sqlite(path)
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror or error}.", _KNOWN) from error
    try:
        require_bundle(path)
    except NotABundleError:
        empty = path.is_file() and not path.stat().st_size
        what = "is empty" if empty else "is nothing that can be imported"
        raise SourceError(f"{path} {what}.", _KNOWN) from None
    return "bundle"


def _sqlite(path: Path) -> SourceKind:
    with copied(path) as connection:
        if VERSION_TABLE in sqlite_tables(connection):
            return "memoranda"
        if holds_langgraph(sqlite_columns(connection)):
            return "langgraph-sqlite"
    raise SourceError(f"{path} is the database of something else.", _KNOWN)


def _postgres(url: str) -> SourceKind:
    with connected(url) as connection:
        if holds_langgraph(postgres_columns(connection)):
            return "langgraph-postgres"
        found = connection.execute("SELECT to_regclass(%s)", (f"memoranda.{VERSION_TABLE}",)).fetchone()
        if found is not None and found[0] is not None:
            return "memoranda"
    raise SourceError(f"{redacted(url)} holds neither a LangGraph nor a Memoranda store.", _KNOWN)
