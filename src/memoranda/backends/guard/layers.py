"""The rules and hooks in force: those of a guard and of every guard that it narrows."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from memoranda.backends.base import Backend
from memoranda.backends.hooks.events import Observer
from memoranda.backends.permissions import (
    FilesystemPermission,
    InvalidPermissionError,
    Mode,
    Operation,
    Rules,
    permissions_of,
    strictest,
)
from memoranda.backends.places import Place
from memoranda.backends.steps import Steps
from memoranda.errors import InvalidPathError
from memoranda.files.path import canonical_path

_READY: Final = "memoranda.backends.hooks."
"""Where the ready hooks are made."""


class Layer(NamedTuple):
    """One guard's rules and hooks."""

    rules: Rules
    hooks: tuple[Any, ...]


def layer_of(permissions: Iterable[Any] | None, hooks: Iterable[Any] | None) -> Layer:
    """The layer of what a guard was given.

    Raises:
        InvalidPermissionError: A permission is none, a hook can neither decide nor take note, or one stands alone
            where a list belongs.
    """
    rules = Rules(permissions_of(_listed("permissions", permissions, "FilesystemPermission(…)")))
    listed = _listed("hooks", hooks, "secrets()")
    for hook in listed:
        _check_hook(hook)
    return Layer(rules, listed)


def _listed(name: str, given: Any, example: str) -> tuple[Any, ...]:
    """Permissions or hooks as a tuple."""
    if given is None:
        return ()
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise InvalidPermissionError(f"{name}={given!r} is no list.", f"Write {name}=[{example}].")
    return tuple(cast("Iterable[Any]", given))


def _check_hook(hook: Any) -> None:
    """Refuse what is no hook, above all what makes one and was not called."""
    name = getattr(hook, "__name__", "") or repr(hook)
    if inspect.isclass(hook) or (inspect.isfunction(hook) and hook.__module__.startswith(_READY)):
        raise InvalidPermissionError(f"{name} makes a hook and is none.", f"Call it: hooks=[{name}(…)].")
    if isinstance(hook, Observer):
        return
    if not callable(hook):
        raise InvalidPermissionError(
            f"{hook!r} is no hook.", "Pass a function of a WriteEvent, or an object with after_write()."
        )
    try:
        signature = inspect.signature(hook)
    except (TypeError, ValueError):  # something that does not say what it takes
        return
    try:
        signature.bind(None)
    except TypeError as error:
        raise InvalidPermissionError(
            f"The hook {name} cannot be called with a WriteEvent alone: {error}.",
            "Give it one parameter; if it makes a hook, call it.",
        ) from error


class Layers:
    """Guards on top of each other; each can only narrow what those before it allow.

    Args:
        inner: The files that they guard.
        layers: The outermost, which narrows the others, last.
    """

    def __init__(self, inner: Backend, layers: Sequence[Layer]) -> None:
        self.inner = inner
        self.layers = tuple(layers)
        self.permissions: tuple[FilesystemPermission, ...] = tuple(
            rule for layer in layers for rule in layer.rules.permissions
        )
        hooks = [hook for layer in layers for hook in layer.hooks]
        self.deciding = tuple(hook for hook in hooks if callable(hook))
        self.observing = tuple(hook for hook in hooks if isinstance(hook, Observer))
        self.restrict_reading = any(layer.rules.restrict("read") for layer in layers)
        self.restrict_writing = any(layer.rules.restrict("write") for layer in layers)

    def mode(self, operation: Operation, names: Iterable[str]) -> Mode:
        """The strictest decision of every layer about every name of a file."""
        found = list(names)
        return strictest(layer.rules.mode(operation, name) for layer in self.layers for name in found)

    def names(self, places: Sequence[Place]) -> Steps[list[tuple[str, ...]]]:
        """Every name of each place, its own first."""
        if not places:
            return []
        known = yield from self.inner.names_steps(places)
        return [tuple(dict.fromkeys((place.path, *names))) for place, names in zip(places, known, strict=True)]

    def modes(self, operation: Operation, places: Sequence[Place]) -> Steps[list[Mode]]:
        """What applies to each place."""
        if not (self.restrict_reading if operation == "read" else self.restrict_writing):
            return ["allow"] * len(places)
        known = yield from self.names(places)
        return [self.mode(operation, names) for names in known]

    def mode_of(self, operation: Operation, place: Place) -> Steps[Mode]:
        """What applies to one place."""
        (mode,) = yield from self.modes(operation, [place])
        return mode


def place_below(place: Place, shown: str) -> Place | None:
    """The place of a path that a result shows, at or below the place that was asked; None if it is no path there.

    A store may hold keys that were never made canonical; rules are about the one name that a path has.
    """
    try:
        canonical = canonical_path(shown)
    except InvalidPathError:
        return None
    if place.shown == "/":
        return Place(place.path if canonical == "/" else place.path.rstrip("/") + canonical, canonical)
    if canonical != place.shown and not canonical.startswith(place.shown + "/"):
        return None
    rest = canonical[len(place.shown) :]
    return Place((place.path if place.path != "/" else "") + rest or "/", canonical)
