"""What the running graph knows: its runtime, its thread, the tool call at hand. All of it is absent outside one."""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from collections.abc import Container, Generator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from threading import Lock
from types import SimpleNamespace
from typing import Any, cast

from memoranda.backends.origins import Origins
from memoranda.backends.protocol import ApprovalRequest, Base
from memoranda.backends.seen_map import Moment, SeenMap, Viewer
from memoranda.store.changes import Author, current_author


@dataclass
class ToolCall:
    """The tool call that runs at present, as the middleware around it knows it.

    Args:
        id: The call's id, for the history.
        seen: Which state of which file this thread has seen last, from the thread's private state; changed in place.
        approvals: Changes that the guard held back for a person during this call.
        untrusted: Whether something of untrusted origin is in the context that led to this call.
        origins: What that context, and the call itself, came across; changed in place.
        message: The message of the model that this call belongs to, unique among all threads.
        agent_run: Which run of an agent made it, as `inside_tool_call` finds.
    """

    id: str | None = None
    seen: MutableMapping[str, list[Any]] = field(default_factory=dict[str, "list[Any]"])
    approvals: list[ApprovalRequest] = field(default_factory=list[ApprovalRequest])
    untrusted: bool = False
    origins: Origins = field(default_factory=Origins)
    message: str | None = None
    agent_run: str | None = None


_tool_call: ContextVar[ToolCall | None] = ContextVar("memoranda_tool_call", default=None)


def current_tool_call() -> ToolCall | None:
    """The tool call that runs at present; None outside one, or without our middleware around it."""
    return _tool_call.get()


@contextmanager
def inside_tool_call(call: ToolCall) -> Generator[ToolCall]:
    """Say which tool call runs inside the block."""
    if call.agent_run is None:
        call.agent_run = agent_run()
    token = _tool_call.set(call)
    try:
        yield call
    finally:
        _tool_call.reset(token)


def current_config() -> Mapping[str, Any] | None:
    """The configuration of the graph that runs at present; None outside one."""
    config = sys.modules.get("langgraph.config")  # where it was never imported, no graph runs
    if config is None:
        return None
    try:
        return cast("Mapping[str, Any]", config.get_config())
    except RuntimeError:
        return None


def current_runtime() -> Any | None:
    """LangGraph's `Runtime` of the graph that runs at present, or what `acting_for` says; None outside both."""
    config = current_config()
    runtime = None if config is None else config.get("configurable", {}).get("__pregel_runtime")
    acting = _acting.get()
    return runtime if acting is None else replace(acting, runtime=runtime)


class ActingContext(dict[str, Any]):
    """A context whose fields can be read as items and as attributes, as functions of the runtime do either."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(frozen=True)
class ActingRuntime:
    """The runtime within `acting_for`: it names whom somebody acts for, and for the rest is that of the graph."""

    context: ActingContext
    server_info: Any
    given_store: Any = None
    runtime: Any = None

    @property
    def store(self) -> Any:
        """The store that was given, or that of the graph."""
        return getattr(self.runtime, "store", None) if self.given_store is None else self.given_store

    def __getattr__(self, name: str) -> Any:
        return getattr(self.runtime, name)


_acting: ContextVar[ActingRuntime | None] = ContextVar("memoranda_acting_for", default=None)


@contextmanager
def acting_for(
    *,
    user_id: str | None = None,
    org_id: str | None = None,
    assistant_id: str | None = None,
    store: Any = None,
    **more: Any,
) -> Generator[None]:
    """Let scopes and namespace functions inside the block name these people, whatever graph runs there.

    It is for code that works on behalf of somebody, such as a consolidator or a script. Whoever is not named is
    nobody: a scope that needs them says so, and never takes those of the graph around.

    Args:
        user_id: The user, for `by_user`.
        org_id: The organisation, for `by_org`.
        assistant_id: The assistant, for `by_assistant`.
        store: The store of backends that were given none; None: that of the graph.
        **more: Further fields of the context.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.backends import StoreBackend, by_user
        >>> with open_store("memory://") as store, acting_for(user_id="ann"):
        ...     _ = StoreBackend(namespace=by_user, store=store).write("/tea.md", "green")
        ...     store.get(("ann",), "/tea.md").value["content"]
        'green'
    """
    named = {"user_id": user_id, "org_id": org_id, "assistant_id": assistant_id}
    given = {name: value for name, value in named.items() if value is not None}
    user = None if user_id is None else SimpleNamespace(identity=user_id, org_id=org_id)
    info = SimpleNamespace(user=user, assistant_id=assistant_id)
    token = _acting.set(ActingRuntime(ActingContext(given | more), info, store))
    try:
        yield
    finally:
        _acting.reset(token)


def read_channel(name: str) -> Any:
    """The present value of a state channel of the running graph, this step's own writes included; None without one."""
    config = current_config()
    read = None if config is None else config.get("configurable", {}).get("__pregel_read")
    if read is None:
        return None
    try:
        return read(name, True)
    except KeyError:  # the graph has no such channel
        return None


