"""What made a job, and what that asks of its worker before the consolidator's turn has come."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from memoranda.backends.steps import Steps, ask
from memoranda.errors import InvalidScheduleError

if TYPE_CHECKING:
    from memoranda.store.changes import Namespace
    from memoranda.store.jobs import Job
    from memoranda.store.store import MemoryStore

FAN_OUT: Final = "fan_out"
"""The kind of a schedule's job: it makes one job for each scope in which something was said."""
IDLE: Final = "idle"
"""The kind of the job of a scope in which nothing was said for a while."""

KEPT: Final = timedelta(days=7)
"""How long jobs that are done are kept: a schedule that fires late fires nothing of that time twice."""
SWEEP_EVERY: Final = 3600.0
"""Seconds between two looks for jobs that are kept no longer."""


def is_fan_out(job: Job) -> bool:
    """Whether a job only makes others."""
    return job.payload.get("kind") == FAN_OUT


def waits_for_silence(job: Job) -> bool:
    """Whether a job was made because nothing was said in its scope: a message since then re-arms that."""
    return job.payload.get("kind") == IDLE


def attempt_of(job: Job) -> int:
    """Which attempt this is, from 1.

    A worker that ends says nothing of what it did: until an attempt has failed, those of such workers do not count, so
    that the first failure is never the last one because of them. After it they do, lest a range fail and kill by turns
    for ever.
    """
    return max(job.attempts, 1) if job.error is not None else 1


def schedule_name(consumer: str, prefix: Namespace = (), *, idle: bool = False) -> str:
    """What a schedule is called that is given no name: there is one of each kind for each prefix.

    Args:
        consumer: The name of its consolidator.
        prefix: Labels that the scopes start with which it is for.
        idle: Whether it waits for silence.

    Example:
        >>> schedule_name("consolidation"), schedule_name("consolidation", ("acme", "ann"), idle=True)
        ('consolidation', 'consolidation-idle acme/ann')
    """
    name = _escaped(consumer, " ")
    if idle:
        name += "-idle"
    elif name.endswith(("-idle", "-cron")):  # which is the name of another consolidator's
        name += "-cron"
    return " ".join((name, *(["/".join(_escaped(label, "/") for label in prefix)] if prefix else [])))


def free_name(store: MemoryStore, consumer: str, name: str) -> Steps[str]:
    """The name of a schedule, unless that of another consolidator has it.

    Args:
        store: The store that the schedule will stand in.
        consumer: The name of its consolidator.
        name: Its name.

    Raises:
        InvalidScheduleError: Another consolidator's schedule would be replaced.
    """
    found = yield from ask(store.schedules.list)
    other = next((one for one in found if one.name == name and one.queue != consumer), None)
    if other is not None:
        raise InvalidScheduleError(
            f"The schedule {name!r} is one of the consolidator {other.queue!r}, which would lose it.",
            "Give this one another name, or remove that one first.",
        )
    return name


def _escaped(text: str, divider: str) -> str:
    """A part of a name without what divides the parts, so that no two schedules have one name by chance."""
    return text.replace("%", "%25").replace(divider, f"%{ord(divider):02X}")
