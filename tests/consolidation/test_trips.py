"""How often a run waits for PostgreSQL: by counting, for what a trip takes depends on the way."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from memoranda import MemoryStore
from memoranda.store.effects import Batch, Body, Transact
from tests.consolidation.talking import ANN, consolidator, say

BOB = ("bob",)
QUEUE = "consolidation"


@pytest.fixture
def store(postgres_url: str, open_here: Callable[..., MemoryStore]) -> MemoryStore:
    """A store in which two people have said something, one of whom has been worked for."""
    opened = open_here(postgres_url)
    say(opened, "one")
    say(opened, "one", scope=BOB)
    assert consolidator(opened).run(ANN).status == "applied"
    say(opened, "two", first=2)
    return opened


def test_a_job_is_claimed_in_two_trips(store: MemoryStore) -> None:
    consolidator(store).on_demand(ANN)
    with counted(store) as trips:
        job = store.jobs.claim([QUEUE], worker="w")
    assert job is not None and trips == [("read", 1), ("write", 1)]
    with counted(store) as trips:
        assert store.jobs.claim([QUEUE], worker="w") is None
    assert trips == [("read", 1)]
    with counted(store) as trips:
        assert store.jobs.heartbeat(job) and store.jobs.finish(job)
    assert trips == [("write", 1), ("write", 1)]


def test_a_run_lands_in_four_trips_and_nothing_is_read_back(store: MemoryStore) -> None:
    tending = consolidator(store)
    tending.on_demand(ANN)
    job = store.jobs.claim([QUEUE], worker="w")
    assert job is not None
    with counted(store) as trips:
        report = tending.step(job)
    # The item with its namespace, the cursor, the job with the run, and all that is written.
    assert report.status == "applied" and trips[-1] == ("write", 4)
    assert sum(count for _, count in trips) <= 8
    assert report.runs == (store.runs.get(report.run_id or ""),)


def test_a_run_by_hand_looks_at_its_turns_once(store: MemoryStore) -> None:
    with counted(store) as trips:
        report = consolidator(store).run(ANN)
    assert report.status == "applied" and trips[-1] == ("write", 4)
    assert sum(count for _, count in trips) <= 14


@contextmanager
def counted(store: MemoryStore) -> Generator[list[tuple[str, int]]]:
    """The transactions of a block, each with its trips; those that send nothing, to be tried with locks, are none."""
    original: Callable[[Transact], Any] = store.engine.transact
    trips: list[tuple[str, int]] = []

    def transact(effect: Transact) -> Any:
        return original(replace(effect, body=lambda: _counting(effect, trips)))

    store.engine.transact = transact  # type: ignore[method-assign]
    try:
        yield trips
    finally:
        store.engine.transact = original  # type: ignore[method-assign]


def _counting(effect: Transact, trips: list[tuple[str, int]]) -> Body[Any]:
    body, count, is_closed = effect.body(), 0, effect.mode == "read"
    try:
        batch: Batch = next(body)
        while True:
            rows = yield batch
            count, is_closed = count + 1, batch.last or is_closed
            batch = body.send(rows)
    except StopIteration as stop:
        count += not is_closed  # its commit
        return stop.value
    finally:
        if count:
            trips.append((effect.mode, count))
