"""`SubagentsMiddleware`: the tool `task`, by which an agent hands work to another and gets back its result."""

from __future__ import annotations

import dataclasses
import json
import operator
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from typing import Annotated, Any, NamedTuple, Self, cast, get_args, get_origin, get_type_hints

from langchain.agents.middleware.types import AgentMiddleware, PrivateStateAttr, ToolCallRequest
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import StructuredTool, ToolException
from langgraph.types import Command
from pydantic import BaseModel, Field

from memoranda.agents.errors import InvalidSubagentError
from memoranda.agents.middleware.handed_files import has_a_say, readable, take_back
from memoranda.agents.middleware.origins import heard
from memoranda.agents.middleware.tool_calls import ToolCallState, ToolResult, aaround_tool_call, around_tool_call
from memoranda.backends.base import Backend
from memoranda.backends.guard.telling import also_telling
from memoranda.backends.guarded import GuardedBackend
from memoranda.backends.runtime import ToolCall, current_config, current_tool_call, inside_tool_call
from memoranda.backends.steps import Steps, aperform, ask, perform
from memoranda.backends.tree import changed_files

_KEPT_APART = frozenset(
    [
        "messages",
        "todos",
        "structured_response",
        "jump_to",
        "seen_revisions",
        "pending_approvals",
        "text_origins",
        "skills_metadata",
    ]
)
"""State keys that are each agent's own."""


class Subagent(NamedTuple):
    """An agent that another one hands work to.

    Args:
        name: What the model calls it.
        description: What it does; the model chooses by it.
        runnable: A compiled graph, whose state has `messages`.
        is_fenced: Whether it stands behind its parent's guard itself.
    """

    name: str
    description: str
    runnable: Runnable[Any, Any]
    is_fenced: bool = False


