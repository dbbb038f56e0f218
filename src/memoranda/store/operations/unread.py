"""Which scopes have turns that a consumer has not read, and a job for each of them."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

from memoranda.errors import InvalidValueError
from memoranda.store.changes import Namespace
from memoranda.store.effects import Batch, Body, Operation, Row, Rows, Sql, transact
from memoranda.store.jobs import Job
from memoranda.store.namespaces import decode_namespace, encode_namespace, prefix_range
from memoranda.store.operations.context import Context, countable
from memoranda.store.operations.job_merging import queue_merged
from memoranda.store.operations.job_rows import checked_queue
from memoranda.store.operations.jobs import end_statement, hold, insert_job
from memoranda.store.runs import Unread
from memoranda.store.values import to_datetime

PAGE: Final = 500
"""So many scopes get their jobs in one transaction."""

_LOOKED_AT: Final = 2_000
_LEASE: Final = 60_000_000
_NEVER: Final = 1 << 62


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
    place = _place(context, checked_queue(consumer), prefix)
    at: Mark | None = Mark("" if after is None else encode_namespace(tuple(after)))
    wanted, found = countable(limit), list[Row]()
    while at is not None and len(found) < wanted:
        rows, at = yield from transact("snapshot", partial(_page, place, at, _LOOKED_AT))
        found += rows
    return [
        Unread(decode_namespace(labels), int(position), int(turns), to_datetime(turned_at))
        for labels, position, turns, turned_at in found[:wanted]
    ]


class Mark(NamedTuple):
    """Behind which scope to go on.

    Args:
        labels: The scope.
        since: When it was last talked in, where they come in that order; None: they are sorted by name.
    """

    labels: str = ""
    since: int | None = None


def fan_out(context: Context, job: Job, page: int = PAGE) -> Operation[int]:
    """Do a job that a cron schedule has made: queue one for each scope that has something to read, and end it.

    A scope of which a job waits already gets no other: that one reads what there is by then.

    Stopped at any time and taken over by another worker, it goes on without queueing anything twice.

    Args:
        context: The store's settings.
        job: The job, as `claim` gave it, with the payload `{"kind": "fan_out", "prefix": […], …}`.
        page: How many scopes to look at for one transaction.

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
    payload["kind"] = "scope"
    place = _place(context, job.queue, prefix)
    queued, at = 0, Mark("", since)
    while True:
        rows, more = yield from transact("snapshot", partial(_page, place, at, page, origin=job.origin))
        scopes = [row[0] for row in rows]
        queued += yield from transact("write", partial(_queue, context, job, scopes, payload, more is None))
        if more is None:
            return queued
        at = more


def unread_idle(
    context: Context, consumer: str, prefix: Namespace, at: Mark, until: int, origin: str, page: int
) -> Operation[tuple[list[tuple[str, int]], Mark | None]]:
    """A page of the scopes that were last talked in up to some time, without those that have a job because of that.

    Args:
        context: The store's settings.
        consumer: Whose cursor counts.
        prefix: Labels that the scopes start with.
        at: Where the page begins.
        until: The time, in microseconds since the epoch.
        origin: What the origin of such a job is, without the time at its end.
        page: How many scopes to look at.

    Returns:
        The scopes with the times when they were last talked in, and where the next page begins.
    """
    place = _place(context, consumer, prefix)
    body = partial(_page, place, at, page, until=until, origin=origin, timed=True)
    rows, more = yield from transact("snapshot", body)
    return [(labels, int(turned_at)) for labels, _, _, turned_at in rows], more


def _place(context: Context, consumer: str, prefix: Namespace) -> dict[str, Any]:
    low, high = prefix_range(tuple(prefix))
    return {"tenant": context.tenant, "consumer": consumer, "low": low, "high": high}


def _page(
    place: dict[str, Any], at: Mark, page: int, *, until: int = _NEVER, origin: str = "", timed: bool = False
) -> Body[tuple[Rows, Mark | None]]:
    """The unread ones of the next so many scopes, and behind which one to go on; None: there are no more.

    Of one snapshot: what is written between the two statements must move no scope out of both pages.
    """
    around = {name: part for name, part in place.items() if name != "consumer"} | {"after": at.labels, "page": page}
    if at.since is None:
        rows, end = yield Batch(
            [Sql("unread_scopes", {**around, "consumer": place["consumer"]}), Sql("end_of_scopes", around)], last=True
        )
        return rows, Mark(end[0][0]) if end else None
    around |= {"since": at.since, "until": until}
    asked = {**around, "consumer": place["consumer"], "origin": origin, "timed": int(timed)}
    rows, end = yield Batch([Sql("unread_scopes_since", asked), Sql("end_of_scopes_since", around)], last=True)
    return rows, Mark(end[0][1], int(end[0][0])) if end else None


def _queue(context: Context, job: Job, scopes: list[str], payload: dict[str, Any], last: bool) -> Body[int]:
    yield from hold(job)
    rows = [
        insert_job(context, job.queue, decode_namespace(labels), origin=job.origin, payload=payload)
        for labels in scopes
    ]
    queued = yield from queue_merged(context, rows, note=False)
    if last:
        yield Batch([end_statement(context, job, "done")], last=True)
    else:
        until = context.clock() + _LEASE
        yield Batch([Sql("prolong_job", {"number": job.number, "lease": job.lease, "lease_until": until})], last=True)
    return sum(one.is_new for one in queued)
