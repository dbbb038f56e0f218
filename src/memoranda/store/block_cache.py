"""The blocks of the index that this process has read: immutable, so that nothing here can be out of date."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from memoranda.forking import ForkSafeLock

DEFAULT_BYTES = 256 << 20


class BlockCache:
    """Parsed blocks by their id, and what is made of several; what was used longest ago gives way.

    Args:
        most: How many bytes to keep, as its values count them.
    """

    def __init__(self, most: int = DEFAULT_BYTES) -> None:
        self.most = most
        self._held = 0
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = ForkSafeLock()

    def get(self, key: Hashable) -> Any | None:
        """A value that is kept, or None."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: Any, size: int) -> None:
        """Keep a value of so many bytes, unless it is too large for all others to give way to."""
        if size > self.most // 2:
            return
        with self._lock:
            before = self._values.pop(key, None)
            self._held += size - (before[1] if before is not None else 0)
            self._values[key] = (value, size)
            # A fork in the middle of this leaves the child a count that is too high.
            while self._values and self._held > self.most:
                _, (_, freed) = self._values.popitem(last=False)
                self._held -= freed

    def clear(self) -> None:
        """Forget everything, for what was erased from the database should not stay in memory either."""
        with self._lock:
            self._values.clear()
            self._held = 0
