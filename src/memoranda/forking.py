"""What a forked child has to set right: threads that held locks, or did work, are not there any more."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from types import TracebackType


class ForkSafeLock:
    """A lock as `threading.Lock`, which a forked child finds free where a thread held it that stayed with the parent.

    What it guards has to bear being left in the middle of a change by such a thread.

    Example:
        >>> lock = ForkSafeLock()
        >>> with lock:
        ...     lock.locked()
        True
    """

    __slots__ = ("__weakref__", "_lock", "_owner")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None
        _locks.add(self)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take it, as `threading.Lock.acquire` does."""
        taken = self._lock.acquire(blocking, timeout)
        if taken:
            self._owner = threading.get_ident()
        return taken

    def release(self) -> None:
        """Let go of it."""
        self._owner = None
        self._lock.release()

    def locked(self) -> bool:
        """Whether somebody holds it."""
        return self._lock.locked()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _after_fork(self) -> None:
        # The thread that forked is in the child, and lets go of what it holds by itself.
        if self._owner != threading.get_ident():
            self._lock = threading.Lock()
            self._owner = None


_locks: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in list(_locks):
        lock._after_fork()  # pyright: ignore[reportPrivateUsage]


def call_in_forked_child(function: Callable[[], None]) -> None:
    """Have a function called in every child that is forked from now on.

    Args:
        function: What to call; the locks that other threads held are free by then.
    """
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(after_in_child=function)


call_in_forked_child(_after_fork)
