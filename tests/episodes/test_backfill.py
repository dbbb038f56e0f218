"""Backfill: what a checkpointer holds becomes the same episodes as live recording, whichever came first."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import deepagents
import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware, SummarizationMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from memoranda import MemoryStore, create_deep_agent
from memoranda.agents.middleware import delete_old_messages, trim_messages_before_model
from memoranda.backends import ScopeError, by_user
from memoranda.episodes import Backfilled, EpisodeRecorder, Keeping, abackfill, backfill
from memoranda.errors import InvalidValueError
from memoranda.testing.scripted import ScriptedChatModel, call, say
from tests.episodes.support import ANN, async_saver, config, ids, owner, recorded_agent, saver, talk, told

KINDS = ("memory", "sqlite", "postgres")
ANNS = ("ann",)
AGAIN = ("again",)


@tool
def weather(city: str) -> str:
    """Say how the weather is."""
    return f"It rains in {city}."


@pytest.fixture(params=KINDS)
def checkpointer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    with saver(request.param, tmp_path, url) as made:
        yield made


def eventful(store: Any, checkpointer: Any, **settings: Any) -> Any:
    """An agent whose first run fails, whose second waits for a person, and which then goes on."""

    def fail(messages: list[Any]) -> str:
        raise ConnectionError("the provider is away")

    script = [fail, call("weather", city="Ulm"), say("Rain."), say("You are welcome.")]
    asks = HumanInTheLoopMiddleware(interrupt_on={"weather": True})
    return recorded_agent(script, store, tools=[weather], middleware=[asks], checkpointer=checkpointer, **settings)


def events(agent: Any, between: Callable[[], Any] = lambda: None) -> None:
    """A conversation that fails, is retried, waits, is resumed and goes on; something is done at every step."""
    with pytest.raises(ConnectionError):
        talk(agent, "How is the weather?")
    between()
    talk(agent, None)
    between()
    talk(agent, Command(resume={"decisions": [{"type": "approve"}]}))
    between()
    talk(agent, "Thanks.")
    between()


WHOLE = [
    ("user", "How is the weather?"),
    ("assistant", ""),
    ("tool", "It rains in Ulm."),
    ("assistant", "Rain."),
    ("user", "Thanks."),
    ("assistant", "You are welcome."),
]


def test_live_and_backfilled_give_the_same_episode_once(store: MemoryStore, checkpointer: Any) -> None:
    agent = eventful(store, checkpointer)
    events(agent)
    assert told(store) == WHOLE
    live = ids(store)
    done = backfill(checkpointer, store, scope=owner)
    assert (done.new, done.known, done.failed) == (0, 6, ())
    assert told(store) == WHOLE and ids(store) == live
    assert backfill(checkpointer, store, scope=AGAIN).new == 6
    assert told(store, AGAIN) == WHOLE and ids(store, AGAIN) == live


def test_a_forgotten_conversation_does_not_come_back(store: MemoryStore, checkpointer: Any) -> None:
    events(eventful(store, checkpointer))
    backfill(checkpointer, store, scope=owner)
    assert store.forget_thread(ANNS, "t") == 6
    assert backfill(checkpointer, store, scope=owner).new == 0
    assert store.threads(ANNS) == [] and told(store) == []
    # Nor with its next turn, in another process.
    talk(recorded_agent(["Hello."], store, tools=[weather], checkpointer=checkpointer), "Me again.")
    assert told(store) == [("user", "Me again."), ("assistant", "Hello.")]
    backfill(checkpointer, store, scope=owner)
    assert [thread.turns for thread in store.threads(ANNS)] == [2]


def test_backfill_at_every_step_of_a_live_conversation(store: MemoryStore) -> None:
    checkpointer = InMemorySaver()
    agent = eventful(store, checkpointer)
    events(agent, lambda: backfill(checkpointer, store, scope=owner))
    assert told(store) == WHOLE
    assert len({turn.position for turn in store.turns(ANNS)}) == 6


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)  # it is the checkpointers that differ here
def test_live_recording_after_a_backfill(store: MemoryStore, checkpointer: Any) -> None:
    unrecorded = EpisodeRecorder(("elsewhere",))
    events(eventful(store, checkpointer, recorder=unrecorded))
    backfill(checkpointer, store, scope=owner)
    agent = recorded_agent(["Bye."], store, tools=[weather], checkpointer=checkpointer)
    talk(agent, "See you.")
    assert told(store) == [*WHOLE, ("user", "See you."), ("assistant", "Bye.")]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)  # it is the checkpointers that differ here
def test_times_come_from_the_checkpoints(store: MemoryStore, checkpointer: Any) -> None:
    events(eventful(None, checkpointer))
    backfill(checkpointer, store, scope=owner)
    times = [turn.at for turn in store.turns(ANNS, "t")]
    assert times == sorted(times) and len(set(times)) >= 3
    assert max(times) < min(turn.recorded_at for turn in store.turns(ANNS, "t"))


@pytest.mark.parametrize("kind", KINDS)
async def test_async_checkpointers(
    store: MemoryStore, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else None
    async with async_saver(kind, tmp_path, url) as checkpointer:
        agent = recorded_agent(
            [call("weather", city="Ulm"), "Rain."], store, tools=[weather], checkpointer=checkpointer
        )
        await agent.ainvoke({"messages": "How is the weather?"}, config(), context=ANN)
        live = await store.aturns(ANNS, "t")
        told_of: list[Backfilled] = []

        async def progress(done: Backfilled) -> None:
            told_of.append(done)

        done = await abackfill(checkpointer, store, scope=AGAIN, progress=progress)
        assert (done.new, done.total, told_of) == (4, 1, [done])
        again = await store.aturns(AGAIN, "t")
        assert [(turn.message_id, turn.text) for turn in again] == [(turn.message_id, turn.text) for turn in live]
        assert (await abackfill(checkpointer, store, scope=AGAIN)).skipped == 1


async def test_an_async_checkpointer_needs_its_loop(store: MemoryStore, tmp_path: Path) -> None:
    async with async_saver("sqlite", tmp_path) as checkpointer:
        pass
    checkpointer.loop = type("Stopped", (), {"is_running": lambda self: False})()
    done = backfill(checkpointer, store, scope=owner, threads=["t"])
    assert "abackfill" in done.failed[0][1]


SHORT_TERM: dict[str, Callable[[], Any]] = {
    "trimmed": lambda: trim_messages_before_model(max_messages=3),
    "deleted": lambda: delete_old_messages(2),
    "summarised": lambda: SummarizationMiddleware(
        ScriptedChatModel(script=["All of it."]), trigger=("messages", 5), keep=("messages", 2)
    ),
}


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)  # it is the checkpointers that differ here
@pytest.mark.parametrize("short_term", SHORT_TERM)
def test_what_left_the_state_is_taken_from_older_checkpoints(
    store: MemoryStore, checkpointer: Any, short_term: str
) -> None:
    script = [line for number in range(5) for line in (call("weather", city=f"city {number}"), f"answer {number}")]
    agent = recorded_agent(
        script, store, tools=[weather], middleware=[SHORT_TERM[short_term]()], checkpointer=checkpointer
    )
    for number in range(5):
        talk(agent, f"question {number}")
    live = ids(store)
    assert len(live) == 20
    backfill(checkpointer, store, scope=owner)
    assert ids(store) == live
    # The end of it recorded live, as where the recorder came late, and the beginning from the checkpointer.
    kept = store.turns(ANNS, "t", limit=None)[13:]
    from memoranda.store.turns import Turn

    store.record_turns(AGAIN, "t", [Turn(turn.message_id, turn.role, turn.text, at=turn.at) for turn in kept])
    assert backfill(checkpointer, store, scope=AGAIN).new == 13
    assert ids(store, AGAIN) == live


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)  # it is the checkpointers that differ here
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_deep_agents_own_agent_keeps_changes_instead_of_states(store: MemoryStore, tmp_path: Path, kind: str) -> None:
    with saver(kind, tmp_path) as checkpointer:
        script = [line for number in range(16) for line in (call("weather", city=f"city {number}"), f"answer {number}")]
        agent: Any = deepagents.create_deep_agent(
            ScriptedChatModel(script=script), tools=[weather], checkpointer=checkpointer, middleware=[]
        )
        for number in range(16):
            agent.invoke({"messages": f"question {number}"}, config())
        assert "messages" not in next(checkpointer.list(config())).checkpoint["channel_values"]
        assert backfill(checkpointer, store, scope=owner).new == 64
    state = [text for _, text in told(store)]
    assert state[:4] == ["question 0", "", "It rains in city 0.", "answer 0"] and state[-1] == "answer 15"
    assert state == [
        message
        for number in range(16)
        for message in (f"question {number}", "", f"It rains in city {number}.", f"answer {number}")
    ]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)  # it is the checkpointers that differ here
def test_subagents_checkpoints_are_left_out(store: MemoryStore, checkpointer: Any) -> None:
    def reply(messages: list[Any]) -> Any:
        if messages[-1].type == "human" and "inner" in messages[-1].text:
            return say("the report")
        if messages[-1].type == "tool":
            return say("Done.")
        return call("task", description="inner work", subagent_type="general-purpose")

    agent = create_deep_agent(
        ScriptedChatModel(script=[reply]), checkpointer=checkpointer, episodes=True, store=store, context_schema=dict
    )
    talk(agent, "Work!")
    assert len(told(store)) == 4
    done = backfill(checkpointer, store, scope=owner)
    assert (done.total, done.new, done.known) == (1, 0, 4)


class Plain(TypedDict):
    messages: Annotated[list[Any], operator.add]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_messages_without_ids_are_known_by_what_they_say(store: MemoryStore, tmp_path: Path, kind: str) -> None:
    def reply(state: Plain) -> Any:
        return {"messages": [{"role": "assistant", "content": "Yes."}]}

    with saver(kind, tmp_path) as checkpointer:
        graph: Any = StateGraph(Plain).add_node("reply", reply).add_edge(START, "reply")
        graph = graph.compile(checkpointer=checkpointer)
        for text in ("Is it?", "Really?", "Is it?"):
            graph.invoke({"messages": [("user", text)]}, config())
            backfill(checkpointer, store, scope=owner)
    assert [text for _, text in told(store)] == ["Is it?", "Yes.", "Really?", "Yes.", "Is it?", "Yes."]


# --- many conversations ---------------------------------------------------------------------------------------


def many(checkpointer: Any, count: int) -> None:
    agent = recorded_agent(["Hello."], None, checkpointer=checkpointer)
    for number in range(count):
        talk(agent, f"I am number {number}.", f"thread {number}")


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)  # it is the checkpointers that differ here
def test_it_goes_on_where_it_was_broken_off(store: MemoryStore, checkpointer: Any) -> None:
    many(checkpointer, 5)

    def stop(done: Backfilled) -> None:
        if done.threads == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backfill(checkpointer, store, scope=owner, progress=stop)
    assert len(store.threads(ANNS)) == 3
    steps: list[Backfilled] = []
    done = backfill(checkpointer, store, scope=owner, progress=steps.append)
    assert (done.threads, done.total, done.skipped, done.new) == (5, 5, 3, 4)
    assert [step.threads for step in steps] == [1, 2, 3, 4, 5]
    assert len(store.threads(ANNS)) == 5 and len(store.turns(ANNS)) == 10
    agent = recorded_agent(["And again."], None, checkpointer=checkpointer)
    talk(agent, "Once more.", "thread 2")
    assert backfill(checkpointer, store, scope=owner).new == 2


def test_some_threads_and_some_owners(store: MemoryStore) -> None:
    checkpointer = InMemorySaver()
    many(checkpointer, 4)
    backfill(
        checkpointer, store, scope=("all",), threads=["thread 1", "nobody's"], user="ann", org=lambda found: "acme"
    )
    (thread,) = store.threads(("all",))
    assert (thread.thread_id, thread.title) == ("thread 1", "I am number 1.")
    assert {(turn.user, turn.org) for turn in store.turns(("all",))} == {("ann", "acme")}

    def owners(found: Any) -> tuple[str, ...] | None:
        return ("odd", found.metadata["user_id"]) if found.config["configurable"]["thread_id"] == "thread 3" else None

    assert backfill(checkpointer, store, scope=owners).skipped == 3
    assert len(store.threads(("odd", "ann"))) == 1


def test_one_that_cannot_be_read_stops_no_other(store: MemoryStore) -> None:
    class Broken(InMemorySaver):
        def list(self, config: Any, **more: Any) -> Any:
            if config is not None and config["configurable"]["thread_id"] == "thread 1":
                raise TypeError("a class that is no more")
            return super().list(config, **more)

    checkpointer = Broken()
    many(checkpointer, 3)
    done = backfill(checkpointer, store, scope=owner)
    assert done.new == 4 and done.failed == (("thread 1", "TypeError: a class that is no more"),)


def test_what_is_kept(store: MemoryStore) -> None:
    checkpointer = InMemorySaver()
    agent = recorded_agent([call("weather", city="Ulm"), "Rain."], None, tools=[weather], checkpointer=checkpointer)
    talk(agent, "My key is ghp_" + "Zk3x" * 9)
    backfill(checkpointer, store, scope=owner, keeping=Keeping(roles=("user",)))
    assert told(store) == [("user", "My key is [secret removed]")]
    assert backfill(checkpointer, store, scope=owner).new == 3  # with more roles it is not over


def test_a_scope_that_needs_a_run_is_refused(store: MemoryStore) -> None:
    with pytest.raises(ScopeError, match="lambda found"):
        backfill(InMemorySaver(), store, scope=by_user)
    with pytest.raises(InvalidValueError):
        backfill("checkpoints.db", store, scope=owner)  # type: ignore[arg-type]
