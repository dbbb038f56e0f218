"""Checking that the search index of a namespace holds what its items and turns say it does, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from memoranda.errors import StoreCorruptError
from memoranda.search import blocks
from memoranda.search.wordblocks import Columns
from memoranda.store.effects import Batch, Body, Operation, Sql, query, transact
from memoranda.store.operations.context import Context
from memoranda.store.operations.indexing import IndexKind, IndexScope, Part
from memoranda.store.operations.item_passages import unpack_placed

_PAGE = 200
_REMEDY = "run `memoranda reindex --rebuild`"


def check_index(namespace_id: int) -> Body[list[str]]:
    """Compare the blocks of a namespace with what its rows keep of their passages.

    Args:
        namespace_id: The namespace.

    Returns:
        What does not hold, a clause each.
    """
    problems: list[str] = []
    for kind, statement in ((IndexKind.ITEMS, "passages_of_items"), (IndexKind.TURNS, "passages_of_turns")):
        rows = yield from query(statement, namespace_id=namespace_id)
        wanted = {(entry.number, number) for number, packed in rows for entry in unpack_placed(packed)}
        try:
            held = yield from _held(IndexScope(namespace_id, kind))
        except StoreCorruptError as error:
            problems.append(f"{error.cause.rstrip('.')}; {_REMEDY}.")
            continue
        living = set(held)
        what = "items" if kind == IndexKind.ITEMS else "conversations"
        if len(living) < len(held):
            problems.append(f"its index holds passages of its {what} twice; {_REMEDY}.")
        if missing := len(wanted - living):
            problems.append(f"its index lacks {missing} of the passages of its {what}; {_REMEDY}.")
        if foreign := len(living - wanted):
            problems.append(f"its index holds {foreign} passages that its {what} do not have; {_REMEDY}.")
    return problems


def _held(scope: IndexScope) -> Body[list[tuple[int, int]]]:
    """The passages of a scope that a query can find: number and source."""
    rows = yield from query("blocks_of_scope", scope=scope.number)
    words = yield from _bodies(row[1] for row in rows if row[0] == Part.WORDS)
    dead = yield from _bodies(row[1] for row in rows if row[0] == Part.DEAD)
    gone = {number for body in dead for number in blocks.unpack_numbers(body).tolist()}
    held: list[tuple[int, int]] = []
    for body in words:
        columns = Columns(blocks.WordBlock.unpack(body).columns)
        pairs = zip(columns.number.tolist(), columns.source.tolist(), strict=True)
        held += [(number, source) for number, source in pairs if number not in gone]
    return held


def _bodies(ids: Iterable[int]) -> Body[list[bytes]]:
    found = yield Batch([Sql("block_body", {"id": block}) for block in ids])
    return [row[1] for rows in found for row in rows]


def discard_index(context: Context) -> Operation[None]:
    """Throw the whole index away, a namespace at a time, so that all is indexed anew.

    Items and turns can be found again as soon as they are: by the next search of their scope, or by reindexing.
    """
    after = ""
    while rows := (
        yield from transact(
            "read",
            partial(
                query, "namespace_heads", tenant=context.tenant, low="", high="\U0010ffff", after=after, limit=_PAGE
            ),
        )
    ):
        for namespace_id, *_ in rows:
            yield from transact("write", partial(_discard, namespace_id))
        after = rows[-1][1]


def _discard(namespace_id: int) -> Body[None]:
    yield from query("lock_namespace_by_id", id=namespace_id)
    yield Batch(
        [
            Sql("delete_blocks_of_namespace", {"namespace_id": namespace_id}),
            Sql("forget_passages_of_items", {"namespace_id": namespace_id}),
            Sql("forget_passages_of_turns", {"namespace_id": namespace_id}),
        ],
        last=True,
    )
