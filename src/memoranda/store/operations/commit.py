"""The one way in: a change set becomes rows, or conflicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from memoranda.store.changes import (
    Author,
    Change,
    ChangeSet,
    CommitResult,
    CursorMove,
    Delete,
    Namespace,
    Write,
)
from memoranda.store.companions import Companion, Landed, waiting_companion
from memoranda.store.effects import Batch, Body, Operation, Sql
from memoranda.store.operations import tending
from memoranda.store.operations.applying import apply_planned, delete_below, open_planned
from memoranda.store.operations.context import Context
from memoranda.store.operations.cursors import advance
from memoranda.store.operations.item_passages import indexed
from memoranda.store.operations.planning import Planned, check_change_set, checked_author, plan, plan_moves
from memoranda.store.operations.workspace import Prepared, Workspace
from memoranda.store.values import Kind, Stored


def commit(context: Context, change_set: ChangeSet, *, opaque: bool = False) -> Operation[CommitResult]:
    """Apply a change set in one transaction, with the companion that waits for one.

    Args:
        context: The store's settings.
        change_set: What to change; its author is settled.
        opaque: Take keys byte for byte, as `put` does, instead of making paths canonical.

    Returns:
        What landed, or what stood in the way of all of it.
    """
    check_change_set(change_set)
    planned = [plan(change, opaque=opaque) for change in change_set.changes]
    author = checked_author(change_set.author or Author())
    companion = waiting_companion(context)
    moves = plan_moves(change_set.advance if companion is None else [*change_set.advance, *companion.advance])
    if not planned and not moves and companion is None:
        return CommitResult()
    prepared = prepare(context, planned)
    try:
        result = yield from tending.write(
            context,
            lambda: _commit(context, planned, author, moves, prepared, companion),
            locks=bool(moves) or companion is not None,
        )
    except RefusedError as refused:
        return refused.result
    if companion is not None:
        companion.taken = True
    return result


class RefusedError(Exception):
    """Undoes a transaction and carries the conflicts that were the reason."""

    def __init__(self, result: CommitResult) -> None:
        super().__init__()
        self.result = result


def delete_folder(context: Context, labels: str, folder: str, author: Author) -> Operation[CommitResult]:
    """Delete the item at a path and everything below it, in one transaction."""
    author = checked_author(author)
    return (yield from tending.write(context, lambda: _delete_folder(context, labels, folder, author)))


def prepare(context: Context, planned: list[Planned]) -> Prepared:
    """Cut the values that will most likely be written into passages, while no transaction waits for it."""
    prepared: Prepared = {}
    if context.indexing:
        for step in planned:
            if not isinstance(step.change, Write) or step.change.index not in (True, None):
                continue
            stored, value = step.stored, step.change.value
            if stored is None and isinstance(value, str):
                stored = Stored(Kind.TEXT, b"", value.encode())
            if stored is not None:
                prepared[step.key, stored.is_document, stored.body] = indexed(step.key, stored, context.index_fields)
    return prepared


def _commit(
    context: Context,
    planned: list[Planned],
    author: Author,
    moves: list[tuple[CursorMove, str]],
    prepared: Prepared,
    companion: Companion | None,
) -> Body[tuple[CommitResult, list[int]]]:
    work = Workspace(context, author, prepared=prepared)
    yield from open_planned(work, planned)
    committed, conflicts = yield from apply_planned(work, planned)
    moving: list[Sql] = []
    conflicts += yield from advance(context, moves, moving, work.now)
    if conflicts:
        # Whatever was made on the way, such as a namespace, has to go again.
        raise RefusedError(CommitResult(conflicts=tuple(conflicts)))
    if companion is not None:
        landed = Landed(tuple(committed), None, work.now, work.revisions_before())
        moving += yield from companion.body(context, landed)
    yield Batch(work.statements() + moving, last=True)
    return CommitResult(tuple(committed)), work.to_tend


def _delete_folder(context: Context, labels: str, folder: str, author: Author) -> Body[tuple[CommitResult, list[int]]]:
    work = Workspace(context, author)
    landed = yield from delete_below(work, labels, folder)
    yield Batch(work.statements(), last=True)
    return CommitResult(tuple(landed)), work.to_tend


def writes(ops: Iterable[tuple[Namespace, str, Any, float | None, list[str] | Literal[False] | None]]) -> list[Change]:
    """The changes behind LangGraph's `PutOp`s: (namespace, key, value or None, minutes to live, what to index)."""
    return [
        Delete(namespace, key) if value is None else Write(namespace, key, value, ttl=ttl, index=index)
        for namespace, key, value, ttl, index in ops
    ]
