"""LangGraph's `search` with a query: whole items below a prefix, those that answer best first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from langgraph.store.base import SearchItem

from memoranda.store.changes import Namespace
from memoranda.store.effects import Batch, Body, Operation, Row, Rows, Sql, transact
from memoranda.store.filters import compile_filter
from memoranda.store.namespaces import decode_namespace
from memoranda.store.operations.context import Context, countable
from memoranda.store.operations.indexing import IndexScope
from memoranda.store.operations.recalling import Wanted, analysed, label_range, rank_wanted
from memoranda.store.operations.workspace import NUMBER_BITS
from memoranda.store.types import StoredSearchItem
from memoranda.store.values import Stored, decode_value, to_datetime

_PAGE = 100


class Scored(NamedTuple):
    """An item that answers, with the score of its best passage."""

    row: Row
    value: dict[str, Any]
    score: float


def search_by_query(
    context: Context,
    prefix: Namespace,
    query: str,
    *,
    filter: Mapping[str, Any] | None,
    limit: int,
    offset: int,
) -> Operation[list[Scored]]:
    """Rank the items below a prefix and read those of one page.

    Every item that matches the filter takes part in the ranking as if there were no other: going down the ranking until
    the page is full finds the same as filtering first.
    """
    matches = compile_filter(filter) if filter else None
    wanted = Wanted(label_range(prefix, below=True), analysed(context, query), frozenset({"file", "item"}))
    limit, offset = countable(limit), countable(offset)
    answer = yield from rank_wanted(context, wanted)
    seen: set[int] = set()
    found: list[Scored] = []
    start = 0
    # Without a filter nearly all that are read are wanted.
    step = _PAGE if matches is not None else min(_PAGE, offset + limit)
    while len(found) < offset + limit and start < len(answer.ranked):
        page: dict[int, float] = {}
        for scope, passage in answer.page(start, start + step):
            item_id = IndexScope.of(scope).namespace_id << NUMBER_BITS | passage.source
            if item_id not in seen:
                seen.add(item_id)
                page[item_id] = passage.score
        start += step
        rows = yield from transact("snapshot", lambda page=page: _read(context, list(page)))
        for row in rows:
            value = decode_value(Stored(row[4], row[8], row[9]))
            if matches is None or matches(value):
                found.append(Scored(row, value, page[row[0]]))
    return found[offset : offset + limit]


def search_items(found: list[Scored]) -> list[SearchItem]:
    """The items as LangGraph's contract has them."""
    return [
        StoredSearchItem(
            value=scored.value,
            key=scored.row[2],
            namespace=decode_namespace(scored.row[1]),
            created_at=to_datetime(scored.row[5]),
            updated_at=to_datetime(scored.row[6]),
            revision=scored.row[3],
            score=scored.score,
        )
        for scored in found
    ]


def _read(context: Context, ids: list[int]) -> Body[list[Row]]:
    now = context.clock()
    place = {"tenant": context.tenant, "now": now}
    found: list[Rows] = yield Batch([Sql("item_found", {**place, "id": item_id}) for item_id in ids], last=True)
    return [rows[0] for rows in found if rows]
