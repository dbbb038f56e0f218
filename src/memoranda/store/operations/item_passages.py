"""The passages of an item: which there are, which of them stay when it changes, and how the item's row keeps them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import orjson

from memoranda.errors import StoreCorruptError
from memoranda.search.blocks import JSON, Entry
from memoranda.search.passages import Passage, indexed_text, passages_of, passages_of_json
from memoranda.search.tokens import length_of, terms_of
from memoranda.store.operations.indexing import IndexKind, ScopeIndex
from memoranda.store.values import Kind, Stored, decode_value, stored_json

DEFAULT_FIELDS = ("$",)
NUMBER_MASK = (1 << 32) - 1
MAX_INDEXED_BYTES = 8 << 20
"""So much of a file's text is indexed, and so much of a document's."""
_GAP = 1 << 12
_ROW = struct.Struct("<III")


class Placed(NamedTuple):
    """A passage of an item as the item's row keeps it, in the order of the text."""

    number: int
    place: int
    digest: int


class Indexed(NamedTuple):
    """A passage with the terms it is found by."""

    passage: Passage
    terms: dict[int, int]


def unpack_placed(packed: bytes | None) -> list[Placed]:
    """The passages that an item's row keeps; none where it was not indexed."""
    if not packed:
        return []
    if len(packed) % _ROW.size:
        raise StoreCorruptError("An item's list of passages is damaged.", "Run `memoranda reindex`.")
    return [Placed(*row) for row in _ROW.iter_unpack(packed)]


def pack_placed(placed: Sequence[Placed]) -> bytes:
    """The form of an item's row."""
    return b"".join(_ROW.pack(*entry) for entry in placed)


def fields_of(index_fields: str | None) -> tuple[str, ...]:
    """Which fields of an item are indexed; none: it is not to be found."""
    return DEFAULT_FIELDS if index_fields is None else tuple(stored_json(index_fields))


def index_fields_text(index: Sequence[str] | bool | None, default: tuple[str, ...]) -> str | None:
    """How an item's row keeps what its writer said about indexing (see `Write`), and what its store was opened with.

    So whoever reads the item later, through a store with other settings, cuts it as it was indexed.
    """
    fields = default if index is None or index is True else tuple(index or ())
    return None if fields == DEFAULT_FIELDS else orjson.dumps(fields).decode()


def passages_of_item(key: str, stored: Stored, fields: tuple[str, ...]) -> list[Passage]:
    """Cut an item into passages, each text once; of a very large one the beginning, so that no write takes minutes."""
    if not fields or stored.kind == Kind.BINARY:
        return []
    if stored.kind == Kind.JSON:
        found = _beginning(passages_of_json(decode_value(stored), fields))
    elif "content" in fields or "$" in fields:
        found = passages_of(stored.body[:MAX_INDEXED_BYTES].decode(errors="ignore"), path=key)
    else:
        found = []
    return list({passage.digest: passage for passage in found}.values())


def indexed(key: str, stored: Stored, fields: tuple[str, ...]) -> list[Indexed]:
    """Cut an item into passages and find their terms: everything that can be done before a transaction begins."""
    path = key if key.startswith("/") else ""
    return [
        Indexed(passage, terms_of(indexed_text(passage, path=path)))
        for passage in passages_of_item(key, stored, fields)
    ]


def index_item(
    index: ScopeIndex, packed: bytes | None, found: Sequence[Indexed], item_id: int, at: int, kind: Kind
) -> bytes:
    """Bring the index from the passages that an item had to those that it has: what stayed keeps number and block.

    Args:
        index: The index of its namespace.
        packed: What its row keeps of the passages that it had.
        found: The passages that it has, each text once.
        item_id: The item.
        at: When it was written, in microseconds since the epoch.
        kind: What it is.

    Returns:
        What its row keeps of them.
    """
    old = unpack_placed(packed)
    known = {entry.digest: entry for entry in old}
    kept = _in_order([known.get(passage.digest) for passage, _ in found])
    where = places(kept)
    if not all(low < high for low, high in zip([-1, *where], where, strict=False)):
        kept = [None] * len(kept)
        where = places(kept)
    alive = {entry.number for entry in kept if entry is not None}
    index.kill(IndexKind.ITEMS, [entry.number for entry in old if entry.number not in alive])
    placed: list[Placed] = []
    entries: list[Entry] = []
    for (passage, terms), stayed, place in zip(found, kept, where, strict=True):
        entry = stayed or Placed(index.next_number(), place, passage.digest)
        placed.append(entry)
        if stayed is None:
            entries.append(entry_of(entry, item_id, at, kind, terms))
    index.add(IndexKind.ITEMS, entries)
    return pack_placed(placed)


def _in_order(entries: Sequence[Placed | None]) -> list[Placed | None]:
    """Drop those that moved up or down in the text: places only grow along it."""
    last = -1
    kept: list[Placed | None] = []
    for entry in entries:
        stays = entry is not None and entry.place > last
        kept.append(entry if stays else None)
        last = entry.place if stays and entry is not None else last
    return kept


def places(kept: Sequence[Placed | None]) -> list[int]:
    """A place for every passage: those that stay keep theirs, new ones lie between them, while there is room."""
    found: list[int] = []
    before = -1
    waiting = 0
    for entry in [*kept, None]:
        at_end = len(found) + waiting == len(kept)
        if entry is None and not at_end:
            waiting += 1
            continue
        room = NUMBER_MASK - before if entry is None else entry.place - before
        step = room // (waiting + 1)
        step = min(step, _GAP) if entry is None else step
        found += [before + step * (offset + 1) for offset in range(waiting)]
        waiting = 0
        if entry is not None:
            found.append(entry.place)
            before = entry.place
    return found


def _beginning(passages: list[Passage]) -> list[Passage]:
    ends = accumulate(len(passage.text) for passage in passages)
    return [passage for passage, end in zip(passages, ends, strict=True) if end <= MAX_INDEXED_BYTES]


def entry_of(placed: Placed, item_id: int, at: int, kind: Kind, terms: dict[int, int]) -> Entry:
    """The index's entry of a new passage of an item."""
    number = item_id & NUMBER_MASK
    return Entry(
        number=placed.number,
        source=number,
        place=placed.place,
        digest=placed.digest,
        at=at,
        session=number,
        speaker=0,
        flags=JSON if kind == Kind.JSON else 0,
        length=length_of(terms),
        terms=terms,
    )
