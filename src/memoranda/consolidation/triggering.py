"""When a consolidator works: at the times of a cron line, once nothing is said any more, or as soon as may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoranda.backends.steps import Steps, ask
from memoranda.consolidation.logs import is_of_logs, log_scopes, logs
from memoranda.consolidation.settings import checked_scope
from memoranda.consolidation.triggers import free_name, schedule_name
from memoranda.store.changes import Namespace
from memoranda.store.jobs import Job
from memoranda.store.schedules import Schedule

if TYPE_CHECKING:
    from memoranda.consolidation.consolidator import Consolidator


def schedule(
    consolidator: Consolidator,
    cron: str,
    zone: str | None = None,
    *,
    name: str | None = None,
    prefix: Namespace | None = None,
) -> Steps[Schedule]:
    """Have all scopes with new turns consolidated at the times of a cron line, by whichever worker runs then.

    Args:
        consolidator: The consolidator.
        cron: Such as `0 */6 * * *`.
        zone: The time zone in which it is read; None: that of the consolidator.
        name: The schedule's name; the same name again changes it. None: that of the consolidator, and the labels.
        prefix: Labels that the scopes start with; None: those of the consolidator.

    Returns:
        The schedule.

    Raises:
        InvalidScheduleError: The line or the zone is none, or another consolidator has a schedule of this name.
        InvalidConsolidatorError: It reads event logs, and nothing says of which scopes.
    """
    below = consolidator.under(prefix)
    in_zone = consolidator.zone.key if zone is None else zone
    if is_of_logs(consolidator):
        log_scopes(consolidator, below)  # or nothing would ever come of it
    named = yield from free_name(consolidator.store, consolidator.name, name or schedule_name(consolidator.name, below))
    return (
        yield from ask(
            consolidator.store.schedules.put, named, consolidator.name, cron=cron, zone=in_zone, prefix=below
        )
    )


def after_idle(
    consolidator: Consolidator, minutes: float, *, name: str | None = None, prefix: Namespace | None = None
) -> Steps[Schedule]:
    """Have a scope consolidated when nothing was said in it for a while; each new message begins that anew.

    Of an event log without turns, when nothing was changed in the log's namespace.

    Args:
        consolidator: The consolidator.
        minutes: How long nothing was said.
        name: The schedule's name; None: that of the consolidator, with `-idle`, and the labels.
        prefix: Labels that the scopes start with; None: those of the consolidator.

    Returns:
        The schedule.

    Raises:
        InvalidScheduleError: That is no number of minutes above 0, or another consolidator has the name.
        InvalidConsolidatorError: It reads event logs, and nothing says of which scopes.
    """
    below = consolidator.under(prefix)
    named = yield from free_name(
        consolidator.store, consolidator.name, name or schedule_name(consolidator.name, below, idle=True)
    )
    payload = logs(consolidator, below) if is_of_logs(consolidator) else None
    put = consolidator.store.schedules.put
    return (yield from ask(put, named, consolidator.name, idle_minutes=minutes, prefix=below, payload=payload))


def on_demand(consolidator: Consolidator, scope: Namespace) -> Steps[Job]:
    """Have a scope consolidated as soon as a worker is free; what failed in it keeps the time of its next attempt.

    Args:
        consolidator: The consolidator.
        scope: Whose conversations, be it outside of `prefix`.

    Returns:
        The job that a worker will do: where one of this scope waits already, that one.
    """
    job = yield from ask(consolidator.store.jobs.enqueue, consolidator.name, checked_scope(scope), merge=True)
    assert job is not None, "an origin of its own is never there already"
    return job
