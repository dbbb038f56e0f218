"""Runs: recorded in one transaction with what came of them, the move of the cursor, and the end of their job."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import orjson

from memoranda.errors import InvalidValueError, RunNotFoundError, RunSettledError
from memoranda.store.changes import Committed, ConflictError, CursorMove, Namespace
from memoranda.store.companions import Companion, Landed
from memoranda.store.effects import Batch, Body, Operation, Row, Sql, query, transact
from memoranda.store.jobs import Job
from memoranda.store.keys import is_plain_text
from memoranda.store.namespaces import decode_namespace, encode_namespace
from memoranda.store.operations.context import Context, countable
from memoranda.store.operations.cursors import advance
from memoranda.store.operations.jobs import checked_queue, end_statement, finish_statements, hold, plain
from memoranda.store.operations.planning import plan_moves
from memoranda.store.runs import RUN_STATUSES, Run, RunChange, RunRecord
from memoranda.store.values import to_datetime, to_microseconds

_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # as the ids of proposals
_ID_LENGTH = 6

Before = Mapping[tuple[Namespace, str], int]


# --- reading ------------------------------------------------------------------------------------------------


def list_runs(
    context: Context,
    consumer: str | None = None,
    scope: Namespace | None = None,
    status: str | None = None,
    limit: int | None = 100,
) -> Operation[list[Run]]:
    """List runs, newest first.

    Args:
        context: The store's settings.
        consumer: Only those of this one; None: all.
        scope: Only those of exactly this namespace; None: all.
        status: `applied`, `unchanged`, `proposed`, `rejected`, `parked` or `undone`; None: all.
        limit: At most so many; None: all.

    Returns:
        The runs.

    Raises:
        InvalidValueError: There is no such status.
    """
    if status is not None and status not in RUN_STATUSES:
        raise InvalidValueError(f"{status!r} is no status of a run.", f"Use {', '.join(RUN_STATUSES)} or None.")
    params: dict[str, Any] = {
        "tenant": context.tenant,
        "consumer": "" if consumer is None else checked_queue(consumer),
        "status": status or "",
        "limit": countable(limit),
    }
    name = "runs_newest"
    if scope is not None:
        name, params = "runs_of_scope", {**params, "labels": encode_namespace(tuple(scope))}
    rows = yield from transact("read", partial(query, name, **params))
    return [run_of(row) for row in rows]


def get(context: Context, id: str) -> Operation[Run]:
    """Read one run.

    Args:
        context: The store's settings.
        id: Its id.

    Returns:
        The run.

    Raises:
        RunNotFoundError: There is none of this id.
    """
    return (yield from transact("read", partial(_find, context, id))).run


def cursor(context: Context, consumer: str, scope: Namespace) -> Operation[int]:
    """Say how far a consumer has read in a scope.

    Args:
        context: The store's settings.
        consumer: Whose cursor.
        scope: The namespace that is read.

    Returns:
        The position of the last turn that it has read; 0: none.
    """
    place = {"tenant": context.tenant, "consumer": checked_queue(consumer), "labels": encode_namespace(tuple(scope))}
    rows = yield from transact("read", partial(query, "cursor", **place))
    return int(rows[0][0]) if rows else 0


def covered(context: Context, consumer: str, scope: Namespace) -> Operation[list[tuple[int, int]]]:
    """List the ranges of turns that are covered by the runs of a consumer in a scope.

    Args:
        context: The store's settings.
        consumer: Whose runs.
        scope: The namespace that is read.

    Returns:
        Pairs of positions in order, each standing for the turns behind the first, up to the second.
    """
    place = {"tenant": context.tenant, "consumer": checked_queue(consumer), "labels": encode_namespace(tuple(scope))}
    rows = yield from transact("read", partial(query, "ranges_covered", **place))
    return [(int(after), int(to)) for after, to in rows]


def new_id(context: Context) -> Operation[str]:
    """Draw an id for a run that is about to begin.

    Args:
        context: The store's settings.

    Returns:
        An id that no run has.
    """
    while True:
        id = "r-" + "".join(secrets.choice(_ALPHABET) for _ in range(_ID_LENGTH))
        rows = yield from transact("read", partial(query, "run", tenant=context.tenant, id=id))
        if not rows:
            return id


# --- recording ----------------------------------------------------------------------------------------------


def record(context: Context, run: RunRecord, job: Job | None = None) -> Companion:
    """What records a run with the change set or the proposal that comes of it, moves its cursor, and ends its job.

    Args:
        context: The store's settings.
        run: What is known of it before it lands.
        job: The job that it is done for; None: none.

    Returns:
        A companion for `accompanied`. Of what it travels with nothing lands either where the cursor has moved, the
        range was recorded, or the job was taken over meanwhile.
    """

    def body(_: Context, landed: Landed) -> Body[list[Sql]]:
        statements = yield from _ending(context, job)
        changes = _landed_changes(run.changes, landed.committed, landed.before)
        yield from _insert(context, run, _status(landed), landed.now, job, changes=changes, proposal=landed.proposal)
        return statements

    return Companion(body, [_move(run)])


def rerecord(context: Context, run: RunRecord, job: Job | None = None) -> Companion:
    """The same for a range that was parked and is worked through again: its cursor has moved already.

    Args:
        context: The store's settings.
        run: What is known of it before it lands, under the id of the parked run.
        job: The job that it is done for; None: none.

    Returns:
        A companion for `accompanied`. Nothing lands where the run is not parked any more.
    """

    def body(_: Context, landed: Landed) -> Body[list[Sql]]:
        statements = yield from _ending(context, job)
        yield from _parked(context, run.id)
        changes = _landed_changes(run.changes, landed.committed, landed.before)
        row = _row(context, run, _status(landed), landed.now, job, changes=changes, proposal=landed.proposal)
        return [*statements, Sql("replace_run", row)]

    return Companion(body)


def undoing(context: Context, id: str, *, by: str | None = None) -> Companion:
    """What notes, with the change set that undoes a run, that this was done.

    Args:
        context: The store's settings.
        id: The run's id.
        by: Who undoes it, as it is shown.

    Returns:
        A companion for `accompanied`. Nothing lands where the run was not applied, or was undone already.
    """

    def body(_: Context, landed: Landed) -> Body[list[Sql]]:
        found = yield from _find(context, id, "lock_run")
        status = found.run.status
        if status not in ("applied", "unchanged"):
            who = f" by {found.run.undone_by}" if status == "undone" and found.run.undone_by else ""
            raise RunSettledError(
                f"The run {id} cannot be undone: it is {status}{who}.",
                "Nothing was changed." if status == "undone" else "Only what a run has applied can be undone.",
            )
        return [_settled(found, "undone", found.run.changes, undone_by=plain(by) or "")]

    return Companion(body)


def park(context: Context, run: RunRecord, job: Job | None = None) -> Operation[Run]:
    """Record that a run failed: its range is set aside with its error, and what comes after it goes on.

    Args:
        context: The store's settings.
        run: What is known of it. One that was parked before and failed again keeps its id; its cursor has moved.
        job: The job that it was done for, which is parked with it; None: none.

    Returns:
        The run as it is recorded.

    Raises:
        ConflictError: The cursor has moved meanwhile; nothing was recorded.
        LeaseLostError: The job is not this worker's any more; nothing was recorded.
    """
    return (yield from transact("write", partial(_park, context, run, job)))


def _park(context: Context, run: RunRecord, job: Job | None) -> Body[Run]:
    now = context.clock()
    statements: list[Sql] = []
    if job is not None:
        yield from hold(job)
        statements.append(end_statement(context, job, "parked", error=run.error))
    known = yield from query("lock_run", tenant=context.tenant, id=run.id)
    if known:
        yield from _parked(context, run.id)
        statements.append(Sql("replace_run", _row(context, run, "parked", now, job)))
    else:
        yield from _move_alone(context, run, statements, now)
        yield from _insert(context, run, "parked", now, job)
    yield Batch(statements)
    return (yield from _find(context, run.id)).run


def _move_alone(context: Context, run: RunRecord, statements: list[Sql], now: int) -> Body[None]:
    conflicts = yield from advance(context, plan_moves([_move(run)]), statements, now)
    if conflicts:
        raise ConflictError(conflicts)


def settle(
    context: Context, proposal: str, status: str, committed: Sequence[Committed] = (), before: Before | None = None
) -> Body[list[Sql]]:
    """What notes the decision on a proposal with the run that made it, if one did.

    Args:
        context: The store's settings.
        proposal: The proposal's id.
        status: `applied` or `rejected`.
        committed: What landed.
        before: The revision that each item had.

    Returns:
        The statements.
    """
    rows = yield from query("lock_run_of_proposal", tenant=context.tenant, proposal=proposal)
    if not rows:
        return []
    found = _found(rows[0])
    changes = found.run.changes
    if status == "applied":
        changes = tuple(change for change in _landed_changes(changes, committed, before or {}) if change.revision)
    return [_settled(found, status, changes)]


def check_ranges(context: Context, labels: str) -> Body[list[str]]:
    """Say where the runs of a scope do not cover every turn up to their consumer's cursor once."""
    place = {"tenant": context.tenant, "labels": labels}
    ranges, cursors = yield Batch([Sql("ranges_of_scope", place), Sql("cursors_of_scope", place)])
    problems: list[str] = []
    positions: dict[str, int] = {}
    for consumer, after, to in ranges:
        before = positions.get(consumer, 0)
        if after > before:
            problems.append(f"no run of {consumer} covers the turns behind {before} up to {after}.")
        elif after < before:
            problems.append(f"two runs of {consumer} cover the turns behind {after} up to {min(before, to)}.")
        positions[consumer] = max(before, to)
    standing = {str(consumer): int(position) for consumer, position in cursors}
    for consumer, to in positions.items():
        stands = standing.get(consumer, 0)
        if stands != to:
            problems.append(f"the runs of {consumer} go up to {to}, but its cursor stands at {stands}.")
    return problems


