"""Subagents from their specifications, with everything that their parent has but its subagents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from memoranda.agents.compiling import compiled
from memoranda.agents.errors import InvalidSubagentError
from memoranda.agents.middleware.subagents import Subagent
from memoranda.agents.models import chat_model
from memoranda.agents.stack import AnyMiddleware, Stack
from memoranda.agents.tool_names import check_interrupts, tool_names

GENERAL_PURPOSE: Final = "general-purpose"
"""The name of the subagent that is there by default."""

_GENERAL_DESCRIPTION = (
    "Does any self-contained part of the work, such as a search with many steps, with the same tools as you, and "
    "reports what came of it."
)

_PROMPT = (
    "You are given one task by another agent. It sees nothing of your work but your last message, so put the whole "
    "result there, with the paths of the files that you wrote."
)

_REMEDY = 'Write subagents=[{"name": "…", "description": "…"}].'

_KEYS = frozenset(
    [
        "name",
        "description",
        "system_prompt",
        "tools",
        "model",
        "middleware",
        "permissions",
        "skills",
        "interrupt_on",
        "response_format",
        "mode",
    ]
)


def built(
    specs: Sequence[Mapping[str, Any]],
    parent: Stack,
    tools: Sequence[Any],
    middleware: Sequence[AnyMiddleware],
    state_schema: type[Any] | None,
) -> list[Subagent]:
    """The subagents of an agent, the general one included.

    Args:
        specs: Their specifications; see `create_deep_agent`.
        parent: What the parent's middleware is made from.
        tools: The parent's own tools.
        middleware: The parent's own middleware; the general subagent takes over what replaces a part of ours.
        state_schema: The parent's form of the state.

    Raises:
        InvalidSubagentError: A specification lacks its name or description, or has keys that nobody reads.
    """
    found: list[Subagent] = []
    if not isinstance(specs, Sequence) or isinstance(specs, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidSubagentError(f"subagents={specs!r} is no list.", _REMEDY)
    for spec in specs:
        _check(spec, {subagent.name for subagent in found})
        if "runnable" in spec:
            found.append(Subagent(spec["name"], spec["description"], _named(spec["runnable"], spec["name"])))
        else:
            found.append(_of_spec(spec, parent, tools, spec.get("middleware") or (), state_schema))
    if not any(subagent.name == GENERAL_PURPOSE for subagent in found):
        spec = {"name": GENERAL_PURPOSE, "description": _GENERAL_DESCRIPTION, "skills": parent.skills}
        ours = {each.name for each in parent.middleware((), lambda _: None)}
        replacing = [each for each in middleware if each.name in ours]
        found.insert(0, _of_spec(spec, parent, tools, replacing, state_schema))
    return found


def _of_spec(
    spec: Mapping[str, Any],
    parent: Stack,
    tools: Sequence[Any],
    middleware: Sequence[AnyMiddleware],
    state_schema: type[Any] | None,
) -> Subagent:
    model = chat_model(spec["model"]) if spec.get("model") is not None else parent.model
    stack = replace(
        parent,
        model=model,
        fence=parent.fence.narrowed(spec.get("permissions")),
        skills=spec.get("skills"),
        interrupt_on=spec.get("interrupt_on", parent.interrupt_on),
    )
    own_tools = list(tools if spec.get("tools") is None else spec["tools"])
    stacked = stack.middleware(middleware, lambda _: None)
    check_interrupts(spec.get("interrupt_on"), own_tools, stacked)
    tool_names(own_tools)
    runnable = compiled(
        model,
        own_tools,
        system_prompt=spec.get("system_prompt") or _PROMPT,
        middleware=stacked,
        response_format=spec.get("response_format"),
        state_schema=state_schema,
        name=spec["name"],
    )
    return Subagent(spec["name"], spec["description"], runnable, is_fenced=True)


def _named(runnable: Any, name: str) -> Any:
    """A compiled agent with a name for the history, unless it has one of its own."""
    config: dict[str, Any] = getattr(runnable, "config", None) or {}
    own: Any = config.get("metadata", {}).get("lc_agent_name")
    return runnable.with_config({"metadata": {"lc_agent_name": name}}) if own is None else runnable


def _check(spec: Mapping[str, Any], names: set[str]) -> None:
    if not isinstance(spec, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidSubagentError(f"{spec!r} is no specification of a subagent.", _REMEDY)
    name = spec.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidSubagentError(f"A subagent has no name: {dict(spec)!r}.", 'Give it {"name": …, "description": …}.')
    if not isinstance(spec.get("description"), str):
        raise InvalidSubagentError(
            f"The subagent {name!r} has no description.", "Say in it what the subagent does; the model chooses by it."
        )
    if name in names:
        raise InvalidSubagentError(f"Two subagents are named {name!r}.", "Give each a name of its own.")
    if spec.get("mode", "isolated") != "isolated":
        raise InvalidSubagentError(
            f"The subagent {name!r} has the mode {spec['mode']!r}.",
            'Leave it out: every subagent is "isolated" and gets what it has to know in the description of its task.',
        )
    unknown = sorted(spec.keys() - _KEYS) if "runnable" not in spec else []
    if unknown:
        raise InvalidSubagentError(
            f"The subagent {name!r} has {', '.join(map(repr, unknown))}, which nobody reads.",
            f"The keys are {', '.join(sorted(_KEYS))}, or runnable with name and description.",
        )
