"""Who does a consolidator's work, and for whom: functions, models and agents."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from memoranda import MemoryStore, create_deep_agent
from memoranda.backends import CompositeBackend, StateBackend, StoreBackend, by_org, by_user
from memoranda.consolidation import (
    RunReport,
    ScopeOf,
    Task,
    UnknownTurnError,
    from_agent,
)
from memoranda.testing.scripted import ScriptedChatModel, call
from memoranda.testing.scripted import say as says
from tests.consolidation.talking import ANN, consolidator, files_of, noting, say, text

# --- the kinds of work ---------------------------------------------------------------------------------------------


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
    say(store, "I like tea.")

    def factory(task: Task) -> Any:
        write = call("write_file", file_path="/memories/people/ann.md", content="- Likes tea.\n")
        aside = call("write_file", file_path="/draft.md", content="Hm.")
        backend = CompositeBackend(StateBackend(), {"/memories/": task.files})
        return create_deep_agent(model=ScriptedChatModel(script=[aside, write, says("Done.")]), backend=backend)

    report = consolidator(store, from_agent(factory)).run(ANN)
    assert (report.status, text(store, "/people/ann.md")) == ("applied", "- Likes tea.\n")
    assert [(change.key, list(change.sources)) for change in report.runs[0].changes] == [("/people/ann.md", [1])]


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
    assert (task.instructions, str(task.zone), dict(task.labels)) == (
        "Keep it short.",
        "Asia/Tokyo",
        {"t1": task.turns[0]},
    )
    assert task.now.utcoffset() is not None
    assert {task.turn("[t1]"), task.turn(said[0]), task.turn(task.turns[0])} == {task.turns[0]}
    with pytest.raises(UnknownTurnError, match="there are t1 to t1"), task.because("t9"):
        pass


# --- who it works for ----------------------------------------------------------------------------------------------


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
