"""How scopes stand with a consolidator."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from memoranda.backends.steps import Steps, ask
from memoranda.consolidation.reports import ScopeStatus
from memoranda.store.changes import Namespace
from memoranda.store.runs import Unread
from memoranda.store.store import MemoryStore
from memoranda.store.values import to_datetime


def statuses(store: MemoryStore, consumer: str, prefix: Namespace, *, turns: bool = True) -> Steps[list[ScopeStatus]]:
    """The scopes below a prefix in which something is unread, planned, or waits for somebody, sorted.

    Args:
        store: The store.
        consumer: The consolidator's name.
        prefix: Labels that the scopes start with.
        turns: Whether it reads turns.
    """
    unread = (yield from ask(store.runs.unread, consumer, prefix, None, None)) if turns else []
    parked = yield from ask(store.runs.list, consumer, None, "parked", None)
    proposed = yield from ask(store.runs.list, consumer, None, "proposed", None)
    waiting = yield from ask(store.jobs.list, consumer, None, "waiting", None)
    begun = yield from ask(store.jobs.list, consumer, None, "running", None)
    now = to_datetime(store.context.clock())
    # One whose worker is not heard of any more waits for another.
    running = [job for job in begun if job.lease_until is None or job.lease_until > now]
    waiting = [*waiting, *(job for job in begun if job not in running)]
    new = {one.namespace: one for one in unread}
    counts = [Counter(run.scope for run in runs) for runs in (parked, proposed)]
    planned = [Counter(job.scope for job in jobs if job.scope is not None) for jobs in (waiting, running)]
    scopes = {*new, *counts[0], *counts[1], *planned[0], *planned[1]}
    found: list[ScopeStatus] = []
    for scope in sorted(scope for scope in scopes if scope[: len(prefix)] == prefix):
        last = yield from ask(store.runs.list, consumer, scope, None, 1)
        position, last_turn, at = yield from _position(store, consumer, scope, new.get(scope))
        found.append(
            ScopeStatus(
                scope,
                position,
                last_turn,
                at,
                counts[0][scope],
                counts[1][scope],
                planned[0][scope],
                bool(planned[1][scope]),
                last[0] if last else None,
            )
        )
    return found


def _position(
    store: MemoryStore, consumer: str, scope: Namespace, unread: Unread | None
) -> Steps[tuple[int, int, datetime | None]]:
    if unread is not None:
        return unread.position, unread.turns, unread.turned_at
    position = yield from ask(store.runs.cursor, consumer, scope)
    return position, position, None
