"""What a newcomer gets wrong is told before anything is asked of a model, and in words that name the fix."""

from __future__ import annotations

import asyncio
import logging
import threading
from itertools import count
from typing import Any

import pytest

from memoranda import ChangeSet, MemoryStore, Write, create_deep_agent, open_store
from memoranda.backends import StoreBackend, by_assistant, by_org, by_user
from memoranda.backends.composite import CompositeBackend
from memoranda.consolidation import Consolidator, EventLog, InvalidConsolidatorError, Task, Worker, from_agent
from memoranda.errors import InvalidScheduleError, InvalidValueError, RunSettledError
from memoranda.testing.scripted import ScriptedChatModel, call
from memoranda.testing.scripted import say as says
from tests.consolidation.talking import ANN, consolidator, files_of, noting, say, text


@pytest.mark.parametrize("mode", ["proposal", "PROPOSE", "review", ""])
def test_a_mode_that_is_not_known_applies_nothing(store: MemoryStore, mode: Any) -> None:
    say(store, "one")
    tending = consolidator(store)
    for run in (lambda: tending.run(ANN, mode=mode), lambda: tending.run_all(mode=mode)):
        with pytest.raises(InvalidConsolidatorError, match='"propose"'):
            run()
    assert text(store) is None
    assert store.runs.cursor("consolidation", ANN) == 0


@pytest.mark.parametrize(
    ("scope", "setting", "who"),
    [(by_user, "user", "ann"), (by_org(read_only=False), "org", "acme"), (by_assistant, "agent", "helper")],
)
def test_turns_of_nobody_are_parked_before_any_work_and_healed(
    store: MemoryStore, scope: Any, setting: str, who: str
) -> None:
    say(store, "I like tea.", user=None)
    asked: list[Task] = []

    def work(task: Task) -> None:
        asked.append(task)
        noting()(task)

    target = StoreBackend(namespace=scope, store=store)
    report = consolidator(store, work, target=target).run(ANN)
    assert (report.status, report.attempts, asked) == ("parked", 1, [])
    assert f"record_turns(…, {setting}=…)" in (report.error or "")
    assert f"{setting}=lambda scope: scope[-1]" in (report.error or "")
    healed = consolidator(store, work, target=target, **{setting: lambda scope: who})
    assert healed.retry(report.run_id or "").status == "applied"
    assert text(store, scope=(who,)) == "- I like tea.\n"
    assert getattr(asked[0], setting) == who


def test_turns_that_say_whose_they_are_are_taken_at_their_word(store: MemoryStore) -> None:
    say(store, "one", user="ann")
    say(store, "two", user=None, thread="tuesday")
    target = StoreBackend(namespace=by_user, store=store)
    assert consolidator(store, target=target, user="bob").run(ANN).status == "applied"
    assert (text(store), text(store, scope=("bob",))) == ("- one\n", "- two\n")


def test_a_part_that_is_read_alone_needs_no_owner(store: MemoryStore) -> None:
    say(store, "one")
    target = CompositeBackend(
        StoreBackend(namespace=by_user, store=store), {"/policies/": StoreBackend(namespace=by_org, store=store)}
    )
    assert consolidator(store, target=target).run(ANN).status == "applied"


# --- past the run -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_loop", [False, True])
@pytest.mark.parametrize("dry_run", [False, True])
def test_an_agent_over_the_store_itself_lands_nothing(store: MemoryStore, in_loop: bool, dry_run: bool) -> None:
    say(store, "I like tea.")
    model = ScriptedChatModel(script=[call("write_file", file_path="/facts.md", content="Tea."), says("Done.")])
    work = from_agent(lambda task: create_deep_agent(model=model, backend=files_of(store)))
    tending = consolidator(store, work)
    report = asyncio.run(tending.arun(ANN, dry_run=dry_run)) if in_loop else tending.run(ANN, dry_run=dry_run)
    assert report.status == ("failed" if dry_run else "parked")
    assert "task.files" in (report.error or "")
    assert text(store) is None


def _write(files: StoreBackend) -> Any:
    return files.write("/facts.md", "x")


