"""One run: a range of turns is read, worked through on staged files, and lands, waits, is parked, or is left."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from memoranda.backends.base import Backend
from memoranda.backends.fences import Fence, fenced
from memoranda.backends.runtime import acting_for
from memoranda.backends.staged import StagedBackend
from memoranda.backends.steps import Steps, ask
from memoranda.consolidation.errors import (
    ChangeRefusedError,
    InvalidConsolidatorError,
    TooManyConflictsError,
    WorkFailedError,
    WroteOutsideError,
)
from memoranda.consolidation.landing import Landing, LandingMode, changes_of, land
from memoranda.consolidation.places import foreign, namespaces_in, unknown_owner
from memoranda.consolidation.reading import turns_of
from memoranda.consolidation.rendering import rendered
from memoranda.consolidation.reports import RunReport
from memoranda.consolidation.sources import ScopeOf, Span
from memoranda.consolidation.task import Spent, Task
from memoranda.consolidation.telemetry import watched
from memoranda.consolidation.tracing import TracedStage
from memoranda.consolidation.working import shortened
from memoranda.errors import LeaseLostError, MemorandaError, RunSettledError
from memoranda.store.changes import Author, ConflictError
from memoranda.store.effects import Body
from memoranda.store.jobs import Job
from memoranda.store.operations.job_merging import queue_merged
from memoranda.store.operations.jobs import insert_job
from memoranda.store.operations.runs import Recording
from memoranda.store.runs import Run, RunRecord
from memoranda.store.values import to_datetime

if TYPE_CHECKING:
    from memoranda.consolidation.consolidator import Consolidator
    from memoranda.consolidation.events import Event

Mode = Literal["apply", "propose", "preview"]

_FOR_GOOD: Final = (WroteOutsideError, ChangeRefusedError, TooManyConflictsError, InvalidConsolidatorError)
"""What goes wrong in the same way however often it is tried."""


class Passed(NamedTuple):
    """What came of a pass.

    Args:
        report: What is told.
        error: Why it failed, where it did.
    """

    report: RunReport
    error: Exception | None = None


@dataclass
class Pass:
    """One attempt at one range.

    Args:
        consolidator: Whose.
        scope: Whose turns.
        span: The range.
        job: The job that it is done for; None: it is a preview.
        mode: What is to become of its changes.
        attempt: Which attempt it is, from 1.
        parked: The parked run that is made again.
        follow_up: Whether a job is queued for what comes behind the range.
        over: In a preview, what earlier ranges would change.
    """

    consolidator: Consolidator
    scope: tuple[str, ...]
    span: Span
    job: Job | None
    mode: Mode
    attempt: int = 1
    parked: Run | None = None
    follow_up: bool = False
    over: StagedBackend | None = None
    began: float = field(default_factory=time.monotonic)
    run_id: str = ""
    started_at: datetime | None = None
    spent: Spent = field(default_factory=Spent)
    diff: str = ""
    summary: str | None = None
    recording: Recording | None = None

    def report(self, status: Any, **more: Any) -> RunReport:
        """What is told of it."""
        fields: dict[str, Any] = {
            "after": self.span.after,
            "to": self.span.to,
            "turns": len(self.span.turns),
            "diff": self.diff,
            "summary": self.summary,
            "attempts": self.attempt,
            "model": self.spent.model,
            "tokens_in": self.spent.tokens_in,
            "tokens_out": self.spent.tokens_out,
            "seconds": time.monotonic() - self.began,
        }
        return RunReport(self.scope, status, **(fields | more))

    def record(self, **more: Any) -> RunRecord:
        """What is recorded of it."""
        assert self.started_at is not None
        return RunRecord(
            self.run_id,
            self.consolidator.name,
            self.scope,
            self.span.after,
            self.span.to,
            len(self.span.turns),
            self.started_at,
            model=self.spent.model,
            tokens_in=self.spent.tokens_in,
            tokens_out=self.spent.tokens_out,
            attempts=self.attempt,
            summary=self.summary,
            **more,
        )


def run_pass(one: Pass) -> Steps[Passed]:
    """Attempt a range, and tell of it.

    Args:
        one: The attempt.

    Returns:
        What came of it; with the error where it failed.

    Raises:
        StoreError: The database is away; nothing landed.
    """
    with watched() as telling:
        passed = yield from _attempted(one)
        telling.told(one.consolidator.name, passed.report, passed.error)
    return passed


def _attempted(one: Pass) -> Steps[Passed]:
    consolidator, store = one.consolidator, one.consolidator.store
    yield from _begin(one)
    landing = Landing("conflict")
    for repeat in range(consolidator.conflict_attempts + 1):
        if repeat:
            yield from _read_again(one)
        who = consolidator.owner(one.scope, one.span.turns)
        with acting_for(user_id=who.user, org_id=who.org, assistant_id=who.agent, store=store):
            try:
                files, is_due = yield from _worked(one, who)
            except Exception as error:  # noqa: BLE001 - whatever the work raises ends this attempt, and is recorded
                return (yield from _failed(one, error))
            if not is_due and one.span.is_idle:
                if one.job is not None:
                    yield from ask(store.jobs.finish, one.job)
                return Passed(one.report("nothing"))
            if one.mode == "preview":
                one.over = one.over or StagedBackend(files.backend)
                yield from one.over.commit_steps(files.pending().changes())
                return Passed(one.report("preview"))
            # What is overtaken every time waits for a reviewer, who sees what there is by then.
            is_overtaken = repeat == consolidator.conflict_attempts and one.mode == "apply"
            landing = yield from _land(one, files, landing.error if is_overtaken else None)
        if landing.outcome != "conflict":
            break
    return (yield from _landed(one, landing))


def _begin(one: Pass) -> Steps[None]:
    """Note when it began, and under which id it will be recorded."""
    if one.started_at is None:
        store = one.consolidator.store
        one.run_id = one.parked.id if one.parked is not None else (yield from ask(store.runs.new_id))
        one.started_at = to_datetime(store.context.clock())


def _landed(one: Pass, landing: Landing) -> Steps[Passed]:
    match landing.outcome:
        case "landed":
            run = one.recording.run if one.recording is not None else None
            if run is None:  # one that was parked: what it took before is added up in the database
                run = yield from ask(one.consolidator.store.runs.get, one.run_id)
            return Passed(one.report(run.status, runs=(run,)))
        case "lost":
            return Passed((yield from _lost(one, landing.error)))
        case "refused":
            error: Exception = ChangeRefusedError(
                f"The target refused what {one.consolidator.name!r} changed: {landing.error}",
                "Let it change that, or tell it not to; then retry the run.",
            )
        case "conflict":
            error = TooManyConflictsError(
                f"Others changed the same each time before it could land: {landing.error}", "Retry the run."
            )
        case "failed":
            error = WorkFailedError(f"The changes could not be stored: {landing.error}", "Try again.")
    return (yield from _failed(one, error))


def _lost(one: Pass, error: str) -> Steps[RunReport]:
    """Leave the range to whoever has it now; the job goes back, if it is still this worker's."""
    if one.job is not None:
        yield from ask(one.consolidator.store.jobs.release, one.job)
    return one.report("lost", error=error)


