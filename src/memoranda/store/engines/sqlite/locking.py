"""A lock that serves waiters in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType

from memoranda.errors import StoreBusyError


class FairLock:
    """First come, first served, with a deadline.

    `threading.Lock` lets whoever runs next barge in, so that under load one thread can wait for seconds.

    Example:
        >>> lock = FairLock()
        >>> with lock.turn(timeout=1.0):
        ...     pass
    """

    def __init__(self) -> None:
        self.mutex = threading.Lock()
        self.holder: Turn | None = None
        self.waiting: deque[Turn] = deque()

    def turn(self, timeout: float) -> Turn:
        """A turn to be taken with `with`, waiting for it at most `timeout` seconds."""
        return Turn(self, timeout)


class Turn:
    """One caller's place in the queue.

    Wherever an exception strikes (Ctrl-C may, between any two lines) the turn is given back: what counts is whether
    the lock knows it, not how far this code has come.
    """

    __slots__ = ("_come", "_lock", "_timeout")

    def __init__(self, lock: FairLock, timeout: float) -> None:
        self._lock = lock
        self._timeout = timeout
        self._come: threading.Lock | None = None

    def __enter__(self) -> None:
        """Wait for the turn.

        Raises:
            StoreBusyError: It did not come in time.
        """
        try:
            self._take()
        except BaseException:
            self._give_back()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._give_back()

    def _take(self) -> None:
        lock = self._lock
        with lock.mutex:
            if lock.holder is None:
                lock.holder = self
                return
            self._come = come = threading.Lock()
            come.acquire()
            lock.waiting.append(self)
        if not come.acquire(timeout=max(self._timeout, 0)) and lock.holder is not self:
            raise busy(self._timeout)

    def _give_back(self) -> None:
        """Hand the lock to whoever waits longest, or leave the queue."""
        lock = self._lock
        with lock.mutex:
            if lock.holder is self:
                lock.holder = lock.waiting.popleft() if lock.waiting else None
                if lock.holder is not None and lock.holder._come is not None:
                    lock.holder._come.release()
            elif self in lock.waiting:
                lock.waiting.remove(self)


def busy(timeout: float) -> StoreBusyError:
    """The error for a writer whose turn did not come."""
    return StoreBusyError(
        f"Another writer held the database for more than {timeout:g} s.",
        "Try again, or open the store with a longer timeout.",
    )
