"""Taking whole items out of a store, history and all, and putting them into another.

An item that is put in keeps its chain: salts, digests, times and authors are those it came with, so that two stores
with the same items have the same namespace digests. What belongs to the store is given anew: ids, the order of the
global feed, and positions, which keep the order that they had within their namespace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol

from memoranda.errors import StoreCorruptError
from memoranda.store.changes import Author
from memoranda.store.effects import Batch, Body, Operation, Row, Sql, query, transact
from memoranda.store.keys import folder_of
from memoranda.store.namespaces import decode_namespace
from memoranda.store.operations.bundle_turns import dump_turns
from memoranda.store.operations.context import Context
from memoranda.store.operations.digests import EMPTY, content_digest, replace_in_sum
from memoranda.store.operations.forget_namespaces import selected
from memoranda.store.operations.forget_turns import namespaces_with
from memoranda.store.operations.whole_items import WholeItem, WholeRevision
from memoranda.store.operations.workspace import NUMBER_BITS, Scope, Workspace
from memoranda.store.selection import Selection
from memoranda.store.turns import RecordedTurn
from memoranda.store.values import Kind, Stored

_PAGE = 500
_GROUP_ITEMS = 100
_GROUP_BYTES = 4_000_000


class Presence(NamedTuple):
    """What a store holds under a key already."""

    live: int
    updated_at: int
    revision: int
    salt: bytes
    content: bytes
    past_digest: bytes | None
    past_position: int | None

    def continues(self, item: WholeItem) -> bool:
        """Whether the item here is that one, or what became of it."""
        return self.past_digest == item.digest

    def holds(self, stored: Stored) -> bool:
        """Whether this is the current value here."""
        return bool(self.live) and content_digest(self.salt, stored) == self.content


class Sink(Protocol):
    """Where `dump` sends what it reads."""

    def start(self, labels: str, position: int) -> None:
        """A namespace begins; if it began before, what came of that must be dropped."""

    def item(self, item: WholeItem) -> None:
        """The next item of the namespace, as created."""

    def turn(self, turn: RecordedTurn) -> None:
        """The next turn of the namespace, conversation by conversation; all items came before."""

    def finish(self) -> None:
        """The namespace is complete."""


@dataclass(slots=True)
class Span:
    """The positions that a namespace's items bring along.

    Args:
        length: How far they go; 0 for items without positions, which get the next ones.
        offset: What to add to them; None: reserve a fresh range.
        certain: Whether the range was reserved in this run; otherwise each place is looked at before it is taken.
    """

    length: int = 0
    offset: int | None = None
    certain: bool = False


class Load(NamedTuple):
    """An item to put in; `span` names the range that its positions belong to."""

    item: WholeItem
    span: str


@dataclass(slots=True)
class Loaded:
    """What came of a `load`: with clashes, nothing landed."""

    landed: list[WholeItem] = field(default_factory=list[WholeItem])
    clashes: list[WholeItem] = field(default_factory=list[WholeItem])
    offsets: dict[str, int] = field(default_factory=dict[str, int])


def count(context: Context, selection: Selection, *, deleted: bool) -> Operation[int]:
    """Count the items of all namespaces that are meant."""
    place = {"tenant": context.tenant, **selection.params}
    asked = partial(query, "count_items", **place, deleted=int(deleted), now=context.clock())
    rows = yield from transact("read", asked)
    return rows[0][0]


def dump(context: Context, selection: Selection, sink: Sink, *, history: bool = True) -> Operation[None]:
    """Read all items, each namespace from one snapshot.

    Args:
        context: The store's settings.
        selection: Which namespaces; of a person's others only what they said there is read.
        sink: Receives the items and turns; it is called inside the transaction, which may start over.
        history: Whether revisions, deleted items and turns are read too.
    """
    whole = {labels for _, labels in (yield from selected(context, selection))}
    touched = set[str]()
    if history and selection.subject is not None:
        touched |= {*(yield from namespaces_with(context, selection, "user", selection.subject))}
    for labels in sorted(whole | touched):
        if labels in whole:
            body = partial(_dump_namespace, context, labels, sink, history)
        else:
            body = partial(_dump_said, context, labels, sink, selection.subject)
        yield from transact("snapshot", body)
        sink.finish()


def presence(context: Context, places: Sequence[tuple[str, str, int]]) -> Operation[list[Presence | None]]:
    """Say what lies under each (labels, key), and how it stood at a revision."""
    now = context.clock()

    def body() -> Body[list[Presence | None]]:
        answers = yield Batch(
            [
                Sql(
                    "item_presence",
                    {
                        "tenant": context.tenant,
                        "labels": labels,
                        "key": key,
                        "revision": revision,
                        "now": now,
                    },
                )
                for labels, key, revision in places
            ]
        )
        return [Presence(*rows[0]) if rows else None for rows in answers]

    return (yield from transact("read", body))


def load(context: Context, loads: Sequence[Load], spans: Mapping[str, Span]) -> Operation[Loaded]:
    """Put whole items into the store in one transaction.

    Args:
        context: The store's settings.
        loads: The items; one that is there already with the same history is left alone.
        spans: The position ranges that they name.

    Returns:
        What landed; or, if other items live under some of the keys, those, and nothing landed.
    """
    return (yield from transact("write", lambda: _load(context, loads, spans)))


def _dump_namespace(context: Context, labels: str, sink: Sink, history: bool) -> Body[None]:
    # Read again, so that the head and the items come from one snapshot.
    heads = yield from query("namespace_head", tenant=context.tenant, labels=labels)
    if not heads:
        return
    namespace_id, position, _, digest = heads[0]
    sink.start(labels, position)
    total, complete, after, now = EMPTY, history, 0, context.clock()
    while True:
        page = yield from query("weigh_items", namespace_id=namespace_id, after=after, limit=_PAGE)
        wanted = [
            (row[0], row[3])
            for row in page
            # Past its time an item is gone, even if no sweep came by yet.
            if (history or row[1]) and (row[2] is None or row[2] > now)
        ]
        complete = complete and len(wanted) == len(page)
        for ids in _groups(wanted):
            statements = [Sql("whole_item", {"id": item_id}) for item_id in ids]
            if history:
                statements += [Sql("full_revisions", {"item_id": item_id}) for item_id in ids]
            answers = yield Batch(statements)
            for index in range(len(ids)):
                revisions = answers[len(ids) + index] if history else []
                item = _item(labels, answers[index][0], revisions)
                if history:
                    total = replace_in_sum(total, None, item.digest)
                sink.item(item)
        if len(page) < _PAGE:
            break
        after = page[-1][0]
    if complete and total != digest:
        raise StoreCorruptError(
            f"The items of {decode_namespace(labels)} do not add up to its digest, so some are missing or damaged.",
            "Run `memoranda verify`; exporting to a folder still saves the current state.",
        )
    if history:
        yield from dump_turns(namespace_id, sink.turn)


def _dump_said(context: Context, labels: str, sink: Sink, user: str | None) -> Body[None]:
    """What a person said in a namespace that is not theirs."""
    heads = yield from query("namespace_head", tenant=context.tenant, labels=labels)
    if heads:
        sink.start(labels, 0)
        yield from dump_turns(heads[0][0], sink.turn, user)


def _groups(weights: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Ids in groups that fit into memory together."""
    group: list[int] = []
    size = 0
    for item_id, weight in weights:
        if group and (len(group) == _GROUP_ITEMS or size + weight > _GROUP_BYTES):
            yield group
            group, size = [], 0
        group.append(item_id)
        size += weight
    if group:
        yield group


