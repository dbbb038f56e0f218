"""Jobs of one queue and scope that wait become one, and nothing that they were for is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memoranda import MemoryStore
from memoranda.store.jobs import Job
from tests.store.jobs_support import Clock, say, timed, waiting

ANN = ("ann",)


@pytest.fixture
def work(store: MemoryStore) -> tuple[MemoryStore, Clock]:
    return timed(store)


def ask(store: MemoryStore, origin: str | None = None, **more: object) -> Job | None:
    return store.jobs.enqueue("tidy", ANN, origin=origin, merge=True, **more)  # type: ignore[arg-type]


def take(store: MemoryStore) -> Job:
    job = store.jobs.claim(["tidy"], worker="w1")
    assert job is not None
    return job


def test_what_waits_absorbs_what_is_queued(store: MemoryStore) -> None:
    first = ask(store)
    assert first is not None
    assert [ask(store), ask(store, "monday")] == [first, first]
    assert ask(store, "monday") is None, "an origin leads to one job, be it absorbed"
    assert waiting(store) == [first]
    assert [job.origin for job in store.jobs.list("tidy", ANN, "done")] == ["monday"]
    assert store.jobs.enqueue("tidy", ("bob",), merge=True) != first
    assert store.jobs.enqueue("sort", ANN, merge=True) != first


def test_one_that_runs_absorbs_nothing(store: MemoryStore) -> None:
    """It may have read already what the new one is for."""
    ask(store)
    running = take(store)
    second = ask(store)
    assert second is not None and second.number != running.number
    assert ask(store) == second


def test_the_earlier_time_counts_but_not_before_another_attempt(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    later = ask(store, due=clock.now + timedelta(hours=1))
    assert ask(store, due=clock.now + timedelta(hours=2)) == later
    ask(store)
    job = take(store)
    ask(store, "meanwhile")
    again = clock.now + timedelta(minutes=5)
    assert store.jobs.retry(job, error="no", at=again, merge=True)
    (put_back,) = waiting(store)
    assert (put_back.number, put_back.due_at, put_back.error, put_back.attempts) == (job.number, again, "no", 1)
    ask(store)
    assert [one.due_at for one in waiting(store)] == [again]
    assert store.jobs.claim(["tidy"], worker="w2") is None
    clock.wait(minutes=5)
    assert take(store).attempts == 2


def test_a_lost_lease_puts_nothing_back(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    ask(store)
    lost = take(store)
    clock.wait(minutes=5)
    taken = take(store)
    other = ask(store)
    assert not store.jobs.retry(lost, error="no", at=clock.now, merge=True)
    assert waiting(store) == [other]
    assert store.jobs.get(taken.number).state == "running"


def test_an_idle_one_that_somebody_asks_for_waits_for_no_silence(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    store.schedules.put("quiet", "tidy", idle_minutes=30)
    say(store, "ann")
    clock.wait(minutes=30)
    assert store.schedules.fire(["tidy"]) == 1
    ask(store)
    say(store, "ann")
    assert not store.jobs.is_rearmed(take(store))
    # The same where they meet because the idle one failed.
    store.jobs.finish(store.jobs.list("tidy", ANN, "running")[0])
    clock.wait(minutes=30)
    assert store.schedules.fire(["tidy"]) == 1
    job = take(store)
    ask(store)
    store.jobs.retry(job, error="no", at=clock.now, merge=True)
    say(store, "ann")
    again = take(store)
    assert again.number == job.number and not store.jobs.is_rearmed(again)


def test_each_due_time_is_fired_however_long_a_job_waits(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    store.schedules.put("often", "tidy", cron="* * * * *")
    say(store, "ann")
    for number in range(5):
        clock.wait(minutes=1)
        assert store.schedules.fire(["tidy"]) == 1
        spread = next(job for job in waiting(store) if job.scope is None)
        taken = store.jobs.claim(["tidy"], worker="w1", number=spread.number)
        assert taken is not None and store.jobs.fan_out(taken) == (number == 0)
    assert len(store.jobs.list("tidy", ANN)) == 1
