"""Ask a model a question that it answers by calling a tool; check the answer, and say what was wrong with it.

Nothing that a model says in words is taken for an answer. What it answers is checked twice, by the tool's JSON Schema
and by a function; what fails goes back to it with the message, a bounded number of times.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import isgenerator
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from memoranda.backends.steps import Steps, ask
from memoranda.errors import MemorandaError, StoreError
from memoranda.knowledge.errors import (
    Attempt,
    InvalidSettingError,
    ModelCannotCallToolsError,
    ModelOutputError,
    ProfileSchemaError,
)

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage

T = TypeVar("T")

_LONGEST_SHOWN: Final = 2_000
_CONFIG: Final[Any] = {"tags": ["nostream"]}
"""Inside a graph, what is asked here is no part of what the user is shown as it comes."""


@dataclass(frozen=True)  # without slots, so that Answer[int](…) may note its type where it tries
class Answer(Generic[T]):
    """One way to answer: a tool that the model may call.

    Args:
        name: The tool's name.
        description: What the model is told about it.
        schema: The JSON Schema of its arguments, an object.
        check: Makes the answer's value from arguments that fit the schema; or says with a `ValueError` or a
            `MemorandaError` why they will not do, which the model is told. Where it has to ask a store it is a
            generator of steps that returns the value. What is wrong with the store, a setting or a schema goes to the
            caller instead.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    check: Callable[[dict[str, Any]], T | Steps[T]]


def ask_model(
    model: str | BaseChatModel, messages: Sequence[BaseMessage], tools: Sequence[Answer[T]], *, attempts: int = 3
) -> Steps[T]:
    """Ask a model, through tools, until its answer passes.

    Args:
        model: A LangChain chat model, or its name.
        messages: The question.
        tools: The ways to answer, of which it takes exactly one.
        attempts: How often it is asked at most, 1 or more.

    Returns:
        What the `check` of the called tool made of its arguments.

    Raises:
        ModelOutputError: No answer passed; it carries every answer and what was wrong with it.
        ModelCannotCallToolsError: The model cannot be given tools.
        UnknownModelError: The model's name is unknown, or it is no model.
        InvalidSettingError: `attempts` is no number of attempts.

    Example:
        >>> from langchain_core.messages import HumanMessage
        >>> from memoranda.backends.steps import perform
        >>> from memoranda.testing.scripted import ScriptedChatModel, call
        >>> schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
        >>> answer = Answer("tell_age", "Say how old she is.", schema, lambda arguments: arguments["age"])
        >>> model = ScriptedChatModel(script=["She is thirty.", call("tell_age", age=30)])
        >>> perform(ask_model(model, [HumanMessage("Ann turned 30 today.")], [answer]))
        30
    """
    checked_attempts(attempts)
    asked = _with_tools(model, tools)
    said: list[BaseMessage] = list(messages)
    tried: list[Attempt] = []
    for _ in range(attempts):
        reply: Any = None
        try:
            reply = yield from ask(cast("Callable[..., Any]", asked.invoke), list(said), config=_CONFIG)
            answer, arguments = _chosen(reply, tools)
            _check_schema(answer, arguments)
            value = answer.check(arguments)
            if isgenerator(value):
                value = yield from cast("Steps[T]", value)
            return cast("T", value)
        except (StoreError, ProfileSchemaError, InvalidSettingError):
            raise  # nobody's answer can mend these
        except (MemorandaError, ValueError) as error:
            if reply is None and not _is_parsing(error):
                raise  # the provider's own trouble, or a setting: no answer to complain about
            tried.append(Attempt(_shown(reply), str(error).strip() or type(error).__name__))
            said += _told(reply, tried[-1])
    raise ModelOutputError(
        f"The model gave no usable answer in {attempts} {'attempt' if attempts == 1 else 'attempts'}; "
        f"the last one: {tried[-1].problem}",
        "Nothing was stored; try again, or ask another model.",
        tried,
    )


def checked_attempts(attempts: object) -> None:
    """Refuse what is no number of attempts.

    Raises:
        InvalidSettingError: It is none.
    """
    if not isinstance(attempts, int) or isinstance(attempts, bool) or attempts < 1:
        raise InvalidSettingError(f"attempts={attempts!r} is no number of attempts.", "Pass 1 or more.")


def _with_tools(model: str | BaseChatModel, tools: Sequence[Answer[Any]]) -> Any:
    from memoranda.agents.models import chat_model

    specified: list[dict[str, Any]] = [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)},
        }
        for tool in tools
    ]
    found = chat_model(model)
    try:
        return found.bind_tools(specified)
    except NotImplementedError:
        raise ModelCannotCallToolsError(
            f"The model {type(found).__name__} cannot call tools.", "Pass a chat model that can."
        ) from None


def _chosen(reply: Any, tools: Sequence[Answer[T]]) -> tuple[Answer[T], dict[str, Any]]:
    """The one tool that was called, and its arguments."""
    names = " or ".join(f"`{tool.name}`" for tool in tools)
    if broken := getattr(reply, "invalid_tool_calls", None):
        name = broken[0].get("name") or "the tool"
        raise ValueError(f"The arguments of {name} are no complete JSON. Call {names} again with all of them.")
    calls: list[Any] = list(getattr(reply, "tool_calls", None) or ())
    if not calls:
        raise ValueError(f"No tool was called, and words are not taken for an answer. Call {names}.")
    if len(calls) > 1:
        raise ValueError(f"{len(calls)} tools were called, and none of it was taken. Call {names} exactly once.")
    (call,) = calls
    for tool in tools:
        if tool.name == call["name"]:
            return tool, dict(call["args"] or {})
    raise ValueError(f"There is no tool {call['name']!r} here. Call {names}.")


def _check_schema(answer: Answer[Any], arguments: dict[str, Any]) -> None:
    from memoranda.knowledge.schemas import misfits_of

    if misfits := misfits_of(answer.schema, arguments):
        raise ValueError(f"The arguments of {answer.name} do not fit: {'; '.join(map(str, misfits))}.")


def _is_parsing(error: BaseException) -> bool:
    """Whether a provider's package says that it could not read what the model answered."""
    from langchain_core.exceptions import OutputParserException

    return isinstance(error, OutputParserException)


def _told(reply: AIMessage | None, attempt: Attempt) -> list[BaseMessage]:
    """What was answered and what is wrong with it, as the conversation goes on."""
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    calls = [] if reply is None or reply.invalid_tool_calls else reply.tool_calls
    if reply is not None and calls and all(call.get("id") for call in calls):
        results = [ToolMessage(attempt.problem, tool_call_id=str(call["id"]), status="error") for call in calls]
        return [reply, *results]
    # In words, since providers refuse a conversation with a call that is broken, or an empty message.
    said: list[BaseMessage] = [AIMessage(attempt.answer)] if attempt.answer.strip() else []
    return [*said, HumanMessage(attempt.problem)]


def _shown(reply: AIMessage | None) -> str:
    if reply is None:
        return ""
    parts = [str(getattr(reply, "text", "") or "")]
    for call in [*(getattr(reply, "tool_calls", None) or ()), *(getattr(reply, "invalid_tool_calls", None) or ())]:
        arguments = call.get("args")
        shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
        parts.append(f"{call.get('name')}({shown})")
    text = "\n".join(part for part in parts if part)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
