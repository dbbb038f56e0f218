"""Start a writer, kill it, and see what is left."""

from __future__ import annotations

import multiprocessing
import os
import random
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any

import apsw
import psycopg

from memoranda import MemoryStore, open_store
from tests.faults.model import Model, plan, signed

# A server process that has imported everything forks each child in milliseconds, without the parent's threads.
fresh = multiprocessing.get_context("forkserver")
fresh.set_forkserver_preload(
    [
        "memoranda.store.store",
        "memoranda.store.engines.sqlite.engine",
        "memoranda.store.engines.postgres.engine",
        "tests.faults.model",
    ]
)

Sabotage = Callable[[MemoryStore], None]


def write_forever(url: str, seed: int, scope: str, acknowledgements: Connection, sabotage: Sabotage | None) -> None:
    """The writer: announces each change set, commits it, and acknowledges it once that has returned."""
    with open_store(url) as store:
        if sabotage is not None:
            sabotage(store)
        for number, changes in enumerate(plan(seed, scope), 1):
            os.write(acknowledgements.fileno(), b"?")
            store.commit(signed(changes, number))
            os.write(acknowledgements.fileno(), b"!")


@dataclass
class Killed:
    """What a writer had said by the time it died.

    Args:
        announced: Change sets that it had begun.
        acknowledged: Change sets that had returned.
        seed: Of its plan.
        scope: The first label of its two namespaces.
    """

    announced: int
    acknowledged: int
    seed: int
    scope: str

    def check(self, store: MemoryStore) -> bool:
        """Compare the store with the plan; returns whether the unacknowledged change set landed.

        Every acknowledged change has to be there. The one that was under way is there as a whole or not at all.
        """
        model = Model(self.scope)
        changes = plan(self.seed, self.scope)
        for _ in range(self.acknowledged):
            model.apply(next(changes))
        difference = model.differs_from(store)
        if difference is None:
            return False
        assert self.announced == self.acknowledged + 1, difference
        model.apply(next(changes))
        with_last = model.differs_from(store)
        assert with_last is None, f"{difference}; with the change under way: {with_last}"
        return True


def kill_writer(
    url: str, seed: int, scope: str, *, delay: float | None, from_start: bool = False, sabotage: Sabotage | None = None
) -> Killed:
    """Run a writer and end it with SIGKILL.

    Args:
        url: The store.
        seed: Of its plan.
        scope: The first label of its two namespaces.
        delay: Seconds after its first acknowledgement; None: it has to die by itself.
        from_start: Count the delay from its start instead, to hit it while it opens the store.
        sabotage: Called in the writer with its store, before the first change.
    """
    reading, writing = fresh.Pipe(duplex=False)
    process: ForkServerProcess = fresh.Process(
        target=write_forever, args=(url, seed, scope, writing, sabotage), daemon=True
    )
    process.start()
    writing.close()
    said = b""
    pid = process.pid
    assert pid is not None
    if from_start:
        time.sleep(delay or 0)
        os.kill(pid, signal.SIGKILL)
    # From here on one end is open in the writer only, so its death ends the reading.
    os.set_blocking(reading.fileno(), True)
    deadline = None
    while chunk := _read(reading.fileno(), deadline):
        said += chunk
        if deadline is None and delay is not None and b"!" in said:
            deadline = time.monotonic() + delay
        if deadline is not None and time.monotonic() >= deadline:
            break
    if delay is not None and not from_start:
        os.kill(pid, signal.SIGKILL)
    while chunk := os.read(reading.fileno(), 65_536):
        said += chunk
    process.join(10)
    assert process.exitcode is not None and process.exitcode < 0, f"the writer ended by itself: {process.exitcode}"
    process.close()
    reading.close()
    wait_for_backends(url)
    return Killed(said.count(b"?"), said.count(b"!"), seed, scope)


def wait_for_backends(url: str) -> None:
    """Until PostgreSQL has noticed that the dead are gone: what they had sent may still be carried out."""
    if not url.startswith("postgres"):
        return
    with psycopg.connect(url, autocommit=True) as connection:
        for _ in range(1_000):
            row = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid() AND application_name = 'memoranda'"
                " AND (state <> 'idle' OR xact_start IS NOT NULL)"
            ).fetchone()
            if row == (0,):
                return
            time.sleep(0.005)
    raise AssertionError("a backend of a dead writer is still at work")


def _read(descriptor: int, deadline: float | None) -> bytes:
    wait = None if deadline is None else max(deadline - time.monotonic(), 0)
    ready, _, _ = select.select([descriptor], [], [], wait)
    return os.read(descriptor, 65_536) if ready else b""


def random_kills(url: str, kills: int, *, longest: float = 0.25, seed: int = 0, report: Any = None) -> dict[str, int]:
    """Kill so many writers of one store at random moments, checking after each.

    Returns:
        Counts: kills, acknowledged change sets, and change sets that landed without having been acknowledged.
    """
    chance = random.Random(seed)
    counts = {"kills": 0, "acknowledged": 0, "landed_unacknowledged": 0, "undone": 0}
    for number in range(kills):
        from_start = number % 10 == 9
        delay = chance.uniform(0, 0.08 if from_start else longest)
        killed = kill_writer(url, seed * 10_000 + number, f"killed-{number}", delay=delay, from_start=from_start)
        with open_store(url) as store:
            landed = killed.check(store)
            assert store.verify((killed.scope,)).ok
        counts["kills"] += 1
        counts["acknowledged"] += killed.acknowledged
        counts["landed_unacknowledged"] += landed
        counts["undone"] += killed.announced > killed.acknowledged and not landed
        if report is not None:
            report(counts)
    with open_store(url) as store:
        verification = store.verify()
        assert verification.ok, verification.problems
        # A dead writer's lock is nobody's.
        store.write(("after",), "/alive.md", "yes")
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
    return counts
