"""Counting what a store holds, from its namespaces' rows."""

from __future__ import annotations

from memoranda.store.effects import Body, Operation, query, transact
from memoranda.store.operations.context import Context


def totals(context: Context) -> Operation[tuple[int, int, int]]:
    """Count namespaces, live items and changes recorded."""

    def body() -> Body[tuple[int, int, int]]:
        rows = yield from query("totals", tenant=context.tenant)
        namespaces, items, revisions = rows[0]
        return int(namespaces), int(items), int(revisions)

    return (yield from transact("read", body))
