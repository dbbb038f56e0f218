"""Where stores are made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import LiteralString
from urllib.parse import urlsplit

import psycopg
from psycopg.sql import SQL, Identifier

from benchmarks.support.postgres import database, settle


@contextmanager
def place(engine: str, name: str, folder: Path, server: str | None) -> Iterator[str]:
    """The URL of a store that does not exist yet; a database is dropped afterwards.

    Args:
        engine: `sqlite` or `postgres`.
        name: Tells it from the others of this run.
        folder: Where SQLite files go.
        server: The PostgreSQL server.
    """
    if engine == "sqlite":
        yield f"sqlite:///{folder / name}.db"
        return
    assert server is not None
    with database(server, f"memoranda_bench_{name}") as url:
        yield url


@contextmanager
def hurried(url: str) -> Iterator[str]:
    """The same store to be filled, where nothing has to survive a power cut; vacuumed and analysed afterwards.

    Args:
        url: Of a store that nobody has open; it is to be closed within the block.
    """
    if url.startswith("sqlite"):
        yield url
        return
    name = Identifier(urlsplit(url).path.strip("/"))

    def order(command: LiteralString) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(SQL(command).format(name))

    order("ALTER DATABASE {} SET synchronous_commit = off")
    try:
        yield url
    finally:
        order("ALTER DATABASE {} RESET synchronous_commit")
    settle(url)
