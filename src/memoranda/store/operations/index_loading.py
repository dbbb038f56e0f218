"""Reading the index of one scope, or of all scopes below a prefix, from one snapshot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from memoranda.errors import StoreReadOnlyError
from memoranda.files.path import folder_prefix
from memoranda.store.changes import Author
from memoranda.store.effects import Batch, Body, Operation, Rows, Sql, query, transact
from memoranda.store.keys import range_end
from memoranda.store.operations import tending
from memoranda.store.operations.context import Context
from memoranda.store.operations.indexing import IndexKind, IndexScope, Part, parsed
from memoranda.store.operations.item_passages import NUMBER_MASK, unpack_placed
from memoranda.store.operations.turn_indexing import index_missing_turns
from memoranda.store.operations.workspace import NUMBER_BITS, Workspace, note_words_version

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memoranda.search.ranking import ScopePart

_PAGE = 200
_MOST_AT_ONCE = 5_000
# A scope of which this process has read little is read as a whole.
_FEW = 16


class LabelRange(NamedTuple):
    """The namespaces that a query looks into, as a half-open range of their texts."""

    low: str
    high: str


@dataclass(slots=True)
class LoadedIndex:
    """The index of the scopes that were asked for.

    Args:
        parts: One for each scope that holds anything, in the order of the scopes.
        key: What the parts were made of: equal for equal parts.
        incomplete: Whether some item was not indexed yet.
        items: The keys of the items asked for, by the number of their scope and their own; None: all were asked for.
    """

    parts: list[ScopePart] = field(default_factory=list["ScopePart"])
    key: tuple[Any, ...] = ()
    incomplete: bool = False
    items: dict[int, dict[int, str]] | None = None

    def sources(self) -> list[Collection[int] | None] | None:
        """For each part the items to which a search is confined; None: it is not."""
        items = self.items
        return None if items is None else [items.get(part.scope, {}).keys() for part in self.parts]


class BlockKey(NamedTuple):
    """What tells a block from all others, in whatever state the database is set back to."""

    id: int
    stamp: int


class Span(NamedTuple):
    """Items by their keys: what lies in a range of folders, and perhaps one key beside it."""

    ranges: tuple[tuple[str, str], ...]
    key: str | None = None


def span_below(path: str) -> Span:
    """The item at a canonical path, and everything below it."""
    prefix = folder_prefix(path)
    return Span(((prefix, range_end(prefix)),), None if path == "/" else path)


# The keys that are no paths.
PATHLESS = Span((("", "/"), (range_end("/"), range_end(""))))


def load_index(
    context: Context, where: LabelRange, kinds: Sequence[IndexKind], index_id: int | None, span: Span | None = None
) -> Operation[LoadedIndex]:
    """Read the index, after indexing what was not indexed yet.

    Args:
        context: The store's settings.
        where: The namespaces.
        kinds: Items, turns, or both.
        index_id: Whose vectors to read; None: none.
        span: Which items to name in the answer, as of the same moment; None: none.
    """
    loaded = yield from transact("snapshot", lambda: _load(context, where, kinds, index_id, span))
    if loaded.incomplete and context.indexing:
        try:
            yield from _complete(context, where, kinds)
        except StoreReadOnlyError:
            # Whoever may only read finds what is indexed, and is told that there is more.
            return loaded
        loaded = yield from transact("snapshot", lambda: _load(context, where, kinds, index_id, span))
    return loaded


def _complete(context: Context, where: LabelRange, kinds: Sequence[IndexKind]) -> Operation[None]:
    if IndexKind.ITEMS in kinds:
        yield from index_missing(context, where, most=_MOST_AT_ONCE)
    if IndexKind.TURNS in kinds:
        done = 0
        while done < _MOST_AT_ONCE and (some := (yield from index_missing_turns(context))):
            done += some


def index_missing(context: Context, where: LabelRange, *, most: int | None = None) -> Operation[int]:
    """Index items that are not yet: from an older version, or written without an index.

    Args:
        context: The store's settings.
        where: The namespaces.
        most: Stop after about so many; None: go on to the end.

    Returns:
        How many were indexed.
    """
    done = 0
    while most is None or done < most:
        keys = yield from tending.write(context, lambda: _index_page(context, where))
        done += keys
        if keys < _PAGE:
            break
    return done


def _index_page(context: Context, where: LabelRange) -> Body[tuple[int, list[int]]]:
    work = Workspace(context, Author())
    rows = yield from query("not_indexed_below", tenant=context.tenant, low=where.low, high=where.high, limit=_PAGE)
    keys = [(labels, key) for labels, key in rows]
    yield from work.open(keys, set())
    kept: list[Sql] = []
    for labels, key in keys:
        item = work.item(labels, key)
        if item.stored is not None and item.passages is None:
            work.reindex(item)
            kept.append(work.index_row(item))
    yield Batch([*work.statements(), *kept, note_words_version(context.tenant)], last=True)
    return len(keys), work.to_tend


def _load(
    context: Context, where: LabelRange, kinds: Sequence[IndexKind], index_id: int | None, span: Span | None
) -> Body[LoadedIndex]:
    place = {"tenant": context.tenant, "low": where.low, "high": where.high}
    now = context.clock()
    found, items_missing, turns_missing, expired, *named = yield Batch(
        [
            Sql("blocks_below", {**place, "first": int(min(kinds)), "last": int(max(kinds))}),
            Sql("not_indexed_below", {**place, "limit": 1}),
            Sql("turns_not_indexed_below", place),
            Sql("expired_below", {**place, "now": now}),
            *(_named(span, {**place, "now": now}) if span is not None else ()),
        ]
    )
    listed: dict[tuple[int, Part], list[BlockKey]] = {}
    for scope, part, block, owner, stamp in found:
        if part != Part.VECTORS or owner == index_id:
            listed.setdefault((scope, Part(part)), []).append(BlockKey(block, stamp))
    held: dict[BlockKey, Any] = {}
    for (scope, part), keys in listed.items():
        yield from _read(context, scope, part, keys, held)
    late: dict[int, list[int]] = {}
    for item_id, packed in expired:
        scope = IndexScope(item_id >> NUMBER_BITS, IndexKind.ITEMS).number
        late.setdefault(scope, []).extend(entry.number for entry in unpack_placed(packed))
    scopes = dict.fromkeys(scope for scope, _ in listed)
    parts = [_part(scope, listed, held, late.get(scope, [])) for scope in scopes]
    key = (index_id, *((scope, int(part), *keys) for (scope, part), keys in listed.items()), *map(tuple, late.values()))
    incomplete = bool((items_missing and IndexKind.ITEMS in kinds) or (turns_missing and IndexKind.TURNS in kinds))
    return LoadedIndex(parts, key, incomplete, None if span is None else _by_scope(named))


def _named(span: Span, place: dict[str, Any]) -> list[Sql]:
    asked = [Sql("items_between_folders", {**place, "first": first, "last": last}) for first, last in span.ranges]
    return asked if span.key is None else [*asked, Sql("items_of_key", {**place, "key": span.key})]


def _by_scope(answers: Sequence[Rows]) -> dict[int, dict[int, str]]:
    items: dict[int, dict[int, str]] = {}
    of, named = -1, dict[int, str]()
    for rows in answers:
        for item_id, key in rows:
            namespace_id = item_id >> NUMBER_BITS
            if namespace_id != of:
                of, named = namespace_id, items.setdefault(IndexScope(namespace_id, IndexKind.ITEMS).number, {})
            named[item_id & NUMBER_MASK] = key
    return items


def _read(context: Context, scope: int, part: Part, keys: list[BlockKey], held: dict[BlockKey, Any]) -> Body[None]:
    """Take blocks from what this process has read, and the rest from the database."""
    absent: dict[int, BlockKey] = {}
    for key in keys:
        kept = context.blocks.get(key)
        if kept is None:
            absent[key.id] = key
        else:
            held[key] = kept
    if not absent:
        return
    if len(absent) > _FEW:
        rows = yield from query("block_bodies", scope=scope, part=int(part), first=min(absent), last=max(absent))
    else:
        found = yield Batch([Sql("block_body", {"id": block}) for block in absent])
        rows = [row for one in found for row in one]
    for block, body in rows:
        if (key := absent.get(block)) is not None:
            held[key] = block_read = parsed(part, body)
            context.blocks.put(key, block_read, block_read.nbytes)


def _part(
    scope: int, listed: dict[tuple[int, Part], list[BlockKey]], held: dict[BlockKey, Any], late: list[int]
) -> ScopePart:
    import numpy as np

    from memoranda.search.ranking import ScopePart

    words, dead, meaning = (
        [held[key] for key in listed.get((scope, part), ())] for part in (Part.WORDS, Part.DEAD, Part.VECTORS)
    )
    if late:
        dead.append(np.array(late, np.uint32))
    return ScopePart(scope, words, joined_numbers(dead), meaning)


def joined_numbers(numbers: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """All numbers of several blocks."""
    import numpy as np

    return np.concatenate([np.empty(0, np.uint32), *numbers])
