"""Merging the small blocks that writes leave, a tier at a time, so that a query finds few.

It follows a commit in a transaction of its own: a merge that fails or never comes costs nothing but speed, and the next
one catches up. The namespace is locked, so that two processes never merge the same blocks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

from memoranda.errors import StoreError
from memoranda.search import blocks, tiers
from memoranda.store.effects import Batch, Body, Operation, Sql, query, transact
from memoranda.store.operations.context import Context
from memoranda.store.operations.indexing import IndexKind, IndexScope, Part, insert_block, parsed

logger = logging.getLogger(__name__)

T = TypeVar("T")

_DEAD_SHARE = 0.25
_DEAD_LEAST = 64


def write(context: Context, body: Callable[[], Body[tuple[T, list[int]]]], *, locks: bool = False) -> Operation[T]:
    """Run a body that writes, and see to the index afterwards.

    Args:
        context: The store's settings.
        body: Writes, and returns its result and the namespaces whose index is to be tended (`Workspace.to_tend`).
        locks: Whether it surely needs more than the write of one item; see `Transact`.

    Returns:
        Its result.
    """
    result, to_tend = yield from transact("write", body, locks=locks)
    yield from tend_all(context, to_tend)
    return result


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
    held: dict[tuple[Part, int], list[tuple[int, int]]] = {}
    for part, block, index_id, count in rows:
        held.setdefault((Part(part), int(index_id)), []).append((int(block), int(count)))
    dead_ids = [block for block, _ in held.pop((Part.DEAD, 0), [])]
    dead: set[int] = set()
    if dead_ids:
        bodies = yield from _bodies(dead_ids)
        dead = {int(number) for body in bodies.values() for number in blocks.unpack_numbers(body)}
    # With this much dead, every block sheds what it holds of them; otherwise those do that are merged anyway.
    passages = sum(count for _, count in held.get((Part.WORDS, 0), []))
    shedding = len(dead) > _DEAD_LEAST and len(dead) > _DEAD_SHARE * passages
    merged: list[Sql] = []
    gone: set[int] = set()
    for (part, index_id), counts in held.items():
        groups = tiers.due(counts)
        if shedding:
            taken = {block for group in groups for block in group}
            groups += [[block] for block, _ in counts if block not in taken]
        for group in groups:
            bodies = yield from _bodies(group)
            merging = [parsed(part, bodies[block]) for block in group]
            shed = dead.intersection(number for block in merging for number in block.number.tolist())
            gone |= shed
            if shed or len(group) > 1:
                merged += _replaced(scope, part, index_id, group, _MERGERS[part](merging, dead))
    # A number stays among the dead as long as a block of vectors may hold it.
    left: set[int] = set()
    if not shedding:
        left = dead if len(held) > 1 else dead - gone
    if len(left) < len(dead) or len(dead_ids) >= tiers.FANOUT:
        merged += _replaced(scope, Part.DEAD, 0, dead_ids, blocks.pack_numbers(sorted(left)) if left else None)
    if merged:
        yield Batch(merged, last=True)
    return bool(merged)


def _bodies(ids: list[int]) -> Body[dict[int, bytes]]:
    rows = yield Batch([Sql("block_body", {"id": block}) for block in ids])
    return {int(found[0][0]): found[0][1] for found in rows if found}


def _replaced(scope: IndexScope, part: Part, index_id: int, old: list[int], body: bytes | None) -> list[Sql]:
    written = [Sql("delete_block", {"id": block}) for block in old]
    if body is not None:
        written.append(insert_block(scope, part, index_id, len(parsed(part, body)), body))
    return written


_MERGERS: dict[Part, Callable[[Any, Collection[int]], bytes | None]] = {
    Part.WORDS: blocks.merge_words,
    Part.VECTORS: blocks.merge_vectors,
}
