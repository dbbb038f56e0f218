"""Bringing in what LangGraph's own stores hold."""

from __future__ import annotations

from memoranda.store.changes import Author, Namespace
from memoranda.store.store import MemoryStore
from memoranda.transfer.types import Progress, TransferReport


def import_langgraph(
    store: MemoryStore,
    source: str,
    *,
    prefix: Namespace = (),
    strip_prefix: str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
    author: Author | None = None,
) -> TransferReport:
    """Bring in the items of a LangGraph `SqliteStore` or `PostgresStore`, with their times and times to live.

    A SQLite file is read through a copy, so that two SQLite libraries never open one file. An item that is here with
    the same value is left alone; of two that differ the one changed last wins, and what it replaces stays in the
    history. So a second run brings in only what changed.

    Args:
        store: The store to write to.
        source: The path of a SQLite file, `sqlite:///…`, or `postgresql://…`.
        prefix: Only namespaces that start with these labels.
        strip_prefix: A folder to take off the keys that start with it, for example `/memories/`.
        dry_run: Say what would be done, but write nothing.
        progress: Called with the items done so far and their total.
        author: Who imports; None takes `acting_as`. The reason is "imported from …" unless it says another.

    Returns:
        What was brought in.

    Raises:
        SourceError: The source cannot be read, or holds no LangGraph store.
        KeyCollisionError: Without its prefix an item would get the key of another.
    """
    raise NotImplementedError
