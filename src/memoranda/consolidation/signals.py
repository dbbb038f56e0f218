"""SIGTERM and Ctrl-C as a request to end: the first one cleanly, the second one at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Received:
    """What was received: how often, and which signal first."""

    times: int = 0
    first: int | None = None


@contextmanager
def ending_on_signals(stop: Callable[[bool], None]) -> Generator[Received]:
    """Answer SIGTERM and Ctrl-C inside the block; outside the main thread, where nobody can, do nothing.

    Args:
        stop: Called with False at the first signal and with True at each further one, in the middle of whatever the
            main thread is doing: it may neither wait nor take a lock.

    Yields:
        What has been received.
    """
    received = Received()

    def handle(number: int, frame: FrameType | None) -> None:
        del frame
        received.times += 1
        received.first = received.first or number
        stop(received.times > 1)

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
