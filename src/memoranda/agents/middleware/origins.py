"""The record of where an agent's texts come from, kept around its tool calls; see `memoranda.backends.origins`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import convert_to_messages
from langgraph.types import Command

from memoranda.backends.origins import SOURCE_KEY, Origins, OriginState, is_person
from memoranda.backends.runtime import ToolCall, current_tool_call

ORIGINS_KEY: Final = "text_origins"
"""The private state key of the record."""

_IN_A_CALL: Final = "in a tool call"
"""The turn of an agent that runs inside a tool call: no person speaks to it."""


def turn_update(state: Any) -> dict[str, Any]:
    """Begin the record anew if the run that begins brought a person's message; for `before_agent`."""
    known = _record(state)
    messages: Sequence[Any] = _get(state, "messages") or ()
    last = messages[-1] if messages else None
    if current_tool_call() is not None:
        turn = known.get("turn", _IN_A_CALL)
        return {ORIGINS_KEY: {"turn": turn, "goes_on": True}}
    if last is None or not is_person(last):
        # Nobody spoke; from now on it is known that this is looked at.
        return {ORIGINS_KEY: {"turn": known.get("turn", ""), "goes_on": True}}
    return {ORIGINS_KEY: {"turn": _id(last)}}


def origins_before(state: Any, around: ToolCall | None) -> Origins:
    """The record that a tool call goes on from: the thread's, and that of the call inside which the agent runs."""
    known = _record(state)
    origins = Origins.of(known)
    if _is_over(state, known):
        origins.tools, origins.files, origins.overflow = set(), set(), False
    if around is not None:
        origins.add(around.origins)
    return origins


def origins_after(request: ToolCallRequest, call: ToolCall, result: Any) -> dict[str, Any]:
    """Note that a tool ended, also in the call around it, and give the update of the state."""
    call.origins.tools.update((str(request.tool_call["name"]), *_names(result)))
    if (around := current_tool_call()) is not None and around is not call:
        around.origins.add(call.origins)
    known = _record(request.state)
    over = _is_over(request.state, known)
    update: OriginState = call.origins.since(Origins(written=Origins.of(known).written) if over else Origins.of(known))
    if "turn" not in known:
        people = _people(request.state)
        unknown = [each for each in people if each not in known.get("people", ())]
        update |= ({"people": unknown} if unknown else {}) | ({"person": people[-1]} if over else {})
    return {ORIGINS_KEY: update} if update else {}


def heard(messages: Iterable[Any]) -> None:
    """Note in the call at hand the tools that another agent used, by its messages."""
    call = current_tool_call()
    if call is None:
        return
    for message in messages:
        call.origins.tools.update(_names(message))
        call.origins.tools.update(str(made.get("name")) for made in getattr(message, "tool_calls", None) or ())


def marked(tool: str, result: Any) -> Any:
    """A tool's result whose messages in the form of a person's say that none wrote them."""
    if isinstance(result, list):
        return [marked(tool, part) for part in cast("list[Any]", result)]
    if isinstance(result, HumanMessage):
        more = {SOURCE_KEY: f"tool:{tool}", **result.additional_kwargs}
        return result.model_copy(update={"additional_kwargs": more})
    if isinstance(result, Command):
        command: Any = cast("Any", result)
        update: dict[str, Any] = dict(command._update_as_tuples())
        given = update.get("messages")
        if given is None:
            return command
        messages = _messages(given)
        if any(isinstance(message, HumanMessage) for message in messages):
            return replace(command, update={**update, "messages": marked(tool, messages)})
        return command
    return result


def _messages(given: Any) -> list[Any]:
    """Messages of an update, whatever form they have."""
    if isinstance(given, BaseMessage):
        return [given]
    if isinstance(given, (list, tuple)) and not _is_pair(cast("Any", given)):
        return [part for each in cast("Sequence[Any]", given) for part in _message(each)]
    return _message(given)


def _message(given: Any) -> list[Any]:
    if isinstance(given, BaseMessage):
        return [given]
    try:
        return list(convert_to_messages([given]))
    except Exception:  # noqa: BLE001 - no message; the graph will say so itself
        return [given]


def _is_pair(given: Sequence[Any]) -> bool:
    return isinstance(given, tuple) and len(given) == 2 and all(isinstance(part, str) for part in given)


def _names(result: Any) -> set[str]:
    """What the messages of a result call the tools that they come from."""
    if isinstance(result, ToolMessage):
        return {result.name} if result.name else set()
    if isinstance(result, Command):
        return _names(_messages(dict(cast("Any", result)._update_as_tuples()).get("messages") or []))
    if isinstance(result, list):
        return {name for part in cast("list[Any]", result) for name in _names(part)}
    return set()


def _is_over(state: Any, known: OriginState) -> bool:
    """Whether a person spoke since, for agents without a `before_agent` that looks: by the messages then."""
    people = _people(state)
    return "turn" not in known and bool(people) and people[-1] not in known.get("people", ())


def _people(state: Any) -> list[str]:
    """The ids of the messages that people wrote. Old ones may come last again, where newer ones were trimmed."""
    return [_id(message) for message in _get(state, "messages") or () if is_person(message)]


def _id(message: Any) -> str:
    return str(getattr(message, "id", None) or "")


def _record(state: Any) -> OriginState:
    return _get(state, ORIGINS_KEY) or {}


def _get(state: Any, key: str) -> Any:
    return cast("Mapping[str, Any]", state).get(key) if isinstance(state, Mapping) else None
