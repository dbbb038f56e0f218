"""One change at a time within this process, for stores that cannot compare before they set."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from threading import Lock
from weakref import WeakValueDictionary

_PATIENCE = 30.0
"""Seconds after which a holder is taken for dead; the change then goes on without the gate."""

_gates: WeakValueDictionary[Hashable, Gate] = WeakValueDictionary()
_registry = Lock()


class Gate:
    """Lets one change through at a time, from threads and event loops alike.

    It is no guarantee: another process does not know it. It only spares one process from losing its own changes.
    """

    def __init__(self) -> None:
        self._lock = Lock()

    def enter(self) -> bool:
        """Wait for one's turn, blocking.

        Returns:
            Whether it has come; hand that to `leave`.
        """
        # Blocking an event loop's own thread might wait for a task of that very loop.
        return self._lock.acquire(timeout=0.0 if _in_event_loop() else _PATIENCE)

    async def aenter(self) -> bool:
        """Wait for one's turn without blocking the event loop."""
        pause, waited = 0.0, 0.0
        while not self._lock.acquire(blocking=False):
            if waited > _PATIENCE:
                return False
            await asyncio.sleep(pause)
            waited += pause
            pause = min(pause + 0.000_5, 0.01)
        return True

    def leave(self, entered: bool) -> None:
        """Let the next one through."""
        if entered:
            self._lock.release()


def gate_of(what: Hashable) -> Gate:
    """The gate before a thing; the same one as long as anybody holds it."""
    with _registry:
        gate = _gates.get(what)
        if gate is None:
            gate = _gates[what] = Gate()
        return gate


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
