"""However often a scope is asked for, what fails in it is tried so often as it may be, at its time."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from threading import Event

import pytest

from memoranda import MemoryStore, Turn
from memoranda.backends import StoreBackend
from memoranda.consolidation import Consolidator, Task, Worker
from memoranda.consolidation.doing import JobDoer
from tests.store.jobs_support import timed

ANN = ("ann",)


class Failing:
    def __init__(self) -> None:
        self.times: list[float] = []

    def __call__(self, task: Task) -> None:
        self.times.append(time.monotonic())
        raise ValueError("The model is away.")


@pytest.fixture
def failing(store: MemoryStore) -> tuple[Failing, Consolidator]:
    store.record_turns(ANN, "t", [Turn("1", "user", "x")])
    work = Failing()
    return work, Consolidator(work, store=store, target=StoreBackend(namespace=ANN, store=store), attempts=3)


def test_asked_for_ten_times(store: MemoryStore, failing: tuple[Failing, Consolidator]) -> None:
    work, consolidator = failing
    jobs = {consolidator.on_demand(ANN).number for _ in range(10)}
    assert len(jobs) == 1
    worker = Worker(store, [consolidator], pause=0.05)
    deadline = time.monotonic() + 20
    while store.jobs.list(consolidator.name, state="waiting"):
        consolidator.on_demand(ANN)  # as an impatient person does
        worker.run(until_idle=True, signals=False)
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert len(work.times) == 3
    assert [run.status for run in store.runs.list()] == ["parked"]


def test_a_schedule_that_fires_meanwhile(store: MemoryStore) -> None:
    store, clock = timed(store)
    clock.now = datetime.now(UTC)
    store.record_turns(ANN, "t", [Turn("1", "user", "x")])
    work = Failing()
    consolidator = Consolidator(work, store=store, target=StoreBackend(namespace=ANN, store=store))
    consolidator.schedule("* * * * * *")
    doer = JobDoer(store, {consolidator.name: consolidator}, lease=60, pause=600, ended=Event())
    for _ in range(4):
        clock.wait(seconds=1)
        assert store.schedules.fire([consolidator.name]) == 1
        while (job := store.jobs.claim([consolidator.name], worker="w1")) is not None:
            doer.do(job)
    assert len(work.times) == 1, "it waits for its next attempt"
    assert len(store.jobs.list(consolidator.name, ANN)) == 1
    assert len(store.jobs.list(consolidator.name)) == 1 + 4, "each due time was fired"


def test_what_comes_while_it_waits_is_read(store: MemoryStore) -> None:
    read: list[str] = []
    consolidator = Consolidator(
        lambda task: read.extend(turn.text for turn in task.turns),
        store=store,
        target=StoreBackend(namespace=ANN, store=store),
    )
    for number in range(5):
        store.record_turns(ANN, "t", [Turn(str(number), "user", f"x{number}")])
        consolidator.on_demand(ANN)
    Worker(store, [consolidator]).run(until_idle=True, signals=False)
    assert read == [f"x{number}" for number in range(5)]
    assert len(store.runs.list()) == 1
