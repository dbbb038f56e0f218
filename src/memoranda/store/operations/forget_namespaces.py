"""Forgetting whole namespaces, so that nobody has to wait for it and nothing of a stopped call is lost.

In one step a namespace loses its name: nothing of it is read or found any more, whoever writes to that name begins
a new one, and its rows are nobody's. Then these go, a page in each transaction. If the process is stopped, whoever
forgets something next removes the rest.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from memoranda.store.effects import Batch, Body, Operation, Sql, query, transact
from memoranda.store.forgetting import Removed
from memoranda.store.keys import MAX_NAME_BYTES
from memoranda.store.namespaces import decode_namespace, encode_namespace
from memoranda.store.operations.context import Context
from memoranda.store.operations.item_passages import NUMBER_MASK
from memoranda.store.operations.workspace import NUMBER_BITS
from memoranda.store.recorded_changes import decode_changes
from memoranda.store.selection import Selection
from memoranda.store.types import namespaces_of

PAGE: Final = 200
"""So many rows of each table go in one transaction."""

NOBODY: Final = "forgotten".ljust(MAX_NAME_BYTES + 1, "-")
"""The tenant of namespaces without a name: one that is too long to be anybody's."""


def selected(context: Context, selection: Selection) -> Operation[list[tuple[int, str]]]:
    """The ids and texts of the namespaces that are meant."""
    found: list[tuple[int, str]] = []
    after = ""
    while True:
        params = {"tenant": context.tenant, **selection.params, "after": after, "limit": PAGE}
        rows = yield from transact("read", partial(query, "namespaces_selected", **params))
        found += [(row[0], row[1]) for row in rows]
        if len(rows) < PAGE:
            return found
        after = rows[-1][1]


def count_namespace(namespace_id: int, labels: str | None = None) -> Operation[Removed]:
    """What forgetting a namespace would remove."""
    params = {"id": namespace_id, **_rows_of(namespace_id)}
    ((items, revisions, turns, threads, blocks),) = yield from transact(
        "read", partial(query, "count_namespace", **params)
    )
    return Removed(None if labels is None else decode_namespace(labels), True, items, revisions, turns, threads, blocks)


def forget_namespace(context: Context, labels: str) -> Operation[Removed | None]:
    """Forget a namespace; None if there is none of this name."""
    first = yield from transact("write", lambda: _disown(context, labels))
    if first is None:
        return None
    namespace_id, removed, more = first
    while more:
        some, more = yield from transact("write", partial(_clear, namespace_id))
        removed += some
    return Removed(decode_namespace(labels)) + removed


def forget_leftovers(*, dry_run: bool = False) -> Operation[Removed]:
    """Remove the rest of what an earlier call had begun to remove."""
    removed = Removed(None)
    if dry_run:
        rows = yield from transact("read", partial(query, "disowned_namespaces", nobody=NOBODY, limit=PAGE))
        for (namespace_id,) in rows:
            removed += yield from count_namespace(namespace_id)
        return removed
    while rows := (yield from transact("read", partial(query, "disowned_namespaces", nobody=NOBODY, limit=PAGE))):
        for (namespace_id,) in rows:
            more = True
            while more:
                some, more = yield from transact("write", partial(_clear, namespace_id))
                removed += some
    return removed


def _disown(context: Context, labels: str) -> Body[tuple[int, Removed, bool] | None]:
    rows = yield from query("disown_namespace", tenant=context.tenant, labels=labels, nobody=NOBODY, nothing=b"")
    if not rows:
        return None
    return (rows[0][0], *(yield from _clear(rows[0][0])))


def _clear(namespace_id: int) -> Body[tuple[Removed, bool]]:
    """Remove a page of what belongs to a namespace without a name; whether there may be more."""
    # Embedding and tending hold this lock too, so that nothing comes behind what is removed here.
    locked = yield from query("lock_disowned", id=namespace_id, nobody=NOBODY)
    if not locked:
        return Removed(None), False
    place = {"id": namespace_id, "limit": PAGE}
    rows = _rows_of(namespace_id)
    ids = {"first": rows["first_row"], "last": rows["last_row"], "limit": PAGE}
    blocks, revisions, items, turns, threads = yield Batch(
        [
            Sql("forget_blocks", {"first": namespace_id * 2, "last": namespace_id * 2 + 1, "limit": PAGE}),
            Sql("forget_revisions", place),
            Sql("forget_items", ids),
            Sql("forget_turns", ids),
            Sql("forget_threads", place),
        ]
    )
    gone = Removed(None, True, len(items), len(revisions), len(turns), len(threads), len(blocks))
    more = max(map(len, (blocks, revisions, items, turns, threads))) == PAGE
    if not more:
        yield Batch([Sql("finish_disowned", {"id": namespace_id, "nobody": NOBODY})], last=True)
    return gone, more


def _rows_of(namespace_id: int) -> dict[str, int]:
    """The ids that its items and turns may have."""
    first = namespace_id << NUMBER_BITS
    return {"first_row": first, "last_row": first | NUMBER_MASK}


def proposals_selected(context: Context, selection: Selection) -> Operation[list[int]]:
    """The numbers of the proposals that would change one of these namespaces, or would have."""
    found: list[int] = []
    after = 0
    while True:
        params = {"tenant": context.tenant, **selection.params, "after": after, "limit": PAGE}
        rows = yield from transact("read", partial(query, "proposals_selected", **params))
        found += [row[0] for row in rows]
        if len(rows) < PAGE:
            return found
        after = rows[-1][0]


def forget_proposal(context: Context, number: int, selection: Selection, *, dry_run: bool) -> Operation[bool | None]:
    """Remove a proposal as a whole: its changes land together or not at all, and its reason speaks of all of them.

    Returns:
        Whether it was about other namespaces too; None if it is gone already.
    """
    return (yield from transact("write", lambda: _forget_proposal(context, number, selection, dry_run)))


def _forget_proposal(context: Context, number: int, selection: Selection, dry_run: bool) -> Body[bool | None]:
    rows = yield from query("lock_proposal_by_number", number=number)
    if not rows:
        return None
    changes, _ = decode_changes(rows[0][0])
    namespaces = set(namespaces_of(changes))
    if not dry_run:
        scopes = [
            Sql("delete_proposal_scope", {"tenant": context.tenant, "labels": labels, "number": number})
            for labels in sorted(map(encode_namespace, namespaces))
        ]
        # A run that it came from has nothing to wait for any more.
        yield Batch([Sql("proposal_gone", {"tenant": context.tenant, "number": number})])
        yield Batch([Sql("delete_proposal", {"number": number}), *scopes], last=True)
    return not all(map(selection.holds, namespaces))
