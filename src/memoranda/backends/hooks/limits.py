"""How large files may get, how fast they may grow, and how often they may be changed."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from threading import Lock

from memoranda.backends.hooks.events import Refuse, WriteEvent
from memoranda.errors import InvalidValueError

_WRITERS = 10_000
"""How many writers are remembered; the longest silent one is forgotten first."""


def _size(content: str | bytes | None) -> int:
    if content is None:
        return 0
    return len(content) if isinstance(content, bytes) else len(content.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class SizeLimit:
    """Refuses what makes a file too large; see `size_limit`."""

    max_bytes: int | None
    max_growth: int | None
    name: str = "size_limit"

    def __call__(self, event: WriteEvent) -> Refuse | None:
        """Refuse what is too large, or grows too fast."""
        if event.after is None:
            return None
        before, after = _size(event.before), _size(event.after)
        if self.max_bytes is not None and after > self.max_bytes and after >= before:
            return Refuse(
                f"the file would have {after} bytes, and {self.max_bytes} are allowed. "
                "Shorten it, or put part of it into another file."
            )
        if self.max_growth is not None and event.operation != "move" and after - before > self.max_growth:
            return Refuse(
                f"the change would add {after - before} bytes, and {self.max_growth} are allowed at once. "
                "Write less: only what will matter later."
            )
        return None


def size_limit(*, max_bytes: int | None = None, max_growth: int | None = None) -> SizeLimit:
    """A hook that keeps files small. A change that makes a too large file smaller passes.

    Args:
        max_bytes: The most that a file may have, in bytes of UTF-8; None: no limit.
        max_growth: The most that one change may add, in bytes; a move adds nothing. None: no limit.

    Raises:
        InvalidValueError: A limit is negative, or there is none.

    Example:
        >>> size_limit(max_bytes=3)(WriteEvent("/a", "write", None, "four")).reason[:29]
        'the file would have 4 bytes, '
    """
    if max_bytes is None and max_growth is None:
        raise InvalidValueError("The size limit has no limit.", "Pass max_bytes= or max_growth=.")
    for limit in (max_bytes, max_growth):
        if limit is not None and limit < 0:
            raise InvalidValueError(f"The limit {limit} is negative.", "Pass a number of bytes.")
    return SizeLimit(max_bytes, max_growth)


@dataclass
class WriteRate:
    """Refuses changes that come too fast; see `write_rate`."""

    limit: int
    per: float
    name: str = "write_rate"
    _times: OrderedDict[str, deque[float]] = field(default_factory=OrderedDict[str, "deque[float]"], repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __reduce__(self) -> tuple[type[WriteRate], tuple[int, float, str]]:
        """A copy, here or in another process, counts for itself: locks and this process's clock do not travel."""
        return type(self), (self.limit, self.per, self.name)

    def __call__(self, event: WriteEvent) -> Refuse | None:
        """Count the change, and refuse it if it is one too many."""
        if event.repeated or (event.operation == "move" and event.after is None):
            return None  # asked about before, or the first half of a move
        writer = event.author.thread_id or event.author.actor or ""
        now = time.monotonic()
        with self._lock:
            times = self._times.setdefault(writer, deque())
            self._times.move_to_end(writer)
            if len(self._times) > _WRITERS:
                self._times.popitem(last=False)
            while times and times[0] <= now - self.per:
                times.popleft()
            if len(times) < self.limit:
                times.append(now)
                return None
            wait = times[0] + self.per - now if times else self.per
        return Refuse(
            f"{self.limit} changes in {self.per:g} seconds are allowed. Go on without it, or wait {wait:.0f} seconds; "
            "gather what you have to write into one change."
        )


def write_rate(limit: int, per: float = 60.0) -> WriteRate:
    """A hook that lets each thread make only so many changes in a time; outside a thread each actor.

    Every change counts that this hook is asked about, so put it after the hooks that may refuse. A copy of it, such
    as a pickled one in another process, counts for itself.

    Args:
        limit: How many changes.
        per: In how many seconds.

    Raises:
        InvalidValueError: The limit is negative, or the time is not positive.

    Example:
        >>> hook = write_rate(1)
        >>> event = WriteEvent("/a", "write", None, "text")
        >>> hook(event) is None, hook(event) is None
        (True, False)
    """
    if limit < 0 or per <= 0:
        raise InvalidValueError(
            f"{limit} changes in {per} seconds is no rate.", "Pass a limit, and a time in seconds above 0."
        )
    return WriteRate(limit, float(per))
