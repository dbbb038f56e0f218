"""Workers that are woken by what happens in their own process, so that nobody waits for their next look.

What happens in other processes they see when they look: every few seconds, and when something is due.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoranda.store.store import MemoryStore

_LONGEST = 3600.0


class Bell:
    """What one thread waits at and others ring; a signal handler may ring it too, in the middle of anything.

    Example:
        >>> bell = Bell()
        >>> bell.ring()
        >>> bell.wait(60), bell.wait(0)
        (True, False)
    """

    __slots__ = ("_rings",)

    def __init__(self) -> None:
        # An Event must not be set in a signal handler: the thread that it interrupts may hold the Event's lock.
        self._rings: SimpleQueue[None] = SimpleQueue()

    def ring(self) -> None:
        """Wake who waits, or who waits next."""
        self._rings.put(None)

    def wait(self, seconds: float | None) -> bool:
        """Wait until it rings.

        Args:
            seconds: The longest to wait; None: until it rings.

        Returns:
            Whether it rang; however often, it counts once.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            # Short enough for every platform's clock, and for a system that has slept meanwhile.
            left = _LONGEST if deadline is None else min(deadline - time.monotonic(), _LONGEST)
            try:
                self._rings.get(timeout=max(left, 0.0))
            except Empty:
                if deadline is not None and time.monotonic() >= deadline:
                    return False
                continue
            self._clear()
            return True

    def _clear(self) -> None:
        while True:
            try:
                self._rings.get_nowait()
            except Empty:
                return


@contextmanager
def listening(store: MemoryStore, bell: Bell) -> Generator[None]:
    """Have a bell rung inside the block whenever a job or a schedule is put into this store in this process.

    Args:
        store: The store; what comes through another one on the same database is not heard.
        bell: The bell.
    """
    workers = store.context.workers
    workers.append(bell.ring)
    try:
        yield
    finally:
        workers.remove(bell.ring)
