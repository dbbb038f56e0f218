"""Runs: recorded in one transaction with what came of them, the move of the cursor, and the end of their job.

What lands locks in this order: the namespaces and items that change, the cursor, the job, the run. Nobody inserts a run
of a range without its cursor, so two that work on one range wait for each other there, before anything is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from memoranda.errors import RunSettledError
from memoranda.store.changes import Committed, ConflictError, CursorMove
from memoranda.store.companions import Companion, Landed
from memoranda.store.effects import Batch, Body, Operation, Sql, query, transact
from memoranda.store.jobs import Job
from memoranda.store.operations.context import Context
from memoranda.store.operations.cursors import advance
from memoranda.store.operations.job_rows import plain
from memoranda.store.operations.jobs import end_statement, finish_statements, hold
from memoranda.store.operations.planning import plan_moves
from memoranda.store.operations.run_rows import (
    Before,
    Found,
    encode_changes,
    find,
    found_in,
    landed_changes,
    recorded,
    row_of,
)
from memoranda.store.runs import Run, RunChange, RunRecord


class Recording(Companion):
    """A companion that records a run.

    Attributes:
        run: The run as it is recorded, if it was taken.
    """

    __slots__ = ("run",)

    run: Run | None


def record(context: Context, run: RunRecord, job: Job | None = None) -> Recording:
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
        changes = landed_changes(run.changes, landed.committed, landed.before)
        row = row_of(context, run, _status(landed), landed.now, job, changes=changes, proposal=landed.proposal)
        statements = yield from _insert(context, run, row, job)
        recording.run = recorded(row)
        return statements

    recording = Recording(body, [_move(run)], context)
    recording.run = None
    return recording


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
        parked = yield from _parked(context, run)
        changes = landed_changes(run.changes, landed.committed, landed.before)
        row = row_of(context, run, _status(landed), landed.now, job, changes=changes, proposal=landed.proposal)
        return [*statements, *_settled_job(context, parked, landed.now), Sql("replace_run", row)]

    return Companion(body, store=context)


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
        found = yield from find(context, id, "lock_run")
        status = found.run.status
        if status not in ("applied", "unchanged"):
            who = f" by {found.run.undone_by}" if status == "undone" and found.run.undone_by else ""
            raise RunSettledError(
                f"The run {id} cannot be undone: it is {status}{who}.",
                "Nothing was changed." if status == "undone" else "Only what a run has applied can be undone.",
            )
        return [_settled(found, "undone", found.run.changes, undone_by=plain(by) or "")]

    return Companion(body, store=context)


def park(
    context: Context, run: RunRecord, job: Job | None = None, also: Callable[[], Body[object]] | None = None
) -> Operation[Run]:
    """Record that a run failed: its range is set aside with its error, and what comes after it goes on.

    Args:
        context: The store's settings.
        run: What is known of it. One that was parked before and failed again keeps its id; its cursor has moved.
        job: The job that it was done for, which is parked with it; None: none.
        also: What else belongs into the same transaction, such as the job for what comes after it.

    Returns:
        The run as it is recorded.

    Raises:
        ConflictError: The cursor has moved meanwhile; nothing was recorded.
        LeaseLostError: The job is not this worker's any more; nothing was recorded.
    """
    return (yield from transact("write", partial(_park, context, run, job, also)))


def _park(context: Context, run: RunRecord, job: Job | None, also: Callable[[], Body[object]] | None) -> Body[Run]:
    now = context.clock()
    statements: list[Sql] = []
    known = yield from query("run", tenant=context.tenant, id=run.id)
    if not known:  # the cursor before the job, as what lands does: locks in one order cannot wait for each other
        yield from _move_alone(context, run, statements, now)
    if job is not None:
        yield from hold(job)
        statements.append(end_statement(context, job, "parked", error=run.error))
    if also is not None:
        yield from also()
    if known:
        parked = yield from _parked(context, run)
        statements += [
            *_settled_job(context, parked, now),
            Sql("replace_run", row_of(context, run, "parked", now, job)),
        ]
    else:
        yield from _insert(context, run, row_of(context, run, "parked", now, job), None)
    yield Batch(statements)
    return (yield from find(context, run.id)).run


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
    found = found_in(rows[0])
    changes = found.run.changes
    if status == "applied":
        changes = tuple(change for change in landed_changes(changes, committed, before or {}) if change.revision)
    return [_settled(found, status, changes)]


def _ending(context: Context, job: Job | None) -> Body[list[Sql]]:
    return [] if job is None else (yield from finish_statements(context, job))


def _move(run: RunRecord) -> CursorMove:
    return CursorMove(run.consumer, run.scope, run.after, run.to)


def _status(landed: Landed) -> str:
    if landed.proposal is not None:
        return "proposed"
    return "applied" if any(done.revision for done in landed.committed) else "unchanged"


def _insert(context: Context, run: RunRecord, row: dict[str, Any], job: Job | None) -> Body[list[Sql]]:
    """Record a run while its job, if it has one, is held; returns what ends that well."""
    inserting = Sql("insert_run", row)
    ending: list[Sql] = []
    if job is None:
        (rows,) = yield Batch([inserting])
    else:
        (rows,) = yield from hold(job, inserting)
        ending.append(end_statement(context, job, "done"))
    if not rows:
        raise RunSettledError(
            f"A run {run.id}, or one of the turns behind {run.after} of {'/'.join(run.scope)}, is recorded already.",
            "Nothing has landed; read again from where the cursor stands, with a new id.",
        )
    return ending


def _parked(context: Context, run: RunRecord) -> Body[Run]:
    found = (yield from find(context, run.id, "lock_run")).run
    if (found.consumer, found.scope, found.after) != (run.consumer, tuple(run.scope), run.after):
        raise RunSettledError(f"The run {run.id} is of another range.", "Nothing was recorded; begin with a new id.")
    if found.status != "parked":
        raise RunSettledError(
            f"The run {run.id} is not parked any more: it is {found.status}.", "Nothing has landed; it is done."
        )
    return found


def _settled_job(context: Context, parked: Run, now: int) -> list[Sql]:
    """What ends the job that was parked with a run, once the run was made again."""
    if parked.job is None:
        return []
    return [Sql("end_parked_job", {"tenant": context.tenant, "number": parked.job, "now": now})]


def _settled(found: Found, status: str, changes: Sequence[RunChange], *, undone_by: str | None = None) -> Sql:
    row = {"number": found.number, "status": status, "changes": encode_changes(changes), "undone_by": undone_by}
    return Sql("settle_run", row)
