"""`Worker`: takes the jobs of consolidators from the database and does them, many scopes side by side."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, cast

from memoranda.consolidation.doing import PASSING, JobDoer, Tally, Worked
from memoranda.consolidation.signals import Received, ending_on_signals
from memoranda.consolidation.triggers import KEPT, SWEEP_EVERY
from memoranda.consolidation.waking import Bell, listening
from memoranda.errors import InvalidValueError, StoreError
from memoranda.store.values import to_datetime

if TYPE_CHECKING:
    from memoranda.consolidation.consolidator import Consolidator
    from memoranda.store.jobs import Job
    from memoranda.store.store import MemoryStore

logger = logging.getLogger(__name__)

LONGEST_AWAY: Final = 30.0
"""Seconds between two looks at a database that cannot be reached."""
_SOON = 0.05
_SLICE = 0.25


class Worker:
    """Does the jobs of consolidators that stand in a store, whoever put them there.

    Jobs come from `on_demand`, from schedules and from idle scopes; a worker also fires what is due. Any number of
    workers may run, in as many processes: each job is done by one of them, and no scope by two at once. Everything
    is in the database, so that a worker may be killed at any moment: its jobs' leases run out, and another goes on.

    Args:
        store: The store that the consolidators work on.
        consolidators: The consolidators, each with a name of its own; or the one that there is.
        concurrency: How many scopes are consolidated side by side.
        lease: Seconds after which another worker may take a job whose worker says nothing any more.
        poll: Seconds between two looks at what other processes have put there; what comes from this process, or is
            due earlier, is seen at once.
        pause: Seconds before a job that failed is done again; each further failure doubles them, up to ten minutes.
        name: What its jobs say about who has them; None: the machine and the process.
        report: Told what came of each job, from the thread that did it.
        ending: Told at the end how many jobs it waits for, if there are any.

    Raises:
        InvalidValueError: A number makes no sense, two consolidators have one name, one works on another store, or
            something is no consolidator.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     Worker(store, []).run(until_idle=True).done
        0
    """

    def __init__(
        self,
        store: MemoryStore,
        consolidators: Consolidator | Iterable[Consolidator],
        *,
        concurrency: int = 4,
        lease: float = 60.0,
        poll: float = 5.0,
        pause: float = 5.0,
        name: str | None = None,
        report: Callable[[Worked], None] | None = None,
        ending: Callable[[int], None] | None = None,
    ) -> None:
        several = _listed(consolidators)
        self.store = store
        self.consolidators = {each.name: each for each in several}
        if len(self.consolidators) < len(several):
            raise InvalidValueError(
                "Two consolidators of this worker have one name.", "Give each its own: Consolidator(…, name=…)."
            )
        for each in several:
            if (each.store.identity, each.store.context.tenant) != (store.identity, store.context.tenant):
                raise InvalidValueError(
                    f"The consolidator {each.name} works on another store than this worker.",
                    "Give the worker the store of its consolidators.",
                )
        for what, number in {"concurrency": concurrency, "lease": lease, "poll": poll, "pause": pause}.items():
            if not number > 0:
                raise InvalidValueError(f"{what}={number!r} makes no sense.", "Pass a number above 0.")
        self.concurrency, self.lease, self.poll, self.pause = concurrency, lease, poll, pause
        self.name = name or f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"
        self._report, self._ending = report, ending
        self._queues = tuple(self.consolidators)
        self._bell = Bell()
        self._lock = threading.Lock()
        self._running: dict[int, Job] = {}
        self._tally = Tally()
        self._begin()

    def _begin(self) -> None:
        self._todo: SimpleQueue[Job | None] = SimpleQueue()
        self._lanes: list[threading.Thread] = []
        self._ended = threading.Event()
        self._doer = JobDoer(self.store, self.consolidators, lease=self.lease, pause=self.pause, ended=self._ended)
        self._stopping = self._at_once = self._eager = self._idle = False
        self._fire_at = self._sweep_at = 0.0
        self._stuck = 0

    def __repr__(self) -> str:
        return f"Worker({self.store!r}, {list(self._queues)})"

    def run(self, *, until_idle: bool = False, stop: threading.Event | None = None, signals: bool = True) -> Tally:
        """Work until it is told to stop.

        At the end it takes no more jobs and lets those that it has come to theirs. In the main thread SIGTERM and
        Ctrl-C do that too; the second one, like `stop(at_once=True)`, gives the jobs back at once, and nothing of
        what was begun lands.

        Beside an event loop `arun` does the same in threads of its own; it answers no signals. Cancelled, it ends as
        above; cancelled once more, at once.

        Args:
            until_idle: Return as soon as nothing is due and nothing runs here.
            stop: An event that ends it as well.
            signals: Whether SIGTERM and Ctrl-C are answered.

        Returns:
            What it has done.

        Raises:
            StoreError: The database is unusable; one that is merely away is waited for.
        """
        self._begin()
        return self._run(until_idle, stop, signals)

    async def arun(self, *, until_idle: bool = False, stop: threading.Event | None = None) -> Tally:
        """Work, in threads, beside an event loop, until it is told to stop.

        Cancelled, it takes no more jobs and lets those that it has come to theirs; cancelled once more, it gives them
        back at once. No signals are answered: that is up to whoever runs the loop.

        Args:
            until_idle: Return as soon as nothing is due and nothing runs here.
            stop: An event that ends it as well.

        Returns:
            What it has done.

        Raises:
            StoreError: The database is unusable; one that is merely away is waited for.
        """
        self._begin()
        running: Future[Tally] = Future()

        def run() -> None:
            try:
                running.set_result(self._run(until_idle, stop, signals=False))
            except BaseException as error:  # noqa: BLE001 - raised where it is waited for
                running.set_exception(error)

        threading.Thread(target=run, name="memoranda-worker", daemon=True).start()
        ended = asyncio.wrap_future(running)
        try:
            return await asyncio.shield(ended)
        except asyncio.CancelledError:
            self.stop()
            try:
                await asyncio.wait({ended})
            except asyncio.CancelledError:
                self.stop(at_once=True)
                await asyncio.wait({ended})
            raise

    def _run(self, until_idle: bool, stop: threading.Event | None, signals: bool) -> Tally:
        self._tally = Tally()
        heart = threading.Thread(target=self._beat, name="memoranda-heartbeat", daemon=True)
        with ExitStack() as stack:
            stack.enter_context(listening(self.store, self._bell))
            received = stack.enter_context(ending_on_signals(self.stop)) if signals else Received()
            heart.start()
            try:
                self._loop(until_idle, stop)
            except KeyboardInterrupt:  # where nobody answers the signal
                self.stop()
            finally:
                self._end()
                heart.join(1)
        return replace(self._tally, signal=received.first, at_once=self._at_once)

    def stop(self, at_once: bool = False) -> None:
        """End `run`, from any thread or signal handler; it returns when the running jobs have come to their end.

        Args:
            at_once: Do not wait for them: they go back, for another worker to do, and land nothing here.
        """
        self._stopping = True
        self._at_once = self._at_once or at_once
        self._bell.ring()

    # --- the loop ---------------------------------------------------------------------------------------------

    def _loop(self, until_idle: bool, stop: threading.Event | None) -> None:
        failures = 0
        while not (self._stopping or (stop is not None and stop.is_set())):
            try:
                pause = self._look()
            except PASSING as error:
                failures += 1
                pause = min(_SLICE * 2**failures, LONGEST_AWAY)
                level = logging.WARNING if failures == 1 else logging.DEBUG
                logger.log(level, "%s The worker waits for the database.", error.cause)
            else:
                if failures:
                    logger.warning("The database is back; the worker goes on.")
                failures = 0
                if until_idle and self._idle:
                    return
            self._wait(pause, stop)

    def _look(self) -> float:
        """Fire what is due, take jobs while there is room, and say after how many seconds to look again."""
        now = time.monotonic()
        self._idle = False
        if now >= self._sweep_at:
            self.store.jobs.sweep(KEPT)
            self._sweep_at = now + SWEEP_EVERY
        if self._running and now >= self._fire_at:  # a worker that is never idle fires all the same
            self._fire()
        if self._eager:
            self._take()
        if not self._has_room():
            return self.poll
        is_quiet = not self._running  # before the question: what ends meanwhile may leave more to do
        # One cheap question is all that an idle worker asks.
        due = self.store.jobs.next_due(self._queues)
        left = self.poll if due is None else (due - to_datetime(self.store.context.clock())).total_seconds()
        if left > 0:
            self._eager, self._idle = False, is_quiet
            return min(left, self.poll)
        if self._fire() + self._take():
            return 0.0 if self._has_room() else self.poll
        # It is due and cannot be had: another job of its scope runs, here or elsewhere.
        self._stuck += 1
        return min(_SOON * 2 ** min(self._stuck, 10), self.poll)

    def _fire(self) -> int:
        self._fire_at = time.monotonic() + self.poll
        return self.store.schedules.fire(self._queues)

    def _take(self) -> int:
        """Take as many jobs as there is room for; how many it took."""
        taken = 0
        while self._has_room() and not self._stopping:
            job = self.store.jobs.claim(self._queues, worker=self.name, lease=self.lease)
            if job is None:
                break
            self._start(job)
            taken += 1
        self._eager = taken > 0 or not self._has_room()
        if taken:
            self._stuck = 0
        return taken

    def _has_room(self) -> bool:
        return len(self._running) < self.concurrency

    def _wait(self, seconds: float, stop: threading.Event | None) -> None:
        """Wait for the bell; a caller's event does not ring it."""
        deadline = time.monotonic() + seconds
        while not self._stopping and (left := deadline - time.monotonic()) > 0:
            if self._bell.wait(left if stop is None else min(left, _SLICE)) or (stop is not None and stop.is_set()):
                return

    def _end(self) -> None:
        """Let the running jobs come to their end, or give them back."""
        self._stopping = True
        try:
            if self._ending is not None and not self._at_once and (running := len(self._held())):
                self._ending(running)
            while self._running and not self._at_once:
                self._bell.wait(None)
        except KeyboardInterrupt:
            self._at_once = True
        finally:
            self._ended.set()
            for _ in self._lanes:
                self._todo.put(None)
            for job in self._held():
                with suppress(StoreError):  # its lease runs out by itself
                    self._tally += Tally(given_back=int(self.store.jobs.release(job)))
                logger.info("Job %s of %s goes back: the worker was told to end at once.", job.number, job.queue)

    # --- jobs -------------------------------------------------------------------------------------------------

    def _held(self) -> list[Job]:
        with self._lock:
            return list(self._running.values())

    def _start(self, job: Job) -> None:
        with self._lock:
            self._running[job.number] = job
        if len(self._lanes) < len(self._running):
            # Daemons: what does not come to its end must not keep the process from its own.
            lane = threading.Thread(
                target=self._lane,
                args=(self._doer, self._todo),
                name=f"memoranda-worker-{len(self._lanes)}",
                daemon=True,
            )
            self._lanes.append(lane)
            lane.start()
        self._todo.put(job)

    def _lane(self, doer: JobDoer, todo: SimpleQueue[Job | None]) -> None:
        while (job := todo.get()) is not None:
            try:
                self._tell(doer.do(job))
            except BaseException:
                logger.exception("Job %s of %s: what came of it could not be told.", job.number, job.queue)
            finally:
                with self._lock:
                    self._running.pop(job.number, None)
                self._bell.ring()

    def _beat(self) -> None:
        """Keep the leases of the running jobs, however long they run."""
        while not self._ended.wait(self.lease / 3):
            for job in self._held():
                try:
                    self.store.jobs.heartbeat(job, lease=self.lease)
                except StoreError as error:
                    logger.debug("No heartbeat of job %s: %s", job.number, error)
                    break

    def _tell(self, worked: Worked) -> None:
        with self._lock:
            self._tally += worked.tally()
        if self._report is not None:
            self._report(worked)


def _listed(consolidators: Any) -> list[Consolidator]:
    """The consolidators that a caller gave, one or several."""
    from memoranda.consolidation.consolidator import Consolidator

    if isinstance(consolidators, Consolidator):
        return [consolidators]
    if isinstance(consolidators, str) or not isinstance(consolidators, Iterable):
        raise _no_consolidator(consolidators)
    several = list(cast("Iterable[Any]", consolidators))
    for each in several:
        if not isinstance(each, Consolidator):
            raise _no_consolidator(each)
    return several


def _no_consolidator(found: Any) -> InvalidValueError:
    return InvalidValueError(
        f"{found!r} is no consolidator.", "Pass the worker consolidators: Worker(store, [Consolidator(…)])."
    )
