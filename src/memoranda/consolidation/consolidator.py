"""`Consolidator`: what was said becomes what is known, each turn once, in the background."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast
from zoneinfo import ZoneInfo

from memoranda.backends.base import Backend
from memoranda.backends.foreign import as_backend
from memoranda.backends.steps import Steps, ask
from memoranda.consolidation.by_hand import by_hand, preview
from memoranda.consolidation.errors import InvalidConsolidatorError
from memoranda.consolidation.logs import is_of_logs, log_scopes
from memoranda.consolidation.many import Many
from memoranda.consolidation.places import may_lie_in
from memoranda.consolidation.reading import next_span, nothing_new
from memoranda.consolidation.reports import RunReport, ScopeStatus
from memoranda.consolidation.running import Pass, run_pass, set_aside
from memoranda.consolidation.settings import (
    Mode,
    Owner,
    check_numbers,
    check_owner,
    check_takes_one,
    checked_mode,
    checked_name,
    checked_prefix,
    checked_scope,
    checked_sources,
    checked_store,
    checked_timeout,
    is_function,
    owner_of,
    work_of,
)
from memoranda.consolidation.sources import Limits, ScopeOf, Source
from memoranda.consolidation.statuses import statuses
from memoranda.consolidation.triggering import after_idle, on_demand, schedule
from memoranda.consolidation.triggers import attempt_of
from memoranda.consolidation.undoing import undoing
from memoranda.consolidation.working import Work
from memoranda.errors import RunSettledError
from memoranda.knowledge.pairs import awaiting, blocking
from memoranda.store.changes import Author, Namespace
from memoranda.store.due_times import checked_zone
from memoranda.store.jobs import Job
from memoranda.store.store import MemoryStore
from memoranda.store.turns import RecordedTurn

Target: TypeAlias = "Backend | Callable[[ScopeOf], Backend]"


class Consolidator:
    """Tends memory in the background: reads what was said, and lets a model or a function bring the files up to date.

    A run reads the turns behind the cursor of a scope, works on staged files, and lets the changes, the cursor and the
    run's record land in one transaction. So each turn is worked through once, and a run that fails, or is killed,
    changes nothing. What others write meanwhile stays: their changes are merged, or the run is made again.

    Args:
        work: What does the work: a chat model or its name, for the ready-made agent; a function of a `Task`, blocking
            or async; or an agent of your own, by `from_agent`.
        store: Where the conversations are, and the files.
        target: The files that it tends: a backend into the same store, or a function that makes one for a `ScopeOf`.
            Within a run `by_user`, `by_org` and `by_assistant` are those whose turns it reads.
        name: Its name: it has a cursor of its own in each scope, and its jobs stand in the queue of this name.
        prefix: Labels that its scopes start with; `()` for all. For `run_all`, `status` and schedules; `run` and
            `on_demand` take any scope that they are given.
        sources: What it reads: `Conversations()`, or an `EventLog`.
        scopes: Of an `EventLog` without turns, whose logs `run_all` and schedules look at; None: that of the target,
            which has a fixed namespace then.
        user: Who talked, for turns that were recorded without a user: a name, or a function of the scope.
        org: Whose organisation, likewise.
        agent: With which agent, likewise.
        instructions: What the ready-made agent, or yours, is told to do.
        mode: `apply`, or `propose`: what it changes waits for a reviewer.
        zone: The time zone in which dates and times are written for it.
        max_turns: How many turns a run reads at most.
        max_bytes: Of how many bytes of text at most; a longer turn comes alone.
        attempts: How often a run is tried before its range is parked with its error.
        conflict_attempts: How often a run is made again because others changed the same, before its changes wait as a
            proposal.
        timeout: Seconds that the work may take; None: as long as it wants.
        limit_steps: How many messages the ready-made agent may send in one run.

    Raises:
        InvalidConsolidatorError: A setting makes no sense.
        InvalidScheduleError: There is no such time zone.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.backends import StoreBackend, by_user
        >>> from memoranda.store.turns import Turn
        >>> with open_store("memory://") as store:
        ...     said = Turn("m1", "user", "I like green tea.")
        ...     _ = store.record_turns(("ann",), "monday", [said], user="ann")
        ...     files = StoreBackend(namespace=by_user, store=store)
        ...     def note(task):
        ...         task.files.append("/likes.md", task.turns[0].text)
        ...     noting = Consolidator(note, store=store, target=files)
        ...     noting.run(("ann",)).status, noting.run(("ann",)).status
        ('applied', 'nothing')
    """

    def __init__(
        self,
        work: Any,
        *,
        store: MemoryStore,
        target: Target,
        name: str | None = None,
        prefix: Namespace = (),
        sources: Source | None = None,
        scopes: Sequence[Namespace] | None = None,
        user: Owner = None,
        org: Owner = None,
        agent: Owner = None,
        instructions: str | None = None,
        mode: Mode = "apply",
        zone: str = "UTC",
        max_turns: int = 200,
        max_bytes: int = 64_000,
        attempts: int = 3,
        conflict_attempts: int = 3,
        timeout: float | None = 600.0,
        limit_steps: int = 60,
    ) -> None:
        check_owner(user=user, org=org, agent=agent)
        check_numbers(
            max_turns=max_turns,
            max_bytes=max_bytes,
            attempts=attempts,
            conflict_attempts=conflict_attempts,
            limit_steps=limit_steps,
        )
        self.store = checked_store(store)
        self.sources = checked_sources(sources)
        self.name = self.sources.consumer if name is None else checked_name(name)
        self.prefix = checked_prefix(prefix)
        self.scopes = None if scopes is None else tuple(checked_scope(scope) for scope in scopes)
        self.user, self.org, self.agent = user, org, agent
        self.instructions = instructions
        self.mode: Mode = checked_mode(mode)
        self.zone = ZoneInfo(checked_zone(zone))
        self.limits = Limits(max_turns, max_bytes)
        self.attempts, self.conflict_attempts = attempts, conflict_attempts
        self.work = Work(work_of(work, limit_steps), checked_timeout(timeout))
        if is_function(target):
            check_takes_one(cast("Callable[..., Any]", target), "The function that makes the target", "scope")
        self.target = target if is_function(target) else as_backend(target)
        if isinstance(self.target, Backend) and not may_lie_in(store, self.target):
            raise InvalidConsolidatorError(
                f"No file of {target!r} lies in the store of this consolidator, so nothing could land there together "
                "with what was read.",
                "Pass a StoreBackend of the same store, or a composite with a route to one.",
            )

    def __repr__(self) -> str:
        return f"Consolidator({self.name!r}, target={self.target!r})"

    def target_for(self, who: ScopeOf) -> Backend:
        """The target of a run."""
        if isinstance(self.target, Backend):
            return self.target
        made: Any = self.target(who)
        return as_backend(made)

    def owner(self, scope: Namespace, turns: Sequence[RecordedTurn]) -> ScopeOf:
        """Whose turns these are; where they do not say it, as the consolidator was told."""
        return owner_of(scope, turns, user=self.user, org=self.org, agent=self.agent)

    def under(self, prefix: Namespace | None) -> Namespace:
        """The labels that scopes start with: those that are given, or its own."""
        return self.prefix if prefix is None else checked_prefix(prefix)

    # --- running ----------------------------------------------------------------------------------------------

    def _run(self, scope: Namespace, *, dry_run: bool = False, mode: Mode | None = None) -> Steps[RunReport]:
        """Consolidate one scope now: all turns that it has not read, in several runs if they are many.

        It ends at the first run that fails. What somebody else works on at this moment is left to them, and what is
        said while it works to the next call.

        Args:
            scope: Whose conversations: of this namespace exactly, be it outside of `prefix`.
            dry_run: Show what would change, and change nothing.
            mode: Other than that of the consolidator.

        Returns:
            What came of it.

        Raises:
            InvalidConsolidatorError: There is no such mode.
            InvalidNamespaceError: The scope is no namespace.
            StoreError: The database cannot be reached.
        """
        scope, mode = checked_scope(scope), self.mode if mode is None else checked_mode(mode)
        if dry_run:
            return (yield from preview(self, scope))
        report = yield from nothing_new(self, scope)
        lost: list[RunReport] = []
        last = yield from self._last_of(scope)
        while report.ok and report.to < last:
            passed = yield from by_hand(self, scope, mode)
            if passed.status == "lost" and len(lost) < self.conflict_attempts:  # such as when some of it was forgotten
                lost.append(passed)
                continue
            if passed.status == "nothing" or (passed.status == "busy" and report.runs):
                break
            report = passed if report.status == "nothing" else report + passed
            if passed.status == "busy":
                break
        return lost[-1] if lost and report.status == "nothing" else report

    run, arun = blocking(_run), awaiting(_run)

    def _last_of(self, scope: Namespace) -> Steps[float]:
        """Up to where a call reads: what is said meanwhile waits, lest an agent that is recorded itself never end."""
        if not self.sources.reads_turns:
            return 0 if (yield from next_span(self, scope)) is None else math.inf
        unread = yield from ask(self.store.runs.unread, self.name, scope, limit=1)
        return unread[0].turns if unread and unread[0].namespace == scope else 0

    def _step(self, job: Job) -> Steps[RunReport]:
        """Do one job of a worker: one range of its scope. More that is to be read gets a job of its own.

        Args:
            job: A job of this consolidator's queue, as `claim` gave it.

        Returns:
            What came of it; the job has ended, unless it was lost.

        Raises:
            Exception: The attempt failed and another may follow; the job runs still. After the last one the range is
                parked instead, and the job with it.
        """
        if job.scope is None:
            raise InvalidConsolidatorError(f"The job {job.number} is about no scope.", "Queue it with its scope.")
        began = time.monotonic()
        span = yield from next_span(self, job.scope)
        if span is None:
            is_ours = yield from ask(self.store.jobs.finish, job)
            told = yield from nothing_new(self, job.scope)
            return replace(told, status="nothing" if is_ours else "lost", seconds=time.monotonic() - began)
        one = Pass(self, job.scope, span, job, self.mode, attempt_of(job), follow_up=True)
        passed = yield from run_pass(one)
        if passed.report.status == "failed" and passed.error is not None:
            raise passed.error
        return passed.report

    step, astep = blocking(_step), awaiting(_step)

    def _run_all(
        self,
        prefix: Namespace | None = None,
        *,
        dry_run: bool = False,
        mode: Mode | None = None,
        concurrency: int = 4,
        progress: Callable[[RunReport], None] | None = None,
    ) -> Steps[list[RunReport]]:
        """Consolidate every scope with turns that it has not read, several side by side; of event logs, its scopes.

        Args:
            prefix: Labels that the scopes start with; None: those of the consolidator.
            dry_run: Show what would change, and change nothing.
            mode: Other than that of the consolidator.
            concurrency: How many scopes at a time.
            progress: Told what came of each scope as soon as it is done.

        Returns:
            What came of each scope, in the order of the scopes.

        Raises:
            InvalidConsolidatorError: There is no such mode, or the prefix is a string.
        """
        scopes: list[Namespace] = []
        under, mode = self.under(prefix), self.mode if mode is None else checked_mode(mode)
        if is_of_logs(self):
            scopes = log_scopes(self, under)
        while not is_of_logs(self):
            last = scopes[-1] if scopes else None
            found = yield from ask(self.store.runs.unread, self.name, under, last)
            if not found:
                break
            scopes += [one.namespace for one in found]
        many = Many(self, concurrency, progress)
        reports = yield from ask(many.do, scopes, dry_run=dry_run, mode=mode)
        # Of logs it shows only now in which nothing was new.
        return [report for report in reports if not (is_of_logs(self) and report.status == "nothing")]

    run_all, arun_all = blocking(_run_all), awaiting(_run_all)

    def _retry(self, run_id: str) -> Steps[RunReport]:
        """Try a range again that was parked.

        Args:
            run_id: The parked run.

        Returns:
            What came of it; the run keeps its id.

        Raises:
            RunNotFoundError: There is no such run.
            RunSettledError: It is not parked, or of another consolidator.
        """
        run = yield from ask(self.store.runs.get, run_id)
        if run.consumer != self.name:
            raise RunSettledError(
                f"The run {run_id} is one of the consolidator {run.consumer!r}, and this one is {self.name!r}.",
                f"Name the consolidator {run.consumer!r}: Consolidator(…, name={run.consumer!r}).",
            )
        if run.status != "parked":
            raise RunSettledError(f"The run {run_id} is {run.status}.", "Only a parked run can be retried.")
        return (yield from by_hand(self, run.scope, self.mode, run))

    retry, aretry = blocking(_retry), awaiting(_retry)

    def _undo(self, run_id: str, *, author: Author | None = None) -> Steps[RunReport]:
        """Take back what a run changed, in one transaction; what others changed since stays.

        Of a run whose changes wait, the proposal is rejected.

        Args:
            run_id: The run.
            author: Who undoes it; None takes `acting_as`.

        Returns:
            What came of it.

        Raises:
            RunNotFoundError: There is no such run.
            RunSettledError: There is nothing to undo: it was undone already, rejected, parked, or changed nothing.
            UndoConflictError: What it changed was changed since in the same place; nothing was undone.
        """
        return (yield from undoing(self.store, run_id, author=author))

    undo, aundo = blocking(_undo), awaiting(_undo)

    def _status(self, prefix: Namespace | None = None) -> Steps[list[ScopeStatus]]:
        """How its scopes stand: those with unread turns, with jobs, and with runs that wait for somebody.

        Args:
            prefix: Labels that the scopes start with; None: those of the consolidator.
        """
        return (yield from statuses(self.store, self.name, self.under(prefix), turns=self.sources.reads_turns))

    status, astatus = blocking(_status), awaiting(_status)

    def _set_aside(self, job: Job, error: str) -> Steps[RunReport]:
        """Park the range of a job whose workers end before it is done, so that what comes after it goes on.

        Args:
            job: The job, as `claim` gave it.
            error: What is wrong with it.

        Returns:
            What came of it.
        """
        if job.scope is None:
            raise InvalidConsolidatorError(f"The job {job.number} is about no scope.", "Queue it with its scope.")
        span = yield from next_span(self, job.scope)
        if span is None:
            yield from ask(self.store.jobs.park, job, error=error)
            return RunReport(job.scope, "nothing", error=error)
        one = Pass(self, job.scope, span, job, self.mode, max(job.attempts, 1), follow_up=True)
        return (yield from set_aside(one, error))

    set_aside, aset_aside = blocking(_set_aside), awaiting(_set_aside)

    schedule, aschedule = blocking(schedule), awaiting(schedule)
    after_idle, aafter_idle = blocking(after_idle), awaiting(after_idle)
    on_demand, aon_demand = blocking(on_demand), awaiting(on_demand)
