"""Agents that remember: `create_deep_agent`, and its parts for any agent of LangChain's.

Room by room: `factory` builds the agent, `tools` are the file tools over one backend, `state` is what a thread keeps,
`budget` cuts what is too long for a model, and `middleware` holds the parts that work alone. Needs the extra `agents`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from memoranda.agents.errors import MissingPackageError

for _package in ("langchain", "yaml"):
    if find_spec(_package) is None:
        raise MissingPackageError(
            f"Agents need the package {_package}, which is not installed.", 'pip install "memoranda[agents]"'
        )

if TYPE_CHECKING:
    from memoranda.agents.errors import InvalidSubagentError as InvalidSubagentError
    from memoranda.agents.errors import UnknownModelError as UnknownModelError
    from memoranda.agents.errors import UnknownToolError as UnknownToolError
    from memoranda.agents.factory import create_deep_agent as create_deep_agent
    from memoranda.agents.summary import FileSummary as FileSummary
    from memoranda.agents.summary import MemorySummary as MemorySummary
    from memoranda.agents.summary import amemory_summary as amemory_summary
    from memoranda.agents.summary import memory_summary as memory_summary
    from memoranda.agents.tools import file_tools as file_tools

_EXPORTS = {
    "errors": ["InvalidSubagentError", "MissingPackageError", "UnknownModelError", "UnknownToolError"],
    "factory": ["create_deep_agent"],
    "summary": ["FileSummary", "MemorySummary", "amemory_summary", "memory_summary"],
    "tools": ["file_tools"],
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
