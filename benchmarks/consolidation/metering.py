"""What a store asks of its database, and for whom; and how much memory this process has."""

from __future__ import annotations

import os
import resource
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import apsw

from memoranda import MemoryStore
from memoranda.store.effects import Body, Transact

_STATM = Path("/proc/self/statm")


@dataclass(slots=True)
class Used:
    """What was asked of a database.

    Args:
        transactions: Transactions.
        trips: Batches of statements, each of which PostgreSQL answers in one round trip, and commits that follow alone.
        statements: Statements, without those that begin and end transactions.
        seconds: From the start of each transaction to its end, waiting for its turn included.
    """

    transactions: int = 0
    trips: int = 0
    statements: int = 0
    seconds: float = 0.0

    def add(self, other: Used) -> None:
        """Take in what was asked elsewhere."""
        self.transactions += other.transactions
        self.trips += other.trips
        self.statements += other.statements
        self.seconds += other.seconds

    def __add__(self, other: Used) -> Used:
        return Used(
            self.transactions + other.transactions,
            self.trips + other.trips,
            self.statements + other.statements,
            self.seconds + other.seconds,
        )

    def __sub__(self, other: Used) -> Used:
        return self + Used(-other.transactions, -other.trips, -other.statements, -other.seconds)


_account: ContextVar[Used | None] = ContextVar("account", default=None)


class Meter:
    """Counts what blocking callers of a store ask of its database.

    Args:
        store: The store; it is counted from now on, through every `MemoryStore` on the same engine.
    """

    def __init__(self, store: MemoryStore) -> None:
        self.lock = threading.Lock()
        self._total = Used()
        self._transact: Callable[[Transact], Any] = store.engine.transact
        store.engine.transact = self._counted  # the engine's runner looks it up at every transaction

    @property
    def total(self) -> Used:
        """Everything so far."""
        with self.lock:
            return replace(self._total)

    @contextmanager
    def account(self) -> Generator[Used]:
        """What is asked inside the block, in the threads too that inherit its context."""
        used, outer = Used(), _account.get()
        token = _account.set(used)
        try:
            yield used
        finally:
            _account.reset(token)
            if outer is not None:
                with self.lock:
                    outer.add(used)

    def _counted(self, effect: Transact) -> Any:
        used = Used(transactions=1)
        start = perf_counter()
        try:
            return self._transact(replace(effect, body=lambda: _counting(effect, used)))
        finally:
            used.seconds = perf_counter() - start
            account = _account.get()
            with self.lock:
                self._total.add(used)
                if account is not None:
                    account.add(used)


def _counting(effect: Transact, used: Used) -> Body[Any]:
    """The same body, whose statements are counted once they are answered: what a try gives up before is not sent."""
    body = effect.body()
    is_closed = effect.mode == "read"
    try:
        batch = next(body)
        while True:
            rows = yield batch
            used.trips += 1
            used.statements += len(batch.statements)
            is_closed = batch.last or effect.mode == "read"
            batch = body.send(rows)
    except StopIteration as stop:
        used.trips += not is_closed  # its commit
        return stop.value


def page_cache() -> float:
    """How much of it SQLite's page caches and the like have, in MB: they fill up to 32 MB for each connection."""
    return apsw.memory_used() / 1e6


def resident() -> float:
    """How much memory this process has at present, in MB; where the system does not tell, the most that it had."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1e6 if sys.platform == "darwin" else most / 1e3
