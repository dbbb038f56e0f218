"""Who signs what a tool changes: agent, thread, run and tool call, also where a tool uses the store itself."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, cast
from uuid import uuid4

from langchain.agents.middleware.types import ToolCallRequest

from memoranda.backends.runtime import agent_name, current_config, current_runtime, current_thread
from memoranda.store.changes import Author, acting_as, current_author

RUN_KEY = "agent_run_id"
"""The private state key that names a run where the caller gave it no id."""


class _Signing(NamedTuple):
    """What the tool call around this one signs with.

    Args:
        said: What the application itself said with `acting_as`, before any agent ran.
        run_id: The run.
    """

    said: Author
    run_id: str | None


_around: ContextVar[_Signing | None] = ContextVar("memoranda_signing", default=None)


def signed(request: ToolCallRequest) -> AbstractContextManager[None]:
    """Sign every change inside the block with the tool call that makes it."""
    return signed_by(request.tool_call["id"], request.state)


@contextmanager
def signed_by(tool_call_id: str | None, state: Any, reason: str | None = None) -> Generator[None]:
    """Sign every change inside the block with a tool call of the agent that runs.

    In a subagent its own name and call take the place of its parent's, the run stays the same.

    Args:
        tool_call_id: The tool call.
        state: The state of the agent that runs.
        reason: Why the changes are made; None: as the application says.
    """
    around = _around.get()
    said = current_author() if around is None else around.said
    run_id = (around and around.run_id) or run_of_caller() or _run_in_state(state)
    author = Author(
        actor=said.actor or f"agent:{agent_name() or 'agent'}",
        thread_id=said.thread_id or current_thread(),
        run_id=said.run_id or run_id,
        tool_call_id=tool_call_id or said.tool_call_id,
        reason=reason or said.reason,
    )
    token = _around.set(_Signing(said, run_id))
    try:
        with acting_as(author):
            yield
    finally:
        _around.reset(token)


def run_update() -> dict[str, Any] | None:
    """A name for the run that begins, as an update of the state; None if it has one already."""
    around = _around.get()
    if (around and around.run_id) or run_of_caller():
        return None
    return {RUN_KEY: str(uuid4())}


def run_of_caller() -> str | None:
    """The id that the caller or the server gave the run."""
    info = getattr(current_runtime(), "execution_info", None)
    found = getattr(info, "run_id", None) or (current_config() or {}).get("run_id")
    return str(found) if found else None


def _run_in_state(state: Any) -> str | None:
    return cast("Mapping[str, Any]", state).get(RUN_KEY) if isinstance(state, Mapping) else None
