"""Runs without a worker: the caller takes the scope's job, keeps it while it runs, and ends it."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC
from secrets import token_hex
from typing import TYPE_CHECKING, Final, Literal

from memoranda.backends.staged import StagedBackend
from memoranda.backends.steps import Steps, ask
from memoranda.consolidation.giving_back import present_jobs
from memoranda.consolidation.reading import next_span, nothing_new, turns_of
from memoranda.consolidation.reports import RunReport
from memoranda.consolidation.running import Pass, Passed, run_pass
from memoranda.consolidation.sources import ScopeOf, Span
from memoranda.consolidation.task import Spent
from memoranda.consolidation.triggers import KEPT, SWEEP_EVERY
from memoranda.errors import StoreError
from memoranda.store.changes import Namespace
from memoranda.store.jobs import Job
from memoranda.store.operations.job_merging import ALONE
from memoranda.store.runs import Run
from memoranda.store.store import MemoryStore

if TYPE_CHECKING:
    from memoranda.consolidation.consolidator import Consolidator

LEASE: Final = 60.0
"""Seconds after which another may take over from a caller whose process has died."""

_SWEPT: Final[dict[tuple[str, str], float]] = {}
"""For the stores that this process has swept: when that is due again."""
_HAND: Final = "hand:"
_MOST_WAITING: Final = 20


def by_hand(
    consolidator: Consolidator, scope: Namespace, mode: Literal["apply", "propose"], parked: Run | None = None
) -> Steps[RunReport]:
    """Work through the next range of a scope, or a parked one again, with as many attempts as it takes.

    Args:
        consolidator: Whose.
        scope: The scope.
        mode: What becomes of the changes.
        parked: The parked run; None: what comes next.
    """
    store = consolidator.store
    among = present_jobs()
    job = None if among is not None and among.is_over else (yield from _take(consolidator, scope))
    if job is None:
        return RunReport(scope, "busy", error=(yield from _whose(consolidator, scope)))
    if among is not None and not among.take(store, job):
        yield from ask(store.jobs.release, job)
        return RunReport(scope, "busy", error="The call was interrupted.")
    try:
        with beating(store, job):
            if parked is None:
                span = yield from next_span(consolidator, scope)
            else:
                span = Span(parked.after, parked.to)
                span = Span(parked.after, parked.to, (yield from turns_of(consolidator, scope, span)))
            if span is None:
                yield from ask(store.jobs.finish, job)
                return (yield from nothing_new(consolidator, scope))
            attempt, spent = 0, Spent()
            passed = Passed(RunReport(scope, "failed"))
            while passed.report.status == "failed":
                attempt += 1
                one = Pass(consolidator, scope, span, job, mode, attempt, parked, spent=spent)
                passed = yield from run_pass(one)
                if among is not None and among.is_over:
                    break
        with suppress(StoreError):
            yield from _sweep(store)
        return passed.report
    except BaseException:
        with suppress(StoreError):  # its lease runs out by itself
            store.jobs.release(job)
        raise
    finally:
        if among is not None:
            among.leave(job)


def _whose(consolidator: Consolidator, scope: Namespace) -> Steps[str]:
    """That another is at work, and how long it may be if nothing is heard of it any more."""
    running = yield from ask(consolidator.store.jobs.list, consolidator.name, scope, "running", 1)
    until = running[0].lease_until if running else None
    if until is None:
        return "Another is at work on this scope."
    held = until.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    return f"Another is at work on this scope; its lease holds until {held}, and longer while it is heard of."


def preview(consolidator: Consolidator, scope: Namespace) -> Steps[RunReport]:
    """Show what would become of all that is unread in a scope; nothing is recorded."""
    report = yield from nothing_new(consolidator, scope)
    over: StagedBackend | None = None
    last: ScopeOf | None = None
    span = yield from next_span(consolidator, scope)
    while span is not None:
        who = consolidator.owner(scope, span.turns)
        one = Pass(consolidator, scope, span, None, "preview", over=over if who == last else None)
        passed = yield from run_pass(one)
        report = passed.report if report.status == "nothing" else report + passed.report
        if passed.report.status != "preview" or not span.more:
            break
        over, last = one.over, who
        span = yield from next_span(consolidator, scope, span.to)
    return report


def _take(consolidator: Consolidator, scope: Namespace) -> Steps[Job | None]:
    """The job of this scope; None where another has it."""
    jobs, queue = consolidator.store.jobs, consolidator.name
    worker = f"{socket.gethostname()}:{os.getpid()}"
    running = yield from ask(jobs.list, queue, scope, "running", 1)
    if running:  # it can be had if whoever began it is not heard of any more
        return (yield from ask(jobs.claim, [queue], worker=worker, lease=LEASE, number=running[0].number))
    waiting = yield from ask(jobs.list, queue, scope, "waiting", _MOST_WAITING)
    job = next((one for one in waiting if one.origin.startswith(_HAND)), None)
    if job is None:
        job = yield from ask(jobs.enqueue, queue, scope, origin=_HAND + token_hex(8), payload={"kind": ALONE})
    if job is None:
        return None
    return (yield from ask(jobs.claim, [queue], worker=worker, lease=LEASE, number=job.number))


def _sweep(store: MemoryStore) -> Steps[None]:
    """Forget jobs that were done long ago, as a worker does; nothing else would where none ever runs."""
    place, now = (store.identity, store.context.tenant), time.monotonic()
    if now >= _SWEPT.get(place, 0.0):
        _SWEPT[place] = now + SWEEP_EVERY
        yield from ask(store.jobs.sweep, KEPT)


@contextmanager
def beating(store: MemoryStore, job: Job) -> Generator[None]:
    """Keep a job's lease within the block, however long that takes."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(LEASE / 3):
            with suppress(StoreError):
                store.jobs.heartbeat(job, lease=LEASE)

    threading.Thread(target=beat, name="memoranda-lease", daemon=True).start()
    try:
        yield
    finally:
        ended.set()
