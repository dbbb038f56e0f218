"""What happens when a consolidator fails: nothing lands, and no turn is lost."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from memoranda import MemoryStore
from memoranda.consolidation import (
    RunReport,
    Task,
)
from memoranda.errors import RunNotFoundError, RunSettledError
from tests.consolidation.talking import ANN, consolidator, noting, say, text


def test_work_that_raises_is_tried_again_and_then_parked(store: MemoryStore) -> None:
    say(store, "one")
    calls: list[str] = []

    def work(task: Task) -> None:
        calls.append(task.run_id)
        task.files.write("/half.md", "half")
        raise OSError("no model there")

    tending = consolidator(store, work, attempts=2)
    report = tending.run(ANN)
    assert (report.status, report.ok, report.attempts, len(calls)) == ("parked", False, 2, 2)
    assert report.error == "OSError: no model there"
    (run,) = report.runs
    assert (run.status, run.error, run.after, run.to) == ("parked", report.error, 0, 1)
    assert text(store, "/half.md") is None
    assert store.jobs.list(state="parked")[0].error == report.error


def test_what_fails_once_lands_the_second_time(store: MemoryStore) -> None:
    say(store, "one")
    attempts: list[int] = []

    def work(task: Task) -> None:
        attempts.append(1)
        noting()(task)
        if len(attempts) == 1:
            raise OSError("once")

    report = consolidator(store, work).run(ANN)
    assert (report.status, report.attempts, text(store)) == ("applied", 2, "- one\n")


def test_a_parked_range_blocks_nothing_and_is_retried_by_itself(store: MemoryStore) -> None:
    works = False

    def work(task: Task) -> None:
        if not works and "bad" in task.turns[0].text:
            raise ValueError("cannot read this")
        noting()(task)

    tending = consolidator(store, work, max_turns=1, attempts=1)
    say(store, "bad", "good")
    parked = tending.run(ANN)
    assert (parked.status, parked.to) == ("parked", 1)
    assert tending.run(ANN).status == "applied"
    again = tending.retry(parked.run_id or "")
    assert (again.status, again.run_id, text(store)) == ("parked", parked.run_id, "- good\n")
    works = True
    retried = tending.retry(parked.run_id or "")
    assert (retried.status, retried.run_id, text(store)) == ("applied", parked.run_id, "- good\n- bad\n")
    assert store.runs.covered("consolidation", ANN) == [(0, 1), (1, 2)]
    with pytest.raises(RunSettledError, match="applied"):
        tending.retry(parked.run_id or "")
    with pytest.raises(RunNotFoundError):
        tending.retry("r-nothing")
    assert store.verify().ok


def test_a_retry_reads_no_turn_that_was_forgotten(store: MemoryStore) -> None:
    say(store, "secret", thread="gone")
    say(store, "kept", thread="kept")
    fails = [True]

    def work(task: Task) -> None:
        if fails:
            raise ValueError("not now")
        noting()(task)

    tending = consolidator(store, work, attempts=1)
    parked = tending.run(ANN)
    store.forget(thread="gone")
    fails.clear()
    assert (tending.retry(parked.run_id or "").status, text(store)) == ("applied", "- kept\n")


def test_turns_that_were_forgotten_unread_are_passed_over(store: MemoryStore) -> None:
    tending = consolidator(store)
    say(store, "gone", thread="gone")
    store.forget(thread="gone")
    assert tending.run(ANN).status == "nothing"
    say(store, "kept")
    say(store, "gone too", thread="gone too")
    store.forget(thread="gone too")
    report = tending.run(ANN)
    assert ([run.status for run in report.runs], text(store)) == (["applied"], "- kept\n")
    assert (tending.run_all(), tending.status()) == ([], [])
    assert store.verify().ok


@pytest.mark.parametrize("in_loop", [False, True])
def test_work_that_hangs_is_given_up(store: MemoryStore, in_loop: bool) -> None:
    say(store, "one")
    let_go = threading.Event()

    def work(task: Task) -> None:
        task.files.write("/half.md", "half")
        let_go.wait(20)
        task.files.write("/late.md", "late")

    tending = consolidator(store, work, timeout=0.05, attempts=1)
    report = asyncio.run(tending.arun(ANN)) if in_loop else tending.run(ANN)
    let_go.set()
    assert report.status == "parked"
    assert "longer than 0.05 seconds" in (report.error or "")
    time.sleep(0.05)
    assert (text(store, "/half.md"), text(store, "/late.md")) == (None, None)
    assert consolidator(store).retry(report.run_id or "").status == "applied"


def test_an_async_function_that_hangs_is_cancelled(store: MemoryStore) -> None:
    say(store, "one")
    cancelled: list[bool] = []

    async def work(task: Task) -> None:
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def run() -> RunReport:
        report = await consolidator(store, work, timeout=0.05, attempts=1).arun(ANN)
        await asyncio.sleep(0.01)
        return report

    assert (asyncio.run(run()).status, cancelled) == ("parked", [True])


class Killed(BaseException):
    """What ends a run in the middle, as Ctrl-C does."""


def test_a_run_that_is_cut_off_leaves_the_turns_unread(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    say(store, "one")
    tending = consolidator(store)

    def cut_off(*args: Any, **kwargs: Any) -> Any:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("memoranda.consolidation.running.land", cut_off)  # between the work and its landing
        with pytest.raises(Killed):
            tending.run(ANN)
    assert (text(store), store.runs.list(), store.runs.cursor("consolidation", ANN)) == (None, [], 0)
    report = tending.run(ANN)  # at once: the job was given back
    assert (report.status, report.turns, text(store)) == ("applied", 1, "- one\n")


def test_a_run_that_is_cancelled_leaves_the_turns_unread(store: MemoryStore) -> None:
    say(store, "one")

    async def work(task: Task) -> None:
        noting()(task)
        await asyncio.sleep(20)

    async def cancelled() -> None:
        run = asyncio.create_task(consolidator(store, work).arun(ANN))
        await asyncio.sleep(0.1)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(cancelled())
    assert (text(store), store.runs.list(), [job.state for job in store.jobs.list()]) == (None, [], ["waiting"])
    assert consolidator(store).run(ANN).status == "applied"


def test_what_failed_attempts_cost_is_counted(store: MemoryStore) -> None:
    say(store, "one")
    attempts: list[int] = []

    def work(task: Task) -> None:
        attempts.append(1)
        task.used(tokens_in=10, tokens_out=1)
        if len(attempts) == 1:
            raise OSError("once")

    report = consolidator(store, work).run(ANN)
    assert (report.tokens_in, report.tokens_out, report.runs[0].tokens_in) == (20, 2, 20)


def test_a_result_that_failed_fails_the_run_that_returns_it(store: MemoryStore) -> None:
    say(store, "one")
    report = consolidator(store, lambda task: task.files.edit("/none.md", "a", "b"), attempts=1).run(ANN)
    assert report.status == "parked"
    assert "/none.md" in (report.error or "")


def test_a_range_that_kills_its_workers_is_set_aside(store: MemoryStore) -> None:
    say(store, "deadly", "harmless")
    tending = consolidator(store, max_turns=1)
    tending.on_demand(ANN)
    job = store.jobs.claim(["consolidation"], worker="w")
    assert job is not None
    report = tending.set_aside(job, "Its workers ended 12 times.")
    assert (report.status, report.to, store.jobs.get(job.number).state) == ("parked", 1, "parked")
    assert (tending.run(ANN).status, text(store)) == ("applied", "- harmless\n")