def in_graph() -> bool:
    """Whether a graph runs at present."""
    return current_config() is not None


def current_thread() -> str | None:
    """The id of the thread that runs at present."""
    config = current_config()
    thread = None if config is None else config.get("configurable", {}).get("thread_id")
    return None if thread is None else str(thread)


def agent_name() -> str | None:
    """The name of the agent that runs at present, as `create_agent(name=…)` gave it."""
    config = current_config()
    if config is None:
        return None
    metadata: Mapping[str, Any] = config.get("metadata") or {}
    return metadata.get("lc_agent_name")


def running_author() -> Author:
    """Who makes a change now: what `acting_as` says, and for the rest the running agent, thread, run and tool call."""
    said = current_author()
    config = current_config()
    if config is None:
        return said
    info = getattr(current_runtime(), "execution_info", None)
    run = getattr(info, "run_id", None) or config.get("run_id")
    call = current_tool_call()
    return Author(
        actor=said.actor or f"agent:{agent_name() or 'agent'}",
        thread_id=said.thread_id or current_thread(),
        run_id=said.run_id or (str(run) if run else None),
        tool_call_id=said.tool_call_id or (call.id if call else None),
        reason=said.reason,
    )


# --- which state of a file a thread has seen ------------------------------------------------------------------

_process = SeenMap()


def agent_run() -> str:
    """Which run of an agent this is, inside the thread: a subagent's is another one than its parent's."""
    config = current_config() or {}
    return str(config.get("configurable", {}).get("checkpoint_ns") or "").rpartition("|")[0]


def _viewer() -> Viewer | None:
    thread = current_thread()
    return None if thread is None else Viewer(thread, agent_run())


def _moment() -> Moment | None:
    """Where in the checkpoints of its thread this run is; None inside a subagent, or where none are kept."""
    config = current_config() or {}
    configurable: Mapping[str, Any] = config.get("configurable", {})
    if configurable.get("__pregel_checkpointer") is None or agent_run():
        return None
    metadata: Mapping[str, Any] = config.get("metadata") or {}
    checkpoints: Mapping[str, Any] = configurable.get("checkpoint_map") or {}
    step, checkpoint = metadata.get("langgraph_step"), checkpoints.get("")
    origin = metadata.get("checkpoint_id")
    if not isinstance(step, int) or not isinstance(checkpoint, str):
        return None
    return Moment(step, checkpoint, origin if isinstance(origin, str) else None)


def _own_call() -> ToolCall | None:
    """The tool call at hand, unless this is a subagent that runs inside it, which has a view of its own."""
    call = current_tool_call()
    return call if call is not None and call.agent_run == agent_run() else None


