"""Ways to make a process die at one exact point, to be called inside the process concerned."""

from __future__ import annotations

import os
import resource
import signal
from dataclasses import dataclass
from typing import Any, cast

from memoranda import MemoryStore


def die(*_: object) -> bool:
    """End this very process as `kill -9` would."""
    os.kill(os.getpid(), signal.SIGKILL)
    return False


@dataclass(frozen=True)
class AtStatement:
    """Die when the n-th statement from now on is about to run, or with `after` once it was sent.

    On PostgreSQL statements of a pipeline are sent together, so that dying after the last of them leaves the server
    with all of it in its hands.
    """

    number: int
    after: bool = False

    def __call__(self, store: MemoryStore | None = None) -> None:
        count_down(_Countdown(self.number), self.after)
        if store is not None and store.engine.name == "sqlite":
            _trace(cast("Any", store.engine)._writer, _Countdown(self.number))


@dataclass(frozen=True)
class InCommit:
    """Die inside the n-th SQLite commit: before it took effect, or after it did and before the caller knows."""

    number: int
    landed: bool

    def __call__(self, store: MemoryStore) -> None:
        connection = cast("Any", store.engine)._writer
        countdown = _Countdown(self.number)
        if self.landed:
            connection.set_wal_hook(lambda *_: countdown() or 0)
        else:
            connection.set_commit_hook(countdown)


@dataclass(frozen=True)
class AtFileSize:
    """Be ended by the system in the middle of the write that takes any file beyond a size in bytes.

    What fits below the limit is written first, so the end of the file is torn at exactly that byte.
    """

    size: int

    def __call__(self, store: MemoryStore) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.size, self.size))


class _Countdown:
    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, *_: object) -> bool:
        self.left -= 1
        return die() if self.left <= 0 else False


def _trace(connection: Any, countdown: _Countdown) -> None:
    def trace(*_: object) -> bool:
        countdown()
        return True

    connection.exec_trace = trace


def trace_new_connections(number: int) -> None:
    """Die at the n-th statement that any SQLite connection opened from now on is about to run."""
    import apsw

    countdown = _Countdown(number)
    apsw.connection_hooks.append(lambda connection: _trace(connection, countdown))


def count_down(countdown: _Countdown, after: bool) -> None:
    """Have psycopg die at a statement, by counting the calls of `execute`."""
    import psycopg

    original = psycopg.Connection.execute

    def execute(self: Any, *args: Any, **settings: Any) -> Any:
        if not after:
            countdown()
        result = original(self, *args, **settings)
        if after:
            countdown()
        return result

    psycopg.Connection.execute = execute  # type: ignore[method-assign]
