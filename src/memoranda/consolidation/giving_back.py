"""The jobs of a call that works on several scopes, so that it can end before they do."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from memoranda.errors import StoreError
from memoranda.store.jobs import Job
from memoranda.store.store import MemoryStore


class Jobs:
    """The jobs that a call has taken and not ended; once they are given back, it takes no more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[int, tuple[MemoryStore, Job]] = {}
        self.is_over = False

    def take(self, store: MemoryStore, job: Job) -> bool:
        """Note a job that was taken; whether it may be done."""
        with self._lock:
            if not self.is_over:
                self._held[job.number] = (store, job)
            return not self.is_over

    def leave(self, job: Job) -> None:
        """Note that a job is done with."""
        with self._lock:
            self._held.pop(job.number, None)

    def give_back(self) -> None:
        """Let others have the jobs at once; what is still done for them here lands nothing."""
        with self._lock:
            self.is_over = True
            held = list(self._held.values())
        for store, job in held:
            with suppress(StoreError):  # its lease runs out by itself
                store.jobs.release(job)


_JOBS: ContextVar[Jobs | None] = ContextVar("memoranda_jobs_by_hand", default=None)


def present_jobs() -> Jobs | None:
    """Those of the call that this is a part of; None: it is no part of one."""
    return _JOBS.get()


@contextmanager
def noting_jobs() -> Generator[Jobs]:
    """Note the jobs that are taken within the block, also on threads that copy its context."""
    jobs = Jobs()
    token = _JOBS.set(jobs)
    try:
        yield jobs
    finally:
        _JOBS.reset(token)