# --- rows ---------------------------------------------------------------------------------------------------


def _ending(context: Context, job: Job | None) -> Body[list[Sql]]:
    return [] if job is None else (yield from finish_statements(context, job))


def _move(run: RunRecord) -> CursorMove:
    return CursorMove(run.consumer, run.scope, run.after, run.to)


def _status(landed: Landed) -> str:
    if landed.proposal is not None:
        return "proposed"
    return "applied" if any(done.revision for done in landed.committed) else "unchanged"


def _insert(
    context: Context,
    run: RunRecord,
    status: str,
    now: int,
    job: Job | None,
    *,
    changes: Sequence[RunChange] | None = None,
    proposal: str | None = None,
) -> Body[None]:
    row = _row(context, run, status, now, job, changes=changes, proposal=proposal)
    rows = yield from query("insert_run", **row)
    if not rows:
        raise RunSettledError(
            f"A run {run.id}, or one of the turns behind {run.after} of {'/'.join(run.scope)}, is recorded already.",
            "Nothing has landed; read again from where the cursor stands, with a new id.",
        )


def _row(
    context: Context,
    run: RunRecord,
    status: str,
    now: int,
    job: Job | None,
    *,
    changes: Sequence[RunChange] | None = None,
    proposal: str | None = None,
) -> dict[str, Any]:
    return {
        "tenant": context.tenant,
        "id": run.id,
        "consumer": checked_queue(run.consumer),
        "labels": encode_namespace(tuple(run.scope)),
        "after_position": run.after,
        "to_position": run.to,
        "status": status,
        "turns": run.turns,
        "changes": encode_changes(run.changes if changes is None else changes),
        "model": plain(run.model),
        "tokens_in": run.tokens_in,
        "tokens_out": run.tokens_out,
        "attempts": run.attempts,
        "started_at": to_microseconds(run.started_at),
        "ended_at": now,
        "proposal": proposal,
        "error": plain(run.error),
        "summary": plain(run.summary),
        "job": None if job is None else job.number,
    }


