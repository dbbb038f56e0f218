"""Idle schedules: a scope gets a job when nothing was said for long enough, and what is said starts the time again."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from memoranda import MemoryStore
from tests.store.jobs_support import Clock, read_all, say, timed, waiting


@pytest.fixture
def work(store: MemoryStore) -> tuple[MemoryStore, Clock]:
    return timed(store)


def turned(store: MemoryStore) -> list[tuple[str, ...]]:
    return [job.scope or () for job in waiting(store)]


def test_a_scope_that_was_idle_for_long_enough_gets_a_job(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    say(store, "acme", "old")
    clock.wait(minutes=60)
    made = store.schedules.put("quiet", "tidy", idle_minutes=30, prefix=("acme",), payload={"mode": "apply"})
    assert (made.kind, made.minutes, made.next_due) == ("idle", 30.0, None)
    say(store, "acme", "ann")
    said_at = clock.now
    say(store, "acme2", "bob")
    assert store.schedules.fire(["tidy"]) == 1
    assert turned(store) == [("acme", "old")]
    assert store.jobs.next_due(["tidy"]) == clock.now, "the job"
    job = store.jobs.claim(["tidy"], worker="w")
    assert job and store.jobs.finish(job)
    assert store.jobs.next_due(["tidy"]) == clock.now + timedelta(minutes=30), "when Ann may be idle"
    clock.wait(minutes=29)
    assert store.schedules.fire(["tidy"]) == 0
    clock.wait(minutes=1)
    assert [store.schedules.fire(["tidy"]), store.schedules.fire(["tidy"])] == [1, 0]
    (job,) = waiting(store)
    assert job.scope == ("acme", "ann")
    assert job.payload["kind"] == "idle" and job.payload["schedule"] == "quiet" and job.payload["mode"] == "apply"
    assert datetime.fromtimestamp(job.payload["turned_at"] / 1e6, UTC) == said_at
    assert not store.jobs.is_rearmed(job)


def test_what_is_said_starts_the_time_again(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    store.schedules.put("quiet", "tidy", idle_minutes=30)
    say(store, "ann")
    for _ in range(6):
        clock.wait(minutes=20)
        assert store.schedules.fire(["tidy"]) == 0
        say(store, "ann")
    clock.wait(minutes=30)
    assert store.schedules.fire(["tidy"]) == 1
    (job,) = waiting(store)
    say(store, "ann")
    assert store.jobs.is_rearmed(job), "between being made and being done"
    assert asyncio.run(store.jobs.ais_rearmed(job))
    clock.wait(minutes=30)
    assert store.schedules.fire(["tidy"]) == 0, "the one that waits does it as well"
    (same,) = waiting(store)
    assert same.number == job.number and not store.jobs.is_rearmed(same)


def test_nobody_is_idle_who_has_nothing_to_read(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    store.schedules.put("quiet", "tidy", idle_minutes=30)
    for name in ("ann", "bob"):
        say(store, name)
    store.write(("cat",), "/x.md", "a file, and no turn")
    read_all(store, "ann")
    clock.wait(minutes=31)
    assert store.schedules.fire(["tidy"]) == 1
    assert turned(store) == [("bob",)]


def test_turns_that_become_visible_late_are_found(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    store.schedules.put("quiet", "tidy", idle_minutes=1)
    clock.wait(minutes=20)
    store.schedules.fire(["tidy"])
    # Of a machine whose clock goes wrong by some minutes.
    behind, other = timed(store)
    other.now = clock.now - timedelta(minutes=9)
    say(behind, "ann")
    clock.wait(minutes=1)
    assert store.schedules.fire(["tidy"]) == 1
    assert turned(store) == [("ann",)]


def test_an_idle_one_that_was_resumed_finds_what_became_idle_meanwhile(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    store.schedules.put("quiet", "tidy", idle_minutes=5)
    store.schedules.fire(["tidy"])
    store.schedules.pause("quiet")
    say(store, "ann")
    clock.wait(hours=3)
    assert store.schedules.fire(["tidy"]) == 0
    store.schedules.resume("quiet")
    assert store.schedules.fire(["tidy"]) == 1


def test_more_scopes_than_a_page_become_idle(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoranda.store.operations.firing._PAGE", 3)
    store, clock = timed(store)
    names = [f"s{number}" for number in range(8)]
    for number, name in enumerate(names):
        say(store, name)
        clock.wait(seconds=number // 4)
    clock.wait(minutes=5)
    store.schedules.put("quiet", "tidy", idle_minutes=5)
    assert store.schedules.fire(["tidy"]) == 8
    assert sorted(scope[0] for scope in turned(store)) == names


def test_a_look_that_was_stopped_is_made_again(
    work: tuple[MemoryStore, Clock], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, clock = work
    say(store, "ann")
    clock.wait(minutes=10)
    store.schedules.put("quiet", "tidy", idle_minutes=5)

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("memoranda.store.operations.firing._queue_idle", stopped)
        with pytest.raises(KeyboardInterrupt):
            store.schedules.fire(["tidy"])
    assert store.schedules.fire(["tidy"]) == 0, "somebody may be at it still"
    clock.wait(minutes=1)
    assert store.schedules.fire(["tidy"]) == 1
