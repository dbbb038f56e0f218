"""The worker: many scopes side by side, none twice at once, with back-off, schedules, and a clean end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoranda import MemoryStore
from memoranda.consolidation.doing import DEATHS
from memoranda.consolidation.task import Task
from memoranda.consolidation.worker import Worked, Worker
from memoranda.errors import InvalidValueError, StoreClosedError
from tests.consolidation.worker_support import SECONDS, note, noting, said, say, until, working

Opening = Callable[..., MemoryStore]


def test_scopes_side_by_side_and_none_twice_at_once(store: MemoryStore) -> None:
    at_work: list[str] = []
    most = 0
    lock = threading.Lock()

    def work(task: Task) -> None:
        nonlocal most
        who = task.scope[0]
        with lock:
            assert who not in at_work, "a scope twice at once"
            at_work.append(who)
            most = max(most, len(at_work))
        time.sleep(0.02)
        note(task)
        with lock:
            at_work.remove(who)

    consolidator = noting(store, work, max_turns=1)
    people = [f"p{number}" for number in range(6)]
    for who in people:
        say(store, who, "one", "two")
        for _ in range(3):  # asked for more than once
            consolidator.on_demand((who,))
    reports: list[Worked] = []
    tally = Worker(store, [consolidator], concurrency=3, report=reports.append).run(until_idle=True)
    assert most == 3
    assert all(said(store, who) == ["one", "two"] for who in people)
    assert all(store.runs.covered("noting", (who,)) == [(0, 1), (1, 2)] for who in people)
    assert tally.done == len(reports) == 12 and not tally.parked and not tally.again
    assert {report.report.status for report in reports if report.report} == {"applied"}


def test_a_failing_run_is_tried_again_later_and_later_then_parked_and_the_scope_goes_on(store: MemoryStore) -> None:
    started: list[float] = []

    def work(task: Task) -> None:
        if task.turns[0].text == "bad":
            started.append(time.monotonic())
            raise RuntimeError("the model is down")
        note(task)

    say(store, "ann", "bad")
    consolidator = noting(store, work, attempts=3)
    job = consolidator.on_demand(("ann",))
    reports: list[Worked] = []
    with working(Worker(store, [consolidator], pause=0.08, report=reports.append)):
        until(lambda: len(reports) == 3)
    assert [each.outcome for each in reports] == ["again", "again", "parked"]
    assert all("the model is down" in (each.error or "") for each in reports)
    assert started[1] - started[0] >= 0.06 and started[2] - started[1] >= 0.12  # three quarters of the pause at least
    (run,) = store.runs.list("noting")
    assert (run.status, run.after, run.to, run.attempts) == ("parked", 0, 1, 3)
    assert "the model is down" in (run.error or "")
    parked = store.jobs.get(job.number)
    assert (parked.state, parked.attempts) == ("parked", 3) and "the model is down" in (parked.error or "")
    say(store, "ann", "good")
    consolidator.on_demand(("ann",))
    Worker(store, [consolidator]).run(until_idle=True)
    assert said(store, "ann") == ["good"]
    assert store.runs.covered("noting", ("ann",)) == [(0, 1), (1, 2)]


def test_a_parked_range_keeps_nothing_waiting(store: MemoryStore) -> None:
    def work(task: Task) -> None:
        if task.turns[0].text == "bad":
            raise RuntimeError("no")
        note(task)

    say(store, "ann", "bad", "good", "bad", "better")
    consolidator = noting(store, work, attempts=1, max_turns=1)
    consolidator.on_demand(("ann",))
    tally = Worker(store, [consolidator]).run(until_idle=True)
    assert said(store, "ann") == ["good", "better"] and tally.parked == 2
    assert store.runs.covered("noting", ("ann",)) == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_what_ends_its_workers_each_time_is_set_aside(store: MemoryStore) -> None:
    """A job that was taken over so often that it must be the cause."""
    say(store, "ann", "deadly")
    consolidator = noting(store, note)
    job = consolidator.on_demand(("ann",))
    for number in range(consolidator.attempts + DEATHS):
        assert store.jobs.claim(["noting"], worker=str(number), lease=0.001)
        time.sleep(0.005)
    reports: list[Worked] = []
    Worker(store, [consolidator], report=reports.append).run(until_idle=True)
    assert [each.outcome for each in reports] == ["parked"] and said(store, "ann") == []
    (run,) = store.runs.list("noting")
    assert run.status == "parked" and run.error == "Its workers ended 13 times before it was done."
    assert store.jobs.get(job.number).state == "parked"
    say(store, "ann", "harmless")
    consolidator.on_demand(("ann",))
    Worker(store, [consolidator]).run(until_idle=True)
    assert said(store, "ann") == ["harmless"]


def test_a_range_whose_workers_were_killed_is_not_parked_at_its_first_failure(store: MemoryStore) -> None:
    failures = [RuntimeError("the model is down")]

    def work(task: Task) -> None:
        if failures:
            raise failures.pop()
        note(task)

    say(store, "ann", "one")
    consolidator = noting(store, work, attempts=3)
    consolidator.on_demand(("ann",))
    for number in range(3):
        assert store.jobs.claim(["noting"], worker=str(number), lease=0.001)
        time.sleep(0.005)
    reports: list[Worked] = []
    with working(Worker(store, [consolidator], pause=0.01, report=reports.append)):
        until(lambda: len(reports) == 2)
    assert [each.outcome for each in reports] == ["again", "done"] and said(store, "ann") == ["one"]


def test_one_failing_scope_keeps_none_waiting(store: MemoryStore) -> None:
    def work(task: Task) -> None:
        if task.scope == ("bad",):
            raise RuntimeError("no")
        note(task)

    consolidator = noting(store, work)
    for who in ("bad", "good"):
        say(store, who, "hello")
        consolidator.on_demand((who,))
    tally = Worker(store, [consolidator], concurrency=1).run(until_idle=True)
    assert said(store, "good") == ["hello"] and (tally.done, tally.again) == (1, 1)
    (waiting,) = store.jobs.list("noting", state="waiting")
    assert waiting.due_at > datetime.now(UTC) + timedelta(seconds=2)


def test_the_heartbeat_keeps_the_lease_of_a_long_run(store: MemoryStore, store_url: str, open_here: Opening) -> None:
    other = open_here(store_url)
    runs = 0

    def work(task: Task) -> None:
        nonlocal runs
        runs += 1
        time.sleep(1.5)
        note(task)

    say(store, "ann", "hello")
    consolidator = noting(store, work)
    consolidator.on_demand(("ann",))
    rival = Worker(other, [noting(other, work)], lease=1, poll=0.05)
    with working(Worker(store, [consolidator], lease=1, poll=0.05)) as worker:
        until(lambda: runs)
        with working(rival):
            until(lambda: said(store, "ann"))
        assert worker.name != rival.name
    assert runs == 1 and said(store, "ann") == ["hello"]
    (job,) = store.jobs.list("noting")
    assert (job.state, job.attempts) == ("done", 1)


def test_what_a_lost_lease_was_for_lands_once(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker whose heartbeats do not get through is overtaken, and lands nothing of what it goes on with."""
    arrived, overtaken = threading.Event(), threading.Event()
    attempts: list[int] = []

    def work(task: Task) -> None:
        attempts.append(len(attempts))
        if len(attempts) == 1:
            arrived.set()
            assert overtaken.wait(SECONDS)
        note(task)

    say(store, "ann", "hello")
    consolidator = noting(store, work)
    consolidator.on_demand(("ann",))
    slow: list[Worked] = []
    first = Worker(store, [consolidator], lease=0.3, report=slow.append)
    monkeypatch.setattr(first, "_beat", lambda: None)
    with working(first):
        assert arrived.wait(SECONDS)
        first.stop()  # it takes nothing more, and finishes what it has
        with working(Worker(store, [consolidator], poll=0.05)):
            until(lambda: said(store, "ann"))
        overtaken.set()
        until(lambda: slow)
    assert [each.outcome for each in slow] == ["lost"]
    assert len(attempts) == 2 and said(store, "ann") == ["hello"]
    assert len(store.runs.list("noting")) == 1 and len(store.history(("ann",), "/said.md")) == 1


