"""Merging the small blocks that writes leave, a tier at a time, so that a query finds few.

It follows a commit in a transaction of its own: a merge that fails or never comes costs nothing but speed, and the next
one catches up. The namespace is locked, so that two processes never merge the same blocks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sized

from memoranda.errors import StoreError
from memoranda.search import blocks, tiers
from memoranda.store.effects import Batch, Body, Operation, Sql, query, transact
from memoranda.store.operations.context import Context
from memoranda.store.operations.indexing import IndexKind, IndexScope, Part

logger = logging.getLogger(__name__)


def tend_all(context: Context, namespace_ids: Iterable[int]) -> Operation[None]:
    """After a write: tell the embedder, and merge what has gathered; what fails is left to the next time."""
    if context.on_write is not None:
        context.on_write()
    for namespace_id in namespace_ids:
        try:
            for kind in IndexKind:
                yield from tend(context, IndexScope(namespace_id, kind))
        except StoreError as error:
            # What the caller came for has landed.
            logger.info("The index of namespace %d was not tended: %s", namespace_id, error)


def tend(context: Context, scope: IndexScope) -> Operation[bool]:
    """Merge the blocks of one scope that are due.

    Returns:
        Whether anything was merged.
    """
    return (yield from transact("write", lambda: _tend(context, scope)))


def _tend(context: Context, scope: IndexScope) -> Body[bool]:
    yield from query("lock_namespace_by_id", id=scope.namespace_id)
    rows = yield from query("blocks_of_scope", scope=scope.number)
    words = [(int(row[1]), int(row[3])) for row in rows if row[0] == Part.WORDS]
    dead_ids = [int(row[1]) for row in rows if row[0] == Part.DEAD]
    merged: list[Sql] = []
    dead: set[int] = set()
    if dead_ids:
        bodies = yield from _bodies(dead_ids)
        dead = {int(number) for body in bodies.values() for number in blocks.unpack_numbers(body)}
    dropped: set[int] = set()
    for group in tiers.due(words):
        bodies = yield from _bodies(group)
        parsed = [blocks.WordBlock.unpack(bodies[block]) for block in group]
        merged += _replaced(
            scope, Part.WORDS, 0, group, _counted(blocks.merge_words(parsed, dead), blocks.WordBlock.unpack)
        )
        for block in parsed:
            dropped |= dead.intersection(block.number.tolist())
    if dropped or len(dead_ids) >= tiers.FANOUT:
        left = sorted(dead - dropped)
        merged += _replaced(scope, Part.DEAD, 0, dead_ids, (blocks.pack_numbers(left), len(left)) if left else None)
    for index_id in sorted({int(row[2]) for row in rows if row[0] == Part.VECTORS}):
        held = [(int(row[1]), int(row[3])) for row in rows if row[0] == Part.VECTORS and row[2] == index_id]
        for group in tiers.due(held):
            bodies = yield from _bodies(group)
            parsed = [blocks.VectorBlock.unpack(bodies[block]) for block in group]
            merged += _replaced(
                scope,
                Part.VECTORS,
                index_id,
                group,
                _counted(blocks.merge_vectors(parsed, dead), blocks.VectorBlock.unpack),
            )
    if merged:
        yield Batch(merged, last=True)
    return bool(merged)


def _bodies(ids: list[int]) -> Body[dict[int, bytes]]:
    rows = yield Batch([Sql("block_body", {"id": block}) for block in ids])
    return {int(found[0][0]): found[0][1] for found in rows if found}


def _counted(body: bytes | None, unpack: Callable[[bytes], Sized]) -> tuple[bytes, int] | None:
    return None if body is None else (body, len(unpack(body)))


def _replaced(scope: IndexScope, part: Part, index_id: int, old: list[int], new: tuple[bytes, int] | None) -> list[Sql]:
    written = [Sql("delete_block", {"id": block}) for block in old]
    if new is not None:
        body, count = new
        row = {"scope": scope.number, "part": int(part), "index_id": index_id, "count": count, "body": body}
        written.append(Sql("insert_block", row))
    return written
