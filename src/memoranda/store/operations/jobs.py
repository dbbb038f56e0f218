"""Jobs: queued once for each origin, taken by one worker at a time, and ended by the one that has the lease.

A worker that dies leaves its job running; when its lease has run out, the next one takes it over. What a job leads to
lands in one transaction with its end (`finish_statements`), so that a worker that was overtaken changes nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple

from memoranda.errors import InvalidValueError, LeaseLostError
from memoranda.store.changes import Namespace
from memoranda.store.effects import Batch, Body, Operation, Rows, Sql, query, query_and_commit, transact
from memoranda.store.jobs import LEASE_SECONDS, Job
from memoranda.store.keys import is_plain_text
from memoranda.store.namespaces import encode_namespace
from memoranda.store.operations.context import Context
from memoranda.store.operations.job_merging import put_back, queue_merged
from memoranda.store.operations.job_rows import checked_number, checked_queue, encode_payload, job_of, plain
from memoranda.store.values import to_microseconds

MAX_ORIGIN_BYTES: Final = 128
"""An origin shares an index entry with a queue and a namespace."""

_SWEPT_AT_ONCE = 500


def enqueue(
    context: Context,
    queue: str,
    scope: Namespace | None = None,
    *,
    origin: str | None = None,
    due: datetime | None = None,
    payload: Mapping[str, Any] | None = None,
    merge: bool = False,
) -> Operation[Job | None]:
    """Queue a job, unless its origin has led to one already.

    Args:
        context: The store's settings.
        queue: Who is to do it.
        scope: The namespace that it is about; of one queue and scope only one job runs at a time. None: none.
        origin: What led to it; None: something of its own.
        due: When it may begin; None: at once.
        payload: Its input, a JSON object.
        merge: Let a job of this queue and scope that waits do it as well, if there is one: at the earlier of both
            times, unless it failed and waits for another attempt. For work that does all there is, whoever asked.

    Returns:
        The job, or the one that does it as well; None where this origin has led to one before, done or not.

    Raises:
        InvalidValueError: The queue, the origin or the payload cannot be stored.
        InvalidNamespaceError: The scope cannot be stored.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     first = store.jobs.enqueue("tidy", ("ann",), origin="monday")
        ...     first.state, store.jobs.enqueue("tidy", ("ann",), origin="monday")
        ('waiting', None)
    """
    row = insert_job(context, queue, scope, origin=origin, due=due, payload=payload)
    if merge and scope is not None:
        (queued,) = yield from transact("write", lambda: queue_merged(context, [row], note=origin is not None))
        context.wake_workers()
        return queued.job
    rows = yield from transact("write", lambda: query_and_commit(row.name, **row.params))
    context.wake_workers()
    return job_of(rows[0]) if rows else None


def insert_job(
    context: Context,
    queue: str,
    scope: Namespace | None = None,
    *,
    origin: str | None = None,
    due: datetime | None = None,
    payload: Mapping[str, Any] | None = None,
) -> Sql:
    """The statement that queues a job, for a transaction that does more."""
    now = context.clock()
    name = secrets.token_hex(12) if origin is None else origin
    if not is_plain_text(name) or not 0 < len(name.encode()) <= MAX_ORIGIN_BYTES:
        raise InvalidValueError(
            f"{str(name)[:80]!r} is no origin of a job.",
            f"Use 1 to {MAX_ORIGIN_BYTES} bytes without NUL characters.",
        )
    return Sql(
        "insert_job",
        {
            "tenant": context.tenant,
            "queue": checked_queue(queue),
            "labels": "" if scope is None else encode_namespace(scope),
            "origin": name,
            "state": "waiting",
            "ended_at": None,
            "due_at": now if due is None else to_microseconds(due),
            "payload": encode_payload(payload),
            "now": now,
        },
    )


def claim(
    context: Context,
    queues: Sequence[str],
    *,
    worker: str,
    lease: float = LEASE_SECONDS,
    number: int | None = None,
) -> Operation[Job | None]:
    """Take the next job that is due, or one whose worker has not been heard of for longer than its lease.

    Args:
        context: The store's settings.
        queues: Whose jobs to take; of several the one that has waited longest.
        worker: Who takes it, as it is shown.
        lease: Seconds until another may take it over; `heartbeat` prolongs it.
        number: Take this job alone, due or not; None: whichever is next.

    Returns:
        The job, which runs now, or None where none is to be had.

    Raises:
        InvalidValueError: A queue or the worker cannot be stored.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.jobs.enqueue("tidy", ("ann",))
        ...     job = store.jobs.claim(["tidy"], worker="w1")
        ...     job.attempts, store.jobs.claim(["tidy"], worker="w2"), store.jobs.finish(job)
        (1, None, True)
    """
    names = [checked_queue(queue) for queue in queues]
    row: dict[str, Any] = {
        "tenant": context.tenant,
        "worker": _checked_text(worker, "worker"),
        "lease": secrets.token_hex(12),
    }
    if number is not None:
        row["number"] = checked_number(number)
        takes = [Take(name, "take_this_job") for name in names]
    else:
        # A look first: a worker that finds nothing keeps no writer waiting, and asks only for what there is.
        takes = yield from transact("read", partial(_with_work, context, names))
    span = _span(lease)
    for take in takes:
        job = yield from transact("write", partial(_take, context, take, row, span))
        if job is not None:
            return job
    return None


class Take(NamedTuple):
    """One way to a job: a statement for a queue."""

    queue: str
    statement: str


def _with_work(context: Context, names: Sequence[str]) -> Body[list[Take]]:
    """Where something is to be had: the queue that waits longest first, in it what was left before what is new."""
    now = context.clock()
    places = [{"tenant": context.tenant, "queue": name} for name in names]
    found = yield Batch(
        [Sql(statement, place) for place in places for statement in ("next_lease_end", "next_job_due")], last=True
    )
    waiting: list[tuple[int, str, list[Take]]] = []
    for name, left, due in zip(names, found[::2], found[1::2], strict=True):
        ways = [
            (int(rows[0][0]), statement)
            for rows, statement in ((left, "take_over_job"), (due, "take_next_job"))
            if rows
        ]
        ways = [way for way in ways if way[0] <= now]
        if ways:
            waiting.append((min(ways)[0], name, [Take(name, statement) for _, statement in ways]))
    return [take for _, _, takes in sorted(waiting) for take in takes]


def _take(context: Context, take: Take, row: dict[str, Any], span: int) -> Body[Job | None]:
    now = context.clock()
    given = {**row, "queue": take.queue, "now": now, "lease_until": now + span}
    rows = yield from query_and_commit(take.statement, **given)
    return job_of(rows[0]) if rows else None


def heartbeat(context: Context, job: Job, *, lease: float = LEASE_SECONDS) -> Operation[bool]:
    """Keep a job for longer.

    Args:
        context: The store's settings.
        job: The job, as `claim` gave it.
        lease: Seconds from now until another may take it over.

    Returns:
        Whether it is still this worker's; what it leads to cannot land otherwise.
    """
    span = _span(lease)

    def body() -> Body[bool]:
        rows = yield from query_and_commit("prolong_job", **_held(job), lease_until=context.clock() + span)
        return bool(rows)

    return (yield from transact("write", body))


def finish(context: Context, job: Job) -> Operation[bool]:
    """End a job well.

    Args:
        context: The store's settings.
        job: The job, as `claim` gave it.

    Returns:
        Whether it was still this worker's.
    """
    return (yield from _end(context, job, "done"))


def retry(context: Context, job: Job, *, error: str, at: datetime, merge: bool = False) -> Operation[bool]:
    """Let a job that failed wait for another attempt.

    Args:
        context: The store's settings.
        job: The job, as `claim` gave it.
        error: What went wrong.
        at: When it may begin again.
        merge: Do then what else waits in its queue about its scope; that waits no longer by itself.

    Returns:
        Whether it was still this worker's.
    """
    if merge:
        ended = end_statement(context, job, "waiting", error=error, due_at=to_microseconds(at))
        return (yield from transact("write", partial(put_back, context, job, ended)))
    return (yield from _end(context, job, "waiting", error=error, due_at=to_microseconds(at)))


def park(context: Context, job: Job, *, error: str) -> Operation[bool]:
    """Give a job up, with its error, until somebody resumes it.

    Args:
        context: The store's settings.
        job: The job, as `claim` gave it.
        error: What went wrong.

    Returns:
        Whether it was still this worker's.
    """
    return (yield from _end(context, job, "parked", error=error))


def release(context: Context, job: Job) -> Operation[bool]:
    """Put a job back that was not done, as if it had not been begun: others may take it at once.

    Args:
        context: The store's settings.
        job: The job, as `claim` gave it.

    Returns:
        Whether it was still this worker's.
    """
    return (yield from _end(context, job, "waiting", error=job.error, due_at=context.clock(), uncounted=1))


def _end(
    context: Context,
    job: Job,
    state: str,
    *,
    error: str | None = None,
    due_at: int | None = None,
    uncounted: int = 0,
) -> Operation[bool]:
    ended = end_statement(context, job, state, error=error, due_at=due_at, uncounted=uncounted)
    rows = yield from transact("write", lambda: query_and_commit(ended.name, **ended.params))
    return bool(rows)


def end_statement(
    context: Context,
    job: Job,
    state: str,
    *,
    error: str | None = None,
    due_at: int | None = None,
    uncounted: int = 0,
) -> Sql:
    """The statement that ends an attempt, and does nothing where the lease is not this worker's any more."""
    return Sql(
        "end_job",
        {
            **_held(job),
            "state": state,
            "due_at": to_microseconds(job.due_at) if due_at is None else due_at,
            "uncounted": uncounted,
            "error": plain(error),
            "ended_at": context.clock() if state in ("done", "parked") else None,
        },
    )


