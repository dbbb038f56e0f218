"""A write transaction that stays open, held by a process of its own."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_spawn = multiprocessing.get_context("spawn")
# Every item gets a new state that nobody sees yet.
_CHANGE = "UPDATE {schema}items SET updated_at = updated_at + 1"


@contextmanager
def held(engine: str, url: str) -> Iterator[None]:
    """Keep every item of a store locked by an uncommitted change for the length of a `with` block.

    Args:
        engine: `sqlite` or `postgres`.
        url: Of the store.
    """
    ours, theirs = _spawn.Pipe()
    process = _spawn.Process(target=_hold, args=(engine, url, theirs), daemon=True)
    process.start()
    try:
        if not ours.poll(60) or ours.recv() != "held":
            raise RuntimeError("the write transaction could not be opened")
        yield
    finally:
        if process.is_alive():
            ours.send("release")
            process.join(10)
        if process.is_alive():
            process.terminate()
            process.join()


def _hold(engine: str, url: str, pipe: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if engine == "sqlite":
        import apsw

        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(_CHANGE.format(schema=""))
        pipe.send("held")
        pipe.recv()
        connection.execute("ROLLBACK")
        connection.close()
    else:
        import psycopg

        with psycopg.connect(url) as connection:
            connection.execute(_CHANGE.format(schema="memoranda."))
            pipe.send("held")
            pipe.recv()
            connection.rollback()