class SubagentsMiddleware(AgentMiddleware[Any, Any, Any]):
    """Let an agent hand work to others, several at a time.

    A subagent gets the description of its task and the parent's state but for its messages, to-do list and private
    keys; what it changed in the state comes back, files joined with what others changed meanwhile, and its structured
    response or last message is the tool's result. An interrupt in it pauses the whole run.

    Args:
        subagents: The agents: `Subagent`s, or dictionaries with `name`, `description` and `runnable`.
        hooks: The hooks of the agent's guard. If one with `is_untrusted` says that something untrusted led to a task,
            what the subagent changes counts as of untrusted origin as well.
        schemas: The forms of the agent's state, those of its middleware included. Keys that are private in them stay
            apart, and of lists that add up only what the subagent added comes back.
        description: What the model is told of the tool, with `{subagents}` where their list belongs.
        guard: The agent's `GuardedBackend`. A subagent without it gets those files of the state that may be read, and
            its changes of them are made through the guard.
    """

    state_schema = ToolCallState

    def __init__(
        self,
        subagents: Sequence[Subagent | Mapping[str, Any]],
        *,
        hooks: Sequence[Any] = (),
        schemas: Sequence[type[Any]] = (),
        description: str | None = None,
        guard: Backend | None = None,
    ) -> None:
        super().__init__()
        self._guard = guard
        self.subagents = {each.name: each for each in map(_subagent, subagents)}
        if not self.subagents:
            raise InvalidSubagentError("There is no subagent.", "Give at least one.")
        self._hooks, self._schemas, self._description = tuple(hooks), tuple(schemas), description or _DESCRIPTION
        self._settle()

    def within(self, guard: Backend, hooks: Sequence[Any], schemas: Sequence[type[Any]]) -> Self:
        """The same middleware in an agent with these hooks and forms of the state, beside those that it was given."""
        made = copy(self)
        made._guard = self._guard or guard
        made._hooks, made._schemas = (*self._hooks, *hooks), (*self._schemas, *schemas)
        made._settle()
        return made

    def _settle(self) -> None:
        self._judges = [hook for hook in self._hooks if hasattr(hook, "is_untrusted")]
        forms = _forms(self._schemas)
        self._apart = _KEPT_APART | {key for key, form in forms.items() if _marks(form, PrivateStateAttr)}
        self._adding = {key for key, form in forms.items() if _marks(form, operator.add)}
        listed = "\n".join(f"- {each.name}: {each.description}" for each in self.subagents.values())
        self.tools = [self._task_tool(self._description.replace("{subagents}", listed))]

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """Keep the record of where texts come from, for agents without our other middleware too."""
        return around_tool_call(request, handler)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """`wrap_tool_call` for an event loop."""
        return await aaround_tool_call(request, handler)

    def _task_tool(self, description: str) -> StructuredTool:
        def task(description: str, subagent_type: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
            return perform(self._task(description, subagent_type, runtime))

        async def atask(description: str, subagent_type: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
            return await aperform(self._task(description, subagent_type, runtime))

        return StructuredTool.from_function(
            func=task,
            coroutine=atask,
            name="task",
            description=description,
            args_schema=_Task,
            infer_schema=False,
            handle_tool_error=True,
        )

    def _task(self, description: str, subagent_type: str, runtime: ToolRuntime[Any, Any]) -> Steps[Command[Any]]:
        subagent = self.subagents.get(subagent_type)
        if subagent is None:
            raise ToolException(
                f"Error: there is no subagent {subagent_type!r}. There are {', '.join(self.subagents)}."
            )
        state = _mapping(runtime.state)
        given = {key: value for key, value in state.items() if key not in self._apart}
        call = current_tool_call() or ToolCall(runtime.tool_call_id)
        call.untrusted = call.untrusted or self._is_untrusted(state, runtime.tool_call_id)
        guard = None if subagent.is_fenced or not has_a_say(self._guard) else cast("GuardedBackend", self._guard)
        if guard is not None and given.get("files"):
            given["files"] = yield from readable(guard, given["files"])
        with inside_tool_call(call), also_telling(_listener(runtime)):
            result = yield from ask(
                subagent.runnable.invoke,
                {**given, "messages": [HumanMessage(description)]},
                {"run_name": subagent.name},
            )
            found = _mapping(result)
            # One without our middleware says by its messages which tools it used.
            heard(found.get("messages") or ())
            refused: list[str] = []
            if guard is not None and "files" in found:
                refused = yield from take_back(guard, given.get("files") or {}, found.pop("files") or {})
        return self._outcome(subagent, given, found, runtime.tool_call_id or "", refused)

    def _is_untrusted(self, state: Mapping[str, Any], tool_call_id: str | None) -> bool:
        messages = state.get("messages") or ()
        return any(judge.is_untrusted(messages, tool_call_id) for judge in self._judges)

    def _outcome(
        self,
        subagent: Subagent,
        given: dict[str, Any],
        found: dict[str, Any],
        tool_call_id: str,
        refused: Sequence[str],
    ) -> Command[Any]:
        update = {
            key: self._added(key, value, given.get(key))
            for key, value in found.items()
            if key not in self._apart and key != "files" and not _same(value, given.get(key, _MISSING))
        }
        files = changed_files(given.get("files"), found.get("files")) if "files" in found else {}
        if files:
            update["files"] = files
        answer = _answer(subagent, found)
        if refused:
            answer += "\n\n[Not everything that it changed in files was kept: " + " ".join(refused) + "]"
        return Command(update={**update, "messages": [ToolMessage(answer, tool_call_id=tool_call_id)]})

    def _added(self, key: str, value: Any, before: Any) -> Any:
        """What of a value the parent's reducer has to be given."""
        if key in self._adding and isinstance(value, list) and isinstance(before, list):
            now, was = cast("list[Any]", value), cast("list[Any]", before)
            return now[len(was) :] if now[: len(was)] == was else now
        return cast("Any", value)


def _listener(runtime: ToolRuntime[Any, Any]) -> Callable[[Any], None] | None:
    """Who else is told of memory that a subagent writes: whoever watches this agent's stream without subgraphs."""
    streams_subgraphs = _STREAM_OF_SUBGRAPHS in (current_config() or {}).get("configurable", {})
    return None if streams_subgraphs else runtime.stream_writer


_STREAM_OF_SUBGRAPHS = "__pregel_stream"
"""What LangGraph's configuration holds while a stream with `subgraphs=True` runs."""

_MISSING = object()

_DESCRIPTION = """\
Hand a task to a subagent, which works on its own and reports once. It sees nothing of this conversation: say all that \
it has to know, and what it should give back. Call this several times at once for tasks that do not depend on each \
other. The user does not see the report.
Subagents:
{subagents}"""


class _Task(BaseModel):
    description: str = Field(description="The whole task: what to do, what is known, and what to give back.")
    subagent_type: str = Field(description="The name of the subagent.")


def _subagent(given: Subagent | Mapping[str, Any]) -> Subagent:
    if isinstance(given, Subagent):
        return given
    lacking = [key for key in ("name", "description", "runnable") if key not in given]
    if lacking:
        raise InvalidSubagentError(
            f"A subagent has no {' and no '.join(lacking)}.",
            "Give a compiled one here; create_deep_agent builds others from their specifications.",
        )
    return Subagent(given["name"], given["description"], given["runnable"])


def _mapping(state: Any) -> dict[str, Any]:
    """A state as a dictionary, whatever form its schema has."""
    if isinstance(state, Mapping):
        return dict(cast("Mapping[str, Any]", state))
    if isinstance(state, BaseModel):
        return {name: getattr(state, name) for name in type(state).model_fields}
    if dataclasses.is_dataclass(state):
        return {each.name: getattr(state, each.name) for each in dataclasses.fields(state)}
    return {}


def _same(value: Any, before: Any) -> bool:
    """Whether a subagent left a value as it was; one that compares to no clear answer was changed."""
    try:
        return value is before or (value == before) is True
    except Exception:  # noqa: BLE001 - any value may be in a state
        return False


def _answer(subagent: Subagent, result: Mapping[str, Any]) -> str:
    """What the parent is told."""
    structured = result.get("structured_response")
    if structured is not None:
        if isinstance(structured, BaseModel):
            return structured.model_dump_json()
        plain = dataclasses.asdict(structured) if dataclasses.is_dataclass(structured) else structured  # pyright: ignore[reportArgumentType]
        return json.dumps(plain, ensure_ascii=False, default=str)
    if "messages" not in result:
        raise ToolException(
            f"Error: the subagent {subagent.name} gave no messages, so its result is unknown. Its graph needs a state "
            "with messages."
        )
    for message in reversed(result["messages"]):
        if isinstance(message, AIMessage) and message.text.strip():
            return message.text.rstrip()
    return f"[{subagent.name} ended without saying anything.]"


def _forms(schemas: Sequence[type[Any]]) -> dict[str, Any]:
    """The keys of states with their annotations, the later schema before the earlier."""
    found: dict[str, Any] = {}
    for schema in schemas:
        found.update(get_type_hints(schema, include_extras=True))
    return found


def _marks(annotation: Any, mark: Any) -> bool:
    """Whether an annotation carries a mark, at whatever depth."""
    if get_origin(annotation) is Annotated:
        return any(each is mark or each == mark for each in get_args(annotation)[1:])
    return any(_marks(part, mark) for part in get_args(annotation))