def _landed_changes(
    changes: Sequence[RunChange], committed: Sequence[Committed], before: Before
) -> tuple[RunChange, ...]:
    """The changes of a run with the revisions that landed; what it did not name but landed is added."""
    landed: dict[tuple[Namespace, str], Committed] = {}
    for done in committed:
        if done.revision:
            landed[tuple(done.namespace), done.key] = done
    filled: list[RunChange] = []
    for change in changes:
        namespace = tuple(change.namespace)
        done = landed.pop((namespace, change.to or change.key), None)
        if done is not None:
            change = replace(
                change,
                revision=done.revision,
                operation=done.operation,
                before=before.get((namespace, change.key), change.before),
            )
        filled.append(replace(change, namespace=namespace))
    filled += [
        RunChange(place[0], place[1], done.operation, done.revision, before.get(place, 0))
        for place, done in landed.items()
    ]
    return tuple(filled)


def encode_changes(changes: Sequence[RunChange]) -> str:
    """The changes of a run as their column keeps them."""
    return orjson.dumps(
        [
            {
                "namespace": [*change.namespace],
                "key": change.key,
                "operation": change.operation,
                "revision": change.revision,
                "before": change.before,
                "to": change.to,
                "sources": [*change.sources],
                "lines": {line: [*sources] for line, sources in change.lines.items()},
            }
            for change in changes
        ]
    ).decode()


