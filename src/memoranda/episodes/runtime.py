"""Whose conversation a run is part of, and where that is recorded: from the runtime alone, never from a model."""

from __future__ import annotations

from typing import Any, Final

from memoranda.backends.runtime import agent_name, current_config, current_thread
from memoranda.backends.scopes import Scope, ScopeError, bound_assistant, by_org, by_user
from memoranda.errors import InvalidValueError
from memoranda.store.operations.turn_writing import Circumstances
from memoranda.store.store import MemoryStore

_TOOLS_NODE: Final = "tools"


def store_of(runtime: Any, store: Any = None) -> MemoryStore:
    """The store that conversations are recorded in.

    Args:
        runtime: LangGraph's runtime.
        store: The one that was given; None takes that of the graph.

    Raises:
        InvalidValueError: There is none that can record conversations.
    """
    found = getattr(runtime, "store", None) if store is None else store
    if isinstance(found, MemoryStore):
        return found
    what = "The graph has no store" if found is None else f"{type(found).__name__} cannot record conversations"
    raise InvalidValueError(f"{what}.", "Pass store=open_store(…) to the agent, or to the recorder and the tool.")


def circumstances(runtime: Any) -> Circumstances:
    """Who talks in this run, as far as the runtime says."""
    info = getattr(runtime, "execution_info", None)
    run = getattr(info, "run_id", None) or (current_config() or {}).get("run_id")
    return Circumstances(
        user=_label(by_user, runtime),
        org=_label(by_org, runtime),
        agent=bound_assistant() or agent_name(),
        run_id=str(run) if run else None,
    )


def _label(scope: Scope, runtime: Any) -> str | None:
    try:
        return scope.resolve(runtime)[0]
    except ScopeError:
        return None


def running_thread() -> str | None:
    """The conversation that runs; None without one, and inside a tool, where a subagent talks with its agent."""
    config = current_config() or {}
    namespace = str(config.get("configurable", {}).get("checkpoint_ns") or "")
    if any(step.partition(":")[0] == _TOOLS_NODE for step in namespace.split("|")[:-1]):
        return None
    return current_thread()


def ids_last() -> bool:
    """Whether messages keep their ids from run to run: where a checkpointer keeps the messages."""
    config = current_config() or {}
    return config.get("configurable", {}).get("__pregel_checkpointer") is not None
