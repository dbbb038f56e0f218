"""The tools of an agent by their names, so that a setting about one that is not there is told at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

from langchain_core.tools import BaseTool

from memoranda.agents.errors import UnknownToolError


def tool_names(tools: Iterable[Any]) -> set[str]:
    """The names of tools in every form that LangChain takes them.

    Raises:
        UnknownToolError: One is no tool.
    """
    return {_name(tool) for tool in tools}


def _name(tool: Any) -> str:
    if isinstance(tool, BaseTool):
        return tool.name
    if isinstance(tool, Mapping):
        described = cast("Mapping[str, Any]", tool)
        inner = described.get("function")
        return str(described.get("name") or (inner.get("name") if isinstance(inner, Mapping) else "") or "")  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    name = getattr(tool, "name", None) or getattr(tool, "__name__", None)
    if not callable(tool) or not isinstance(name, str):
        raise UnknownToolError(
            f"{tool!r} is no tool.",
            "Pass functions or LangChain tools; the file tools are there already.",
        )
    return name


def interrupts(interrupt_on: Any) -> dict[str, Any]:
    """The setting `interrupt_on` as a dictionary.

    Raises:
        UnknownToolError: It is no mapping.
    """
    if not isinstance(interrupt_on, Mapping):
        raise UnknownToolError(
            f"interrupt_on={interrupt_on!r} is no mapping.", 'Write {"write_file": True}, or permissions for paths.'
        )
    return dict(cast("Mapping[str, Any]", interrupt_on))


def check_interrupts(interrupt_on: Mapping[str, Any] | None, tools: Iterable[Any], middleware: Sequence[Any]) -> None:
    """Refuse `interrupt_on` for tools that are not there: what should wait for a person would run.

    Args:
        interrupt_on: The setting.
        tools: The agent's own tools, and those of its subagents.
        middleware: The agent's middleware, some of which bring tools.

    Raises:
        UnknownToolError: It is no mapping, or names a tool that is not there.
    """
    if not interrupt_on:
        return
    known = tool_names(tools).union(*(tool_names(getattr(each, "tools", None) or ()) for each in middleware))
    for name in interrupt_on:
        if name in known:
            continue
        near = get_close_matches(name.replace("_", ""), [each.replace("_", "") for each in known], 1)
        meant = next((each for each in sorted(known) if near and each.replace("_", "") == near[0]), None)
        raise UnknownToolError(
            f"interrupt_on names {name!r}, and the agent has no such tool.",
            f"Did you mean {meant!r}?" if meant else f"Its tools are {', '.join(sorted(known))}.",
        )