# --- the end --------------------------------------------------------------------------------------------------


def test_stopping_lets_what_runs_come_to_its_end(store: MemoryStore) -> None:
    began, go_on = threading.Event(), threading.Event()

    def work(task: Task) -> None:
        began.set()
        assert go_on.wait(SECONDS)
        note(task)

    consolidator = noting(store, work)
    for who in ("ann", "bob"):
        say(store, who, "hello")
        consolidator.on_demand((who,))
    worker = Worker(store, [consolidator], concurrency=1)
    with working(worker):
        assert began.wait(SECONDS)
        worker.stop()
        time.sleep(0.1)
        go_on.set()
    assert sorted([*said(store, "ann"), *said(store, "bob")]) == ["hello"]
    assert [job.attempts for job in store.jobs.list("noting", state="waiting")] == [0]


def test_stopping_at_once_gives_back_what_runs(store: MemoryStore) -> None:
    began, go_on = threading.Event(), threading.Event()

    def work(task: Task) -> None:
        began.set()
        assert go_on.wait(SECONDS)
        note(task)

    say(store, "ann", "hello")
    consolidator = noting(store, work)
    consolidator.on_demand(("ann",))
    late: list[Worked] = []
    worker = Worker(store, [consolidator], report=late.append)
    with working(worker):
        assert began.wait(SECONDS)
        worker.stop(at_once=True)
    (job,) = store.jobs.list("noting")
    assert (job.state, job.attempts) == ("waiting", 0) and not late
    go_on.set()
    until(lambda: late)
    assert [each.outcome for each in late] == ["lost"] and said(store, "ann") == []
    Worker(store, [noting(store, note)]).run(until_idle=True)
    assert said(store, "ann") == ["hello"]


