"""Several processes at the same jobs and schedules, some of which are killed in the middle."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

from memoranda import Job, MemoryStore
from tests.store.jobs_support import process, say
from tests.support.scale import sized

CLAIMING = """
import sys, time
from memoranda import open_store
with open_store(sys.argv[1]) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    while True:
        job = store.jobs.claim(["q"], worker=sys.argv[2])
        if job is None:
            if not store.jobs.list("q", state="waiting", limit=1):
                break
            time.sleep(0.005)
            continue
        began = time.time()
        time.sleep(0.002)
        ended = time.time()
        assert store.jobs.finish(job)
        print(job.number, job.scope[0], began, ended, flush=True)
"""

FIRING = """
import sys, time
from dataclasses import replace
from memoranda import MemoryStore, open_store
with open_store(sys.argv[1]) as opened:
    began = float(sys.argv[2])
    # An hour in every second.
    clock = lambda: int((began + (time.time() - began) * 3600) * 1e6)
    store = MemoryStore(opened.engine, replace(opened.context, clock=clock), url=opened.url)
    print("ready", flush=True)
    sys.stdin.readline()
    fired, until = 0, time.time() + float(sys.argv[3])
    while time.time() < until:
        fired += store.schedules.fire(["q"])
    print(fired, flush=True)
"""

HOLDING = """
import sys, time
from memoranda import open_store
store = open_store(sys.argv[1])
job = store.jobs.claim(["q"], worker="doomed", lease=0.7)
print(job.number, flush=True)
sys.stdin.readline()
"""

SPREADING = """
import sys
from memoranda import open_store
from memoranda.store.operations import unread
queue = unread._queue
def stopping(context, job, scopes, *more):
    if "c\\x01" in scopes:
        print("stopped", flush=True)
        sys.stdin.readline()
    return (yield from queue(context, job, scopes, *more))
unread._queue = stopping
store = open_store(sys.argv[1])
store.jobs.fan_out(store.jobs.claim(["q"], worker="doomed", lease=0.7), page=2)
"""


def together(code: str, *args: tuple[str, ...]) -> list[str]:
    """Run several processes at the same time, and return all that they print."""
    running = [process(code, *each) for each in args]
    try:
        for one in running:
            assert one.stdout and one.stdin
            assert one.stdout.readline() == "ready\n"
        for one in running:
            assert one.stdin
            one.stdin.write("go\n")
            one.stdin.flush()
        return [line for one in running for line in one.communicate(timeout=60)[0].splitlines()]
    finally:
        for one in running:
            one.kill()
            one.wait()


def until_claimed(store: MemoryStore, number: int) -> Job:
    """Try to take a job until nobody else has it."""
    while True:
        job = store.jobs.claim(["q"], worker="second", number=number)
        if job is not None:
            return job
        time.sleep(0.02)


def test_each_job_is_taken_once_and_a_scope_is_never_worked_on_twice(store: MemoryStore, store_url: str) -> None:
    count, scopes = sized(400, quick=32), 4
    for number in range(count):
        store.jobs.enqueue("q", (f"s{number % scopes}",))
    lines = together(CLAIMING, *((store_url, f"w{number}") for number in range(sized(4, quick=2))))
    done = [(int(number), scope, float(began), float(ended)) for number, scope, began, ended in map(str.split, lines)]
    assert Counter(number for number, *_ in done) == Counter(job.number for job in store.jobs.list(limit=None))
    assert {(job.state, job.attempts) for job in store.jobs.list(limit=None)} == {("done", 1)}
    for wanted in {scope for _, scope, *_ in done}:
        spans = sorted((began, ended) for _, scope, began, ended in done if scope == wanted)
        assert all(ended <= began for (_, ended), (began, _) in pairwise(spans)), wanted


def test_many_threads_begin_the_jobs_of_one_scope_one_after_the_other(store: MemoryStore) -> None:
    for _ in range(12):
        store.jobs.enqueue("q", ("one",))
    running: list[int] = []

    def work(number: int) -> int:
        done = 0
        while store.jobs.list("q", state="waiting", limit=1):
            job = store.jobs.claim(["q"], worker=str(number))
            if job is None:
                continue
            running.append(job.number)
            assert len(running) == 1
            running.remove(job.number)
            assert store.jobs.finish(job)
            done += 1
        return done

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(work, range(6))) == 12


def test_what_a_killed_worker_had_is_taken_over_when_its_lease_has_run_out(store: MemoryStore, store_url: str) -> None:
    made = store.jobs.enqueue("q", ("ann",))
    assert made
    doomed = process(HOLDING, store_url)
    assert doomed.stdout
    assert int(doomed.stdout.readline()) == made.number
    since = store.jobs.get(made.number)
    doomed.kill()
    doomed.wait()
    assert store.jobs.claim(["q"], worker="second") is None
    job = until_claimed(store, made.number)
    assert (job.attempts, job.worker) == (2, "second")
    assert job.started_at and since.lease_until and job.started_at >= since.lease_until
    assert store.jobs.finish(job)


def test_a_fan_out_is_completed_after_a_kill(store: MemoryStore, store_url: str) -> None:
    for name in "abcde":
        say(store, name)
    made = store.jobs.enqueue("q", origin="x", payload={"kind": "fan_out", "prefix": []})
    assert made
    doomed = process(SPREADING, store_url)
    assert doomed.stdout
    assert doomed.stdout.readline() == "stopped\n"
    doomed.kill()
    doomed.wait()
    assert len(store.jobs.list("q", state="waiting")) == 2
    # Its lease was prolonged with the page; nobody has to wait for that here.
    while (job := late(store).jobs.claim(["q"], worker="second", number=made.number)) is None:
        time.sleep(0.02)
    assert late(store).jobs.fan_out(job, page=2) == 3
    assert sorted(str(each.scope) for each in store.jobs.list("q", state="waiting")) == [
        f"('{name}',)" for name in "abcde"
    ]


def late(store: MemoryStore) -> MemoryStore:
    """The same store, some minutes later."""
    clock: Callable[[], int] = lambda: time.time_ns() // 1_000 + 300_000_000  # noqa: E731
    return MemoryStore(store.engine, replace(store.context, clock=clock), url=store.url)


def test_each_due_time_is_fired_once_by_many(store: MemoryStore, store_url: str) -> None:
    began, seconds = time.time(), sized(8, quick=1)
    store.schedules.put("often", "q", cron="*/5 * * * *")
    fired = [int(line) for line in together(FIRING, *((store_url, str(began), str(seconds)) for _ in range(3)))]
    jobs = store.jobs.list("q", limit=None)
    assert sum(fired) == len(jobs) > 5
    dues = sorted(datetime.fromisoformat(job.origin.partition("@")[2]) for job in jobs)
    assert len({*dues}) == len(dues)
    assert all(due.minute % 5 == 0 and due.second == 0 for due in dues)
    schedule = store.schedules.get("often")
    assert schedule.last_due == dues[-1].astimezone(UTC)
    assert schedule.next_due and schedule.next_due > dues[-1]
