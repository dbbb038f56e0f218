"""Which scopes a consolidator of event logs has, where no turns say so: those that it is given, or its target's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memoranda.backends.base import Backend
from memoranda.backends.places import place_of
from memoranda.backends.runtime import acting_for
from memoranda.consolidation.errors import InvalidConsolidatorError
from memoranda.consolidation.places import home, is_resolved
from memoranda.store.changes import Namespace
from memoranda.store.jobs import Job

if TYPE_CHECKING:
    from memoranda.consolidation.consolidator import Consolidator


def is_of_logs(consolidator: Consolidator) -> bool:
    """Whether nothing but the files of a log says what there is to read."""
    return consolidator.sources.reads_events and not consolidator.sources.reads_turns


def log_scopes(consolidator: Consolidator, prefix: Namespace = ()) -> list[Namespace]:
    """The scopes below a prefix whose logs are to be looked at, sorted.

    Args:
        consolidator: One that reads event logs, and no turns.
        prefix: Labels that the scopes start with.

    Raises:
        InvalidConsolidatorError: Nothing says which they are.
    """
    found = consolidator.scopes
    if found is None:
        if not isinstance(consolidator.target, Backend) or not is_resolved(consolidator.target):
            raise InvalidConsolidatorError(
                f"{consolidator.name!r} reads event logs, and nothing says of which scopes: no turns, and no target "
                "with a fixed namespace.",
                "Name them: Consolidator(…, scopes=[…]); or read the turns too: EventLog(turns=True).",
            )
        found = (_log_in(consolidator, consolidator.target),)
    return sorted(scope for scope in found if scope[: len(prefix)] == prefix)


def logs(consolidator: Consolidator, prefix: Namespace) -> Mapping[str, Any]:
    """What an idle schedule has to know: the scopes, each with the namespace that its log lies in."""
    found: list[list[list[str]]] = []
    for scope in log_scopes(consolidator, prefix):
        who = consolidator.owner(scope, ())
        with acting_for(user_id=who.user, org_id=who.org, assistant_id=who.agent, store=consolidator.store):
            found.append([[*scope], [*_log_in(consolidator, consolidator.target_for(who))]])
    return {"logs": found}


def _log_in(consolidator: Consolidator, target: Backend) -> Namespace:
    folder = getattr(consolidator.sources, "folder", "/")
    return home(consolidator.store, target, place_of(f"{folder}/log"))[0]


def spread_over_logs(consolidator: Consolidator, job: Job) -> bool:
    """Do a job that a cron schedule has made: queue one for each scope, and end it.

    Args:
        consolidator: One that reads event logs, and no turns.
        job: The job, as `claim` gave it.

    Returns:
        Whether it was still this worker's.
    """
    jobs = consolidator.store.jobs
    for scope in log_scopes(consolidator, tuple(job.payload.get("prefix", ()))):
        jobs.enqueue(job.queue, scope, origin=job.origin, payload={"kind": "scope"}, merge=True)
    return jobs.finish(job)
