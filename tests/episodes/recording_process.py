"""A process that records a conversation: run as `python recording_process.py URL NUMBER`."""

from __future__ import annotations

import sys

from memoranda import open_store
from memoranda.episodes import Turn


def main(url: str, number: int) -> None:
    """Record one conversation turn by turn, as other processes do at the same time, and one of its own."""
    with open_store(url) as store:
        for last in range(1, 26):
            turns = [Turn(f"m{place}", "user", f"message {place}") for place in range(1, last + 1)]
            store.record_turns(("ann",), "shared", turns)
            store.record_turns(("ann",), f"own {number}", turns[-1:])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
