"""A model is asked through tools: what it answers is checked, and it is told what was wrong."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from memoranda.backends.steps import Steps, aperform, block, perform
from memoranda.errors import StoreBusyError
from memoranda.knowledge import InvalidSettingError, ModelCannotCallToolsError, ModelOutputError
from memoranda.knowledge.asking import Answer, ask_model
from memoranda.testing.scripted import ScriptedChatModel, call, calls, say

SCHEMA = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
QUESTION = [HumanMessage("Ann turned 30 today.")]


def adult(arguments: dict[str, Any]) -> int:
    if arguments["age"] < 18:
        raise ValueError("She is older than that.")
    return arguments["age"]


ANSWERS = [Answer("tell_age", "Say how old she is.", SCHEMA, adult), Answer("unknown", "Say so.", {}, lambda _: 0)]


def half_json() -> AIMessage:
    broken = {"name": "tell_age", "args": '{"age": 3', "id": "call_x", "error": None, "type": "invalid_tool_call"}
    return AIMessage("", invalid_tool_calls=[broken])


def asked(*script: Any, attempts: int = 3) -> tuple[Any, ScriptedChatModel]:
    model = ScriptedChatModel(script=list(script))
    return perform(ask_model(model, QUESTION, ANSWERS, attempts=attempts)), model


def test_the_tool_that_was_called_decides() -> None:
    assert asked(call("tell_age", age=30))[0] == 30
    assert asked(call("unknown"))[0] == 0


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (say("She is thirty."), "No tool was called"),
        (say(""), "No tool was called"),
        (say('{"age": 30}'), "No tool was called"),
        (say("I'm sorry, I can't help with that."), "No tool was called"),
        (half_json(), "no complete JSON"),
        (call("tell_age", age="thirty"), "/age: 'thirty' is not of type 'integer'"),
        (call("tell_age"), "/age: 'age' is a required property"),
        (call("tell_age", age=3), "She is older than that."),
        (call("tell_aeg", age=30), "There is no tool 'tell_aeg' here. Call `tell_age` or `unknown`."),
        (calls(("tell_age", {"age": 30}), ("tell_age", {"age": 31})), "2 tools were called"),
    ],
)
def test_it_is_told_what_was_wrong_and_asked_again(answer: AIMessage, problem: str) -> None:
    value, model = asked(answer, call("tell_age", age=30))
    assert value == 30
    told = model.requests[1][-1]
    assert problem in told.text and model.requests[1][0] == QUESTION[0]
    with pytest.raises(ModelOutputError) as caught:
        asked(answer)
    assert len(caught.value.tried) == 3 and all(problem in attempt.problem for attempt in caught.value.tried)


def test_each_call_gets_a_result_so_that_providers_take_the_conversation() -> None:
    _, model = asked(calls(("tell_age", {}), ("no", {})), half_json(), say(""), call("unknown"), attempts=4)
    first = model.requests[1][1:]
    assert isinstance(first[0], AIMessage)
    answered = [message.tool_call_id for message in first[1:] if isinstance(message, ToolMessage)]
    assert answered == [made["id"] for made in first[0].tool_calls]
    # A broken call and an empty message go back as words, or not at all.
    later = model.requests[3][4:]
    assert [type(message) for message in later] == [AIMessage, HumanMessage, HumanMessage]
    assert all(message.text for message in later) and not later[0].tool_calls  # pyright: ignore


def test_the_number_of_attempts_is_a_bound() -> None:
    with pytest.raises(ModelOutputError) as caught:
        asked(say("no"), attempts=1)
    assert "in 1 attempt;" in str(caught.value)
    for attempts in (0, -1, True, 1.5, "3", None):
        with pytest.raises(InvalidSettingError):
            asked(call("unknown"), attempts=attempts)  # type: ignore[arg-type]


def test_the_error_carries_what_was_tried_also_from_another_process() -> None:
    with pytest.raises(ModelOutputError) as caught:
        asked(say("x" * 5_000))
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.tried == caught.value.tried
    assert len(again.tried[0].answer) < 2_100


def test_a_check_may_ask_a_store_and_its_trouble_is_not_the_models() -> None:
    def steps(arguments: dict[str, Any]) -> Steps[int]:
        return (yield from block(lambda: arguments["age"] + 1))

    def busy(_: dict[str, Any]) -> int:
        raise StoreBusyError("Another writes.", "Try again.")

    model = ScriptedChatModel(script=[call("tell_age", age=1)])
    assert perform(ask_model(model, QUESTION, [Answer("tell_age", "", SCHEMA, steps)])) == 2
    with pytest.raises(StoreBusyError):
        perform(ask_model(model, QUESTION, [Answer("tell_age", "", SCHEMA, busy)]))


class RaisingModel(ScriptedChatModel):
    """A scripted model that raises the exceptions in its script."""

    def invoke(self, input: Any, *args: Any, **kwargs: Any) -> Any:
        line = self.script[min(self._position, len(self.script) - 1)]
        if isinstance(line, Exception):
            self._position += 1
            raise line
        return super().invoke(input, *args, **kwargs)


def test_the_providers_trouble_goes_to_the_caller_but_not_what_it_cannot_parse() -> None:
    for error in (ConnectionError("gone"), ValueError("bad key")):
        with pytest.raises(type(error), match=str(error)):
            perform(ask_model(RaisingModel(script=[error]), QUESTION, ANSWERS))
    model = RaisingModel(script=[OutputParserException("half of it"), call("unknown")])
    assert perform(ask_model(model, QUESTION, ANSWERS)) == 0


class ModelWithoutTools(ScriptedChatModel):
    """A scripted model that cannot be given tools."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def test_a_model_without_tools_is_refused() -> None:
    with pytest.raises(ModelCannotCallToolsError, match="ModelWithoutTools cannot call tools"):
        perform(ask_model(ModelWithoutTools(), QUESTION, ANSWERS))


async def test_from_an_event_loop() -> None:
    model = ScriptedChatModel(script=["No.", call("tell_age", age=30)])
    assert await aperform(ask_model(model, QUESTION, ANSWERS)) == 30
