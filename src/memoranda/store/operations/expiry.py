"""Removing what has outlived its time, history included: a time to live is a request to forget."""

from __future__ import annotations

from memoranda.store.changes import Author
from memoranda.store.effects import Batch, Body, Operation, query
from memoranda.store.operations import tending
from memoranda.store.operations.context import Context
from memoranda.store.operations.workspace import Workspace

_PAGE = 200


def sweep_ttl(context: Context) -> Operation[int]:
    """Delete expired items for good, in short transactions.

    Returns:
        How many items were removed.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     store.sweep_ttl()
        0
    """
    swept = 0
    while True:
        removed, found = yield from tending.write(context, lambda: _sweep(context))
        swept += removed
        if found < _PAGE:
            return swept


def _sweep(context: Context) -> Body[tuple[tuple[int, int], list[int]]]:
    """One page: how many items were removed, and how many had expired."""
    work = Workspace(context, Author())
    rows = yield from query("expired_items", tenant=context.tenant, now=work.now, limit=_PAGE)
    # Loading an expired item under lock purges it; one that was written anew meanwhile is left alone.
    yield from work.open([(labels, key) for _, labels, key in rows], set())
    yield Batch(work.statements(), last=True)
    return (work.purged, len(rows)), work.to_tend
