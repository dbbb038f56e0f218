"""The reads of LangGraph's contract: get, search and list_namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from langgraph.store.base import MatchCondition, SearchItem

from memoranda.store.changes import Namespace
from memoranda.store.effects import Batch, Body, Operation, Row, Rows, Sql, query, transact
from memoranda.store.filters import compile_filter
from memoranda.store.keys import checked_key
from memoranda.store.namespaces import decode_namespace, encode_namespace, prefix_range
from memoranda.store.operations.context import Context, countable
from memoranda.store.operations.searching import search_by_query, search_items
from memoranda.store.types import StoredItem, StoredSearchItem
from memoranda.store.values import Stored, decode_value, to_datetime

_PAGE = 500


class Wanted(NamedTuple):
    """One item to read, exactly as its key is given."""

    namespace: Namespace
    key: str
    refresh: bool = True


def get(context: Context, namespace: Namespace, key: str, *, refresh: bool = True) -> Operation[StoredItem | None]:
    """Read one item."""
    (item,) = yield from get_many(context, (Wanted(namespace, key, refresh),))
    return item


def get_many(context: Context, wanted: Sequence[Wanted]) -> Operation[list[StoredItem | None]]:
    """Read items, all at once."""
    now, tenant = context.clock(), context.tenant
    statements = [
        Sql(
            "get_item",
            {"tenant": tenant, "labels": encode_namespace(namespace), "key": checked_key(key), "now": now},
        )
        for namespace, key, _ in wanted
    ]
    # Several are read from one snapshot, or of what was written together they might see a part.
    found = yield from transact("snapshot" if len(statements) > 1 else "read", lambda: _each(statements))
    touched = [
        (rows[0][0], rows[0][1], rows[0][5])
        for (_, _, refresh), rows in zip(wanted, found, strict=True)
        if refresh and rows and rows[0][5] is not None
    ]
    if touched:
        yield from _touch(context, touched)
    return [
        _item(namespace, key, rows[0]) if rows else None
        for (namespace, key, _), rows in zip(wanted, found, strict=True)
    ]


def _each(statements: list[Sql]) -> Body[list[Rows]]:
    return (yield Batch(statements, last=True))


def _item(namespace: Namespace, key: str, row: Row) -> StoredItem:
    _, revision, kind, created_at, updated_at, _, meta, body = row
    return StoredItem(
        value=decode_value(Stored(kind, meta, body)),
        key=key,
        namespace=tuple(namespace),
        created_at=to_datetime(created_at),
        updated_at=to_datetime(updated_at),
        revision=revision,
    )


def search(
    context: Context,
    prefix: Namespace,
    *,
    query: str | None,
    filter: Mapping[str, Any] | None,
    limit: int,
    offset: int,
    refresh: bool,
) -> Operation[list[SearchItem]]:
    """Find the items below a prefix: those that answer a query, or all, by namespace and then as they were created."""
    if query and query.strip():
        found = yield from search_by_query(context, prefix, query, filter=filter, limit=limit, offset=offset)
        touched = [(scored.row[0], scored.row[3], scored.row[7]) for scored in found if scored.row[7] is not None]
        if refresh and touched:
            yield from _touch(context, touched)
        return search_items(found)
    low, high = prefix_range(prefix)
    matches = compile_filter(filter) if filter else None
    limit, offset = countable(limit), countable(offset)
    rows = yield from transact("snapshot", lambda: _search(context, low, high, matches, limit, offset))
    if refresh and (touched := [(row[1], row[3], row[7]) for row in rows if row[7] is not None]):
        yield from _touch(context, touched)
    return [
        StoredSearchItem(
            value=decode_value(Stored(kind, meta, body)),
            key=key,
            namespace=decode_namespace(labels),
            created_at=to_datetime(created_at),
            updated_at=to_datetime(updated_at),
            revision=revision,
        )
        for labels, _, key, revision, kind, created_at, updated_at, _, meta, body in rows
    ]


def list_namespaces(
    context: Context,
    conditions: Iterable[MatchCondition],
    *,
    max_depth: int | None,
    limit: int,
    offset: int,
) -> Operation[list[Namespace]]:
    """List the namespaces that hold something, sorted, cut at `max_depth`."""
    conditions = tuple(conditions)
    for condition in conditions:
        encode_namespace(condition.path)
    return (
        yield from transact(
            "snapshot",
            lambda: _list_namespaces(context, conditions, max_depth, countable(limit), countable(offset)),
        )
    )


def _touch(context: Context, items: list[tuple[int, int, float]]) -> Operation[None]:
    """Restart the time to live of items that were read: (id, revision, minutes)."""
    now = context.clock()

    def body() -> Body[None]:
        yield Batch(
            [
                Sql(
                    "touch_item",
                    {"id": item, "revision": revision, "now": now, "expires_at": now + int(ttl * 60_000_000)},
                )
                for item, revision, ttl in sorted(items)  # two that read the same must not wait for each other
            ],
            last=True,
        )

    yield from transact("write", body)


def _search(context: Context, low: str, high: str, matches: Any, limit: int, offset: int) -> Body[list[Row]]:
    found: list[Row] = []
    after_labels, after_id, now = "", 0, context.clock()
    # Without a filter the database skips and stops by itself; with one, rows are looked at page by page.
    page, skip = (_PAGE, 0) if matches else (limit, offset)
    while len(found) < limit:
        rows = yield from query(
            "search_items",
            tenant=context.tenant,
            low=max(low, after_labels),
            high=high,
            after_labels=after_labels,
            after_id=after_id,
            now=now,
            limit=page,
            offset=skip,
        )
        if matches is None:
            return rows
        for row in rows:
            if matches(decode_value(Stored(row[4], row[8], row[9]))):
                if offset:
                    offset -= 1
                    continue
                found.append(row)
                if len(found) == limit:
                    break
        if len(rows) < page:
            break
        after_labels, after_id = rows[-1][0], rows[-1][1]
    return found


def _list_namespaces(
    context: Context, conditions: tuple[MatchCondition, ...], max_depth: int | None, limit: int, offset: int
) -> Body[list[Namespace]]:
    low, high = prefix_range(_literal_prefix(conditions))
    found: list[Namespace] = []
    previous: Namespace | None = None
    now = context.clock()
    while len(found) < limit:
        rows = yield from query("namespaces_from", tenant=context.tenant, low=low, high=high, now=now, limit=_PAGE)
        for (text,) in rows:
            namespace = decode_namespace(text)
            if not all(_matches(condition, namespace) for condition in conditions):
                continue
            if max_depth is not None:
                namespace = namespace[:max_depth]
            if namespace == previous:
                continue
            previous = namespace
            if offset:
                offset -= 1
                continue
            found.append(namespace)
            if len(found) == limit:
                break
        if len(rows) < _PAGE:
            break
        # Labels hold no character below the terminator, so this is the smallest text after the last one.
        low = rows[-1][0] + "\x01"
    return found


def _literal_prefix(conditions: tuple[MatchCondition, ...]) -> Namespace:
    """The labels that every match must start with."""
    longest: list[str] = []
    for condition in conditions:
        if condition.match_type == "prefix":
            literal: list[str] = []
            for label in condition.path:
                if label == "*":
                    break
                literal.append(label)
            longest = max(longest, literal, key=len)
    return tuple(longest)


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
