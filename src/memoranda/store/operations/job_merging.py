"""Jobs of one queue and namespace that wait become one: what waits already absorbs what is queued.

A worker asks what there is to read after it has taken a job, so one that waits covers all that led to others. It is
held by its row's lock meanwhile: one that is being taken at this moment absorbs nothing any more. What failed and waits
for another attempt keeps its time and counts its attempts, however often somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from memoranda.store.effects import Batch, Body, Row, Sql
from memoranda.store.jobs import Job
from memoranda.store.namespaces import encode_namespace
from memoranda.store.operations.context import Context
from memoranda.store.operations.job_rows import encode_payload, job_of
from memoranda.store.values import stored_json, to_microseconds

ALONE: Final = "hand"
"""The kind, in its payload, of a job that does one thing for a caller who waits for it, and absorbs nothing."""


class Queued(NamedTuple):
    """What became of a job that was queued.

    Args:
        job: The job that does it; None: its origin has led to one before.
        is_new: Whether it has a row of its own.
    """

    job: Job | None
    is_new: bool = False


def queue_merged(context: Context, rows: Iterable[Sql], *, note: bool) -> Body[list[Queued]]:
    """Queue jobs about namespaces, each unless one that waits can do it as well.

    Args:
        context: The store's settings.
        rows: What `insert_job` made, one for a namespace at most.
        note: Whether the origin of what was absorbed is recorded, as a job that is done.

    Returns:
        What became of each, sorted by namespace: in one order, since each is locked.
    """
    news = sorted(rows, key=lambda row: row.params["labels"])
    if not news:
        return []
    found = yield Batch([Sql("lock_waiting_jobs", _place(row)) for row in news])
    waiting = [next(iter(_mergeable(each)), None) for each in found]
    inserted = [
        row if job is None else _absorbed(context, row, job)
        for row, job in zip(news, waiting, strict=True)
        if job is None or note
    ]
    made = iter((yield Batch(inserted)) if inserted else [])
    queued: list[Queued] = []
    changed: list[Sql] = []
    for row, job in zip(news, waiting, strict=True):
        own: Sequence[Row] = next(made) if job is None or note else ()
        if job is None:
            queued.append(Queued(job_of(own[0]), True) if own else Queued(None))
        elif note and not own:
            queued.append(Queued(None))
        else:
            queued.append(Queued(job))
            changed += _sooner(row, job)
    if changed:
        yield Batch(changed)
    return queued


def put_back(context: Context, job: Job, ended: Sql) -> Body[bool]:
    """Let a job that failed wait for another attempt, and do then what else waits about its namespace.

    Args:
        context: The store's settings.
        job: The job, as `claim` gave it.
        ended: The statement that puts it back, and does nothing where the lease is not this worker's any more.

    Returns:
        Whether it was still this worker's.
    """
    if job.scope is None:
        rows = yield Batch([ended], last=True)
        return bool(rows[0])
    place = {"tenant": context.tenant, "queue": job.queue, "labels": encode_namespace(job.scope)}
    held, others = yield Batch([Sql("lock_job", {"number": job.number}), Sql("lock_waiting_jobs", place)])
    if not held or held[0][0] != job.lease:
        return False
    payload, attempts = job.payload, job.attempts
    absorbed = _mergeable(others)
    for other in absorbed:
        payload, attempts = _of_both(payload, other.payload), max(attempts, other.attempts)
    merged = {
        "number": job.number,
        "due_at": ended.params["due_at"],
        "begun": attempts - job.attempts,
        "payload": encode_payload(payload),
    }
    gone = [Sql("end_absorbed_job", {"number": other.number, "now": context.clock()}) for other in absorbed]
    yield Batch([ended, Sql("absorb_into_job", merged), *gone], last=True)
    return True


def _place(row: Sql) -> dict[str, Any]:
    return {name: row.params[name] for name in ("tenant", "queue", "labels")}


def _mergeable(rows: Sequence[Row]) -> list[Job]:
    """Those of some jobs that do all that there is, the one that was begun most often first."""
    jobs = [job_of(row) for row in rows]
    return sorted((job for job in jobs if job.payload.get("kind") != ALONE), key=lambda job: -job.attempts)


def _absorbed(context: Context, row: Sql, job: Job) -> Sql:
    """The row of what another job does."""
    payload = encode_payload({**stored_json(row.params["payload"]), "absorbed_by": job.number})
    return Sql(row.name, {**row.params, "state": "done", "ended_at": context.clock(), "payload": payload})


def _sooner(row: Sql, job: Job) -> list[Sql]:
    """What a job has to take over of one that it absorbs."""
    due_at = to_microseconds(job.due_at)
    payload = _of_both(job.payload, stored_json(row.params["payload"]))
    wanted = due_at if job.attempts else min(due_at, row.params["due_at"])
    if wanted == due_at and payload == job.payload:
        return []
    changed = {"number": job.number, "due_at": wanted, "begun": 0, "payload": encode_payload(payload)}
    return [Sql("absorb_into_job", changed)]


def _of_both(one: Mapping[str, Any], other: Mapping[str, Any]) -> Mapping[str, Any]:
    """The input of a job that does another as well: only what both leave to a silence is left to one, the later."""
    if one.get("kind") != "idle":
        return one
    if other.get("kind") != "idle":
        return other
    return other if other.get("turned_at", 0) > one.get("turned_at", 0) else one