def _upload(files: StoreBackend) -> Any:
    return files.upload_files([("/facts.md", b"x")])


def _across(files: StoreBackend) -> Any:
    scratch = StoreBackend(namespace=("scratch",), store=files.store)
    scratch.write("/facts.md", "x")
    return CompositeBackend(scratch, {"/memories/": files}).move("/facts.md", "/memories/facts.md")


@pytest.mark.parametrize("change", [_write, _upload, _across])
def test_a_function_that_goes_past_its_stage_is_parked(store: MemoryStore, change: Any) -> None:
    say(store, "one")
    files = files_of(store)
    report = consolidator(store, lambda task: str(change(files))).run(ANN)
    assert (report.status, text(store)) == ("parked", None)
    assert "task.files" in (report.error or "")
    assert files.write("/facts.md", "now").error is None  # outside of a run it is as ever


def test_a_run_may_note_elsewhere(store: MemoryStore) -> None:
    say(store, "one")

    def work(task: Task) -> None:
        assert files_of(store, ("diary",)).append("/log.md", "ran").error is None
        say(store, "a question", scope=("tending",), thread="own")
        noting()(task)

    assert consolidator(store, work).run(ANN).status == "applied"
    assert text(store, "/log.md", ("diary",)) == "ran"


# --- settings ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"prefix": "acme"}, r"\('acme',\)"),
        ({"name": ""}, "no name"),
        ({"name": 3}, "no name"),
        ({"sources": EventLog}, "class"),
        ({"sources": "conversations"}, "Conversations"),
        ({"user": 3}, "names nobody"),
        ({"work": lambda: None}, "lambda task"),
        ({"target": lambda: None}, "lambda scope"),
    ],
)
def test_what_is_no_setting_is_refused_at_once(settings: dict[str, Any], said: str) -> None:
    with open_store("memory://") as store, pytest.raises(InvalidConsolidatorError, match=said):
        consolidator(store, **settings)


def test_a_prefix_is_not_taken_apart() -> None:
    with open_store("memory://") as store:
        tending: Any = consolidator(store)
        for use in (tending.run_all, tending.status):
            with pytest.raises(InvalidConsolidatorError, match=r"\('acme',\)"):
                use("acme")
        with pytest.raises(InvalidConsolidatorError, match=r"\('acme',\)"):
            tending.schedule("0 3 * * *", prefix="acme")


def test_an_agent_instead_of_its_factory_is_refused_at_once() -> None:
    wrong: Any
    agent: Any = create_deep_agent(model=ScriptedChatModel(script=[says("Done.")]))
    for wrong, said in ((agent, "from_agent"), (3, "from_agent"), (lambda: agent, "lambda task")):
        with pytest.raises(InvalidConsolidatorError, match=said):
            from_agent(wrong)


def test_a_retry_by_another_consolidator_names_the_right_one(store: MemoryStore) -> None:
    say(store, "one")
    report = consolidator(store, lambda task: 1 / 0, attempts=1).run(ANN)
    with pytest.raises(RunSettledError, match="Name the consolidator 'consolidation'"):
        consolidator(store, name="other").retry(report.run_id or "")


def test_a_schedule_of_another_consolidator_is_not_replaced(store: MemoryStore) -> None:
    consolidator(store).schedule("0 3 * * *", name="nightly")
    for schedule in (
        lambda other: other.schedule("0 4 * * *", name="nightly"),
        lambda other: other.after_idle(5, name="nightly"),
    ):
        with pytest.raises(InvalidScheduleError, match="'consolidation'"):
            schedule(consolidator(store, name="other"))
    assert consolidator(store).schedule("0 5 * * *", name="nightly").line == "0 5 * * *"
    assert [one.queue for one in store.schedules.list()] == ["consolidation"]


# --- what is told -----------------------------------------------------------------------------------------------


