"""Schedules: put, paused, removed, and fired, each due time once over all workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import orjson

from memoranda.errors import InvalidScheduleError, ScheduleNotFoundError
from memoranda.store.changes import Namespace
from memoranda.store.due_times import checked_line, checked_zone, latest_due
from memoranda.store.due_times import next_due as next_due_time
from memoranda.store.effects import Batch, Body, Operation, Row, Rows, Sql, query, transact
from memoranda.store.jobs import Job
from memoranda.store.keys import MAX_NAME_BYTES, is_plain_text
from memoranda.store.namespaces import decode_namespace, encode_namespace, prefix_range
from memoranda.store.operations.context import Context
from memoranda.store.operations.jobs import checked_queue, encode_payload, insert_job
from memoranda.store.schedules import Schedule
from memoranda.store.values import to_datetime, to_microseconds

SLACK = 10 * 60_000_000
"""Turns are found that were recorded so much earlier than they became visible, by a slow writer or another clock."""

_ALL_EVERY = 60 * 60_000_000
_PAGE = 500
_LOOKING = 60_000_000
_MINUTE = 60_000_000
_LONGEST = 60 * 24 * 366 * 10


class Found(NamedTuple):
    """A schedule's row."""

    number: int
    schedule: Schedule
    next_due: int | None
    looked_to: int | None


def put(
    context: Context,
    name: str,
    queue: str,
    *,
    cron: str | None = None,
    zone: str = "UTC",
    idle_minutes: float | None = None,
    prefix: Namespace = (),
    payload: Mapping[str, Any] | None = None,
) -> Operation[Schedule]:
    """Make a schedule, or change the one of this name; the same settings again change nothing.

    A cron line is read in its zone. A time that the clock skips when it is put forward is due when it has been; one
    that comes twice when it is put back is due the first time, unless the line says `*` of its minutes or hours. Due
    times that were missed while no worker ran are made up for once.

    With `idle_minutes` a job is made for each scope with unread turns in which nothing was said for so long; a new
    turn starts the time again.

    Args:
        context: The store's settings.
        name: Its name.
        queue: In which queue its jobs are put.
        cron: A cron line such as `0 */6 * * *`; None with `idle_minutes`.
        zone: The time zone of the cron line, such as `Europe/Berlin`.
        idle_minutes: How many minutes nothing was said; None with `cron`.
        prefix: Labels that the scopes start with which it is for; `()` for all.
        payload: What its jobs carry besides, a JSON object.

    Returns:
        The schedule.

    Raises:
        InvalidScheduleError: The line, the zone or the minutes are none; the error says what is wrong with them.
        InvalidValueError: The queue or the payload cannot be stored.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     store.schedules.put("nightly", "tidy", cron="30 3 * * *", zone="Europe/Berlin").kind
        'cron'
    """
    if not is_plain_text(name) or not 0 < len(name.encode()) <= MAX_NAME_BYTES:
        raise InvalidScheduleError(
            f"{str(name)[:80]!r} is no name of a schedule.",
            f"Use 1 to {MAX_NAME_BYTES} bytes without NUL characters.",
        )
    if (cron is None) == (idle_minutes is None):
        raise InvalidScheduleError(
            f"The schedule {name!r} has {'no time' if cron is None else 'two kinds of times'}.",
            "Pass either cron= or idle_minutes=.",
        )
    row: dict[str, Any] = {
        "queue": checked_queue(queue),
        "kind": "idle" if cron is None else "cron",
        "line": None if cron is None else checked_line(cron),
        "zone": checked_zone(zone),
        "minutes": None if idle_minutes is None else checked_minutes(idle_minutes),
        "labels": encode_namespace(tuple(prefix)),
        "payload": encode_payload(payload),
    }
    return (yield from transact("write", partial(_put, context, name, row)))


def checked_minutes(minutes: float) -> float:
    """Return a number of minutes as it is.

    Raises:
        InvalidScheduleError: It is none, or not more than 0.
    """
    if isinstance(minutes, bool) or not isinstance(minutes, (int, float)) or not 0 < minutes <= _LONGEST:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidScheduleError(f"{minutes!r} is no number of minutes.", "Pass a number that is more than 0.")
    return float(minutes)


