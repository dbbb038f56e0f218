"""Middleware for any agent of LangChain's `create_agent`; each works alone."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoranda.agents.middleware.approval import ApprovalMiddleware as ApprovalMiddleware
    from memoranda.agents.middleware.files import FilesMiddleware as FilesMiddleware
    from memoranda.agents.middleware.memory import MemoryMiddleware as MemoryMiddleware
    from memoranda.agents.middleware.skills import SkillsMiddleware as SkillsMiddleware

_EXPORTS = {
    "approval": ["ApprovalMiddleware"],
    "files": ["FilesMiddleware"],
    "memory": ["MemoryMiddleware"],
    "skills": ["SkillsMiddleware"],
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
