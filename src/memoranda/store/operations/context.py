"""What every operation knows about its store."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


def _now() -> int:
    return time.time_ns() // 1_000


@dataclass(frozen=True, slots=True)
class Context:
    """The settings of one store that its operations depend on.

    Args:
        tenant: The customer whose data this store sees.
        clock: Returns the time in microseconds since the epoch, UTC. Times are always bound by the application.
        default_ttl: Minutes until a new item expires where the caller says nothing; None: never.
        refresh_on_read: Whether reading an item restarts its time to live.
    """

    tenant: str = ""
    clock: Callable[[], int] = _now
    default_ttl: float | None = None
    refresh_on_read: bool = True
