"""How much room a history takes, and how fast the past is read: one-line edits of a long file."""

from __future__ import annotations

import random
from collections.abc import Callable
from time import perf_counter
from typing import Any, LiteralString

from benchmarks.support.measure import quantile
from benchmarks.support.texts import long_text, text_of
from memoranda import MemoryStore, open_store

_NAMESPACE = ("acme", "ann", "long")
_KEY = "/log/long.md"
_LENGTH = 100_000


def measure(engine: str, url: str, edits: int, progress: Callable[[], None]) -> dict[str, float]:
    """Edit one line of a file of 100 KB again and again.

    Args:
        engine: `sqlite` or `postgres`.
        url: Of an empty store.
        edits: How often.
        progress: Called after each edit.

    Returns:
        Bytes that the rows and indexes of the history grew by (`history_bytes`) and that the whole database grew by
        (`database_bytes`), and times in milliseconds.
    """
    text = long_text(_LENGTH)
    lines = text.splitlines()
    chance = random.Random(11)
    new_lines = [line for number in range(40) for line in text_of(number).splitlines() if len(line) > 40]
    edited: list[float] = []
    with open_store(url) as store:
        store.write(_NAMESPACE, _KEY, text)
    history, database = _history_bytes(engine, url), _database_bytes(engine, url)
    with open_store(url) as store:
        for number in range(edits):
            place = chance.randrange(1, len(lines))
            line = f"{place + 1}. {chance.choice(new_lines)} (edit {number})"
            start = perf_counter()
            store.edit(_NAMESPACE, _KEY, f"\n{lines[place]}\n", f"\n{line}\n")
            edited.append(perf_counter() - start)
            lines[place] = line
            progress()
        current = "\n".join(lines) + "\n"
        item = store.get(_NAMESPACE, _KEY)
        assert item is not None and item.value["content"] == current

        def first() -> None:
            assert store.get_at(_NAMESPACE, _KEY, revision=1).value["content"] == text

        def blame() -> None:
            found = store.blame(_NAMESPACE, _KEY)
            assert [line.text for line in found] == lines

        times = {name: _times(call) for name, call in (("get_at_1", first), ("blame", blame))}
        times["get_at_any"] = [_any(store, 1 + number * edits // 60) for number in range(60)]
    result: dict[str, Any] = {
        "history_bytes": _history_bytes(engine, url) - history,
        "database_bytes": _database_bytes(engine, url) - database,
        "edit_p50_ms": quantile(edited, 0.5) * 1_000,
        "edit_p95_ms": quantile(edited, 0.95) * 1_000,
    }
    for name, seconds in times.items():
        for point, share in (("p50", 0.5), ("p95", 0.95), ("max", 1.0)):
            result[f"{name}_{point}_ms"] = quantile(seconds, share) * 1_000
    return result


def _any(store: MemoryStore, revision: int) -> float:
    start = perf_counter()
    store.get_at(_NAMESPACE, _KEY, revision=revision)
    return perf_counter() - start


def _times(call: Callable[[], None], samples: int = 15) -> list[float]:
    call()
    taken: list[float] = []
    for _ in range(samples):
        start = perf_counter()
        call()
        taken.append(perf_counter() - start)
    return taken


def _history_bytes(engine: str, url: str) -> int:
    """Pages of the table of revisions and of its indexes."""
    if engine == "sqlite":
        import apsw

        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        try:
            ((pages,),) = connection.execute(
                "SELECT sum(pgsize) FROM dbstat"
                " WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name = 'revisions')"
            )
            return pages
        finally:
            connection.close()
    return _ask_postgres(url, "SELECT pg_total_relation_size('memoranda.revisions')")


def _database_bytes(engine: str, url: str) -> int:
    """The file once it is closed, or the database as it is."""
    if engine == "sqlite":
        from pathlib import Path

        return Path(url.removeprefix("sqlite:///")).stat().st_size
    return _ask_postgres(url, "SELECT pg_database_size(current_database())")


def _ask_postgres(url: str, question: LiteralString) -> int:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(question).fetchone()
    assert row is not None
    return int(row[0])
