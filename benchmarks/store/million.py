"""The same namespace of 10,000 files, alone in a store and in a store of a million."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.store.stocks import NAMESPACE, OURS, Entry
from benchmarks.support.contenders import Native, fill
from benchmarks.support.postgres import database, settle
from benchmarks.support.texts import files
from memoranda import open_store

_BATCH = 1_000


@contextmanager
def pair(
    engine: str,
    total: int,
    size: int,
    *,
    folder: Path,
    server: str | None,
    progress: Callable[[int], None],
) -> Iterator[list[Entry]]:
    """Memoranda twice: with one namespace, and with as many equal ones as make up the total.

    Args:
        engine: `sqlite` or `postgres`.
        total: Files in the large store.
        size: Files in each namespace.
        folder: Where database files go.
        server: The PostgreSQL server.
        progress: Called with the number of files put.
    """
    with ExitStack() as stack:
        entries: list[Entry] = []
        for name, others in (("large", max(total // size - 1, 0)), ("small", 0)):
            if engine == "sqlite":
                url = f"sqlite:///{folder / f'million-{name}.db'}"
            else:
                assert server is not None
                url = stack.enter_context(database(server, f"memoranda_bench_{name}"))
            store = stack.enter_context(open_store(url))
            crowd = [NAMESPACE, *(("acme", f"user-{number:03}", "notes") for number in range(others))]
            # In turns, so that the files of a namespace lie scattered over the database.
            for start in range(0, size, _BATCH):
                some = list(files(min(_BATCH, size - start), start))
                for namespace in crowd:
                    fill(store, namespace, some, progress)
            if engine == "postgres":
                settle(url)
            held = len(crowd) * size
            entries.append(Entry(Native(f"{OURS}, {size:,} of {held:,} files", store, NAMESPACE)))
        yield entries
