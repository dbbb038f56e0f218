"""A consolidator: its runs, its modes, who it works for, and what happens when it fails."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from memoranda import Author, MemoryStore, create_deep_agent, open_store
from memoranda.backends import CompositeBackend, FilesystemBackend, StateBackend, StoreBackend, by_org, by_user
from memoranda.consolidation import (
    Consolidator,
    InvalidConsolidatorError,
    RunReport,
    ScopeOf,
    Task,
    UnknownTurnError,
    by_hand,
    from_agent,
)
from memoranda.errors import InvalidScheduleError, RunNotFoundError, RunSettledError
from memoranda.store.namespaces import InvalidNamespaceError
from memoranda.testing.scripted import ScriptedChatModel, call
from memoranda.testing.scripted import say as says
from tests.consolidation.talking import ANN, consolidator, files_of, noting, say, text


def test_what_was_said_lands_with_the_cursor_and_the_run(store: MemoryStore) -> None:
    said = say(store, "I like green tea.", "I live in Kyoto.")
    report = consolidator(store).run(ANN)
    assert (report.status, report.turns, report.after, report.to, report.ok) == ("applied", 2, 0, 2, True)
    assert text(store) == "- I like green tea.\n- I live in Kyoto.\n"
    assert "+- I live in Kyoto." in report.diff
    (run,) = report.runs
    assert run == store.runs.get(report.run_id or "")
    (change,) = run.changes
    assert (change.key, change.revision, change.before, change.sources) == ("/facts.md", 2, 0, tuple(said))
    revision = store.history(ANN, "/facts.md")[0]
    assert revision.author == Author("consolidator:consolidation", run_id=run.id, reason="Noted 2 turns.")
    assert store.runs.cursor("consolidation", ANN) == 2
    assert store.verify().ok


def test_each_turn_is_read_once(store: MemoryStore) -> None:
    say(store, "one")
    tending = consolidator(store)
    assert [tending.run(ANN).status, tending.run(ANN).status] == ["applied", "nothing"]
    say(store, "two", first=2)
    assert tending.run(ANN).turns == 1
    assert text(store) == "- one\n- two\n"
    assert store.runs.covered("consolidation", ANN) == [(0, 1), (1, 2)]


def test_many_turns_are_read_in_several_runs(store: MemoryStore) -> None:
    say(store, *(f"fact {number}" for number in range(7)))
    report = consolidator(store, max_turns=3).run(ANN)
    assert [(run.after, run.to, run.turns) for run in report.runs] == [(0, 3, 3), (3, 6, 3), (6, 7, 1)]
    assert (report.status, report.turns, report.to) == ("applied", 7, 7)
    assert (text(store) or "").count("fact") == 7


def test_long_turns_are_read_by_their_bytes(store: MemoryStore) -> None:
    say(store, "é" * 60, "b" * 60, "c" * 500, "d")
    report = consolidator(store, max_bytes=150).run(ANN)
    assert [run.turns for run in report.runs] == [1, 1, 1, 1]  # 120 + 60 bytes are too many, and so is 500 alone
    report = consolidator(store, name="other", max_bytes=180).run(ANN)
    assert [run.turns for run in report.runs] == [2, 1, 1]


def test_two_consolidators_read_the_same_turns(store: MemoryStore) -> None:
    say(store, "one")
    assert consolidator(store).run(ANN).status == "applied"
    assert consolidator(store, noting("/other.md"), name="other").run(ANN).status == "applied"
    assert text(store) == text(store, "/other.md")


def test_a_run_that_changes_nothing_is_recorded(store: MemoryStore) -> None:
    say(store, "Hm.")
    report = consolidator(store, lambda task: "Small talk.").run(ANN)
    assert (report.status, report.runs[0].changes, report.runs[0].summary) == ("unchanged", (), "Small talk.")
    assert store.runs.cursor("consolidation", ANN) == 1


def test_a_run_that_writes_what_is_there_is_unchanged(store: MemoryStore) -> None:
    files_of(store).write("/facts.md", "same\n")
    say(store, "one")
    report = consolidator(store, lambda task: task.files.write("/facts.md", "same\n")).run(ANN)
    assert (report.status, len(store.history(ANN, "/facts.md"))) == ("unchanged", 1)


# --- modes ----------------------------------------------------------------------------------------------------


def test_a_dry_run_shows_all_and_changes_nothing(store: MemoryStore) -> None:
    say(store, "one", "two", "three")
    tending = consolidator(store, max_turns=2)
    report = tending.run(ANN, dry_run=True)
    assert (report.status, report.turns, report.runs) == ("preview", 3, ())
    assert [line for line in report.diff.splitlines() if line.startswith("+-")] == ["+- one", "+- two", "+- three"]
    assert text(store) is None
    assert (store.runs.list(), store.jobs.list(), store.runs.cursor("consolidation", ANN)) == ([], [], 0)
    assert tending.run(ANN).turns == 3


def test_a_dry_run_tells_what_fails(store: MemoryStore) -> None:
    say(store, "one")
    report = consolidator(store, lambda task: 1 / 0).run(ANN, dry_run=True)
    assert (report.status, report.ok) == ("failed", False)
    assert "ZeroDivisionError" in (report.error or "")
    assert store.runs.list() == []


def test_a_proposed_run_waits_and_is_accepted(store: MemoryStore) -> None:
    say(store, "one")
    report = consolidator(store, mode="propose").run(ANN)
    assert (report.status, text(store), store.runs.cursor("consolidation", ANN)) == ("proposed", None, 1)
    proposal = store.get_proposal(report.proposal or "")
    assert (proposal.source, proposal.author.run_id) == ("consolidation", report.run_id)
    store.accept_proposal(proposal.id, author=Author("user:ann"))
    run = store.runs.get(report.run_id or "")
    assert (run.status, run.changes[0].revision, text(store)) == ("applied", 1, "- one\n")


def test_a_proposed_run_is_rejected_and_not_read_again(store: MemoryStore) -> None:
    say(store, "one")
    tending = consolidator(store)
    report = tending.run(ANN, mode="propose")
    store.reject_proposal(report.proposal or "", author=Author("user:ann"))
    assert store.runs.get(report.run_id or "").status == "rejected"
    assert (tending.run(ANN).status, text(store)) == ("nothing", None)


# --- who it works for -----------------------------------------------------------------------------------------


def test_routes_are_those_of_whoever_talked(store: MemoryStore) -> None:
    say(store, "I like tea.", scope=("ann",), user="ann", org="acme")
    say(store, "I like coffee.", scope=("bob",), user="bob", org="acme")
    target = CompositeBackend(
        StoreBackend(namespace=by_user, store=store),
        {"/shared/": StoreBackend(namespace=by_org(read_only=False), store=store)},
    )

    def work(task: Task) -> None:
        task.files.append("/own.md", task.turns[0].text)
        task.files.append("/shared/all.md", f"{task.user} of {task.org}\n")

    reports = consolidator(store, work, target=target).run_all()
    assert [report.status for report in reports] == ["applied", "applied"]
    assert (text(store, "/own.md", ("ann",)), text(store, "/own.md", ("bob",))) == ("I like tea.", "I like coffee.")
    assert sorted((text(store, "/all.md", ("acme",)) or "").splitlines()) == ["ann of acme", "bob of acme"]


def test_a_target_may_be_a_function_of_the_scope(store: MemoryStore) -> None:
    say(store, "one", scope=("team", "red"), user=None)

    def target(who: ScopeOf) -> StoreBackend:
        return StoreBackend(namespace=("notes", *who.scope), store=store)

    assert consolidator(store, target=target).run(("team", "red")).status == "applied"
    assert text(store, scope=("notes", "team", "red")) == "- one\n"


def test_what_several_people_said_is_read_together_where_the_files_are_shared(store: MemoryStore) -> None:
    scope = ("project",)
    for number, user in enumerate(["ann", "bob", "ann"]):
        say(store, f"{user} says {number}", scope=scope, thread=f"t{number}", user=user)
    seen: list[tuple[str | None, int]] = []
    work: Any = lambda task: seen.append((task.user, len(task.turns)))  # noqa: E731
    consolidator(store, work, target=files_of(store, scope)).run(scope)
    assert seen == [(None, 3)]
    consolidator(store, work, name="own", target=StoreBackend(namespace=by_user, store=store)).run(scope)
    assert seen[1:] == [("ann", 1), ("bob", 1), ("ann", 1)]


def test_a_store_backend_without_a_store_takes_the_consolidators(store: MemoryStore) -> None:
    say(store, "one")
    assert consolidator(store, target=StoreBackend(namespace=by_user)).run(ANN).status == "applied"
    assert text(store) == "- one\n"


# --- the kinds of work ----------------------------------------------------------------------------------------


def test_an_async_function_works_in_both_forms(store: MemoryStore) -> None:
    async def work(task: Task) -> str:
        await asyncio.sleep(0)
        for turn in task.turns:
            with task.because(turn.message_id):
                await task.files.aappend("/facts.md", turn.text + "\n")
        return "Done."

    tending = consolidator(store, work)
    say(store, "one")
    assert tending.run(ANN).summary == "Done."
    say(store, "two", first=2)
    assert asyncio.run(tending.arun(ANN)).status == "applied"
    assert text(store) == "one\ntwo\n"


def test_a_blocking_function_does_not_hold_up_the_event_loop(store: MemoryStore) -> None:
    say(store, "one")
    released = threading.Event()

    def work(task: Task) -> None:
        assert released.wait(10)
        noting()(task)

    async def both() -> RunReport:
        run = asyncio.create_task(consolidator(store, work).arun(ANN))
        await asyncio.sleep(0.05)
        released.set()  # never reached if the loop waited for the work
        return await run

    assert asyncio.run(both()).status == "applied"


def test_all_faces_are_there_for_an_event_loop(store: MemoryStore) -> None:
    async def everything() -> list[Any]:
        tending = consolidator(store)
        say(store, "one")
        reports = await tending.arun_all()
        undone = await tending.aundo(reports[0].run_id or "")
        say(store, "two", first=2)
        job = await tending.aon_demand(ANN)
        taken = await store.jobs.aclaim(["consolidation"], worker="w", number=job.number)
        assert taken is not None
        stepped = await tending.astep(taken)
        await tending.aschedule("0 6 * * *")
        await tending.aafter_idle(10)
        return [reports[0].status, undone.status, stepped.status, await tending.astatus()]

    assert asyncio.run(everything()) == ["applied", "undone", "applied", []]
    assert [schedule.name for schedule in store.schedules.list()] == ["consolidation", "consolidation-idle"]


def test_a_model_makes_the_ready_made_agent(store: MemoryStore) -> None:
    say(store, "I like tea.")
    write = call("write_file", path="/ann.md", content="- Likes tea.\n", turns=["t1"])
    model = ScriptedChatModel(script=[write, call("finish", summary="Ann likes tea.")])
    report = consolidator(store, model, instructions="Keep one file for each person.").run(ANN)
    assert (report.status, report.summary, text(store, "/ann.md")) == ("applied", "Ann likes tea.", "- Likes tea.\n")
    assert "Keep one file for each person." in model.prompts[0]


def _deep_agent(task: Task) -> Any:
    def write(messages: Any) -> AIMessage:
        assert "[t1]" in messages[-1].text and "I like tea." in messages[-1].text
        reply = call("write_file", file_path="/memories/ann.md", content="- Likes tea.\n")
        reply.usage_metadata = {"input_tokens": 70, "output_tokens": 8, "total_tokens": 78}
        return reply

    return create_deep_agent(model=ScriptedChatModel(script=[write, says("Ann likes tea.")]), backend=task.files)


@pytest.mark.parametrize("in_loop", [False, True])
def test_an_agent_of_ones_own_does_the_work(store: MemoryStore, in_loop: bool) -> None:
    say(store, "I like tea.")
    target = CompositeBackend(
        StoreBackend(namespace=("scratch",), store=store), {"/memories/": StoreBackend(namespace=by_user, store=store)}
    )
    tending = consolidator(store, from_agent(_deep_agent), target=target)
    report = asyncio.run(tending.arun(ANN)) if in_loop else tending.run(ANN)
    assert (report.status, report.summary, report.error) == ("applied", "Ann likes tea.", None)
    assert (report.tokens_in, report.tokens_out) == (70, 8)
    assert text(store, "/ann.md") == "- Likes tea.\n"
    assert store.history(ANN, "/ann.md")[0].author.actor == "consolidator:consolidation"


def test_an_agent_may_have_a_place_for_files_that_are_no_memory(store: MemoryStore) -> None:
    said = say(store, "I like tea.")

    def factory(task: Task) -> Any:
        write = call("write_file", file_path="/memories/people/ann.md", content="- Likes tea.\n")
        aside = call("write_file", file_path="/draft.md", content="Hm.")
        backend = CompositeBackend(StateBackend(), {"/memories/": task.files})
        return create_deep_agent(model=ScriptedChatModel(script=[aside, write, says("Done.")]), backend=backend)

    report = consolidator(store, from_agent(factory)).run(ANN)
    assert (report.status, text(store, "/people/ann.md")) == ("applied", "- Likes tea.\n")
    assert [(change.key, list(change.sources)) for change in report.runs[0].changes] == [("/people/ann.md", said)]


def test_an_agents_factory_may_be_async_and_must_make_one(store: MemoryStore) -> None:
    say(store, "I like tea.")

    async def factory(task: Task) -> Any:
        return _deep_agent(task)

    assert consolidator(store, from_agent(factory)).run(ANN).status == "applied"
    say(store, "More.", first=2)
    report = consolidator(store, from_agent(lambda task: 3)).run(ANN)
    assert (report.status, report.attempts) == ("parked", 1)
    assert "cannot be invoked" in (report.error or "")


def test_an_agent_that_waits_for_a_person_is_parked(store: MemoryStore) -> None:
    say(store, "I like tea.")

    def factory(task: Task) -> Any:
        write = call("write_file", file_path="/ann.md", content="Tea.")
        model = ScriptedChatModel(script=[write, says("Done.")])
        return create_deep_agent(
            model=model, backend=task.files, interrupt_on={"write_file": True}, checkpointer=InMemorySaver()
        )

    report = consolidator(store, from_agent(factory), attempts=1).run(ANN)
    assert (report.status, text(store, "/ann.md")) == ("parked", None)
    assert "waits for a person" in (report.error or "")


def test_a_task_says_who_when_and_what(store: MemoryStore) -> None:
    said = say(store, "I like tea.", org="acme", agent="helper")
    tasks: list[Task] = []
    consolidator(store, tasks.append, instructions="Keep it short.", zone="Asia/Tokyo").run(ANN)
    (task,) = tasks
    assert (task.scope, task.user, task.org, task.agent) == (ANN, "ann", "acme", "helper")
    assert (task.instructions, str(task.zone), dict(task.labels)) == ("Keep it short.", "Asia/Tokyo", {"t1": said[0]})
    assert task.now.utcoffset() is not None
    assert (task.message_id("[t1]"), task.message_id(said[0])) == (said[0], said[0])
    with pytest.raises(UnknownTurnError, match="there are t1 to t1"), task.because("t9"):
        pass


# --- failing --------------------------------------------------------------------------------------------------


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


# --- two at once ----------------------------------------------------------------------------------------------


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


# --- jobs -----------------------------------------------------------------------------------------------------


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


# --- bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"mode": "maybe"}, "mode='maybe'"),
        ({"max_turns": 0}, "max_turns=0"),
        ({"attempts": -1}, "attempts=-1"),
        ({"timeout": 0}, "timeout=0"),
        ({"max_bytes": True}, "max_bytes=True"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], said: str) -> None:
    with open_store("memory://") as store, pytest.raises(InvalidConsolidatorError, match=said):
        consolidator(store, **settings)


def test_bad_input_says_what_to_do() -> None:
    with open_store("memory://") as store:
        with pytest.raises(InvalidScheduleError, match="Europe/Berlin"):
            consolidator(store, zone="Europe/Berln")
        with pytest.raises(InvalidConsolidatorError, match="from_agent"):
            Consolidator(3, store=store, target=files_of(store))
        with pytest.raises(InvalidConsolidatorError, match="open_store"):
            Consolidator(noting(), store=object(), target=files_of(store))  # type: ignore[arg-type]
        with pytest.raises(InvalidNamespaceError, match="tuple"):
            consolidator(store).run("ann")  # type: ignore[arg-type]


def test_a_target_that_lies_elsewhere_is_refused_at_once(tmp_path: Any) -> None:
    with open_store("memory://") as store:
        for target in (FilesystemBackend(str(tmp_path)), StateBackend()):
            with pytest.raises(InvalidConsolidatorError, match="store"):
                consolidator(store, target=target)


def test_a_range_that_kills_its_workers_is_set_aside(store: MemoryStore) -> None:
    say(store, "deadly", "harmless")
    tending = consolidator(store, max_turns=1)
    tending.on_demand(ANN)
    job = store.jobs.claim(["consolidation"], worker="w")
    assert job is not None
    report = tending.set_aside(job, "Its workers ended 12 times.")
    assert (report.status, report.to, store.jobs.get(job.number).state) == ("parked", 1, "parked")
    assert (tending.run(ANN).status, text(store)) == ("applied", "- harmless\n")
