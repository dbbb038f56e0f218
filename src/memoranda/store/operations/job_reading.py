"""Looking at jobs without taking any."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from memoranda.errors import InvalidValueError, JobNotFoundError
from memoranda.store.changes import Namespace
from memoranda.store.effects import Batch, Body, Operation, Sql, query, transact
from memoranda.store.jobs import JOB_STATES, Job
from memoranda.store.namespaces import encode_namespace
from memoranda.store.operations.context import Context, countable
from memoranda.store.operations.job_rows import checked_number, checked_queue, job_of
from memoranda.store.values import to_datetime


def get(context: Context, number: int) -> Operation[Job]:
    """Read one job.

    Args:
        context: The store's settings.
        number: Its number.

    Returns:
        The job.

    Raises:
        JobNotFoundError: There is none of this number.
    """
    asked = partial(query, "job_by_number", tenant=context.tenant, number=checked_number(number))
    rows = yield from transact("read", asked)
    if not rows:
        raise JobNotFoundError(f"There is no job {number}.", "List the jobs to see which there are.")
    return job_of(rows[0])


def list_jobs(
    context: Context,
    queue: str | None = None,
    scope: Namespace | None = None,
    state: str | None = None,
    limit: int | None = 100,
) -> Operation[list[Job]]:
    """List jobs, newest first.

    Args:
        context: The store's settings.
        queue: Only those of this queue; None: all.
        scope: Only those about exactly this namespace; None: all.
        state: `waiting`, `running`, `done` or `parked`; None: all.
        limit: At most so many; None: all.

    Returns:
        The jobs.

    Raises:
        InvalidValueError: There is no such state.
    """
    if state is not None and state not in JOB_STATES:
        raise InvalidValueError(f"{state!r} is no state of a job.", f"Use {', '.join(JOB_STATES)} or None.")
    params: dict[str, Any] = {
        "tenant": context.tenant,
        "queue": "" if queue is None else checked_queue(queue),
        "state": state or "",
        "limit": countable(limit),
    }
    # Those that are not done are few.
    name = "jobs_newest" if state in (None, "done") else f"jobs_{state}"
    if scope is not None:
        name, params = "jobs_of_scope", {**params, "labels": encode_namespace(scope)}
    rows = yield from transact("read", partial(query, name, **params))
    return [job_of(row) for row in rows]


def next_due(context: Context, queues: Sequence[str]) -> Operation[datetime | None]:
    """Say when there is something to do next: a job that waits, a lease that runs out, or a schedule that is due.

    Args:
        context: The store's settings.
        queues: Of which queues.

    Returns:
        When; it may have passed. None: nothing is planned.
    """
    places = [{"tenant": context.tenant, "queue": checked_queue(queue)} for queue in queues]
    statements = ("next_job_due", "next_lease_end", "next_schedule_due")

    def body() -> Body[list[int]]:
        found = yield Batch([Sql(name, place) for place in places for name in statements], last=True)
        return [int(rows[0][0]) for rows in found if rows]

    moments = yield from transact("read", body)
    return to_datetime(min(moments)) if moments else None