def _item(labels: str, row: Row, revisions: list[Row]) -> WholeItem:
    key, kind, live, created_at, updated_at, expires_at, ttl, meta, body, index_fields = row
    stored = Stored(Kind(kind), meta, body) if live else None
    return WholeItem(
        labels,
        key,
        stored,
        created_at,
        updated_at,
        expires_at,
        ttl,
        tuple(WholeRevision(*entry) for entry in revisions),
        index_fields,
    )


def _load(context: Context, loads: Sequence[Load], spans: Mapping[str, Span]) -> Body[Loaded]:
    work = Workspace(context, Author())
    places = [(item.labels, item.key) for item, _ in loads]
    yield from work.open(places, {labels for labels, _ in places})
    result = Loaded()
    fresh: list[Load] = []
    seen: set[tuple[str, str]] = set()
    for item, span in loads:
        state = work.item(item.labels, item.key)
        if (item.labels, item.key) in seen or (state.in_table and state.digest != item.digest):
            result.clashes.append(item)
        elif not state.in_table:
            fresh.append(Load(item, span))
        seen.add((item.labels, item.key))
    if result.clashes:
        return result
    yield from _settle(work, fresh, spans, result.offsets)
    rows: list[Sql] = []
    for item, span in fresh:
        rows += _rows(work.scopes[item.labels], item, result.offsets.get(span))
        result.landed.append(item)
    yield Batch(work.statements() + rows, last=True)
    return result


