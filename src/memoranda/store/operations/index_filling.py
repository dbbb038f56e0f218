"""Filling a new index: every passage that was there before it goes on its waiting list."""

from __future__ import annotations

from typing import Any

from memoranda.search.embedding import BATCH
from memoranda.search.wordblocks import Columns
from memoranda.store.effects import Batch, Body, Operation, Row, Sql, query, transact
from memoranda.store.operations.context import Context
from memoranda.store.operations.embedder_indexes import IndexRow
from memoranda.store.operations.embedding import waiting_block
from memoranda.store.operations.index_loading import BlockKey, LabelRange, load_index
from memoranda.store.operations.indexing import IndexKind, IndexScope, Part, parsed

_NAMESPACES = 256
_FILLED_AT_ONCE = 64 * BATCH


class Filler:
    """Puts every passage that an index lacks on its waiting list, a namespace at a time.

    What it has done is in the database, so that another one can go on where it stopped.

    Args:
        context: The store's settings.
        index: The index.
    """

    def __init__(self, context: Context, index: IndexRow) -> None:
        self._context = context
        self._index = index.id
        self._after = index.progress
        self._seen: dict[int, int] = {}
        self._again = False
        self._rest: list[Row] = []
        self.done = False

    def fill_some(self) -> Operation[bool]:
        """Go on with a namespace.

        Returns:
            Whether there is more to do.
        """
        if not self._rest:
            self._rest = yield from self._next_namespaces()
            if not self._rest:
                # A second look at those that have changed meanwhile: a writer may have read the list of indexes just
                # before this one was on it, and waited for its turn since.
                self.done, self._again, self._after = self._again, True, ""
                return not self.done
        namespace_id, labels, passages = self._rest.pop(0)
        if self._again and self._seen.get(namespace_id) == passages:
            return True
        # Read without a lock first: what is in the process's memory then takes no time under it.
        yield from load_index(self._context, LabelRange(labels, labels + "\x01"), tuple(IndexKind), self._index)
        whole = yield from transact("write", lambda: self._fill(namespace_id, labels))
        if whole is None:
            self._rest.insert(0, (namespace_id, labels, -1))
        else:
            self._seen[namespace_id] = whole
        return True

    def _next_namespaces(self) -> Operation[list[Row]]:
        params = {"tenant": self._context.tenant, "after": self._after, "limit": _NAMESPACES}
        rows = yield from transact("read", lambda: query("namespaces_to_fill", **params))
        if rows:
            self._after = rows[-1][1]
        return rows

    def _fill(self, namespace_id: int, labels: str) -> Body[int | None]:
        """Fill a namespace under its lock; its count of passages, or None where only a part of it fitted."""
        locked = yield from query("give_out_passage", id=namespace_id)
        if not locked:
            return 0
        written: list[Sql] = []
        room = _FILLED_AT_ONCE
        for kind in IndexKind:
            scope = IndexScope(namespace_id, kind)
            lacking = yield from self._lacking(scope)
            now, room = lacking[: max(room, 0)], room - len(lacking)
            blocks = [waiting_block(scope, self._index, now[at : at + BATCH]) for at in range(0, len(now), BATCH)]
            written += [block for block in blocks if block is not None]
        if room >= 0 and not self._again:
            place = {"tenant": self._context.tenant, "namespace_id": namespace_id, "progress": labels}
            written.append(Sql("advance_index", {"id": self._index, **place}))
        yield Batch(written, last=True)
        return locked[0][0] if room >= 0 else None

    def _lacking(self, scope: IndexScope) -> Body[list[tuple[int, int, int]]]:
        """The living passages of a scope that have neither a vector nor a place on the waiting list."""
        import numpy as np

        rows = yield from query("blocks_to_fill", scope=scope.number, index_id=self._index)
        blocks = {part: [BlockKey(block, stamp) for of, block, stamp in rows if of == part] for part in Part}
        words = yield from self._read(Part.WORDS, blocks[Part.WORDS])
        if not words:
            return []
        dead = yield from self._read(Part.DEAD, blocks[Part.DEAD])
        vectors = yield from self._read(Part.VECTORS, blocks[Part.VECTORS])
        waiting = yield from query("waiting_of_scope", scope=scope.number, index_id=self._index)
        known = [np.empty(0, np.uint32), *dead, *(block.number for block in vectors)]
        known += [np.array([entry.number for entry in parsed(Part.WAITING, body)], np.uint32) for _, body in waiting]
        of = Columns(np.concatenate([block.columns for block in words], axis=1))
        lacking = np.flatnonzero(~np.isin(of.number, np.concatenate(known)))
        columns = (column[lacking].tolist() for column in (of.number, of.source, of.digest))
        return list(zip(*columns, strict=True))

    def _read(self, part: Part, keys: list[BlockKey]) -> Body[list[Any]]:
        """Parsed blocks, from this process's memory as far as they are there."""
        held = {key: self._context.blocks.get(key) for key in keys}
        absent = [key for key, kept in held.items() if kept is None]
        found = (yield Batch([Sql("block_body", {"id": key.id}) for key in absent])) if absent else []
        held.update({key: parsed(part, rows[0][1]) for key, rows in zip(absent, found, strict=True) if rows})
        return [held[key] for key in keys]