def _put(context: Context, name: str, row: dict[str, Any]) -> Body[Schedule]:
    now = context.clock()
    place = {"tenant": context.tenant, "name": name}
    following = _following(row["line"], row["zone"], now)
    yield Batch([Sql("insert_schedule", {**place, **row, "now": now, "next_due": following})])
    found = yield from _locked(context, name)
    if _settings(found.schedule) != row:
        yield Batch([Sql("change_schedule", {**row, "number": found.number, "next_due": following})])
        found = yield from _locked(context, name)
    return found.schedule


def _settings(schedule: Schedule) -> dict[str, Any]:
    return {
        "queue": schedule.queue,
        "kind": schedule.kind,
        "line": schedule.line,
        "zone": schedule.zone,
        "minutes": schedule.minutes,
        "labels": encode_namespace(schedule.prefix),
        "payload": encode_payload(schedule.payload),
    }


def _following(line: str | None, zone: str, now: int) -> int:
    """When a schedule is due next: an idle one looks at once."""
    return now if line is None else to_microseconds(next_due_time(line, zone, to_datetime(now)))


def list_schedules(context: Context, queue: str | None = None) -> Operation[list[Schedule]]:
    """List the schedules, by name.

    Args:
        context: The store's settings.
        queue: Only those of this queue; None: all.

    Returns:
        The schedules.
    """
    named = "" if queue is None else checked_queue(queue)
    rows = yield from transact("read", partial(query, "schedules", tenant=context.tenant, queue=named))
    return [_found(row).schedule for row in rows]


def get(context: Context, name: str) -> Operation[Schedule]:
    """Read one schedule.

    Args:
        context: The store's settings.
        name: Its name.

    Returns:
        The schedule.

    Raises:
        ScheduleNotFoundError: There is none of this name.
    """
    _known(name)
    rows = yield from transact("read", partial(query, "schedule", tenant=context.tenant, name=name))
    if not rows:
        raise _missing(name)
    return _found(rows[0]).schedule


def pause(context: Context, name: str) -> Operation[Schedule]:
    """Let a schedule make no jobs until it is resumed; those it has made are done all the same.

    Args:
        context: The store's settings.
        name: Its name.

    Returns:
        The schedule.

    Raises:
        ScheduleNotFoundError: There is none of this name.
    """
    return (yield from transact("write", partial(_set_paused, context, name, True)))


def resume(context: Context, name: str) -> Operation[Schedule]:
    """Let a paused schedule make jobs again, from now on: due times in the pause are not made up for.

    Args:
        context: The store's settings.
        name: Its name.

    Returns:
        The schedule.

    Raises:
        ScheduleNotFoundError: There is none of this name.
    """
    return (yield from transact("write", partial(_set_paused, context, name, False)))


def _set_paused(context: Context, name: str, paused: bool) -> Body[Schedule]:
    found = yield from _locked(context, name)
    schedule = found.schedule
    if schedule.paused != paused:
        due = None if paused else _following(schedule.line, schedule.zone, context.clock())
        yield Batch([Sql("pause_schedule", {"number": found.number, "paused": int(paused), "next_due": due})])
        found = yield from _locked(context, name)
    return found.schedule


