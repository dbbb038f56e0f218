"""The recorder: every finished turn once, whatever happens to the run around it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from memoranda import MemoryStore, create_deep_agent
from memoranda.agents.middleware import delete_old_messages, trim_messages_before_model
from memoranda.backends import by_assistant, by_org
from memoranda.episodes import EpisodeRecorder
from memoranda.errors import InvalidValueError
from memoranda.testing.scripted import ScriptedChatModel, call, calls, say
from tests.episodes.support import ANN, BEN, config, ids, recorded_agent, talk, told

WAYS = ("invoke", "ainvoke")


@tool
def weather(city: str) -> str:
    """Say how the weather is."""
    return f"It rains in {city}."


@pytest.mark.parametrize("way", WAYS)
def test_a_finished_turn_is_recorded(store: MemoryStore, way: str) -> None:
    agent = recorded_agent([call("weather", city="Ulm"), say("Rain."), say("Bye.")], store, tools=[weather], name="kai")
    before = datetime.now(UTC) - timedelta(seconds=1)
    talk(agent, "How is the weather?", way=way)
    talk(agent, "Thanks.", way=way)
    turns = store.turns(("ann",), "t")
    assert [(turn.role, turn.text, turn.tools) for turn in turns] == [
        ("user", "How is the weather?", ()),
        ("assistant", "", ("weather",)),
        ("tool", "It rains in Ulm.", ("weather",)),
        ("assistant", "Rain.", ()),
        ("user", "Thanks.", ()),
        ("assistant", "Bye.", ()),
    ]
    assert {(turn.user, turn.org, turn.agent) for turn in turns} == {("ann", None, "kai")}
    times = [turn.at for turn in turns]
    assert times == sorted(times) and before < times[0] <= times[-1] <= datetime.now(UTC)


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_waits_for_a_person_records_when_it_is_finished(store: MemoryStore, way: str) -> None:
    asks = HumanInTheLoopMiddleware(interrupt_on={"weather": True})
    agent = recorded_agent([call("weather", city="Ulm"), say("Rain.")], store, tools=[weather], middleware=[asks])
    assert "__interrupt__" in talk(agent, "How is the weather?", way=way)
    assert told(store) == []
    talk(agent, Command(resume={"decisions": [{"type": "approve"}]}), way=way)
    once = told(store)
    assert [role for role, _ in once] == ["user", "assistant", "tool", "assistant"]
    talk(agent, Command(resume={"decisions": [{"type": "approve"}]}), way=way)  # a second click
    assert told(store) == once


@pytest.mark.parametrize("way", WAYS)
def test_a_failed_run_records_nothing_until_the_retry_is_finished(store: MemoryStore, way: str) -> None:
    def fail(messages: list[Any]) -> str:
        raise ConnectionError("the provider is away")

    agent = recorded_agent([call("weather", city="Ulm"), fail, fail, say("Rain.")], store, tools=[weather])
    with pytest.raises(ConnectionError):
        talk(agent, "How is the weather?", way=way)
    assert told(store) == []
    with pytest.raises(ConnectionError):
        talk(agent, None, way=way)
    assert told(store) == []
    talk(agent, None, way=way)  # goes on from the last checkpoint
    assert [role for role, _ in told(store)] == ["user", "assistant", "tool", "assistant"]


def test_a_question_that_is_sent_again_after_a_failure_is_one_turn(store: MemoryStore) -> None:
    def fail(messages: list[Any]) -> str:
        raise ConnectionError("the provider is away")

    agent = recorded_agent([fail, fail, say("Yes."), say("Sure."), say("Sure.")], store)
    for _ in range(2):
        with pytest.raises(ConnectionError):
            talk(agent, "Are you there?")
    talk(agent, "Are you there?")
    assert told(store) == [("user", "Are you there?"), ("assistant", "Yes.")]
    talk(agent, "Really?")
    talk(agent, "Really?")  # asked again after it was answered: that is said twice
    assert len(told(store)) == 6


def test_a_failure_to_record_fails_no_run_and_is_made_up_for(
    store_url: str, open_here: Callable[..., MemoryStore], caplog: pytest.LogCaptureFixture
) -> None:
    good = open_here(store_url)
    recorder = EpisodeRecorder(store=(closed := open_here(store_url)))
    closed.close()
    agent = recorded_agent(["One.", "Two.", "Three."], good, recorder=recorder)
    with caplog.at_level(logging.WARNING, "memoranda.episodes"):
        assert talk(agent, "1")["messages"][-1].text == "One."
        assert talk(agent, "2")["messages"][-1].text == "Two."
    assert [record.levelname for record in caplog.records] == ["WARNING"]  # told once, not at every turn
    assert "StoreClosedError" in caplog.text
    recorder.store = None
    talk(agent, "3")
    assert [text for _, text in told(good)] == ["1", "One.", "2", "Two.", "3", "Three."]


@pytest.mark.parametrize(
    ("settings", "context", "says"),
    [
        ({"store": None}, ANN, "has no store"),
        ({"store": InMemoryStore()}, ANN, "InMemoryStore cannot record"),
        ({}, {}, "No user is known"),
        ({"scope": lambda runtime: 1 / 0}, ANN, "ZeroDivisionError"),
        ({"redact": lambda text: text[99_999]}, ANN, "IndexError"),
    ],
)
def test_what_cannot_be_recorded_is_logged(
    store: MemoryStore, caplog: pytest.LogCaptureFixture, settings: dict[str, Any], context: Any, says: str
) -> None:
    kept = {"store": store, **settings}
    own = {name: kept.pop(name) for name in ("scope", "redact") if name in kept}
    agent = recorded_agent(["Hello."], kept["store"], recorder=EpisodeRecorder(**own))
    with caplog.at_level(logging.WARNING, "memoranda.episodes"):
        assert talk(agent, "Hi.", context=context)["messages"][-1].text == "Hello."
    assert says in caplog.text and store.turns(("ann",)) == []


def test_without_a_thread_nothing_is_recorded(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    agent = recorded_agent(["Hello."], store, checkpointer=None)
    with caplog.at_level(logging.WARNING, "memoranda.episodes"):
        agent.invoke({"messages": "Hi."}, context=ANN)
    assert "thread_id" in caplog.text and store.threads((), below=True) == []


def test_without_a_checkpointer_messages_are_known_by_what_they_say(store: MemoryStore) -> None:
    agent = recorded_agent(
        [call("weather", city="Ulm"), "Rain.", "Yes.", "Yes."], store, tools=[weather], checkpointer=None
    )
    history: list[Any] = []
    for text in ("The weather?", "Really?", "Really?"):
        # A program that keeps the messages itself, and passes only what was said, without ids.
        history.append({"role": "user", "content": text})
        history.append({"role": "assistant", "content": talk(agent, list(history))["messages"][-1].text})
    assert [text for _, text in told(store)] == [
        *("The weather?", "", "It rains in Ulm.", "Rain."),
        *("Really?", "Yes.", "Really?", "Yes."),
    ]


def test_nothing_of_one_user_comes_to_another_by_a_shared_thread_id(store: MemoryStore) -> None:
    def fail(messages: list[Any]) -> str:
        raise ConnectionError("the provider is away")

    agent = recorded_agent([fail, "Hello Ben.", "Hello Ann."], store, checkpointer=None)
    with pytest.raises(ConnectionError):
        talk(agent, "My secret.", "default", context=ANN)
    talk(agent, "Hi, I am Ben.", "default", context=BEN)
    assert told(store, ("ben",), "default") == [("user", "Hi, I am Ben."), ("assistant", "Hello Ben.")]
    talk(agent, "Hi, I am Ann.", "default", context=ANN)
    assert told(store, ("ann",), "default") == [("user", "Hi, I am Ann."), ("assistant", "Hello Ann.")]


# --- what leaves the state ------------------------------------------------------------------------------------


def _script(turns: int) -> list[Any]:
    return [line for number in range(turns) for line in (call("weather", city=f"city {number}"), f"answer {number}")]


EVERYTHING = [
    text
    for number in range(6)
    for text in (f"question {number}", "", f"It rains in city {number}.", f"answer {number}")
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "short_term",
    [
        lambda: trim_messages_before_model(max_messages=3),
        lambda: trim_messages_before_model(max_messages=2, keep_first=False),
        lambda: delete_old_messages(2),
        lambda: SummarizationMiddleware(
            ScriptedChatModel(script=["All of it."]), trigger=("messages", 5), keep=("messages", 2)
        ),
    ],
)
def test_what_is_trimmed_or_summarised_away_is_recorded_in_its_place(
    store: MemoryStore, short_term: Callable[[], Any], way: str
) -> None:
    agent = recorded_agent(_script(6), store, tools=[weather], middleware=[short_term()])
    for number in range(6):
        talk(agent, f"question {number}", way=way)
    assert [text for _, text in told(store)] == EVERYTHING
    assert len(agent.get_state(config()).values["messages"]) < 12  # it was really short


def test_a_long_run_whose_own_beginning_is_summarised_away(store: MemoryStore) -> None:
    summary = SummarizationMiddleware(
        ScriptedChatModel(script=["All of it."]), trigger=("messages", 5), keep=("messages", 2)
    )
    steps = [call("weather", city=f"city {number}") for number in range(12)]
    agent = recorded_agent([*steps, "Rain everywhere."], store, tools=[weather], middleware=[summary])
    state = talk(agent, "How is the weather everywhere?")
    assert len(state["messages"]) < 8
    texts = [text for _, text in told(store) if text]
    assert texts == [
        "How is the weather everywhere?",
        *(f"It rains in city {number}." for number in range(12)),
        "Rain everywhere.",
    ]


def test_an_agent_of_ours_that_deletes_old_messages_loses_none(store: MemoryStore) -> None:
    agent = create_deep_agent(
        ScriptedChatModel(script=["One.", "Two.", "Three."]),
        middleware=[delete_old_messages(1)],
        episodes=True,
        checkpointer=InMemorySaver(),
        store=store,
        context_schema=dict,
    )
    for text in ("1", "2", "3"):
        talk(agent, text)
    assert [text for _, text in told(store)] == ["1", "One.", "2", "Two.", "3", "Three."]


# --- what is a turn -------------------------------------------------------------------------------------------


def test_messages_of_subagents_and_of_the_system_are_no_turns(store: MemoryStore) -> None:
    def reply(messages: list[Any]) -> Any:
        if messages[-1].type == "human" and "inner" in messages[-1].text:
            return say("the report")
        return (
            say("Done.") if messages[-1].type == "tool" else call("task", description="inner work", subagent_type="x")
        )

    recorder = EpisodeRecorder()
    agent = create_deep_agent(
        ScriptedChatModel(script=[reply]),
        system_prompt="You are kind.",
        # Even where the subagent was given the same recorder.
        subagents=[{"name": "x", "description": "works", "middleware": [recorder]}],
        episodes=recorder,
        checkpointer=InMemorySaver(),
        store=store,
        context_schema=dict,
    )
    given: Any = {"messages": [SystemMessage("Be brief."), HumanMessage("Work!")]}
    talk(agent, given)
    assert told(store) == [("user", "Work!"), ("assistant", ""), ("tool", "the report"), ("assistant", "Done.")]


def test_an_agent_inside_a_graph_is_the_conversation(store: MemoryStore) -> None:
    from langgraph.graph import START, MessagesState, StateGraph

    inner = recorded_agent(["Hello."], store, checkpointer=None)
    form: Any = dict
    graph = StateGraph(MessagesState, context_schema=form).add_node("agent", inner).add_edge(START, "agent")
    agent = graph.compile(checkpointer=InMemorySaver(), store=store)
    talk(agent, "Hi.")
    assert told(store) == [("user", "Hi."), ("assistant", "Hello.")]


def test_approval_of_a_file_does_not_record_the_turn_twice(store: MemoryStore) -> None:
    from memoranda.backends import StoreBackend
    from memoranda.backends.permissions import FilesystemPermission

    agent = create_deep_agent(
        ScriptedChatModel(script=[call("write_file", file_path="/a.md", content="x"), say("Written.")]),
        backend=StoreBackend(namespace=("files",)),
        permissions=[FilesystemPermission(["write"], ["/**"], "interrupt")],
        episodes=True,
        checkpointer=InMemorySaver(),
        store=store,
        context_schema=dict,
    )
    assert "__interrupt__" in talk(agent, "Write it.")
    assert told(store) == []
    talk(agent, Command(resume={"decisions": [{"type": "approve"}]}))
    roles = [role for role, _ in told(store)]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert len(set(ids(store))) == 4 and "Wrote" in told(store)[2][1]


def test_roles_can_be_left_out(store: MemoryStore) -> None:
    recorder = EpisodeRecorder(roles=("user", "assistant"))
    agent = recorded_agent([call("weather", city="Ulm"), "Rain."], store, tools=[weather], recorder=recorder)
    talk(agent, "Weather?")
    assert [role for role, _ in told(store)] == ["user", "assistant", "assistant"]
    with pytest.raises(InvalidValueError):
        EpisodeRecorder(roles=("system",))  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError):
        EpisodeRecorder(max_bytes=10)


def test_secrets_are_masked(store: MemoryStore) -> None:
    key = "ghp_" + "Zk3x" * 9
    agent = recorded_agent([f"I noted {key}."], store)
    talk(agent, f"My key is {key}, keep it.")
    assert told(store) == [
        ("user", "My key is [secret removed], keep it."),
        ("assistant", "I noted [secret removed]."),
    ]
    assert not store.search_episodes(("ann",), key[:20])
    talk(recorded_agent(["ok"], store, recorder=EpisodeRecorder(redact=None)), key, "u")
    assert told(store, thread="u")[0] == ("user", key)


# --- whose conversation it is ---------------------------------------------------------------------------------


def test_scopes(store: MemoryStore) -> None:
    both = {"user_id": "ann", "org_id": "acme"}
    for scope, expected in (
        (by_org + "chats", ("acme", "chats")),
        (("fixed",), ("fixed",)),
        (lambda runtime: ("f", runtime.context["user_id"]), ("f", "ann")),
        (by_assistant, ("kai",)),
    ):
        agent = create_deep_agent(
            ScriptedChatModel(script=["Hello."]),
            episodes=scope,
            name="kai",
            checkpointer=InMemorySaver(),
            store=store,
            context_schema=dict,
        )
        talk(agent, "Hi.", context=both)
        (first, _) = store.turns(expected, "t")
        assert (first.user, first.org, first.agent) == ("ann", "acme", "kai")


def test_no_configuration_of_a_caller_says_whose_conversation_it_is(store: MemoryStore) -> None:
    agent = create_deep_agent(
        ScriptedChatModel(script=["Hello."]),
        episodes=by_assistant,
        name="kai",
        checkpointer=InMemorySaver(),
        store=store,
        context_schema=dict,
    )
    forged: Any = {
        "configurable": {"thread_id": "t", "user_id": "eve", "context": {"assistant_id": "other"}},
        "metadata": {"lc_agent_name": "other", "user_id": "eve"},
    }
    agent.invoke({"messages": "Hi."}, forged, context=ANN)
    assert len(store.turns(("kai",), "t")) == 2 and store.turns(("other",)) == []


def test_the_agent_needs_a_store_that_can_record() -> None:
    with pytest.raises(InvalidValueError, match="open_store"):
        create_deep_agent(ScriptedChatModel(script=[]), episodes=True, store=InMemoryStore())


def test_an_agent_without_episodes_records_nothing(store: MemoryStore) -> None:
    model = ScriptedChatModel(script=["Hello."])
    agent = create_deep_agent(model, checkpointer=InMemorySaver(), store=store, context_schema=dict)
    talk(agent, "Hi.")
    assert store.threads((), below=True) == [] and "search_past_conversations" not in model.offered[0]


# --- hostile input --------------------------------------------------------------------------------------------


def test_a_message_of_five_megabytes(store: MemoryStore) -> None:
    huge = "beginning " + "x" * 5_000_000 + " end"
    agent = recorded_agent(["Too long."], store)
    talk(agent, huge)
    turn = store.turns(("ann",), "t")[0]
    assert len(turn.text.encode()) <= 16_384 and turn.size == len(huge)
    assert turn.text.startswith("beginning") and turn.text.endswith(" end") and "5,000,014 bytes" in turn.text


def test_ten_thousand_messages(store: MemoryStore, engine: str) -> None:
    count = 10_000 if engine == "sqlite" else 2_000  # the same code, and a slower engine
    history = [
        (HumanMessage if number % 2 == 0 else AIMessage)(f"message {number}", id=f"m{number}")
        for number in range(count)
    ]
    recorder = EpisodeRecorder(redact=None)
    agent = recorded_agent(["Done."], store, recorder=recorder)
    talk(agent, [*history, HumanMessage("And now?")])
    assert ids(store)[:count] == [f"m{number}" for number in range(count)]
    # In another process nothing of that is known, and all of it is recorded already.
    again = recorded_agent(["Done again."], store, checkpointer=agent.checkpointer)
    talk(again, "And then?")
    assert [text for _, text in told(store)[count:]] == ["And now?", "Done.", "And then?", "Done again."]


def test_odd_contents(store: MemoryStore) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10_000}}
    odd = AIMessage("")
    odd.content = None  # type: ignore[assignment]
    odd.tool_calls = []
    given = [
        HumanMessage([{"type": "text", "text": "Look 👩‍👩‍👧"}, image, "and this", {"type": "text", "text": None}]),
        AIMessage([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Nice."}]),
        odd,
        HumanMessage("summary of it", additional_kwargs={"lc_source": "summarization"}),
        HumanMessage("  \n "),
        HumanMessage("", name="Ann\x00"),
        HumanMessage("Hi.", name="Ann\x00", id="x" * 3_000),
    ]
    from memoranda.episodes.messages import Keeping, said_in

    keeping = Keeping()
    turns = keeping.turns([one for one in said_in(given) if keeping.takes(one)])
    assert [(turn.role, turn.text, turn.other_blocks, turn.speaker) for turn in turns] == [
        ("user", "Look 👩‍👩‍👧\nand this", 1, None),
        ("assistant", "Nice.", 0, None),
        ("user", "Hi.", 0, "Ann"),
    ]
    assert store.record_turns(("ann",), "t", turns).new == 3
    assert "base64" not in str(told(store))


def test_several_tool_calls_of_one_message(store: MemoryStore) -> None:
    both = calls(("weather", {"city": "Ulm"}), ("weather", {"city": "Bonn"}))
    talk(recorded_agent([both, "Rain."], store, tools=[weather]), "Weather?")
    turns = store.turns(("ann",), "t")
    assert turns[1].tools == ("weather", "weather")
    assert [turn.text for turn in turns[2:4]] == ["It rains in Ulm.", "It rains in Bonn."]
