"""Consolidators side by side: one at a time for each scope, by hand and as jobs."""

from __future__ import annotations

import signal
import threading
import time
from datetime import timedelta

import pytest

from memoranda import MemoryStore
from memoranda.backends import StoreBackend
from memoranda.consolidation import (
    RunReport,
    Task,
    by_hand,
)
from memoranda.errors import InvalidScheduleError
from tests.consolidation.talking import ANN, consolidator, noting, say, text

# --- two at once ---------------------------------------------------------------------------------------------------


def test_of_two_callers_at_once_one_runs(store: MemoryStore) -> None:
    say(store, "one")
    begun, go_on = threading.Event(), threading.Event()

    def work(task: Task) -> None:
        begun.set()
        assert go_on.wait(10)
        noting()(task)

    tending = consolidator(store, work)
    reports: list[RunReport] = []
    first = threading.Thread(target=lambda: reports.append(tending.run(ANN)))
    first.start()
    assert begun.wait(10)
    busy = tending.run(ANN)
    (status,) = tending.status()
    go_on.set()
    first.join()
    assert (busy.status, busy.runs, status.running) == ("busy", (), True)
    assert (reports[0].status, text(store)) == ("applied", "- one\n")
    assert tending.run(ANN).status == "nothing"


def test_a_run_that_takes_long_keeps_its_lease(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_hand, "LEASE", 0.3)
    say(store, "one")
    begun = threading.Event()

    def work(task: Task) -> None:
        begun.set()
        time.sleep(0.8)
        noting()(task)

    tending = consolidator(store, work)
    reports: list[RunReport] = []
    first = threading.Thread(target=lambda: reports.append(tending.run(ANN)))
    first.start()
    assert begun.wait(10)
    time.sleep(0.5)  # longer than its lease
    assert consolidator(store).run(ANN).status == "busy"
    first.join()
    assert (reports[0].status, text(store)) == ("applied", "- one\n")


def test_a_caller_that_died_is_taken_over_from(store: MemoryStore) -> None:
    say(store, "one")
    job = store.jobs.enqueue("consolidation", ANN, origin="hand:dead")
    assert job is not None
    assert store.jobs.claim(["consolidation"], worker="dead", lease=0.2, number=job.number) is not None
    tending = consolidator(store)
    assert tending.run(ANN).status == "busy"
    time.sleep(0.25)
    assert (tending.run(ANN).status, text(store)) == ("applied", "- one\n")


