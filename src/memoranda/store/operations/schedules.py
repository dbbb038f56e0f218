"""Schedules: put, paused, resumed and removed; what fires them is in `firing`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from memoranda.errors import InvalidScheduleError, ScheduleNotFoundError
from memoranda.store.changes import Namespace
from memoranda.store.due_times import checked_line, checked_zone
from memoranda.store.due_times import next_due as next_due_time
from memoranda.store.effects import Batch, Body, Operation, Sql, query, transact
from memoranda.store.keys import MAX_NAME_BYTES, is_plain_text
from memoranda.store.namespaces import encode_namespace
from memoranda.store.operations.context import Context
from memoranda.store.operations.job_rows import checked_queue, encode_payload
from memoranda.store.operations.schedule_rows import Found, found_in
from memoranda.store.schedules import Schedule
from memoranda.store.values import to_datetime, to_microseconds

_LONGEST = 60 * 24 * 366 * 10


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
    schedule = yield from transact("write", partial(_put, context, name, row))
    context.wake_workers()
    return schedule


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
    elif found.next_due is not None and found.next_due > _latest(found.schedule, following):
        # A machine whose clock was ahead has looked last.
        yield Batch([Sql("pause_schedule", {"number": found.number, "paused": 0, "next_due": following})])
        found = yield from _locked(context, name)
    return found.schedule


def _latest(schedule: Schedule, following: int) -> int:
    """When a schedule that is not paused is due next at the latest."""
    return following if schedule.minutes is None else following + int((schedule.minutes + 1) * 60_000_000)


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
    return [found_in(row).schedule for row in rows]


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
    return found_in(rows[0]).schedule


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
    schedule = yield from transact("write", partial(_set_paused, context, name, False))
    context.wake_workers()
    return schedule


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


def _locked(context: Context, name: str) -> Body[Found]:
    _known(name)
    rows = yield from query("lock_schedule", tenant=context.tenant, name=name)
    if not rows:
        raise _missing(name)
    return found_in(rows[0])


def _known(name: str) -> None:
    if not is_plain_text(name):
        raise _missing(name)


def _missing(name: object) -> ScheduleNotFoundError:
    return ScheduleNotFoundError(
        f"There is no schedule {str(name)[:80]!r}.", "List the schedules to see which there are."
    )