def test_an_event_ends_it_too(store: MemoryStore) -> None:
    stop = threading.Event()
    worker = Worker(store, [noting(store, note)], poll=600)
    thread = threading.Thread(target=worker.run, kwargs={"stop": stop})
    thread.start()
    stop.set()
    thread.join(5)
    assert not thread.is_alive()


def test_a_worker_can_run_again(store: MemoryStore) -> None:
    consolidator = noting(store, note)
    worker = Worker(store, [consolidator])
    for number in range(2):
        say(store, "ann", str(number))
        consolidator.on_demand(("ann",))
        assert worker.run(until_idle=True).done == 1
    assert said(store, "ann") == ["0", "1"]


def test_a_closed_store_ends_it_with_an_error(store_url: str, open_here: Opening) -> None:
    mine = open_here(store_url)
    worker = Worker(mine, [noting(mine, note)], poll=0.05)
    mine.close()
    with pytest.raises(StoreClosedError):
        worker.run()


@pytest.mark.parametrize("setting", [{"concurrency": 0}, {"lease": 0}, {"poll": -1}, {"pause": float("nan")}])
def test_numbers_that_make_no_sense(store: MemoryStore, setting: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError):
        Worker(store, [noting(store, note)], **setting)


def test_two_of_one_name(store: MemoryStore) -> None:
    with pytest.raises(InvalidValueError, match="have one name"):
        Worker(store, [noting(store, note), noting(store, note)])


def test_another_store(store: MemoryStore, store_url: str, other_store_url: str, open_here: Opening) -> None:
    consolidator = noting(store, note)
    Worker(open_here(store_url), [consolidator])  # the same database
    with pytest.raises(InvalidValueError, match="works on another store"):
        Worker(open_here(other_store_url), [consolidator])
    with pytest.raises(InvalidValueError, match="works on another store"):
        Worker(open_here(store_url, tenant="acme"), [consolidator])


def test_an_idle_worker_asks_one_question(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    consolidator = noting(store, note)
    consolidator.schedule("0 0 1 1 *")
    asked: list[str] = []
    worker = Worker(store, [consolidator], poll=0.1)
    run = store.engine.run
    monkeypatch.setattr(store.engine, "run", lambda operation: asked.append(operation.__name__) or run(operation))
    with working(worker):
        until(lambda: len(asked) > 8)
    assert set(asked[3:]) == {"next_due"}, asked
