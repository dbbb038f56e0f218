"""A schedule's row as callers see it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from memoranda.store.effects import Row
from memoranda.store.namespaces import decode_namespace
from memoranda.store.schedules import Schedule
from memoranda.store.values import stored_json, to_datetime


class Found(NamedTuple):
    """A schedule's row."""

    number: int
    schedule: Schedule
    next_due: int | None
    looked_to: int | None


def found_in(row: Row) -> Found:
    """The schedule of a row."""
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
        stored_json(payload),
    )
    return Found(int(number), schedule, due, looked_to)
