"""Where stores are made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.support.postgres import database


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
