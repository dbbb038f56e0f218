"""The embedders' indexes of a store: who they are, which of them answers queries, and how far each has come.

From the moment that an index is registered, every writer leaves what it adds on that index's waiting list too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from memoranda.search.embedding import Identity
from memoranda.store.effects import Batch, Body, Operation, Row, Sql, query, transact
from memoranda.store.index_status import EmbedderIndex, IndexState, IndexStatus
from memoranda.store.operations.context import Context
from memoranda.store.operations.indexing import Part

ATTENDED = 24 * 3_600 * 1_000_000
"""Microseconds for which an index is kept, beside another that serves, after a process last used its embedder."""

Drop: TypeAlias = Literal["all", "unattended", "none"]

_PAGE = 256


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One embedder's index.

    Args:
        id: Its number.
        identity: Whose it is.
        state: `building` or `serving`.
        progress: The namespace up to which it was filled, while building.
        attended_until: Until when some process counts on it, in microseconds since the epoch.
    """

    id: int
    identity: Identity
    state: IndexState
    progress: str
    attended_until: int


def list_indexes(context: Context) -> Operation[list[IndexRow]]:
    """All indexes of the tenant."""
    return (yield from transact("snapshot", lambda: _indexes(context)))


def register(context: Context, identity: Identity) -> Operation[IndexRow]:
    """Find the index of an embedder, or begin one; from then on every writer leaves what it adds for it."""
    return (yield from transact("write", lambda: _register(context, identity)))


def attend(context: Context, index: IndexRow) -> Operation[None]:
    """Say that a process counts on an index, now and then, so that it is not dropped beside another."""
    now = context.clock()
    if index.attended_until < now + ATTENDED // 2:
        params = {"id": index.id, "lease_until": now + ATTENDED}
        yield from transact("write", lambda: query("attend_index", **params))


def serve(context: Context, index_id: int, *, drop: Drop) -> Operation[None]:
    """Let an index answer queries, and drop others.

    Args:
        context: The store's settings.
        index_id: The index that is complete.
        drop: Which others: all, those that no process counts on any more, or none.
    """
    yield from transact("write", lambda: _serve(context, index_id, drop))
    yield from drop_ownerless(context)


def drop_ownerless(context: Context) -> Operation[None]:
    """Delete the vectors and waiting lists of indexes that are no more, a page at a time."""
    while (yield from transact("write", _drop_page)):
        pass


def _indexes(context: Context) -> Body[list[IndexRow]]:
    rows = yield from query("indexes_of_tenant", tenant=context.tenant)
    return [_index(row) for row in rows]


def _index(row: Row) -> IndexRow:
    index_id, name, dims, probe, floor, state, progress, attended = row
    return IndexRow(index_id, Identity(name, dims, bytes(probe), floor), state, progress, attended or 0)


def _locked_indexes(context: Context) -> Body[list[IndexRow]]:
    settings = {"tenant": context.tenant}
    yield Batch([Sql("open_index_settings", settings), Sql("lock_index_settings", settings)])
    return (yield from _indexes(context))


def _register(context: Context, identity: Identity) -> Body[IndexRow]:
    for index in (yield from _locked_indexes(context)):
        if index.identity.is_same(identity):
            return index
    now = context.clock()
    row = {
        "tenant": context.tenant,
        "name": identity.name,
        "dims": identity.dims,
        "probe": identity.probe,
        "similarity_floor": identity.floor,
        "now": now,
        "lease_until": now + ATTENDED,
    }
    (rows,) = yield Batch([Sql("insert_index", row)], last=True)
    return IndexRow(rows[0][0], identity, "building", "", now + ATTENDED)


def _serve(context: Context, index_id: int, drop: Drop) -> Body[None]:
    now = context.clock()
    indexes = yield from _locked_indexes(context)
    if all(index.id != index_id for index in indexes):
        return
    changes = [Sql("serve_index", {"id": index_id})]
    for index in indexes:
        goes = drop == "all" or (drop == "unattended" and index.attended_until <= now)
        if index.id != index_id and goes:
            changes.append(Sql("delete_index", {"id": index.id}))
    yield Batch(changes, last=True)


def _drop_page() -> Body[bool]:
    """Delete some blocks of indexes that are no more; whether there may be further ones."""
    rows = yield from query("ownerless_blocks", limit=_PAGE)
    yield Batch([Sql("delete_block", {"id": block}) for (block,) in rows], last=True)
    return len(rows) == _PAGE


def status(context: Context, index_id: int | None = None, last_error: str | None = None) -> Operation[IndexStatus]:
    """Say what the index holds and lacks.

    Args:
        context: The store's settings.
        index_id: The index that is in use.
        last_error: Why its embedder failed.
    """
    return (yield from transact("snapshot", lambda: _status(context, index_id, last_error)))


def _status(context: Context, index_id: int | None, last_error: str | None) -> Body[IndexStatus]:
    tenant = {"tenant": context.tenant}
    names = ("index_counts", "items_not_indexed", "turns_not_indexed")
    counts, items, turns = yield Batch([Sql(name, tenant) for name in names])
    indexes = yield from _indexes(context)
    held = {(part, owner): int(count) for part, owner, count in counts}
    passages = max(0, held.get((Part.WORDS, 0), 0) - held.get((Part.DEAD, 0), 0))
    listed: list[EmbedderIndex] = []
    for index in indexes:
        waiting = held.get((Part.WAITING, index.id), 0)
        listed.append(
            EmbedderIndex(
                index.identity.name,
                index.identity.dims,
                index.state,
                passages,
                # Vectors of passages that are gone lie there until their block is merged.
                min(held.get((Part.VECTORS, index.id), 0), passages),
                waiting,
                index.id == index_id,
                last_error if index.id == index_id else None,
            )
        )
    return IndexStatus(passages, int(items[0][0]) + int(turns[0][0]), tuple(listed))
