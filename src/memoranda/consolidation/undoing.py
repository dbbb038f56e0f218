"""Undoing a run: everything that it changed goes back in one transaction, and what others changed since stays."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from memoranda.backends.steps import Steps, aperform, ask, perform
from memoranda.consolidation.errors import UndoConflictError
from memoranda.consolidation.reports import RunReport
from memoranda.errors import RunSettledError
from memoranda.files.format import is_file_value
from memoranda.files.matching import matching_blocks, opcodes, split_lines
from memoranda.files.merge import merge_json
from memoranda.store.changes import (
    Author,
    Change,
    ChangeSet,
    CommitResult,
    Delete,
    Move,
    Namespace,
    Value,
    Write,
    current_author,
)
from memoranda.store.companions import accompanied
from memoranda.store.runs import Run, RunChange
from memoranda.store.store import MemoryStore

_ATTEMPTS: Final = 5
"""How often it is tried anew because others change the same files at this moment."""


def undoing(store: MemoryStore, run_id: str, *, author: Author | None = None) -> Steps[RunReport]:
    """Take back what a run changed, in one transaction; what others changed since stays.

    Of a run whose changes wait, the proposal is rejected.

    Args:
        store: The store.
        run_id: The run.
        author: Who undoes it; None takes `acting_as`.

    Returns:
        What came of it.

    Raises:
        RunNotFoundError: There is no such run.
        RunSettledError: There is nothing to undo.
        UndoConflictError: What it changed was changed since in the same place; nothing was undone.
    """
    run = yield from ask(store.runs.get, run_id)
    given = author or current_author()
    if run.status == "proposed" and run.proposal is not None:
        yield from ask(store.reject_proposal, run.proposal, author=given, note=f"undo of {run_id}")
    else:
        _require_applied(run)
        yield from _take_back(store, run, replace(given, reason=given.reason or f"undo of {run_id}"))
    undone = yield from ask(store.runs.get, run_id)
    return RunReport(run.scope, undone.status, (undone,), run.after, run.to, run.turns, summary=run.summary)


def _take_back(store: MemoryStore, run: Run, author: Author) -> Steps[None]:
    result = CommitResult()
    for _ in range(_ATTEMPTS):
        changes: list[Change] = []
        moved = {(change.namespace, change.key) for change in run.changes if change.to is not None}
        for change in reversed(run.changes):
            if change.to is None and (change.namespace, change.key) in moved:
                continue  # what was changed before it moved goes back with the move
            changes += yield from _back(store, run, change)
        with accompanied(store.runs.undoing(run.id, by=author.actor)):
            result = yield from ask(store.commit, ChangeSet(changes, author), on_conflict="return")
        if not result.conflicts:
            return
    raise _conflict(run, [(one.namespace, one.key, one.revision) for one in result.conflicts])


def undo(store: MemoryStore, run_id: str, *, author: Author | None = None) -> RunReport:
    """`Consolidator.undo`, without a consolidator."""
    return perform(undoing(store, run_id, author=author))


async def aundo(store: MemoryStore, run_id: str, *, author: Author | None = None) -> RunReport:
    """The same from an event loop."""
    return await aperform(undoing(store, run_id, author=author))


def _require_applied(run: Run) -> None:
    match run.status:
        case "applied":
            return
        case "undone":
            by = f" by {run.undone_by}" if run.undone_by else ""
            raise RunSettledError(f"The run {run.id} was undone already{by}.", "Nothing was changed.")
        case "unchanged":
            cause = "changed nothing"
        case "parked":
            cause = "failed, so nothing of it landed"
        case _:
            cause = f"was {run.status}, so nothing of it is in effect"
    raise RunSettledError(f"The run {run.id} {cause}.", "There is nothing to undo.")


def _back(store: MemoryStore, run: Run, change: RunChange) -> Steps[list[Change]]:
    """What takes back one change, made from the state at present."""
    namespace, key = change.namespace, change.key
    if change.operation == "delete" and change.before:  # also of a file that went to another namespace
        there = yield from ask(store.get, namespace, key)
        if there is not None:
            raise _conflict(run, [(namespace, key, there.revision)])
        return [Write(namespace, key, (yield from _value(store, namespace, key, change.before)), 0)]
    if not change.revision:  # it was there already
        return []
    lies_at = change.to or key
    now = yield from ask(store.get, namespace, lies_at)
    if now is None:
        last = next(iter((yield from ask(store.history, namespace, lies_at, limit=1))), None)
        is_moved = last is not None and last.operation == "move" and last.author.run_id != run.id
        if not change.before and not is_moved:  # what it had made is gone already
            return []
        if last is None or last.author.run_id != run.id:
            raise _conflict(run, [(namespace, lies_at, 0)])
        return [Write(namespace, key, (yield from _value(store, namespace, key, change.before)), 0)]
    before = (yield from _value(store, namespace, key, change.before)) if change.before else ""
    after = yield from _value(store, namespace, lies_at, change.revision)
    current = _content(now.value)
    wanted = before if now.revision == change.revision else _without(after, current, before)
    if wanted is None:
        raise _conflict(run, [(namespace, lies_at, now.revision)])
    if not change.before and wanted == "":
        return [Delete(namespace, key, now.revision, missing_ok=False)]
    back: list[Change] = [Write(namespace, lies_at, wanted, now.revision, merge=False)]
    return [*back, Move(namespace, lies_at, key)] if change.to is not None else back


def _without(after: Value, now: Value, before: Value) -> Value | None:
    """What something is now, without the step from `before` to `after`; None where that cannot be told apart."""
    if isinstance(after, str) and isinstance(now, str) and isinstance(before, str):
        # A last line without an end would be another line as soon as something is appended.
        lines = _lines_without(*(split_lines(_ended(text)) for text in (after, now, before)))
        if lines is None:
            return None
        return "".join(lines) if now.endswith("\n") else "".join(lines).removesuffix("\n")
    if isinstance(after, Mapping) and isinstance(now, Mapping) and isinstance(before, Mapping):
        return merge_json(after, now, before).value
    return None


def _lines_without(after: list[str], now: list[str], before: list[str]) -> list[str] | None:
    """The same of lines: each block that the step made goes back if it is there as it was made, wherever it is."""
    stands_at: dict[int, int] = {-1: -1, len(after): len(now)}
    for match in matching_blocks(after, now):
        stands_at.update((match.a + offset, match.b + offset) for offset in range(match.size))
    lines = list(now)
    for step in reversed(opcodes(after, before)):
        if step.tag == "equal":
            continue
        block = [stands_at.get(at) for at in range(step.i1, step.i2)]
        if block:
            start = block[0]
            if start is None or block != list(range(start, start + len(block))):
                return None
        elif (left := stands_at.get(step.i1 - 1)) is not None:  # what it took away comes back behind the same line
            start = left + 1
        elif (right := stands_at.get(step.i1)) is not None:
            start = right
        else:
            return None
        lines[start : start + len(block)] = before[step.j1 : step.j2]
    return lines


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _value(store: MemoryStore, namespace: Namespace, key: str, revision: int) -> Steps[Value]:
    """What an item was at a revision."""
    item = yield from ask(store.get_at, namespace, key, revision=revision)
    return _content(item.value)


def _content(value: dict[str, Any]) -> Value:
    if not is_file_value(value):
        return value
    content: str = value["content"]
    return base64.b64decode(content) if value.get("encoding") == "base64" else content


def _conflict(run: Run, places: Sequence[tuple[Namespace, str, int]]) -> UndoConflictError:
    said: list[str] = []
    for namespace, key, revision in places:
        now = f"it is at revision {revision} now" if revision else "it does not exist now"
        said.append(f"{key} in {'/'.join(namespace)} was changed since in the same place: {now}")
    return UndoConflictError(
        f"The run {run.id} cannot be undone as it is: {'; '.join(said)}.",
        "Nothing was changed. Change these files by hand, or restore the revisions before the run.",
    )
