"""A job: something to be done later by a worker, as a row of the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from memoranda.store.changes import Namespace

JobState: TypeAlias = Literal["waiting", "running", "done", "parked"]

JOB_STATES: Final = ("waiting", "running", "done", "parked")

LEASE_SECONDS: Final = 60.0
"""How long a job belongs to a worker that says nothing more."""


@dataclass(frozen=True, slots=True)
class Job:
    """Something to be done.

    Args:
        number: Its number in this database.
        queue: Who does it, for example the name of a consolidator.
        scope: The namespace that it is about; None: none.
        origin: What led to it; nothing leads to two jobs of one queue and scope.
        state: `waiting`, `running`, `done` or `parked`: given up, with its error.
        due_at: When it may begin.
        attempts: How often it was begun.
        lease: The sign of who runs it, without which nobody can end it; None: nobody does.
        lease_until: When another may take it over.
        worker: Who runs it, or ran it last.
        payload: Its input, a JSON object.
        error: What went wrong in the last attempt.
        created_at: When it was queued.
        started_at: When the last attempt began.
        ended_at: When it was done or parked.
    """

    number: int
    queue: str
    scope: Namespace | None
    origin: str
    state: JobState
    due_at: datetime
    attempts: int = 0
    lease: str | None = None
    lease_until: datetime | None = None
    worker: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict[str, Any])
    error: str | None = None
    created_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
