"""Indexing turns of conversations that were recorded without an index."""

from __future__ import annotations

from memoranda.store.changes import Author
from memoranda.store.effects import Batch, Body, Operation, Sql, query, transact
from memoranda.store.operations.context import Context
from memoranda.store.operations.item_passages import NUMBER_MASK
from memoranda.store.operations.tending import tend_all
from memoranda.store.operations.turn_passages import add_turn, indexed_turn
from memoranda.store.operations.workspace import Workspace
from memoranda.store.values import to_datetime

_PAGE = 200


def index_missing_turns(context: Context) -> Operation[int]:
    """Index some of the turns that are not indexed; 0 when there are none any more."""
    done, to_tend = yield from transact("write", lambda: _index_page(context))
    yield from tend_all(context, to_tend)
    return done


def _index_page(context: Context) -> Body[tuple[int, list[int]]]:
    found = yield from query("conversations_to_index", tenant=context.tenant)
    if not found:
        return 0, []
    ((labels,),) = found
    work = Workspace(context, Author())
    yield from work.open([], {labels})
    scope = work.scopes[labels]
    rows = yield from query("turns_to_index", namespace_id=scope.id, limit=_PAGE)
    kept: list[Sql] = []
    for turn_id, thread_id, place, at, role, speaker, body in rows:
        said_at = to_datetime(at)
        texts = indexed_turn(body.decode(), speaker or role, said_at)
        passages = add_turn(scope.index, turn_id & NUMBER_MASK, thread_id, place, said_at, speaker or role, texts)
        kept.append(Sql("keep_turn_passages", {"id": turn_id, "passages": passages}))
    scope.changed = True
    yield Batch(work.statements() + kept, last=True)
    # Where another process has just done it, there may be others.
    return max(len(rows), 1), work.to_tend
