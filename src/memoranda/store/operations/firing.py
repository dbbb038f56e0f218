"""Making the jobs that are due by schedule, each once over all workers.

A cron schedule makes one job for each due time, which is spread over the scopes later (`unread.fan_out`); of due times
that were missed the latest alone is fired. An idle schedule looks for scopes that nobody has talked in for long enough,
and plans its next look for when the next one can be.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from memoranda.errors import InvalidScheduleError
from memoranda.store.due_times import latest_due
from memoranda.store.due_times import next_due as next_due_time
from memoranda.store.effects import Batch, Body, Operation, Rows, Sql, query, transact
from memoranda.store.jobs import Job
from memoranda.store.namespaces import decode_namespace, encode_namespace, prefix_range
from memoranda.store.operations.context import Context
from memoranda.store.operations.job_merging import queue_merged
from memoranda.store.operations.job_rows import checked_queue
from memoranda.store.operations.jobs import insert_job
from memoranda.store.operations.schedule_rows import Found, found_in
from memoranda.store.operations.unread import Mark, unread_idle
from memoranda.store.schedules import Schedule
from memoranda.store.values import to_datetime, to_microseconds

logger = logging.getLogger(__name__)

SLACK = 10 * 60_000_000
"""Turns are found that were recorded so much earlier than they became visible, by a slow writer or another clock."""

_ALL_EVERY = 60 * 60_000_000
_PAGE = 500
_LOOKING = 60_000_000
_MINUTE = 60_000_000


def fire(context: Context, queues: Sequence[str]) -> Operation[int]:
    """Make the jobs that are due by schedule, each once, however many workers do this at the same time.

    Args:
        context: The store's settings.
        queues: Of which queues.

    Returns:
        How many jobs were made.
    """
    names = [checked_queue(queue) for queue in queues]
    due = yield from transact("read", partial(_all_due, context, names))
    made = 0
    for number, kind in due:
        try:
            if kind == "cron":
                made += yield from transact("write", partial(_fire_cron, context, number))
            else:
                made += yield from _fire_idle(context, number)
        except InvalidScheduleError as error:
            # Another machine may know its time zone; and the others are due all the same.
            logger.error("The schedule %d was not fired: %s", number, error)
    return made


def _all_due(context: Context, queues: Sequence[str]) -> Body[Rows]:
    now = context.clock()
    found = yield Batch(
        [Sql("due_schedules", {"tenant": context.tenant, "queue": queue, "now": now}) for queue in queues], last=True
    )
    return [row for rows in found for row in rows]


def _fire_cron(context: Context, number: int) -> Body[int]:
    now = context.clock()
    rows = yield from query("lock_due_schedule", number=number, now=now)
    if not rows:
        return 0  # another worker has it
    found = found_in(rows[0])
    schedule, first = found.schedule, found.next_due
    assert schedule.line is not None and first is not None
    moment = to_datetime(now)
    due = latest_due(schedule.line, schedule.zone, to_datetime(first), moment)
    # Those that were talked in since the last due time are few; now and then all are looked at.
    since, looked_to = None, now
    if schedule.last_due is not None and found.looked_to is not None:
        last_due = to_microseconds(schedule.last_due)
        if last_due <= now and 0 <= now - found.looked_to < _ALL_EVERY:  # by a clock that has not gone back since
            since, looked_to = last_due - SLACK, found.looked_to
    payload: dict[str, Any] = {
        **schedule.payload,
        "kind": "fan_out",
        "schedule": schedule.name,
        "prefix": [*schedule.prefix],
    }
    if since is not None:
        payload["since"] = since
    job = insert_job(context, schedule.queue, origin=f"cron:{number}@{due.isoformat()}", payload=payload)
    fired = {
        "number": number,
        "last_due": to_microseconds(due),
        "next_due": to_microseconds(next_due_time(schedule.line, schedule.zone, moment)),
        "looked_to": looked_to,
    }
    made = yield Batch([job])
    yield Batch([Sql("fired_schedule", fired)], last=True)
    return len(made[0])


def _fire_idle(context: Context, number: int) -> Operation[int]:
    """Make a job for each scope that has become idle, a page at a time, and plan the next look."""
    began = yield from transact("write", partial(_begin_look, context, number))
    if began is None:
        return 0
    found, until, expected = began
    schedule = found.schedule
    if "logs" in schedule.payload:
        return (yield from transact("write", partial(_fire_idle_logs, context, found, until, expected)))
    at: Mark | None = Mark("", _idle_since(found.looked_to, until))
    made = 0
    while at is not None:
        look = unread_idle(context, schedule.queue, schedule.prefix, at, until, _idle_origin(number), _PAGE)
        scopes, at = yield from look
        if scopes:
            made += yield from transact("write", partial(_queue_idle, context, found, scopes))
    low, high = prefix_range(schedule.prefix)
    following = partial(query, "next_turned_scope", tenant=context.tenant, after=until, low=low, high=high)
    turned = yield from transact("read", following)
    next_look = _next_look(context.clock(), until, _idle_span(schedule), int(turned[0][0]) if turned else None)
    looked = {"number": number, "next_due": next_look, "looked_to": until, "expected": expected}
    yield from transact("write", partial(query, "looked_schedule", **looked))
    return made


def _fire_idle_logs(context: Context, found: Found, until: int, expected: int) -> Body[int]:
    """Make a job for each scope in whose log nothing was changed for long enough, and plan the next look.

    A consolidator's own marks count as a change, so that what was noted while it worked is found after them.
    """
    schedule = found.schedule
    payload = dict(schedule.payload)
    logs = [(tuple(scope), encode_namespace(tuple(log))) for scope, log in payload.pop("logs")]
    asked = [Sql("last_change_of_scope", {"tenant": context.tenant, "labels": labels}) for _, labels in logs]
    changes = [int(rows[0][0]) if rows else None for rows in ((yield Batch(asked)) if asked else [])]
    rows = [
        insert_job(
            context,
            schedule.queue,
            scope,
            origin=f"{_idle_origin(found.number)}{at}",
            payload={**payload, "kind": "idle", "turned_at": at, "log": labels, "schedule": schedule.name},
        )
        for (scope, labels), at in zip(logs, changes, strict=True)
        if at is not None and at <= until
    ]
    queued = yield from queue_merged(context, rows, note=True)
    following = min((at for at in changes if at is not None and at > until), default=None)
    next_look = _next_look(context.clock(), until, _idle_span(schedule), following)
    looked = {"number": found.number, "next_due": next_look, "looked_to": until, "expected": expected}
    yield Batch([Sql("looked_schedule", looked)], last=True)
    return sum(one.is_new for one in queued)


def _idle_since(looked_to: int | None, until: int) -> int:
    """From when on to look for scopes: at all of them once an hour, and where a clock has gone back."""
    if looked_to is None or until < looked_to or until // _ALL_EVERY != looked_to // _ALL_EVERY:
        return 0
    return looked_to - SLACK


def _begin_look(context: Context, number: int) -> Body[tuple[Found, int, int] | None]:
    """Keep other workers from looking at the same time; one that dies at it is followed by another in a minute."""
    now = context.clock()
    rows = yield from query("lock_due_schedule", number=number, now=now)
    if not rows:
        return None
    found = found_in(rows[0])
    expected = now + _LOOKING
    started = {"number": number, "last_due": None, "next_due": expected, "looked_to": found.looked_to}
    yield Batch([Sql("fired_schedule", started)], last=True)
    return found, now - _idle_span(found.schedule), expected


def _idle_span(schedule: Schedule) -> int:
    assert schedule.minutes is not None
    return int(schedule.minutes * _MINUTE)


def _next_look(now: int, until: int, span: int, turned_at: int | None) -> int:
    """When the next scope can have become idle; not at once, so that many that do are found together."""
    # What is said from now on is idle after the whole span at the earliest.
    earliest = now + span if turned_at is None else min(turned_at + span, now + span)
    return max(earliest, now + min(max(span // 50, 20_000), 5_000_000))


def _queue_idle(context: Context, found: Found, scopes: Sequence[tuple[str, int]]) -> Body[int]:
    schedule = found.schedule
    rows = [
        insert_job(
            context,
            schedule.queue,
            decode_namespace(labels),
            origin=f"{_idle_origin(found.number)}{turned_at}",
            payload={
                **schedule.payload,
                "kind": "idle",
                "turned_at": turned_at,
                "schedule": schedule.name,
            },
        )
        for labels, turned_at in scopes
    ]
    queued = yield from queue_merged(context, rows, note=True)
    return sum(one.is_new for one in queued)


def _idle_origin(number: int) -> str:
    return f"idle:{number}@"


def is_rearmed(context: Context, job: Job) -> Operation[bool]:
    """Whether something was said since an idle schedule made this job, so that its time has to pass again.

    Args:
        context: The store's settings.
        job: The job, with the payload `{"kind": "idle", "turned_at": …}`; of another, nothing can be said.

    Returns:
        Whether the scope was talked in since; then another job comes when it is idle again.
    """
    turned_at = job.payload.get("turned_at")
    if job.scope is None or turned_at is None:
        return False
    log = job.payload.get("log")
    asked = "scope_turned_at" if log is None else "last_change_of_scope"
    labels = encode_namespace(job.scope) if log is None else log
    rows = yield from transact("read", partial(query, asked, tenant=context.tenant, labels=labels))
    return bool(rows) and rows[0][0] is not None and int(rows[0][0]) > int(turned_at)