def decode_changes(text: str) -> tuple[RunChange, ...]:
    """The changes of a run as callers see them."""
    found = cast("list[dict[str, Any]]", orjson.loads(text))
    return tuple(
        RunChange(
            tuple(change["namespace"]),
            change["key"],
            change["operation"],
            change["revision"],
            change["before"],
            change["to"],
            tuple(change["sources"]),
            {line: tuple(sources) for line, sources in change["lines"].items()},
        )
        for change in found
    )


class _Found:
    """A run with the number of its row."""

    __slots__ = ("number", "run")

    def __init__(self, number: int, run: Run) -> None:
        self.number = number
        self.run = run


def _find(context: Context, id: str, statement: str = "run") -> Body[_Found]:
    rows = (yield from query(statement, tenant=context.tenant, id=id if is_plain_text(id) else "")) or []
    if not rows:
        raise RunNotFoundError(f"There is no run {id!r}.", "List the runs to see which there are.")
    return _found(rows[0])


def _parked(context: Context, id: str) -> Body[None]:
    found = yield from _find(context, id, "lock_run")
    if found.run.status != "parked":
        raise RunSettledError(
            f"The run {id} is not parked any more: it is {found.run.status}.", "Nothing has landed; it is done."
        )


def _settled(found: _Found, status: str, changes: Sequence[RunChange], *, undone_by: str | None = None) -> Sql:
    row = {"number": found.number, "status": status, "changes": encode_changes(changes), "undone_by": undone_by}
    return Sql("settle_run", row)


def _found(row: Row) -> _Found:
    number, id, consumer, labels, after, to, status, turns, changes, model, *rest = row
    tokens_in, tokens_out, attempts, started_at, ended_at, proposal, undone_by, error, summary, job = rest
    run = Run(
        id,
        consumer,
        decode_namespace(labels),
        int(after),
        int(to),
        status,
        int(turns),
        decode_changes(changes),
        model,
        int(tokens_in),
        int(tokens_out),
        int(attempts),
        to_datetime(started_at),
        to_datetime(ended_at),
        proposal,
        undone_by,
        error,
        summary,
        job,
    )
    return _Found(int(number), run)


def run_of(row: Row) -> Run:
    """A row as callers see it."""
    return _found(row).run
