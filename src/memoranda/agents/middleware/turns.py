"""Calls of one message that change the same files take their turns, in the order in which the model made them.

LangGraph runs the calls of a message side by side. No change is lost by that, but a model that writes a file and then
edits it means that order.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Event, Lock
from typing import Any, Final, NamedTuple, cast

from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage

from memoranda.agents.tools import CHANGING_TOOLS
from memoranda.backends.steps import Steps, block
from memoranda.errors import InvalidPathError
from memoranda.files.path import canonical_path, folder_prefix

_BEGIN: Final = 0.1
"""How many seconds a call is waited for that has not begun; one that ran before a restart never will."""

_END: Final = 30.0
"""How many seconds a call is waited for that runs."""

_REMEMBERED: Final = 10_000


class _Call(NamedTuple):
    """One call, in all of this process."""

    message: str
    id: str


class _Progress(NamedTuple):
    """How far a call has come."""

    begun: Event
    ended: Event

    def wait(self) -> None:
        """Wait for its end."""
        if self.begun.wait(_BEGIN):
            self.ended.wait(_END)


class Turns:
    """The calls of this process that run or ran, and the order in which they may change files."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Call, _Progress] = OrderedDict()
        self._lock = Lock()

    def wait_steps(self, request: ToolCallRequest) -> Steps[None]:
        """Say that a call begins, and wait for the earlier ones of its message that change the same files."""
        calls = _changing_calls(request)
        own = next((at for at, (call, _) in enumerate(calls) if call.id == request.tool_call["id"]), None)
        if own is None:
            return
        mine, paths = calls[own]
        self._progress(mine).begun.set()
        for call, others in calls[:own]:
            if any(_overlap(path, other) for path in paths for other in others):
                progress = self._progress(call)
                if not progress.ended.is_set():
                    yield from block(
                        lambda progress=progress: progress.begun.wait(_BEGIN) and progress.ended.wait(_END)
                    )

    def end(self, request: ToolCallRequest) -> None:
        """Say that a call has ended, in whatever way."""
        for call, _ in _changing_calls(request):
            if call.id == request.tool_call["id"]:
                progress = self._progress(call)
                progress.begun.set()
                progress.ended.set()

    def _progress(self, call: _Call) -> _Progress:
        with self._lock:
            progress = self._known.get(call)
            if progress is None:
                progress = self._known[call] = _Progress(Event(), Event())
                if len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
            return progress


def _changing_calls(request: ToolCallRequest) -> list[tuple[_Call, list[str]]]:
    """The calls of the message that change files, in order, each with its paths; none if it is the only one."""
    if request.tool_call["name"] not in CHANGING_TOOLS:
        return []
    state: Any = request.state
    messages: Sequence[Any] = cast("Mapping[str, Any]", state).get("messages", ()) if isinstance(state, Mapping) else ()
    message = next((each for each in reversed(messages) if isinstance(each, AIMessage)), None)
    if message is None or not message.id:
        return []
    found: list[tuple[_Call, list[str]]] = []
    for call in message.tool_calls:
        if call["name"] in CHANGING_TOOLS and call["id"]:
            given = (call["args"].get("file_path"), call["args"].get("to"))
            found.append((_Call(message.id, call["id"]), [path for each in given if (path := _canonical(each))]))
    return found if len(found) > 1 else []


def _canonical(path: Any) -> str | None:
    if not isinstance(path, str):
        return None
    try:
        return canonical_path(path)
    except InvalidPathError:
        return None


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(folder_prefix(other)) or other.startswith(folder_prefix(one))
