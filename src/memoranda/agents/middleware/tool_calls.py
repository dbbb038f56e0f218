"""What surrounds every tool call: who calls, what the thread has seen, and which changes wait for a person.

`ToolCallMiddleware` is the base of the middleware that needs this; several of them around one call share one
`ToolCall`. What came of the call goes into the thread's private state, so that the next step, another process after a
restart included, knows it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Annotated, Any, NotRequired, TypeAlias, cast
from uuid import uuid4

from langchain.agents.middleware.types import AgentMiddleware, AgentState, PrivateStateAttr, ToolCallRequest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command

from memoranda.agents.middleware.approval_requests import PendingApproval
from memoranda.agents.middleware.origins import marked, origins_after, origins_before
from memoranda.agents.middleware.rebasing import OverBackend
from memoranda.backends.origins import keep_origins
from memoranda.backends.runtime import (
    ToolCall,
    agent_run,
    current_config,
    current_thread,
    current_tool_call,
    inside_tool_call,
)

SEEN_LIMIT = 200
"""How many files a thread's private state remembers having seen."""

Seen: TypeAlias = dict[str, list[Any]]
ToolResult: TypeAlias = "ToolMessage | Command[Any]"


def keep_newest(known: Seen | None, update: Seen | None) -> Seen:
    """Merge what was seen: of each file the latest, and of all the `SEEN_LIMIT` newest."""
    merged: Seen = dict(known or {})
    for file, entry in (update or {}).items():
        if file not in merged or merged[file][1] <= entry[1]:
            merged[file] = entry
    if len(merged) <= SEEN_LIMIT:
        return merged
    newest = sorted(merged.items(), key=lambda pair: pair[1][1], reverse=True)[:SEEN_LIMIT]
    return dict(reversed(newest))


def keep_pending(known: dict[str, Any] | None, update: dict[str, Any] | None) -> dict[str, Any]:
    """Merge the requests that wait, by id; None in the place of a request takes it out."""
    merged = {**(known or {}), **(update or {})}
    return {key: request for key, request in merged.items() if request is not None}


class ToolCallState(AgentState[Any]):
    """The private state behind tool calls; it is in no input and no output of the agent."""

    seen_revisions: NotRequired[Annotated[dict[str, list[Any]], PrivateStateAttr, keep_newest]]
    pending_approvals: NotRequired[Annotated[dict[str, Any], PrivateStateAttr, keep_pending]]
    text_origins: NotRequired[Annotated[dict[str, Any], PrivateStateAttr, keep_origins]]


class ToolCallMiddleware(OverBackend, AgentMiddleware[ToolCallState, Any, Any]):
    """The base of middleware whose tools, or the agent's own, reach files behind our backends."""

    state_schema = ToolCallState

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """Run the tool inside a `ToolCall`, and keep what came of it in the thread's state."""
        return around_tool_call(request, handler)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """`wrap_tool_call` for an event loop."""
        return await aaround_tool_call(request, handler)