def _read_again(one: Pass) -> Steps[None]:
    """Read the turns of the range anew: some may have been forgotten meanwhile."""
    turns = yield from turns_of(one.consolidator, one.scope, one.span)
    one.span = replace(one.span, turns=turns)


def _worked(one: Pass, who: ScopeOf) -> Steps[tuple[TracedStage, bool]]:
    """Let the consolidator do its work on a stage; and whether there was anything for it to do."""
    consolidator, store = one.consolidator, one.consolidator.store
    target = one.over if one.over is not None else consolidator.target_for(who)
    files = TracedStage(target, [turn.position for turn in one.span.turns], lambda place: foreign(store, target, place))
    events: tuple[Event, ...] = ()
    if consolidator.sources.reads_events and not (yield from _waits(one)):
        events = yield from consolidator.sources.events(files, consolidator.limits)
    is_due = consolidator.sources.is_due(one.span, events)
    if is_due:
        _check_owner(one, target)
        now = to_datetime(store.context.clock()).astimezone(consolidator.zone)
        is_late = one.parked is not None
        shown = rendered(one.span.turns, events, now, consolidator.zone, is_late=is_late)
        task = Task(
            who.scope,
            one.run_id,
            shown.turns,
            files,
            shown.text,
            now,
            consolidator.zone,
            who.user,
            who.org,
            who.agent,
            consolidator.instructions,
            events,
            shown.labels,
            one.spent,
        )
        with fenced(Fence(store, namespaces_in(store, target), "task.files")) as fence:
            one.summary = yield from ask(consolidator.work.do, task)
        if fence.strayed:
            raise WroteOutsideError(
                f"{consolidator.name!r} went past its run: {fence.strayed[0]}", "Nothing has landed."
            )
        yield from consolidator.sources.fold(files, events, one.run_id)
    strayed = files.outside[0] if files.outside else files.stray()
    if strayed is not None:
        raise WroteOutsideError(f"{consolidator.name!r} changed what is not its own: {strayed}", "Nothing has landed.")
    one.diff = files.pending().diff()
    return files, is_due