def remove(context: Context, name: str) -> Operation[None]:
    """Remove a schedule; the jobs that it has made are done all the same.

    Args:
        context: The store's settings.
        name: Its name.

    Raises:
        ScheduleNotFoundError: There is none of this name.
    """
    _known(name)
    rows = yield from transact("write", partial(query, "delete_schedule", tenant=context.tenant, name=name))
    if not rows:
        raise _missing(name)


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
        if kind == "cron":
            made += yield from transact("write", partial(_fire_cron, context, number))
        else:
            made += yield from _fire_idle(context, number)
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
    found = _found(rows[0])
    schedule, first = found.schedule, found.next_due
    assert schedule.line is not None and first is not None
    moment = to_datetime(now)
    due = latest_due(schedule.line, schedule.zone, to_datetime(first), moment)
    # Those that were talked in since the last due time are few; now and then all are looked at.
    since, looked_to = None, now
    if schedule.last_due is not None and found.looked_to is not None and now - found.looked_to < _ALL_EVERY:
        since, looked_to = to_microseconds(schedule.last_due) - SLACK, found.looked_to
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
    since, after, made = 0 if found.looked_to is None else found.looked_to - SLACK, "", 0
    while True:
        rows = yield from transact("read", partial(_idle, context, found, since, until, after))
        if rows:
            made += yield from transact("write", partial(_queue_idle, context, found, rows))
        if len(rows) < _PAGE:
            break
        after, since = rows[-1][0], int(rows[-1][1])
    low, high = prefix_range(schedule.prefix)
    following = partial(query, "next_turned_scope", tenant=context.tenant, after=until, low=low, high=high)
    turned = yield from transact("read", following)
    next_look = _next_look(context.clock(), until, _idle_span(schedule), int(turned[0][0]) if turned else None)
    looked = {"number": number, "next_due": next_look, "looked_to": until, "expected": expected}
    yield from transact("write", partial(query, "looked_schedule", **looked))
    return made


def _begin_look(context: Context, number: int) -> Body[tuple[Found, int, int] | None]:
    """Keep other workers from looking at the same time; one that dies at it is followed by another in a minute."""
    now = context.clock()
    rows = yield from query("lock_due_schedule", number=number, now=now)
    if not rows:
        return None
    found = _found(rows[0])
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


def _idle(context: Context, found: Found, since: int, until: int, after: str) -> Body[Rows]:
    low, high = prefix_range(found.schedule.prefix)
    return (
        yield from query(
            "idle_scopes",
            tenant=context.tenant,
            queue=found.schedule.queue,
            since=since,
            until=until,
            after=after,
            low=low,
            high=high,
            origin=_idle_origin(found.number),
            limit=_PAGE,
        )
    )


def _queue_idle(context: Context, found: Found, rows: Rows) -> Body[int]:
    schedule = found.schedule
    queued = yield Batch(
        [
            insert_job(
                context,
                schedule.queue,
                decode_namespace(labels),
                origin=f"{_idle_origin(found.number)}{turned_at}",
                payload={
                    **schedule.payload,
                    "kind": "idle",
                    "turned_at": int(turned_at),
                    "schedule": schedule.name,
                },
            )
            for labels, turned_at in rows
        ],
        last=True,
    )
    return sum(bool(row) for row in queued)


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
    labels = encode_namespace(job.scope)
    rows = yield from transact("read", partial(query, "scope_turned_at", tenant=context.tenant, labels=labels))
    return bool(rows) and rows[0][0] is not None and int(rows[0][0]) > int(turned_at)


def _locked(context: Context, name: str) -> Body[Found]:
    _known(name)
    rows = yield from query("lock_schedule", tenant=context.tenant, name=name)
    if not rows:
        raise _missing(name)
    return _found(rows[0])


def _known(name: str) -> None:
    if not is_plain_text(name):
        raise _missing(name)


def _missing(name: object) -> ScheduleNotFoundError:
    return ScheduleNotFoundError(
        f"There is no schedule {str(name)[:80]!r}.", "List the schedules to see which there are."
    )


def _found(row: Row) -> Found:
    number, name, queue, kind, line, zone, minutes, labels, paused, payload, created_at, last_due, due, looked_to = row
    shown: datetime | None = None if due is None or kind != "cron" else to_datetime(due)
    schedule = Schedule(
        name,
        queue,
        kind,
        line,
        zone,
        minutes,
        decode_namespace(labels),
        bool(paused),
        to_datetime(created_at),
        None if last_due is None else to_datetime(last_due),
        shown,
        orjson.loads(payload),
    )
    return Found(int(number), schedule, due, looked_to)