def hold(job: Job, *more: Sql) -> Body[list[Rows]]:
    """Lock a job until the end of the transaction.

    Args:
        job: The job, as `claim` gave it.
        *more: What may travel with it, behind the lock: it is undone with the rest where the job is lost.

    Returns:
        The rows of that.

    Raises:
        LeaseLostError: It is not this worker's any more.
    """
    rows, *others = yield Batch([Sql("lock_job", {"number": job.number}), *more])
    if not rows or rows[0][0] != job.lease:
        raise LeaseLostError(
            f"The job {job.number} of {job.queue} is not this worker's any more.",
            "Nothing of this attempt has landed; leave it to the worker that has the job now.",
        )
    return others


def finish_statements(context: Context, job: Job) -> Body[list[Sql]]:
    """What ends a job well in one transaction with what came of it.

    Args:
        context: The store's settings.
        job: The job, as `claim` gave it.

    Returns:
        The statements to put into the last batch.

    Raises:
        LeaseLostError: It is not this worker's any more, so nothing may land.
    """
    yield from hold(job)
    return [end_statement(context, job, "done")]


def resume(context: Context, number: int) -> Operation[bool]:
    """Let a parked job wait again, as if it had never been begun.

    Args:
        context: The store's settings.
        number: Its number.

    Returns:
        Whether there is a parked one of this number.
    """
    asked = partial(query, "resume_job", tenant=context.tenant, number=checked_number(number))

    def body() -> Body[bool]:
        rows = yield from asked(now=context.clock())
        return bool(rows)

    return (yield from transact("write", body))


def sweep(context: Context, older_than: timedelta) -> Operation[int]:
    """Forget jobs that were done long ago; what led to them may lead to others from then on.

    Args:
        context: The store's settings.
        older_than: How long they have been done.

    Returns:
        How many were forgotten.
    """
    before = context.clock() - older_than // timedelta(microseconds=1)
    swept = 0
    while True:
        asked = partial(query, "sweep_jobs", tenant=context.tenant, before=before, limit=_SWEPT_AT_ONCE)
        rows = yield from transact("write", asked)
        swept += len(rows)
        if len(rows) < _SWEPT_AT_ONCE:
            return swept


def _held(job: Job) -> dict[str, Any]:
    return {"number": job.number, "lease": job.lease or ""}


def _span(lease: float) -> int:
    if isinstance(lease, bool) or not isinstance(lease, (int, float)) or not 0 < lease <= 1e7:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidValueError(f"lease={lease!r} is no number of seconds.", "Pass seconds, more than 0.")
    return int(lease * 1_000_000)


def _checked_text(text: str, what: str) -> str:
    if not is_plain_text(text) or not text:
        raise InvalidValueError(f"The {what} {text!r} is no name.", "Use a string without NUL characters.")
    return text
