"""Moving cursors, in the same transaction as what the reading led to."""

from __future__ import annotations

from typing import Any

from memoranda.store.changes import Conflict, CursorMove
from memoranda.store.effects import Batch, Body, Sql
from memoranda.store.namespaces import decode_namespace
from memoranda.store.operations.context import Context


def advance(
    context: Context, moves: list[tuple[CursorMove, str]], statements: list[Sql], now: int
) -> Body[list[Conflict]]:
    """Lock the cursors and add what moves them to the statements; returns those that stand elsewhere."""
    conflicts: list[Conflict] = []
    for move, labels in moves:
        conflict = yield from _advance(context, move, labels, statements, now)
        if conflict is not None:
            conflicts.append(conflict)
    return conflicts


def _advance(context: Context, move: CursorMove, labels: str, statements: list[Sql], now: int) -> Body[Conflict | None]:
    place: dict[str, Any] = {"consumer": move.consumer, "tenant": context.tenant, "labels": labels}
    asked = [Sql("lock_cursor", place)]
    if move.expect == 0:  # each statement sees what the one before has made
        asked.insert(0, Sql("create_cursor", {**place, "position": 0, "moved_at": now}))
    rows = (yield Batch(asked))[-1]
    position, lease = rows[0] if rows else (0, None)
    if not rows or position != move.expect or (lease is not None and lease != move.lease):
        held = "another worker holds its lease" if rows and position == move.expect else f"it stands at {position}"
        return Conflict(
            -1,
            decode_namespace(labels),
            "",
            "cursor",
            f"The cursor {move.consumer!r} was expected at {move.expect}, but {held}.",
            "Nothing was written; read again from where it stands.",
        )
    statements.append(
        Sql(
            "move_cursor", {**place, "expected": move.expect, "lease": move.lease, "position": move.to, "moved_at": now}
        )
    )
    return None
