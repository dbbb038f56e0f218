"""How much the costly tests do: a part each time, all of it where MEMORANDA_TESTS=full says so."""

from __future__ import annotations

import os

FULL = os.environ.get("MEMORANDA_TESTS") == "full"


def sized(full: int, *, quick: int) -> int:
    """A number of examples or repetitions."""
    return full if FULL else quick
