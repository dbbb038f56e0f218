"""Recall as of an earlier time: the items of a scope as they were, indexed in memory for one query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memoranda.search import blocks
from memoranda.search.blocks import Entry
from memoranda.store.effects import Body, Operation, query, transact
from memoranda.store.operations.context import Context
from memoranda.store.operations.index_loading import LabelRange, joined_numbers
from memoranda.store.operations.indexing import BLOCK_PASSAGES, IndexKind, IndexScope
from memoranda.store.operations.item_passages import Placed, entry_of, fields_of, indexed
from memoranda.store.operations.reconstruct import stored_at
from memoranda.store.values import Kind, Stored

if TYPE_CHECKING:
    from memoranda.search.ranking import ScopePart

_PAGE = 200


class PastItem(NamedTuple):
    """An item as it was."""

    namespace_id: int
    item_id: int
    labels: str
    key: str
    revision: int
    at: int
    stored: Stored
    fields: tuple[str, ...]
    """What of it is indexed: as it is said now, for what was hidden since stays hidden."""


def past_items(context: Context, where: LabelRange, moment: int) -> Operation[list[PastItem]]:
    """Rebuild every item of some namespaces as it was at a time, in one snapshot."""
    return (yield from transact("snapshot", lambda: _past_items(context, where, moment)))


def _past_items(context: Context, where: LabelRange, moment: int) -> Body[list[PastItem]]:
    found: list[PastItem] = []
    after_labels, now = "", context.clock()
    while True:
        heads = yield from query(
            "namespace_heads", tenant=context.tenant, low=where.low, high=where.high, after=after_labels, limit=_PAGE
        )
        for namespace_id, labels, *_ in heads:
            after = 0
            while rows := (
                yield from query("past_items", namespace_id=namespace_id, after=after, now=now, limit=_PAGE)
            ):
                for item_id, key, revision, kind, live, meta, body, index_fields in rows:
                    current = Stored(Kind(kind), meta, body) if live else None
                    (known,) = yield from query("revision_at", item_id=item_id, at=moment)
                    if known[0] is None:
                        continue
                    stored = yield from stored_at(item_id, known[0], revision, current)
                    if stored is not None:
                        (entry,) = yield from query("time_of_revision", item_id=item_id, revision=known[0])
                        fields = fields_of(index_fields)
                        found.append(PastItem(namespace_id, item_id, labels, key, known[0], entry[0], stored, fields))
                after = rows[-1][0]
        if len(heads) < _PAGE:
            return found
        after_labels = heads[-1][1]


def index_in_memory(items: Sequence[PastItem]) -> list[ScopePart]:
    """The index of items that are not in the database's."""
    from memoranda.search.ranking import ScopePart

    parts: list[ScopePart] = []
    for namespace_id in dict.fromkeys(item.namespace_id for item in items):
        entries = list(_entries([item for item in items if item.namespace_id == namespace_id]))
        packed = [
            blocks.WordBlock.unpack(blocks.pack_words(entries[start : start + BLOCK_PASSAGES]))
            for start in range(0, len(entries), BLOCK_PASSAGES)
        ]
        parts.append(ScopePart(IndexScope(namespace_id, IndexKind.ITEMS).number, packed, joined_numbers([]), []))
    return parts


def _entries(items: Sequence[PastItem]) -> Iterator[Entry]:
    number = 0
    for item in items:
        for place, (passage, terms) in enumerate(indexed(item.key, item.stored, item.fields)):
            number += 1
            yield entry_of(Placed(number, place, passage.digest), item.item_id, item.at, item.stored.kind, terms)