def saw(file: str, base: Base | None, *, with_state: bool = False) -> None:
    """Note that this thread has seen the whole of a file now.

    It goes into the thread's private state where our middleware keeps one, and also into a map of this process.

    Args:
        file: What identifies the file, in whatever backend it lies.
        base: Its state; None for one that is gone.
        with_state: The file itself lies in the thread's state, so the note is kept there only: branches that run side
            by side have each their own view, and a thread that begins anew has a new one.
    """
    notes = _withheld.get()
    if notes is not None:
        notes.add(file, base or 0, with_state)
        return
    call, viewer = _own_call(), _viewer()
    if call is not None:
        call.seen[file] = [base or 0, time.time()]
        _siblings.note(call.message, file, base or 0)
    if viewer is not None and not with_state:
        _process.note(viewer, file, base or 0, _moment())


def last_seen(file: str, *, with_state: bool = False, or_elsewhere: bool = False) -> Base | None:
    """Which state of a file this thread saw last; None where it never did, or outside a graph.

    Inside a tool call that is what the model had seen when it made the call, and what this very call saw since: a
    read in the same message came too late for what the model wrote.

    Args:
        file: What identifies the file.
        with_state: As in `saw`.
        or_elsewhere: Where the thread's state says nothing, take what this process knows. For a change that would else
            be based on nothing.
    """
    notes = _withheld.get()
    if notes is not None and file in notes.seen:
        return notes.seen[file][0]
    call, viewer = _own_call(), _viewer()
    if call is not None and file in call.seen:
        return call.seen[file][0]
    if with_state or viewer is None or (call is not None and not or_elsewhere):
        return None
    return _process.find(viewer, file, _moment())


def knows(file: str, base: Base | None, *, with_state: bool = False) -> bool:
    """Whether, after the tool calls of this message, the model will have seen this state of a file.

    Args:
        file: What identifies the file.
        base: Its state; None or 0: it does not exist, so there is nothing to see.
        with_state: As in `saw`.
    """
    if not base or last_seen(file, with_state=with_state) == base:
        return True
    call = _own_call()
    return call is not None and _siblings.find(call.message, file) == base


def forget(file: str) -> None:
    """Take back the note of which state of a file this thread saw."""
    call, viewer = _own_call(), _viewer()
    if call is not None:
        call.seen.pop(file, None)
    if viewer is not None:
        _process.forget(viewer, file)


class _Siblings:
    """What the tool calls of one message have seen, each on its own; of the latest messages of this process."""

    def __init__(self) -> None:
        self._notes: OrderedDict[str, dict[str, Base]] = OrderedDict()
        self._lock = Lock()

    def note(self, message: str | None, file: str, base: Base) -> None:
        if message is not None:
            with self._lock:
                self._notes.setdefault(message, {})[file] = base
                if len(self._notes) > _MESSAGES:
                    self._notes.popitem(last=False)

    def find(self, message: str | None, file: str) -> Base | None:
        with self._lock:
            return None if message is None else self._notes.get(message, {}).get(file)


_MESSAGES = 1_000
_siblings = _Siblings()


class Notes:
    """What was seen while nothing was to be noted, to be noted after all or not."""

    def __init__(self) -> None:
        self.seen: dict[str, tuple[Base, bool]] = {}
        self.before: dict[str, Base | None] = {}
        self.is_known: dict[str, bool] = {}

    def add(self, file: str, base: Base, with_state: bool) -> None:
        """Take down a file and its state, and the state in which the thread saw it before."""
        if file not in self.before:
            self.before[file] = last_seen(file, with_state=with_state)
            self.is_known[file] = knows(file, base, with_state=with_state)
        self.seen[file] = (base, with_state)

    def keep(self, *, without: Container[str] = ()) -> None:
        """Let the thread have seen it after all."""
        for file, (base, with_state) in self.seen.items():
            if file not in without:
                saw(file, base, with_state=with_state)


_withheld: ContextVar[Notes | None] = ContextVar("memoranda_withheld_notes", default=None)


@contextmanager
def unnoticed() -> Generator[Notes]:
    """Let nothing that happens inside the block count as seen by the thread, unless the notes are kept afterwards."""
    token = _withheld.set(notes := Notes())
    try:
        yield notes
    finally:
        _withheld.reset(token)
