"""Which method of a foreign object to call, so that the rules somebody wrote into it hold."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal, cast

from memoranda.backends.base import PAIRS, Backend, definer

Mode = Literal["both", "blocking", "async", "missing"]

_LEANS_ON: Mapping[str, tuple[str, ...]] = {
    "append": ("write", "edit"),
    "upload_files": ("write",),
    "download_files": ("read",),
    "search": ("ls", "read", "download_files"),
    "restore": ("write",),
    "at": ("read",),
    "move": ("write", "delete", "read"),
    "commit": ("write", "edit", "append", "delete", "move"),
}
"""A rule in one of these methods also holds for what can do the same by another way."""


def is_overridden(backend: Backend, name: str) -> bool:
    """Whether an operation's public methods, blocking or async, are not those of `Backend`."""
    own: Mapping[str, Any] = vars(backend)
    return any(
        method in own or getattr(type(backend), method) is not getattr(Backend, method) for method in (name, "a" + name)
    )


def spoken_in_public(backend: Any) -> frozenset[str]:
    """The operations that have to go through the public methods, because those carry rules of their own."""
    if not isinstance(backend, Backend):
        return frozenset(PAIRS)
    found = {name for name in PAIRS if is_overridden(backend, name)}
    return frozenset(found | {name for name, others in _LEANS_ON.items() if not found.isdisjoint(others)})


def mode_of(backend: Any, name: str) -> Mode:
    """Which form of a method carries the backend's own rules.

    Where a subclass overrides only one of the two, the other is its parent's, which knows nothing of the rule.
    """
    own = cast("Mapping[str, Any]", getattr(backend, "__dict__", {}))
    if name in own and "a" + name in own:
        return "both" if hasattr(own[name], "__self__") else "blocking"
    if name in own or "a" + name in own:
        return "blocking" if name in own else "async"
    return _mode(cast("type[Any]", type(backend)), name)


@lru_cache(maxsize=1024)
def _mode(kind: type, name: str) -> Mode:
    blocking, twin = definer(kind, name), definer(kind, "a" + name)
    if blocking is None or twin is None:
        return "missing" if blocking is twin else "async" if blocking is None else "blocking"
    order = kind.__mro__.index
    if blocking is twin:
        return "both"
    return "blocking" if order(blocking) < order(twin) else "async"


@lru_cache(maxsize=1024)
def takes(kind: type, name: str, argument: str) -> bool:
    """Whether a method has a parameter of this name; for ours also whether it hands on what it does not know."""
    method: Callable[..., Any] | None = getattr(kind, name, None) or getattr(kind, "a" + name, None)
    try:
        parameters = inspect.signature(cast("Any", method)).parameters
    except (TypeError, ValueError):
        return False
    loosely = issubclass(kind, Backend) and any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return argument in parameters or loosely
