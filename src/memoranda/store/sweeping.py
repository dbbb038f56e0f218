"""Removing expired items in the background, for as long as a store is open."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from memoranda.errors import MemorandaError, StoreClosedError

logger = logging.getLogger(__name__)


class Sweeper:
    """A thread that sweeps now and then; none until it is started."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    def start(self, pause: float, sweep: Callable[[], object]) -> None:
        """Sweep every `pause` seconds; where that is being done already, nothing changes."""
        if self._thread is not None and self._thread.is_alive():
            return
        stop = self._stop = threading.Event()

        def run() -> None:
            while not stop.wait(pause):
                try:
                    sweep()
                except StoreClosedError:
                    return
                except MemorandaError as error:
                    # The next sweep may do better; the database may only have been away.
                    logger.warning("Expired items could not be removed: %s", error)

        self._thread = threading.Thread(target=run, name="memoranda-ttl", daemon=True)
        self._thread.start()

    def stop(self, timeout: float | None = None) -> bool:
        """Stop, after a sweep that runs; returns whether it has ended within `timeout` seconds."""
        if self._thread is None:
            return True
        self._stop.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()
