"""A lock that serves waiters in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque

from memoranda.errors import StoreBusyError


class FairLock:
    """First come, first served, with a deadline.

    `threading.Lock` lets whoever runs next barge in, so that under load one thread can wait for seconds.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._held = False
        self._waiting: deque[threading.Lock] = deque()

    def acquire(self, timeout: float) -> None:
        """Wait for one's turn, at most `timeout` seconds.

        Raises:
            StoreBusyError: It did not come.
        """
        with self._mutex:
            if not self._held:
                self._held = True
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        if turn.acquire(timeout=max(timeout, 0)):
            return
        with self._mutex:
            if turn in self._waiting:
                self._waiting.remove(turn)
                raise busy(timeout)
        # The turn came in the instant of giving up: it is ours.

    def release(self) -> None:
        """Hand the lock to the longest waiting thread."""
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._held = False


def busy(timeout: float) -> StoreBusyError:
    """The error for a writer whose turn did not come."""
    return StoreBusyError(
        f"Another writer held the database for more than {timeout:g} s.",
        "Try again, or open the store with a longer timeout.",
    )
