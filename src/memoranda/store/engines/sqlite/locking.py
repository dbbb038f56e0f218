"""A lock that serves waiters in the order in which they came."""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from types import TracebackType

from memoranda.errors import StoreBusyError

_LOOK_EVERY = 0.5
"""Seconds between two looks of a waiting caller."""


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
        self.holder: weakref.ref[Turn] | None = None
        self.waiting: deque[tuple[weakref.ref[Turn], threading.Lock]] = deque()

    def turn(self, timeout: float) -> Turn:
        """A turn to be taken with `with`, waiting for it at most `timeout` seconds."""
        return Turn(self, timeout)

    @property
    def lost(self) -> bool:
        """Whether the turn that holds the lock is no more, so that nobody will give it back."""
        return self.holder is not None and self.holder() is None

    def pass_on(self) -> None:
        """Hand the lock to whoever waits longest."""
        self.holder = None
        if self.waiting:
            self.holder, come = self.waiting.popleft()
            come.release()


class Turn:
    """One caller's place in the queue.

    Ctrl-C may strike between any two lines, on the way into `__exit__` too. The lock therefore knows its holder by a
    weak reference only, and whoever waits looks now and then whether that is still there. (A destructor would
    swallow the Ctrl-C that strikes in it.)
    """

    __slots__ = ("__weakref__", "_lock", "_timeout")

    def __init__(self, lock: FairLock, timeout: float) -> None:
        self._lock = lock
        self._timeout = timeout

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
        lock, me = self._lock, _reference(self)
        with lock.mutex:
            if lock.holder is None or (lock.lost and not lock.waiting):
                lock.holder = me
                return
            come = threading.Lock()
            come.acquire()
            lock.waiting.append((me, come))
        deadline = time.monotonic() + self._timeout
        while not come.acquire(timeout=min(max(deadline - time.monotonic(), 0), _LOOK_EVERY)):
            with lock.mutex:
                if lock.lost:
                    lock.pass_on()
                if lock.holder is me:
                    return
            if time.monotonic() >= deadline:
                raise busy(self._timeout)

    def _give_back(self) -> None:
        """Pass the lock on, or leave the queue."""
        lock, me = self._lock, _reference(self)
        with lock.mutex:
            if lock.holder is me:
                lock.pass_on()
                return
            for place in lock.waiting:
                if place[0] is me:
                    lock.waiting.remove(place)
                    return


def _reference(turn: Turn) -> weakref.ref[Turn]:
    return weakref.ref(turn)  # always the same one


def busy(timeout: float) -> StoreBusyError:
    """The error for a writer whose turn did not come."""
    return StoreBusyError(
        f"Another writer held the database for more than {timeout:g} s.",
        "Try again, or open the store with a longer timeout.",
    )