_OWNERS: Final = {"by_user": "user", "by_org": "org", "by_assistant": "agent"}


def _check_owner(one: Pass, target: Backend) -> None:
    """Refuse, before anything is asked of a model, what could not land since nobody knows whose the files are."""
    unknown = unknown_owner(target)
    if unknown is None:
        return
    leaf, error = unknown
    namespace = repr(getattr(leaf, "namespace", leaf))
    what = next((what for scope, what in _OWNERS.items() if scope in namespace), "user")
    raise InvalidConsolidatorError(
        f"The turns of {'/'.join(one.scope)} do not say whose files are meant by {namespace}: {error.cause}",
        f"Record turns with record_turns(…, {what}=…). For those that are there give the consolidator a name, such as "
        f"Consolidator(…, {what}=lambda scope: scope[-1]), or a target with a fixed namespace or of a function, and "
        "retry the run.",
    )


def _waits(one: Pass) -> Steps[bool]:
    """Whether what an earlier run of this scope made of its events waits for a reviewer, and their marks with it."""
    store = one.consolidator.store
    return bool((yield from ask(store.runs.list, one.consolidator.name, one.scope, "proposed", 1)))


def _land(one: Pass, files: TracedStage, overtaken: str | None) -> Steps[Landing]:
    """Let it land in its mode; what was overtaken, with the last reason for that, waits as a proposal."""
    store = one.consolidator.store
    reason = None
    if overtaken is not None:
        times = one.consolidator.conflict_attempts
        often = "once" if times == 1 else f"{times} times"
        reason = f"Others changed the same lines {often} meanwhile: {overtaken}"
        one.summary = shortened(f"{one.summary or ''} It waits for a reviewer, since others changed the same {often}.")
    record = one.record(changes=changes_of(files, store))
    one.recording = store.runs.record(record, one.job) if one.parked is None else None
    companion = one.recording or store.runs.rerecord(record, one.job)
    landing: LandingMode = "propose" if reason is not None or one.mode == "propose" else "apply"
    author = Author(f"consolidator:{one.consolidator.name}", run_id=one.run_id, reason=one.summary)
    return (
        yield from land(
            files, store, companion, author=author, mode=landing, also=partial(_follow_up, one), reason=reason
        )
    )


def _follow_up(one: Pass) -> Body[object]:
    """The job for what is behind the range; of its origin there is one, however often this is tried."""
    if not (one.follow_up and one.span.more):
        return
    context = one.consolidator.store.context
    row = insert_job(context, one.consolidator.name, one.scope, origin=f"more:{one.span.to}")
    yield from queue_merged(context, [row], note=True)


def _failed(one: Pass, error: Exception) -> Steps[Passed]:
    """Leave the attempt for another, or park the range with what went wrong."""
    said = str(error) if isinstance(error, MemorandaError) else f"{type(error).__name__}: {error}".strip()
    if one.mode == "preview":
        return Passed(one.report("failed", error=said), error)
    if one.attempt < one.consolidator.attempts and not isinstance(error, _FOR_GOOD):
        return Passed(one.report("failed", error=said), error)
    return Passed((yield from set_aside(one, said)), error)


def set_aside(one: Pass, error: str) -> Steps[RunReport]:
    """Record that a range failed, with its error; the cursor moves on.

    Args:
        one: The attempt.
        error: What went wrong.
    """
    runs = one.consolidator.store.runs
    yield from _begin(one)
    try:
        run = yield from ask(runs.park, one.record(error=error), one.job, partial(_follow_up, one))
    except (LeaseLostError, ConflictError, RunSettledError) as lost:
        return (yield from _lost(one, str(lost)))
    return one.report("parked", runs=(run,), error=error)
