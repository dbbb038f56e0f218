"""A store whose time stands still until it is moved, and processes that can be killed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from memoranda import ChangeSet, CursorMove, Job, MemoryStore, Turn
from memoranda.store.values import to_microseconds


class Clock:
    """A time that is moved by hand."""

    def __init__(self, start: datetime = datetime(2026, 5, 4, 12, tzinfo=UTC)) -> None:
        self.now = start

    def __call__(self) -> int:
        return to_microseconds(self.now)

    def wait(self, **span: float) -> datetime:
        """Let some time pass, and return what time it is."""
        self.now += timedelta(**span)
        return self.now


def timed(store: MemoryStore) -> tuple[MemoryStore, Clock]:
    """The same store with a clock of its own."""
    clock = Clock()
    return MemoryStore(store.engine, replace(store.context, clock=clock), url=store.url), clock


def say(store: MemoryStore, *scope: str, thread: str = "t", count: int = 1) -> list[str]:
    """Record new turns; returns the ids of their messages."""
    known = len(store.turns(scope))
    turns = [Turn(f"{scope[-1]}-{number}", "user", f"word {number}") for number in range(known, known + count)]
    store.record_turns(scope, thread, turns)
    return [turn.message_id for turn in turns]


def process(code: str, *args: str) -> subprocess.Popen[str]:
    """Python in a process of its own, whose input and output are pipes."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def waiting(store: MemoryStore) -> list[Job]:
    """The jobs that wait, oldest first."""
    return store.jobs.list(state="waiting", limit=None)[::-1]


def read_all(store: MemoryStore, *scope: str) -> None:
    """Move the cursor of `tidy` behind all turns of a scope."""
    position = store.runs.cursor("tidy", scope)
    turns = max(turn.position for turn in store.turns(scope))
    store.commit(ChangeSet(advance=[CursorMove("tidy", scope, position, turns)]))
