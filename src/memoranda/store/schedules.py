"""A schedule: when jobs are made by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from memoranda.store.changes import Namespace

ScheduleKind: TypeAlias = Literal["cron", "idle"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """When jobs are made by themselves.

    Args:
        name: Its name, of which there is one in the store.
        queue: In which queue its jobs are put.
        kind: `cron`: at the times of a cron line; `idle`: for each scope in which nothing was said for a while.
        line: The cron line; None for another kind.
        zone: The time zone in which the cron line is read.
        minutes: How many minutes nothing was said; None for another kind.
        prefix: Labels that the namespaces start with which it is for; `()` for all.
        paused: Whether it makes no jobs at present.
        created_at: When it was made.
        last_due: The due time that was fired last; None: none was, or it has no due times.
        next_due: The next due time; None: it is paused, or has no due times.
        payload: What its jobs carry, a JSON object.
    """

    name: str
    queue: str
    kind: ScheduleKind
    line: str | None
    zone: str
    minutes: float | None
    prefix: Namespace
    paused: bool
    created_at: datetime
    last_due: datetime | None = None
    next_due: datetime | None = None
    payload: Mapping[str, Any] = field(default_factory=dict[str, Any])
