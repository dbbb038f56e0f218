"""Short-term memory: what is dropped, what stays, and that no tool's result is left without its call."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from memoranda.agents import create_deep_agent
from memoranda.agents.middleware.short_term import delete_old_messages, summarization, trim_messages_before_model
from memoranda.errors import InvalidValueError
from memoranda.testing.scripted import ScriptedChatModel, call, say
from tests.agents.support import thread


def talk(middleware: list[Any], turns: list[Any]) -> tuple[ScriptedChatModel, list[Any]]:
    """One thread of so many turns; the requests and the messages that are left."""
    model = ScriptedChatModel(script=[line for turn in turns for line in turn])
    agent = create_deep_agent(model, middleware=middleware, checkpointer=InMemorySaver())
    here = thread()
    for number in range(len(turns)):
        agent.invoke({"messages": f"Question {number}?"}, here)
    return model, agent.get_state(here).values["messages"]


def is_whole(messages: list[Any]) -> bool:
    """Whether every result has its call and every call its result."""
    called = {call["id"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls}
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    return called == answered


PLAIN = [[say(f"Answer {n}.")] for n in range(6)]
BUSY = [[call("ls", path="/"), call("glob", pattern="*"), call("ls", path="/"), say(f"Answer {n}.")] for n in range(4)]


def test_trimming_keeps_the_newest_and_the_first() -> None:
    model, left = talk([trim_messages_before_model(max_messages=3)], PLAIN)
    assert [message.text for message in model.requests[-1][1:]] == [
        "Question 0?",
        "Question 4?",
        "Answer 4.",
        "Question 5?",
    ]
    assert [message.text for message in left][-1] == "Answer 5."
    model, _ = talk([trim_messages_before_model(max_messages=3, keep_first=False)], PLAIN)
    assert [message.text for message in model.requests[-1][1:]] == ["Question 4?", "Answer 4.", "Question 5?"]


@pytest.mark.parametrize("limits", [{"max_messages": 2}, {"max_messages": 4}, {"max_tokens": 60}, {"max_tokens": 1}])
def test_trimming_leaves_no_result_alone(limits: dict[str, int]) -> None:
    model, left = talk([trim_messages_before_model(**limits)], BUSY)
    for request in [*model.requests, left]:
        assert is_whole(request)
    for number in range(4):
        for request in model.requests[4 * number : 4 * number + 4]:
            assert f"Question {number}?" in [message.text for message in request]


def test_deleting_after_each_reply() -> None:
    _, left = talk([delete_old_messages(keep=4)], PLAIN)
    assert [message.text for message in left] == ["Question 4?", "Answer 4.", "Question 5?", "Answer 5."]
    _, left = talk([delete_old_messages(keep=2)], BUSY)
    assert is_whole(left) and left[0].text == "Question 3?" and left[-1].text == "Answer 3."


def test_works_in_a_plain_agent() -> None:
    agent = create_agent(ScriptedChatModel(script=[say("a")]), middleware=[delete_old_messages(keep=2)])
    assert [m.text for m in agent.invoke({"messages": ["One?", "Two?", "Three?"]})["messages"]] == ["Three?", "a"]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: trim_messages_before_model(),
        lambda: trim_messages_before_model(max_tokens=0),
        lambda: delete_old_messages(keep=0),
    ],
)
def test_limits_that_cannot_be_meant(wrong: Any) -> None:
    with pytest.raises(InvalidValueError):
        wrong()


def test_summarisation_by_the_models_window() -> None:
    known = summarization(ScriptedChatModel(profile={"max_input_tokens": 1_000}))
    assert (known.trigger, known.keep) == (("fraction", 0.85), ("fraction", 0.10))
    unknown = summarization(ScriptedChatModel())
    assert (unknown.trigger, unknown.keep) == (("tokens", 170_000), ("messages", 6))
    assert summarization(ScriptedChatModel(), trigger=("messages", 9)).trigger == ("messages", 9)


def test_an_agent_summarises_at_85_percent() -> None:
    long = "word " * 700
    script = [say(long), say("A summary."), say("after")]
    model = ScriptedChatModel(script=script, profile={"max_input_tokens": 1_000})
    agent = create_deep_agent(model, checkpointer=InMemorySaver())
    here = thread()
    agent.invoke({"messages": "Tell me."}, here)
    left = agent.invoke({"messages": "And?"}, here)["messages"]
    assert "A summary." in left[0].text and long not in "".join(message.text for message in left)
