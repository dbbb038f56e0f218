"""Which scopes have turns that a consumer has not read, and a job for each of them."""

from __future__ import annotations

from functools import partial
from typing import Any

from memoranda.errors import InvalidValueError
from memoranda.store.changes import Namespace
from memoranda.store.effects import Batch, Body, Operation, Rows, Sql, query, transact
from memoranda.store.jobs import Job
from memoranda.store.namespaces import decode_namespace, encode_namespace, prefix_range
from memoranda.store.operations.context import Context, countable
from memoranda.store.operations.job_rows import checked_queue
from memoranda.store.operations.jobs import end_statement, hold, insert_job
from memoranda.store.runs import Unread
from memoranda.store.values import to_datetime

PAGE = 500
"""So many scopes get their jobs in one transaction."""

_LEASE = 60_000_000


def unread(
    context: Context,
    consumer: str,
    prefix: Namespace = (),
    after: Namespace | None = None,
    limit: int | None = PAGE,
) -> Operation[list[Unread]]:
    """List the scopes with turns that a consumer has not read, sorted.

    Args:
        context: The store's settings.
        consumer: Whose cursor counts.
        prefix: Labels that the scopes start with; `()` for all.
        after: Only what sorts behind this scope; None: from the first on.
        limit: At most so many; None: all.

    Returns:
        The scopes.

    Example:
        >>> from memoranda import Turn, open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.record_turns(("ann",), "t1", [Turn("m1", "user", "I like green tea.")])
        ...     [(found.namespace, found.position, found.turns) for found in store.runs.unread("tidy")]
        [(('ann',), 0, 1)]
    """
    low, high = prefix_range(tuple(prefix))
    params: dict[str, Any] = {
        "tenant": context.tenant,
        "consumer": checked_queue(consumer),
        "low": low,
        "high": high,
        "after": "" if after is None else encode_namespace(tuple(after)),
        "limit": countable(limit),
    }
    rows = yield from transact("read", partial(query, "unread_scopes", **params))
    return [
        Unread(decode_namespace(labels), int(position), int(turns), to_datetime(turned_at))
        for labels, position, turns, turned_at in rows
    ]


def fan_out(context: Context, job: Job, page: int = PAGE) -> Operation[int]:
    """Do a job that a cron schedule has made: queue one for each scope that has something to read, and end it.

    Stopped at any time and taken over by another worker, it goes on without queueing anything twice.

    Args:
        context: The store's settings.
        job: The job, as `claim` gave it, with the payload `{"kind": "fan_out", "prefix": […], …}`.
        page: How many scopes get their jobs in one transaction.

    Returns:
        How many jobs were queued.

    Raises:
        LeaseLostError: The job is not this worker's any more.
        InvalidValueError: It is no such job.
    """
    payload = dict(job.payload)
    if payload.pop("kind", None) != "fan_out":
        raise InvalidValueError(f"The job {job.number} is not to be spread over scopes.", "Do it by itself.")
    prefix, since = tuple(payload.pop("prefix", ())), payload.pop("since", None)
    low, high = prefix_range(prefix)
    place = {
        "tenant": context.tenant,
        "consumer": job.queue,
        "low": low,
        "high": high,
        "limit": page,
    }
    queued, after = 0, ""
    while True:
        found = yield from transact("read", partial(_page, place, since, after))
        last = len(found) < page
        queued += yield from transact(
            "write", partial(_queue, context, job, [row[0] for row in found], {**payload, "kind": "scope"}, last)
        )
        if last:
            return queued
        after = found[-1][0]
        since = since if since is None else int(found[-1][3])


def _page(place: dict[str, Any], since: int | None, after: str) -> Body[Rows]:
    if since is None:
        return (yield from query("unread_scopes", **place, after=after))
    return (yield from query("unread_scopes_since", **place, since=since, after=after))


def _queue(context: Context, job: Job, scopes: list[str], payload: dict[str, Any], last: bool) -> Body[int]:
    yield from hold(job)
    queued = yield Batch(
        [
            insert_job(context, job.queue, decode_namespace(labels), origin=job.origin, payload=payload)
            for labels in scopes
        ]
    )
    if last:
        yield Batch([end_statement(context, job, "done")], last=True)
    else:
        until = context.clock() + _LEASE
        yield Batch([Sql("prolong_job", {"number": job.number, "lease": job.lease, "lease_until": until})], last=True)
    return sum(bool(rows) for rows in queued)