def test_a_proposal_born_of_conflicts_says_so(store: MemoryStore) -> None:
    files_of(store).write("/facts.md", "old\n")
    say(store, "one")
    numbers = count()

    def work(task: Task) -> str:
        task.files.read("/facts.md")
        task.files.write("/facts.md", "mine\n")
        store.commit(ChangeSet([Write(ANN, "/facts.md", f"theirs {next(numbers)}\n")]))
        return "Changed it."

    report = consolidator(store, work, conflict_attempts=2).run(ANN)
    assert report.status == "proposed"
    (proposal,) = store.proposals()
    assert (proposal.reason or "").startswith("Others changed the same lines 2 times meanwhile: ")
    assert report.summary == "Changed it. It waits for a reviewer, since others changed the same 2 times."
    assert report.runs[0].summary == report.summary


def test_a_dry_run_counts_one_attempt(store: MemoryStore) -> None:
    say(store, "one")
    assert consolidator(store).run(ANN, dry_run=True).attempts == 1


def test_where_nothing_is_new_the_cursor_is_told(store: MemoryStore) -> None:
    say(store, "one", "two")
    tending = consolidator(store)
    tending.run(ANN)
    for report in (tending.run(ANN), tending.run(ANN, dry_run=True)):
        assert (report.status, report.after, report.to) == ("nothing", 2, 2)


def test_a_warning_names_run_and_cause_and_counts_right(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    say(store, "one")
    with caplog.at_level(logging.INFO, "memoranda.consolidation"):
        parked = consolidator(store, lambda task: 1 / 0, attempts=1).run(ANN)
        consolidator(store, name="other").run(ANN)
    bad, good = caplog.records
    assert (bad.levelname, good.levelname) == ("WARNING", "INFO")
    assert bad.getMessage() == f"Consolidated ann: run {parked.run_id} parked by ZeroDivisionError, 1 turn, 0 changes."
    assert good.getMessage().endswith(" applied, 1 turn, 1 change.")


# --- workers ----------------------------------------------------------------------------------------------------


def test_a_worker_takes_one_consolidator_as_it_is(store: MemoryStore) -> None:
    assert list(Worker(store, consolidator(store)).consolidators) == ["consolidation"]
    for wrong in (["x"], "x", [Consolidator], 3):
        with pytest.raises(InvalidValueError, match="Consolidator"):
            Worker(store, wrong)  # type: ignore[arg-type]


def test_a_worker_in_an_event_loop(store: MemoryStore) -> None:
    say(store, "one")
    tending = consolidator(store)
    tending.on_demand(ANN)
    assert asyncio.run(Worker(store, [tending]).arun(until_idle=True)).done == 1


def test_a_worker_in_an_event_loop_is_cancelled_when_its_jobs_are_done(store: MemoryStore) -> None:
    say(store, "one")
    began = asyncio.Event()

    async def run() -> None:
        loop = asyncio.get_running_loop()

        def work(task: Task) -> None:
            loop.call_soon_threadsafe(began.set)
            noting()(task)

        tending = consolidator(store, work)
        worker = Worker(store, [tending])
        task = asyncio.create_task(worker.arun())
        tending.on_demand(ANN)
        await asyncio.wait_for(began.wait(), 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert text(store) == "- one\n"
        early = asyncio.create_task(worker.arun())
        await asyncio.sleep(0)
        early.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(early, 10)

    asyncio.run(run())


def test_a_worker_in_an_event_loop_that_is_cancelled_twice_gives_back_what_runs(store: MemoryStore) -> None:
    say(store, "one")
    go_on = threading.Event()

    async def run() -> None:
        loop, began = asyncio.get_running_loop(), asyncio.Event()

        def work(task: Task) -> None:
            loop.call_soon_threadsafe(began.set)
            go_on.wait(20)

        tending = consolidator(store, work)
        tending.on_demand(ANN)
        task = asyncio.create_task(Worker(store, [tending]).arun())
        await asyncio.wait_for(began.wait(), 10)
        task.cancel()
        assert await asyncio.wait({task}, timeout=0.05) == (set(), {task})
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 10)

    try:
        asyncio.run(run())
        assert [job.state for job in store.jobs.list("consolidation")] == ["waiting"]
    finally:
        go_on.set()