def _settle(work: Workspace, loads: list[Load], spans: Mapping[str, Span], offsets: dict[str, int]) -> Body[None]:
    """Decide where the positions of each span go.

    The whole range is reserved at once: what others write meanwhile comes after it, and nothing is in its way.
    """
    doubtful: dict[str, list[Sql]] = {}
    for item, name in loads:
        scope, span = work.scopes[item.labels], spans[name]
        if not span.length:
            continue
        if name not in offsets:
            known = span.offset
            if known is None or not (span.certain or 0 <= known <= scope.position - span.length):
                _reserve(scope, name, span, offsets)
                continue
            offsets[name] = known
        if span.offset is not None and not span.certain and offsets[name] == span.offset:
            doubtful.setdefault(name, []).extend(
                Sql("position_taken", {"namespace_id": scope.id, "position": span.offset + entry.position})
                for entry in item.revisions
            )
    for name, statements in doubtful.items():
        answers = yield Batch(statements)
        if any(answers):
            scope = next(work.scopes[item.labels] for item, span in loads if span == name)
            _reserve(scope, name, spans[name], offsets)


def _reserve(scope: Scope, name: str, span: Span, offsets: dict[str, int]) -> None:
    offsets[name] = scope.position
    scope.position += span.length


def _rows(scope: Scope, item: WholeItem, offset: int | None) -> list[Sql]:
    """The rows of one item, counted in its namespace."""
    scope.items += 1
    scope.live += item.stored is not None
    scope.digest = replace_in_sum(scope.digest, None, item.digest)
    scope.changed = True
    item_id = (scope.id << NUMBER_BITS) | scope.items
    kind, meta, body = item.stored or (Kind.JSON, b"", b"")
    rows = [
        Sql(
            "insert_item",
            {
                "id": item_id,
                "namespace_id": scope.id,
                "key": item.key,
                "parent": folder_of(item.key),
                "revision": item.revisions[-1].revision,
                "kind": int(kind),
                "live": int(item.stored is not None),
                "size": len(body),
                "created_at": item.created_at,
                "updated_at": item.updated_at,
                "expires_at": item.expires_at,
                "ttl": item.ttl,
                "digest": item.digest,
                "meta": meta,
                "body": body,
                "passages": None,
                "index_fields": item.index_fields,
            },
        )
    ]
    for entry in item.revisions:
        if offset is None:
            scope.position += 1
        position = scope.position if offset is None else offset + entry.position
        rows.append(
            Sql(
                "insert_revision",
                {
                    **entry._asdict(),
                    "namespace_id": scope.id,
                    "position": position,
                    "item_id": item_id,
                },
            )
        )
    return rows