def around_tool_call(request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
    """Run a tool inside a `ToolCall`; for the `wrap_tool_call` of any middleware.

    Args:
        request: The request as the middleware got it.
        handler: What runs the tool.

    Returns:
        The tool's result; a `Command` that also updates the private state if there is something to keep.
    """
    key = _key(request)
    if key == _entered.get():
        return handler(request)
    call, token = enter(request), _entered.set(key)
    try:
        with inside_tool_call(call):
            result = handler(request)
    finally:
        _entered.reset(token)
    return leave(request, call, result)


async def aaround_tool_call(
    request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
) -> ToolResult:
    """`around_tool_call` for the `awrap_tool_call` of any middleware."""
    key = _key(request)
    if key == _entered.get():
        return await handler(request)
    call, token = enter(request), _entered.set(key)
    try:
        with inside_tool_call(call):
            result = await handler(request)
    finally:
        _entered.reset(token)
    return leave(request, call, result)


def enter(request: ToolCallRequest) -> ToolCall:
    """The `ToolCall` of a request, with what the thread has seen."""
    around = current_tool_call()
    return ToolCall(
        id=request.tool_call["id"],
        seen=seen_of(request.state),
        # What a subagent is told came from the call that started it.
        untrusted=around is not None and around.untrusted,
        origins=origins_before(request.state, around),
        message=_message_of(request),
    )


def leave(request: ToolCallRequest, call: ToolCall, result: ToolResult) -> ToolResult:
    """Join a tool's result with what has to be kept of the call."""
    update: dict[str, Any] = {}
    result = marked(request.tool_call["name"], result)
    update.update(origins_after(request, call, result))
    newly_seen = seen_since(seen_of(request.state), call.seen)
    if newly_seen:
        update["seen_revisions"] = newly_seen
    if call.approvals:
        result, message = _identified(request, result)
        update["pending_approvals"] = {
            pending.id: pending.to_state()
            for pending in (
                PendingApproval(uuid4().hex, str(call.id), request.tool_call["name"], message, approval)
                for approval in call.approvals
            )
        }
    return _joined(result, update) if update else result


def _message_of(request: ToolCallRequest) -> str | None:
    """What tells the message that a call belongs to from all others, those of other threads and branches included."""
    state: Any = request.state
    messages: Any = cast("Mapping[str, Any]", state).get("messages") if isinstance(state, Mapping) else None
    every = cast("Sequence[Any]", messages or ())
    message = next((each for each in reversed(every) if isinstance(each, AIMessage)), None)
    if message is None or not message.id:
        return None
    checkpoints = (current_config() or {}).get("configurable", {}).get("checkpoint_map")
    return f"{current_thread()}|{agent_run()}|{checkpoints}|{message.id}"


def seen_of(state: Any) -> Seen:
    """A copy of what the thread has seen, from its state."""
    known: Any = cast("Mapping[str, Any]", state).get("seen_revisions") if isinstance(state, Mapping) else None
    return dict(known or {})


def seen_since(before: Mapping[str, list[Any]], now: Mapping[str, list[Any]]) -> Seen:
    """What is new or newer in `now`: the update for the state key `seen_revisions`."""
    return {file: entry for file, entry in now.items() if before.get(file) != entry}


_entered: ContextVar[tuple[str, str | None] | None] = ContextVar("memoranda_entered_call", default=None)


def _key(request: ToolCallRequest) -> tuple[str, str | None]:
    """Which call this is; a subagent's call is another one than the call that started it, whatever their ids."""
    config = current_config() or {}
    return str(config.get("configurable", {}).get("checkpoint_ns", "")), request.tool_call["id"]


def _identified(request: ToolCallRequest, result: Any) -> tuple[Any, str | None]:
    """Give the tool's message an id of its own, so that it can be replaced later; tool call ids may recur."""
    if isinstance(result, ToolMessage):
        if result.tool_call_id != request.tool_call["id"]:
            return result, None
        named = result if result.id else result.model_copy(update={"id": uuid4().hex})
        return named, named.id
    if isinstance(result, list):  # ToolNode takes several results of one tool
        found: str | None = None
        parts: list[Any] = []
        for part in cast("list[Any]", result):
            named, id_ = _identified(request, part)
            found = found or id_
            parts.append(named)
        return parts, found
    if isinstance(result, Command):
        command: Any = cast("Command[Any]", result)
        update = _update_of(command)
        named, found = _identified(request, update.get("messages"))
        return (replace(command, update={**update, "messages": named}) if found else command), found
    return result, None  # another kind of message


def _joined(result: Any, update: dict[str, Any]) -> Any:
    if isinstance(result, ToolMessage):
        return Command(update={"messages": [result], **update})
    if isinstance(result, list):
        return [*cast("list[Any]", result), Command(update=update)]
    if result.graph is not None:  # it leaves this graph, whose state this is
        return [result, Command(update=update)]
    own = _update_of(result)
    for key in own.keys() & update.keys():  # a tool that runs another may have kept something itself
        update[key] = {**own[key], **update[key]}
    return replace(result, update={**own, **update})


def _update_of(command: Any) -> dict[str, Any]:
    return dict(command._update_as_tuples())
