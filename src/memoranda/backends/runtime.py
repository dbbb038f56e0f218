"""What the running graph knows: its runtime, its thread, the tool call at hand. All of it is absent outside one."""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from collections.abc import Generator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, cast

from memoranda.backends.origins import Origins
from memoranda.backends.protocol import ApprovalRequest, Base
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
    """

    id: str | None = None
    seen: MutableMapping[str, list[Any]] = field(default_factory=dict[str, "list[Any]"])
    approvals: list[ApprovalRequest] = field(default_factory=list[ApprovalRequest])
    untrusted: bool = False
    origins: Origins = field(default_factory=Origins)


_tool_call: ContextVar[ToolCall | None] = ContextVar("memoranda_tool_call", default=None)


def current_tool_call() -> ToolCall | None:
    """The tool call that runs at present; None outside one, or without our middleware around it."""
    return _tool_call.get()


@contextmanager
def inside_tool_call(call: ToolCall) -> Generator[ToolCall]:
    """Say which tool call runs inside the block."""
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
    """LangGraph's `Runtime` of the graph that runs at present; None outside one."""
    config = current_config()
    return None if config is None else config.get("configurable", {}).get("__pregel_runtime")


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

_REMEMBERED = 100_000
_process: OrderedDict[tuple[tuple[str, str], str], tuple[Base, float]] = OrderedDict()
_lock = Lock()


def _viewer() -> tuple[str, str] | None:
    """Who sees: the thread and, inside it, the agent. What one subagent wrote another has not seen."""
    thread = current_thread()
    if thread is None:
        return None
    config = current_config() or {}
    return thread, str(config.get("configurable", {}).get("checkpoint_ns") or "").rpartition("|")[0]


def saw(file: str, base: Base | None, *, with_state: bool = False) -> None:
    """Note which state of a file this thread has seen now.

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
    viewer = _viewer()
    call = current_tool_call()
    now = time.time()
    if call is not None:
        call.seen[file] = [base or 0, now]
    if viewer is None or with_state:
        return
    with _lock:
        _process[viewer, file] = (base or 0, now)
        _process.move_to_end((viewer, file))
        if len(_process) > _REMEMBERED:
            _process.popitem(last=False)


def last_seen(file: str, *, with_state: bool = False) -> Base | None:
    """Which state of a file this thread saw last; None where it never did, or outside a graph.

    Args:
        file: What identifies the file.
        with_state: As in `saw`.
    """
    notes = _withheld.get()
    if notes is not None and file in notes.seen:
        return notes.seen[file][0]
    viewer = _viewer()
    call = current_tool_call()
    known: list[tuple[float, Base]] = []
    if call is not None and file in call.seen:
        base, at = call.seen[file]
        known.append((at, base))
    if viewer is not None and not with_state:
        with _lock:
            found = _process.get((viewer, file))
        if found is not None:
            known.append((found[1], found[0]))
    return max(known, key=lambda pair: pair[0])[1] if known else None


def forget(file: str) -> None:
    """Take back the note of which state of a file this thread saw."""
    viewer = _viewer()
    call = current_tool_call()
    if call is not None:
        call.seen.pop(file, None)
    if viewer is not None:
        with _lock:
            _process.pop((viewer, file), None)


class Notes:
    """What was seen while nothing was to be noted, to be noted after all or not."""

    def __init__(self) -> None:
        self.seen: dict[str, tuple[Base, bool]] = {}
        self.before: dict[str, Base | None] = {}

    def add(self, file: str, base: Base, with_state: bool) -> None:
        """Take down a file and its state, and the state in which the thread saw it before."""
        if file not in self.before:
            self.before[file] = last_seen(file, with_state=with_state)
        self.seen[file] = (base, with_state)

    def keep(self) -> None:
        """Let the thread have seen it after all."""
        for file, (base, with_state) in self.seen.items():
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
