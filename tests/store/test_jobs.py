"""Jobs: queued once, taken by one worker at a time, ended by the one that has the lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, timedelta
from typing import Any

import pytest

from memoranda import Job, MemoryStore
from memoranda.errors import InvalidValueError, JobNotFoundError, MemorandaError
from tests.store.jobs_support import Clock, timed


@pytest.fixture
def work(store: MemoryStore) -> tuple[MemoryStore, Clock]:
    return timed(store)


def claimed(store: MemoryStore, *queues: str, **how: Any) -> Job:
    job = store.jobs.claim(queues or ("q",), worker="w", **how)
    assert job is not None
    return job


def test_an_origin_leads_to_one_job_of_a_queue_and_scope(store: MemoryStore) -> None:
    jobs = store.jobs
    first = jobs.enqueue("q", ("ann",), origin="monday", payload={"why": "käse\0", "n": [1, None]})
    assert first is not None
    assert (first.state, first.attempts, first.scope, first.payload) == (
        "waiting",
        0,
        ("ann",),
        {"why": "käse\0", "n": [1, None]},
    )
    assert jobs.enqueue("q", ("ann",), origin="monday") is None
    assert jobs.finish(claimed(store))
    assert jobs.enqueue("q", ("ann",), origin="monday") is None, "one that is done counts too"
    others = [("other", ("ann",), "monday"), ("q", ("ann", "sub"), "monday"), ("q", None, "monday"), ("q", None, "x")]
    assert all(jobs.enqueue(queue, scope, origin=origin) for queue, scope, origin in others)
    assert jobs.enqueue("q", ("ann",)) and jobs.enqueue("q", ("ann",)), "without an origin each is its own"


def test_those_that_wait_longest_come_first_and_none_before_its_time(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    later = store.jobs.enqueue("q", ("a",), due=clock.now + timedelta(minutes=5))
    second = store.jobs.enqueue("q", ("b",), due=clock.now - timedelta(minutes=1))
    first = store.jobs.enqueue("q", ("c",), due=clock.now - timedelta(minutes=2))
    assert later and first and second
    assert [claimed(store).number, claimed(store).number] == [first.number, second.number]
    assert store.jobs.claim(["q"], worker="w") is None
    assert store.jobs.next_due(["q"]) == clock.now + timedelta(seconds=60), "when the leases run out"
    clock.wait(minutes=5)
    for _ in range(2):
        assert store.jobs.finish(claimed(store))
    assert claimed(store).number == later.number


def test_of_one_scope_only_one_job_of_a_queue_runs(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    for queue, scope in [("q", ("a",)), ("q", ("a",)), ("q", ("b",)), ("other", ("a",)), ("q", None), ("q", None)]:
        store.jobs.enqueue(queue, scope)
    running = [claimed(store, lease=600) for _ in range(4)]
    assert sorted(str(job.scope) for job in running) == ["('a',)", "('b',)", "None", "None"]
    assert store.jobs.claim(["q"], worker="w") is None
    assert store.jobs.next_due(["q"]) == clock.now + timedelta(minutes=10), "the one that waits has to wait for that"
    assert claimed(store, "other").scope == ("a",)
    assert all(store.jobs.finish(job) for job in running)
    assert claimed(store).scope == ("a",)


def test_of_several_queues_none_is_starved(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    for number in range(4):
        store.jobs.enqueue("busy", (f"s{number}",))
        clock.wait(seconds=1)
        if number == 1:
            store.jobs.enqueue("quiet")
            clock.wait(seconds=1)
    taken = [claimed(store, "quiet", "busy", "empty").queue for _ in range(5)]
    assert taken == ["busy", "busy", "quiet", "busy", "busy"]


def test_another_takes_over_when_the_lease_has_run_out(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    store.jobs.enqueue("q", ("a",))
    lost = claimed(store, lease=30)
    assert store.jobs.heartbeat(lost, lease=45)
    clock.wait(seconds=44)
    assert store.jobs.claim(["q"], worker="second") is None
    assert store.jobs.next_due(["q"]) == clock.now + timedelta(seconds=1)
    clock.wait(seconds=1)
    job = store.jobs.claim(["q"], worker="second")
    assert job is not None
    assert (job.number, job.attempts, job.worker) == (lost.number, 2, "second")
    assert job.lease != lost.lease
    too_late = (
        store.jobs.finish(lost),
        store.jobs.heartbeat(lost),
        store.jobs.retry(lost, error="x", at=clock.now),
        store.jobs.park(lost, error="x"),
        store.jobs.release(lost),
    )
    assert not any(too_late)
    assert store.jobs.get(job.number) == job
    assert store.jobs.finish(job)
    assert not store.jobs.finish(job), "twice"


def test_a_late_worker_keeps_its_job_as_long_as_nobody_took_it(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    store.jobs.enqueue("q")
    job = claimed(store, lease=1)
    clock.wait(seconds=5)
    assert store.jobs.heartbeat(job)
    assert store.jobs.claim(["q"], worker="other") is None
    assert store.jobs.finish(job)


def test_a_failed_job_waits_and_is_parked_and_resumed(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    store.jobs.enqueue("q", ("a",))
    again = clock.now + timedelta(seconds=10)
    assert store.jobs.retry(claimed(store), error="no\0 answer \ud800", at=again)
    (job,) = store.jobs.list("q", state="waiting")
    assert (job.due_at, job.attempts, job.error, job.lease) == (again, 1, "no answer ?", None)
    assert store.jobs.claim(["q"], worker="w") is None
    clock.wait(seconds=10)
    assert store.jobs.park(claimed(store), error="gave up")
    (job,) = store.jobs.list(state="parked")
    assert (job.attempts, job.error, job.ended_at) == (2, "gave up", clock.now)
    assert store.jobs.claim(["q"], worker="w") is None
    assert store.jobs.next_due(["q"]) is None
    assert store.jobs.resume(job.number)
    assert not store.jobs.resume(job.number)
    job = claimed(store)
    assert (job.attempts, job.error) == (1, None)


def test_a_released_job_was_not_begun(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    store.jobs.enqueue("q", ("a",))
    store.jobs.retry(claimed(store), error="x", at=clock.now)
    assert store.jobs.release(claimed(store))
    job = claimed(store)
    assert (job.attempts, job.error) == (2, "x")


def test_one_job_is_taken_by_its_number(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    other = store.jobs.enqueue("q", ("a",))
    mine = store.jobs.enqueue("q", ("a",), due=clock.now + timedelta(hours=1))
    assert other and mine
    job = store.jobs.claim(["q"], worker="hand", number=mine.number)
    assert job and job.number == mine.number
    assert store.jobs.claim(["q"], worker="w", number=other.number) is None, "the scope is being worked on"
    assert store.jobs.claim(["q"], worker="w", number=mine.number) is None
    clock.wait(minutes=2)
    again = store.jobs.claim(["q"], worker="w", number=mine.number)
    assert again and again.attempts == 2
    assert store.jobs.claim(["other"], worker="w", number=other.number) is None, "not of this queue"
    store.jobs.finish(again)
    assert store.jobs.claim(["q"], worker="w", number=mine.number) is None, "it is done"


def test_listing_and_reading(store: MemoryStore) -> None:
    numbers = []
    for queue, scope in [("q", ("a",)), ("q", ("b",)), ("p", ("a",)), ("q", None)]:
        job = store.jobs.enqueue(queue, scope)
        assert job
        numbers.append(job.number)
    found = {
        "all": store.jobs.list(),
        "queue": store.jobs.list("q"),
        "scope": store.jobs.list(scope=("a",)),
        "both": store.jobs.list("q", ("a",)),
        "state": store.jobs.list(state="done"),
        "two": store.jobs.list(limit=2),
        "every": store.jobs.list(limit=None),
    }
    shown = {name: [numbers.index(job.number) for job in jobs] for name, jobs in found.items()}
    assert shown == {
        "all": [3, 2, 1, 0],
        "queue": [3, 1, 0],
        "scope": [2, 0],
        "both": [0],
        "state": [],
        "two": [3, 2],
        "every": [3, 2, 1, 0],
    }
    assert store.jobs.get(numbers[1]).scope == ("b",)
    with pytest.raises(JobNotFoundError, match="There is no job 999"):
        store.jobs.get(999)


def test_jobs_that_are_done_are_swept(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    for origin in ("old", "parked", "waiting"):
        store.jobs.enqueue("q", origin=origin, due=clock.now)
        clock.wait(seconds=1)
    assert store.jobs.finish(claimed(store))
    assert store.jobs.park(claimed(store), error="x")
    clock.wait(days=8)
    store.jobs.enqueue("q", origin="new", due=clock.now - timedelta(days=30))
    assert store.jobs.finish(claimed(store))
    assert store.jobs.sweep(timedelta(days=7)) == 1
    assert sorted(job.origin for job in store.jobs.list()) == ["new", "parked", "waiting"]
    assert store.jobs.enqueue("q", origin="new") is None
    assert store.jobs.enqueue("q", origin="old") is not None


def test_customers_have_their_own_jobs(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    one, other = open_here(store_url, tenant="one"), open_here(store_url, tenant="other")
    job = one.jobs.enqueue("q", ("a",), origin="x")
    assert job
    assert other.jobs.claim(["q"], worker="w") is None
    assert other.jobs.list() == []
    assert other.jobs.claim(["q"], worker="w", number=job.number) is None
    with pytest.raises(JobNotFoundError):
        other.jobs.get(job.number)
    assert not other.jobs.resume(job.number)
    assert other.jobs.enqueue("q", ("a",), origin="x")
    assert other.jobs.next_due(["q"]) is not None


def test_the_same_from_an_event_loop(store: MemoryStore) -> None:
    async def through() -> list[object]:
        jobs = store.jobs
        queued = await jobs.aenqueue("q", ("a",))
        job = await jobs.aclaim(["q"], worker="w")
        assert queued and job and queued.number == job.number
        at = job.due_at
        return [
            await jobs.aheartbeat(job),
            await jobs.aretry(job, error="x", at=at),
            (await jobs.aget(job.number)).state,
            [each.number == job.number for each in await jobs.alist("q")],
            await jobs.anext_due(["q"]) == at,
            await jobs.asweep(timedelta(days=1)),
            await jobs.aresume(job.number),
        ]

    assert asyncio.run(through()) == [True, True, "waiting", [True], True, 0, False]


NONSENSE: list[tuple[str, Callable[[MemoryStore], object]]] = [
    ("is no name", lambda store: store.jobs.enqueue("")),
    ("is no name", lambda store: store.jobs.enqueue("a\0b")),
    ("is no name", lambda store: store.jobs.enqueue("x" * 256)),
    ("is no origin", lambda store: store.jobs.enqueue("q", origin="")),
    ("is no origin", lambda store: store.jobs.enqueue("q", origin="ä" * 65)),
    ("no JSON object", lambda store: store.jobs.enqueue("q", payload={"x": object()})),
    ("no JSON object", lambda store: store.jobs.enqueue("q", payload={"x": "\ud800"})),
    ("empty label", lambda store: store.jobs.enqueue("q", ("",))),
    ("number of seconds", lambda store: store.jobs.claim(["q"], worker="w", lease=0, number=1)),
    ("is no name", lambda store: store.jobs.claim(["q"], worker="", number=1)),
    ("is no name", lambda store: store.jobs.claim(["q", ""], worker="w")),
    ("no number of a job", lambda store: store.jobs.get("seven")),  # type: ignore[arg-type]
    ("no state of a job", lambda store: store.jobs.list(state="finished")),
]


@pytest.mark.parametrize(("said", "call"), NONSENSE, ids=range(len(NONSENSE)))
def test_nonsense_is_refused_with_what_to_do(
    said: str, call: Callable[[MemoryStore], object], open_here: Callable[..., MemoryStore]
) -> None:
    store = open_here("memory://")
    with pytest.raises(MemorandaError, match=said) as caught:
        call(store)
    assert isinstance(caught.value, ValueError)
    assert caught.value.remedy


def test_the_longest_names_fit(store: MemoryStore) -> None:
    queue, origin, scope = "q" * 255, "o" * 128, ("s" * 1_999,)
    job = store.jobs.enqueue(queue, scope, origin=origin, payload={"x": "y" * 100_000})
    assert job and job.scope == scope
    assert claimed(store, queue).payload["x"] == "y" * 100_000
    assert job.created_at and job.created_at.tzinfo == UTC
    with pytest.raises(InvalidValueError):
        store.jobs.enqueue(queue, scope, origin=origin + "o")