def test_many_callers_at_once_read_each_turn_once(store: MemoryStore) -> None:
    say(store, *(f"fact {number}" for number in range(6)))
    tending = consolidator(store, max_turns=1)
    threads = [threading.Thread(target=tending.run, args=(ANN,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tending.run(ANN)
    assert text(store) == "".join(f"- fact {number}\n" for number in range(6))
    assert store.runs.covered("consolidation", ANN) == [(number, number + 1) for number in range(6)]


def test_all_scopes_are_run_side_by_side(store: MemoryStore) -> None:
    for number in range(6):
        say(store, f"fact {number}", scope=("users", f"u{number}"), user=f"u{number}")
    say(store, "elsewhere", scope=("others",))
    meeting = threading.Barrier(3, timeout=10)

    def work(task: Task) -> None:
        meeting.wait()
        noting()(task)

    told: list[RunReport] = []
    target = StoreBackend(namespace=lambda runtime: ("files", runtime.context.user_id), store=store)
    tending = consolidator(store, work, target=target, prefix=("users",))
    reports = tending.run_all(concurrency=3, progress=told.append)
    assert [report.scope[1] for report in reports] == [f"u{number}" for number in range(6)]
    assert {report.status for report in told} == {"applied"}
    assert len(told) == 6
    assert text(store, scope=("files", "u3")) == "- fact 3\n"


def test_ctrl_c_gives_back_what_runs_and_nothing_of_it_lands(store: MemoryStore) -> None:
    for number in range(3):
        say(store, "fact", scope=(f"u{number}",))
    main, go_on = threading.main_thread(), threading.Event()
    landing: list[threading.Thread] = []

    def work(task: Task) -> None:
        landing.append(threading.current_thread())
        if len(landing) == 2:
            signal.pthread_kill(main.ident or 0, signal.SIGINT)
        assert go_on.wait(10)
        noting()(task)

    tending = consolidator(store, work)
    with pytest.raises(KeyboardInterrupt):
        tending.run_all(concurrency=2)
    assert store.jobs.list(state="running") == []
    go_on.set()
    for each in landing:
        each.join(10)
    assert (len(landing), store.runs.list(), text(store)) == (2, [], None)
    assert [report.status for report in consolidator(store).run_all()] == ["applied"] * 3


def test_runs_by_hand_leave_no_heap_of_jobs(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    tending = consolidator(store)
    for number in (1, 2):
        say(store, "fact", first=number)
        assert tending.run(ANN).status == "applied"
    assert len(store.jobs.list(state="done")) == 2  # kept for a while, and looked through once in a while
    monkeypatch.setattr(by_hand, "KEPT", timedelta(0))
    monkeypatch.setattr(by_hand, "SWEEP_EVERY", 0.0)
    by_hand._SWEPT.clear()
    say(store, "fact", first=3)
    assert tending.run(ANN).status == "applied"
    assert len(store.jobs.list(state="done")) <= 1
    assert store.runs.covered(tending.name, ANN) == [(0, 1), (1, 2), (2, 3)]


# --- jobs ----------------------------------------------------------------------------------------------------------


def test_a_step_does_one_range_and_queues_what_follows(store: MemoryStore) -> None:
    say(store, "one", "two", "three")
    tending = consolidator(store, max_turns=2)
    assert tending.on_demand(ANN).state == "waiting"
    steps: list[str] = []
    while (job := store.jobs.claim(["consolidation"], worker="w")) is not None:
        steps.append(tending.step(job).status)
        assert store.jobs.get(job.number).state == "done"
    assert (steps, text(store)) == (["applied", "applied"], "- one\n- two\n- three\n")
    job = tending.on_demand(ANN)
    taken = store.jobs.claim(["consolidation"], worker="w")
    assert taken is not None
    assert (tending.step(taken).status, store.jobs.get(job.number).state) == ("nothing", "done")


def test_a_step_that_fails_raises_until_its_last_attempt(store: MemoryStore) -> None:
    say(store, "one")

    def work(task: Task) -> None:
        raise OSError("away")

    tending = consolidator(store, work, attempts=2)
    tending.on_demand(ANN)
    job = store.jobs.claim(["consolidation"], worker="w")
    assert job is not None
    with pytest.raises(OSError, match="away"):
        tending.step(job)
    assert store.jobs.get(job.number).state == "running"
    assert store.jobs.retry(job, error="away", at=job.due_at)
    job = store.jobs.claim(["consolidation"], worker="w")
    assert job is not None
    assert (tending.step(job).status, store.jobs.get(job.number).state) == ("parked", "parked")


@pytest.mark.parametrize("died", [False, True])
def test_what_is_behind_a_parked_range_is_queued_with_its_parking(store: MemoryStore, died: bool) -> None:
    say(store, "one", "two")

    def work(task: Task) -> None:
        raise OSError("no model")

    tending = consolidator(store, work, attempts=1, max_turns=1)
    tending.on_demand(ANN)
    job = store.jobs.claim([tending.name], worker="w")
    assert job is not None
    report = tending.set_aside(job, "Its workers ended.") if died else tending.step(job)
    waiting = store.jobs.list(tending.name, ANN, "waiting")
    assert (report.status, [each.origin for each in waiting]) == ("parked", ["more:1"])


def test_a_step_whose_lease_ran_out_lands_nothing(store: MemoryStore) -> None:
    say(store, "one")
    tending = consolidator(store)
    tending.on_demand(ANN)
    late = store.jobs.claim(["consolidation"], worker="slow", lease=0.01)
    time.sleep(0.03)
    taken = store.jobs.claim(["consolidation"], worker="quick")
    assert late is not None and taken is not None and late.number == taken.number
    assert (tending.step(late).status, text(store), store.runs.list()) == ("lost", None, [])
    assert (tending.step(taken).status, text(store)) == ("applied", "- one\n")
    assert tending.step(late).status == "lost"


def test_the_status_tells_what_waits(store: MemoryStore) -> None:
    tending = consolidator(store, max_turns=1)
    say(store, "one", "two", "three")
    say(store, "far", scope=("zoe",))
    tending.run(ANN, mode="propose")
    say(store, "four", first=4)
    tending.on_demand(ANN)
    ann, zoe = tending.status()
    assert (ann.scope, ann.position, ann.turns, ann.unread, ann.proposed) == (ANN, 3, 4, 1, 3)
    assert (ann.waiting, ann.running, ann.last_run is not None) == (1, False, True)
    assert (zoe.scope, zoe.unread, zoe.last_run) == (("zoe",), 1, None)
    assert [one.scope for one in tending.status(("zoe",))] == [("zoe",)]


def test_triggers_are_rows(store: MemoryStore) -> None:
    tending = consolidator(store, zone="Asia/Tokyo", prefix=("users",))
    cron = tending.schedule("0 */6 * * *")
    idle = tending.after_idle(5, name="idle")
    assert (cron.queue, cron.line, cron.zone, cron.prefix) == ("consolidation", "0 */6 * * *", "Asia/Tokyo", ("users",))
    assert (idle.name, idle.minutes, idle.prefix) == ("idle", 5, ("users",))
    with pytest.raises(InvalidScheduleError, match="hour"):
        tending.schedule("0 25 * * *")
