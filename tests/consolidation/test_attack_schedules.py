"""Schedules that share what they should not, and clocks that jump."""

from __future__ import annotations

import time
from dataclasses import replace
from threading import Thread

from memoranda import MemoryStore
from memoranda.consolidation import Worker
from memoranda.consolidation.triggers import schedule_name
from tests.consolidation.talking import ANN, consolidator, files_of, say, text
from tests.store.jobs_support import say as said
from tests.store.jobs_support import timed, waiting


def test_schedules_of_other_prefixes_and_consolidators_stay_apart(store: MemoryStore) -> None:
    consolidator(store, name="tidy").schedule("0 1 * * *", prefix=("acme",))
    consolidator(store, name="tidy").schedule("0 2 * * *", prefix=("beta",))
    consolidator(store, name="tidy").after_idle(5)
    consolidator(store, name="tidy-idle").schedule("0 3 * * *")
    there = [(one.queue, one.kind, one.prefix) for one in store.schedules.list()]
    assert sorted(there) == [
        ("tidy", "cron", ("acme",)),
        ("tidy", "cron", ("beta",)),
        ("tidy", "idle", ()),
        ("tidy-idle", "cron", ()),
    ]


def test_names_of_schedules_are_of_one_schedule_each() -> None:
    consumers = ["a", "a-idle", "a-cron", "a-idle-cron", "a b", "a%20b", "a b-idle"]
    prefixes = [(), ("b",), ("b", "c"), ("b/c",), ("b%2Fc",), ("b c",), ("b", "")]
    asked = [(one, prefix, idle) for one in consumers for prefix in prefixes for idle in (False, True)]
    assert len({schedule_name(one, prefix, idle=idle) for one, prefix, idle in asked}) == len(asked)


def test_what_a_machine_with_a_slow_clock_records_becomes_idle_too(store: MemoryStore) -> None:
    store, clock = timed(store)
    store.schedules.put("quiet", "tidy", idle_minutes=5)
    store.schedules.fire(["tidy"])
    clock.wait(minutes=-40)
    said(store, "ann")
    clock.wait(minutes=40)
    for _ in range(30):
        clock.wait(minutes=5)
        store.schedules.fire(["tidy"])
    assert [job.scope for job in waiting(store)] == [("ann",)]


def test_what_is_said_after_the_clock_was_set_back_becomes_idle(store: MemoryStore) -> None:
    store, clock = timed(store)
    store.schedules.put("quiet", "tidy", idle_minutes=5)
    store.schedules.fire(["tidy"])
    clock.wait(hours=-3)
    said(store, "ann")
    store.schedules.put("quiet", "tidy", idle_minutes=5)  # as every start of a program does
    for _ in range(3):
        clock.wait(minutes=5)
        store.schedules.fire(["tidy"])
    assert [job.scope for job in waiting(store)] == [("ann",)]


def test_a_clock_that_was_far_ahead_once_does_not_stop_a_schedule(store: MemoryStore) -> None:
    store, clock = timed(store)
    store.schedules.put("nightly", "tidy", cron="0 3 * * *")
    clock.wait(days=400)
    assert store.schedules.fire(["tidy"]) == 1
    ahead = store.jobs.claim(["tidy"], worker="w")
    assert ahead is not None and store.jobs.fan_out(ahead) == 0
    clock.wait(days=-400)
    said(store, "ann")
    store.schedules.put("nightly", "tidy", cron="0 3 * * *")
    clock.wait(days=1)
    assert store.schedules.fire(["tidy"]) == 1
    job = store.jobs.claim(["tidy"], worker="w")
    assert job is not None and store.jobs.fan_out(job) == 1
    assert store.schedules.fire(["tidy"]) == 0


def test_workers_whose_clocks_differ_by_more_than_a_lease_finish_what_there_is(store: MemoryStore) -> None:
    say(store, *map(str, range(20)))
    ahead = MemoryStore(
        store.engine, replace(store.context, clock=lambda: store.context.clock() + 300_000_000), url=store.url
    )
    consolidator(store).on_demand(ANN)
    workers = [
        Worker(each, [consolidator(each, max_turns=4, target=files_of(each))], poll=0.05, lease=60)
        for each in (store, ahead)
    ]
    threads = [Thread(target=worker.run, kwargs={"signals": False}) for worker in workers]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 10
    while store.runs.cursor("consolidation", ANN) < 20 and time.monotonic() < deadline:
        time.sleep(0.02)
    for worker in workers:
        worker.stop()
    for thread in threads:
        thread.join()
    assert (text(store) or "").splitlines() == [f"- {number}" for number in range(20)]
    assert sum(run.turns for run in store.runs.list(limit=None)) == 20
