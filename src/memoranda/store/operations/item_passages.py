"""The passages of an item: which there are, which of them stay when it changes, and how the item's row keeps them."""

from __future__ import annotations

import struct
from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import orjson

from memoranda.errors import StoreCorruptError
from memoranda.search.blocks import JSON, Entry
from memoranda.search.passages import Passage, indexed_text, passages_of, passages_of_json
from memoranda.search.tokens import length_of, terms_of
from memoranda.store.values import Kind, Stored, decode_value

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
    return DEFAULT_FIELDS if index_fields is None else tuple(orjson.loads(index_fields))


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


class Settled(NamedTuple):
    """How an item's passages change: the list to keep, the ones to add (by their position in it), the ones to kill."""

    placed: list[Placed | None]
    added: list[int]
    dead: list[int]


def settle(old: Sequence[Placed], passages: Sequence[Indexed]) -> Settled:
    """Keep the passages whose text stayed, in their order; the others get numbers from the caller."""
    waiting: defaultdict[int, deque[Placed]] = defaultdict(deque)
    for entry in old:
        waiting[entry.digest].append(entry)
    placed: list[Placed | None] = []
    last = -1
    for passage, _ in passages:
        queue = waiting.get(passage.digest)
        kept = queue.popleft() if queue else None
        # What moved up or down is added anew: places only grow along the text.
        placed.append(kept if kept is not None and kept.place > last else None)
        last = kept.place if placed[-1] is not None and kept is not None else last
    if not _has_room(placed):
        placed = [None] * len(placed)
    alive = {entry.number for entry in placed if entry is not None}
    return Settled(
        placed,
        [index for index, entry in enumerate(placed) if entry is None],
        [entry.number for entry in old if entry.number not in alive],
    )


def places(placed: Sequence[Placed | None]) -> list[int]:
    """A place for every passage: those that stay keep theirs, new ones lie between them."""
    found: list[int] = []
    before, index = -1, 0
    while index < len(placed):
        entry = placed[index]
        if entry is not None:
            found.append(entry.place)
            before, index = entry.place, index + 1
            continue
        end = index
        while end < len(placed) and placed[end] is None:
            end += 1
        behind = placed[end].place if end < len(placed) else before + (end - index + 1) * _GAP  # pyright: ignore[reportOptionalMemberAccess]
        step = (behind - before) // (end - index + 1)
        found += [before + step * (offset + 1) for offset in range(end - index)]
        before, index = found[-1], end
    return found


def _has_room(placed: Sequence[Placed | None]) -> bool:
    found = places(placed)
    return all(low < high for low, high in zip([-1, *found], found, strict=False)) and (
        not found or found[-1] <= NUMBER_MASK
    )


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
