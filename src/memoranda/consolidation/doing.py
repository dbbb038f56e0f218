"""Doing one job of a consolidator, and saying what came of it."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from memoranda.consolidation.logs import is_of_logs, spread_over_logs
from memoranda.consolidation.triggers import attempt_of, is_fan_out, waits_for_silence
from memoranda.errors import (
    LeaseLostError,
    MemorandaError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
)
from memoranda.store.values import to_datetime

if TYPE_CHECKING:
    from memoranda.consolidation.consolidator import Consolidator
    from memoranda.consolidation.reports import RunReport
    from memoranda.store.jobs import Job
    from memoranda.store.store import MemoryStore

logger = logging.getLogger(__name__)

LONGEST_PAUSE: Final = 600.0
"""Seconds that a job which failed waits at most before it is done again."""
DEATHS: Final = 10
"""So many workers may end over a job beside its attempts, before it is parked; see `attempt_of`."""
PASSING: Final = (StoreUnavailableError, StoreBusyError, StoreFullError)
"""What is wrong with a database that may be well again by itself."""
_GIVING_BACK = 1.0

Outcome: TypeAlias = Literal["done", "spread", "rearmed", "again", "parked", "lost"]


@dataclass(frozen=True, slots=True)
class Worked:
    """What came of one job.

    Args:
        job: The job.
        outcome: `done`; `spread`: a schedule's jobs were made, one for each scope; `rearmed`: a new message came, so
            the scope is not idle; `again`: it failed and is done again at `again_at`; `parked`: it failed for the last
            time; `lost`: its lease ran out and another worker has it, so that nothing of this attempt landed.
        report: What the consolidator says of its run; None where it came to none.
        error: What went wrong.
        again_at: When it is done again.
    """

    job: Job
    outcome: Outcome
    report: RunReport | None = None
    error: str | None = None
    again_at: datetime | None = None

    def tally(self) -> Tally:
        """The same as one count."""
        done, again, parked, lost = (int(self.outcome == each) for each in ("done", "again", "parked", "lost"))
        return Tally(done, again, parked, lost)


@dataclass(frozen=True, slots=True)
class Tally:
    """What a worker has done from its start to its end.

    Args:
        done: Jobs that came to their end.
        again: Attempts that failed and are done again.
        parked: Jobs that failed for the last time.
        lost: Attempts whose lease ran out.
        given_back: Jobs that it gave back, because it was told to end at once.
        signal: The number of the signal that ended it, if one did.
        at_once: Whether it did not wait for what ran.
    """

    done: int = 0
    again: int = 0
    parked: int = 0
    lost: int = 0
    given_back: int = 0
    signal: int | None = None
    at_once: bool = False

    def __add__(self, other: Tally) -> Tally:
        counts = ("done", "again", "parked", "lost", "given_back")
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in counts})


class JobDoer:
    """Does jobs, each on the thread that asks for it.

    Args:
        store: The store.
        consolidators: The consolidators by name.
        lease: Seconds after which another worker may take a job.
        pause: Seconds before a job that failed is done again for the first time.
        ended: Set when the worker has ended.
    """

    def __init__(
        self,
        store: MemoryStore,
        consolidators: Mapping[str, Consolidator],
        *,
        lease: float,
        pause: float,
        ended: threading.Event,
    ) -> None:
        self.store, self.consolidators = store, consolidators
        self.lease, self.pause = lease, pause
        self._ended = ended

    def do(self, job: Job) -> Worked:
        """Do one job, and say what came of it; whatever goes wrong is kept with the job."""
        consolidator = self.consolidators[job.queue]
        try:
            if is_fan_out(job) and is_of_logs(consolidator):
                return Worked(job, "spread" if spread_over_logs(consolidator, job) else "lost")
            if is_fan_out(job):
                self.store.jobs.fan_out(job)
                return Worked(job, "spread")
            if waits_for_silence(job) and self.store.jobs.is_rearmed(job):
                return Worked(job, "rearmed" if self.store.jobs.finish(job) else "lost")
            if job.attempts > consolidator.attempts + DEATHS:
                said = f"Its workers ended {job.attempts - 1} times before it was done."
                report = consolidator.set_aside(job, said)
                report = replace(report, status="parked") if report.status == "nothing" else report
            else:
                report = consolidator.step(job)
        except LeaseLostError as error:
            return Worked(job, "lost", error=str(error))
        except BaseException as error:  # noqa: BLE001 - the lane must not end, whatever a consolidator raises
            return self._failed(job, error)
        if report.status in ("lost", "parked"):
            return Worked(job, report.status, report, report.error)
        return Worked(job, "done", report)

    def _failed(self, job: Job, error: BaseException) -> Worked:
        """An attempt that is followed by another; the consolidator has parked what was its last one.

        What fails outside an attempt, such as making its target, counts as one here.
        """
        expected = isinstance(error, MemorandaError)
        said = str(error) if expected else f"{type(error).__name__}: {error}"
        logger.info("Job %s of %s failed: %s", job.number, job.queue, said, exc_info=None if expected else error)
        is_last = attempt_of(job) >= self.consolidators[job.queue].attempts
        try:
            if not is_last or isinstance(error, PASSING):
                return self._again(job, said)
            return self._parked(job, said)
        except PASSING as away:
            return self._given_back(job, away)

    def _again(self, job: Job, error: str) -> Worked:
        """Let a job that failed wait, longer each time; not all that failed together begin together."""
        seconds = min(self.pause * 2 ** min(attempt_of(job) - 1, 20), LONGEST_PAUSE) * random.uniform(0.75, 1.25)
        at = to_datetime(self.store.context.clock()) + timedelta(seconds=seconds)
        if not self.store.jobs.retry(job, error=error, at=at, merge=True):
            return Worked(job, "lost", error=error)
        return Worked(job, "again", error=error, again_at=at)

    def _parked(self, job: Job, error: str) -> Worked:
        return Worked(job, "parked" if self.store.jobs.park(job, error=error) else "lost", error=error)

    def _given_back(self, job: Job, error: StoreError) -> Worked:
        """The database went away: that is no fault of the job's, which goes back as soon as it is there again."""
        deadline = time.monotonic() + self.lease  # after that another takes it anyway
        while not self._ended.wait(_GIVING_BACK):
            with suppress(*PASSING):
                self.store.jobs.release(job)
                break
            if time.monotonic() >= deadline:
                break
        return Worked(job, "lost", error=str(error))
