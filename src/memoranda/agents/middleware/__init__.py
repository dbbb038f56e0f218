"""Middleware for any agent of LangChain's `create_agent`; each works alone."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoranda.agents.middleware.approval import ApprovalContextError as ApprovalContextError
    from memoranda.agents.middleware.approval import ApprovalMiddleware as ApprovalMiddleware
    from memoranda.agents.middleware.approval_decisions import InvalidDecisionError as InvalidDecisionError
    from memoranda.agents.middleware.files import FilesMiddleware as FilesMiddleware
    from memoranda.agents.middleware.memory import MemoryMiddleware as MemoryMiddleware
    from memoranda.agents.middleware.patching import PatchToolCallsMiddleware as PatchToolCallsMiddleware
    from memoranda.agents.middleware.short_term import delete_old_messages as delete_old_messages
    from memoranda.agents.middleware.short_term import summarization as summarization
    from memoranda.agents.middleware.short_term import trim_messages_before_model as trim_messages_before_model
    from memoranda.agents.middleware.skills import SkillsMiddleware as SkillsMiddleware
    from memoranda.agents.middleware.subagents import Subagent as Subagent
    from memoranda.agents.middleware.subagents import SubagentsMiddleware as SubagentsMiddleware
    from memoranda.agents.middleware.tool_calls import ToolCallMiddleware as ToolCallMiddleware

_EXPORTS = {
    "approval": ["ApprovalContextError", "ApprovalMiddleware"],
    "approval_decisions": ["InvalidDecisionError"],
    "files": ["FilesMiddleware"],
    "memory": ["MemoryMiddleware"],
    "patching": ["PatchToolCallsMiddleware"],
    "short_term": ["delete_old_messages", "summarization", "trim_messages_before_model"],
    "skills": ["SkillsMiddleware"],
    "subagents": ["Subagent", "SubagentsMiddleware"],
    "tool_calls": ["ToolCallMiddleware"],
}
_HOME = {name: module for module, names in _EXPORTS.items() for name in names}

__all__ = [*_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
