"""The state's files on their way to a subagent that has no guard of its parent's, and back through that guard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memoranda.backends.base import Backend
from memoranda.backends.composite import CompositeBackend
from memoranda.backends.guarded import GuardedBackend
from memoranda.backends.operations import sentence
from memoranda.backends.places import Place
from memoranda.backends.state import StateBackend
from memoranda.backends.steps import Steps, is_control_flow
from memoranda.backends.tree import changed_files, content_of, revision_of
from memoranda.errors import InvalidPathError, InvalidValueError
from memoranda.files.format import read_file_data
from memoranda.files.path import canonical_path

Files = Mapping[str, Any]


def has_a_say(guard: Backend | None) -> bool:
    """Whether a guard forbids, holds or checks anything."""
    if not isinstance(guard, GuardedBackend):
        return False
    layers = guard.guard
    return bool(layers.restrict_reading or layers.restrict_writing or layers.deciding)


def readable(guard: GuardedBackend, files: Files) -> Steps[dict[str, Any]]:
    """Those of the state's files that may be read.

    Args:
        guard: The parent's guard.
        files: Its files, by their paths in the state.
    """
    places = {key: place for key in files if (place := _place(guard, key)) is not None}
    modes = yield from guard.guard.modes("read", list(places.values()))
    return {key: files[key] for key, mode in zip(places, modes, strict=True) if mode != "deny"}


def take_back(guard: GuardedBackend, given: Files, found: Files) -> Steps[list[str]]:
    """Make a subagent's changes of the state's files, each as if the parent made it.

    Args:
        guard: The parent's guard.
        given: The files that the subagent got.
        found: The files that it ended with.

    Returns:
        A sentence about each change that was not made.
    """
    errors: list[str] = []
    for key, value in changed_files(given, found).items():
        place = _place(guard, key)
        error = (
            f"Error: {key} is no path of a file."
            if place is None
            else (yield from _made(guard, place, given, key, value))
        )
        if error is not None:
            errors.append(error.removeprefix("Error: "))
    return errors


def _made(guard: GuardedBackend, place: Place, given: Files, key: str, value: Any) -> Steps[str | None]:
    try:
        base = revision_of(read_file_data(given[key])) if key in given else 0
        if value is None:
            return (yield from guard.delete_steps(place, base)).error
        content = content_of(read_file_data({name: part for name, part in value.items() if name != "base"}))
        try:
            return (yield from guard.write_steps(place, content.decode(), base, True)).error
        except UnicodeDecodeError:
            return (yield from guard.write_steps(place, content, base, True)).error
    except InvalidValueError as error:
        return f"Error: {place.shown}: {error}"
    except Exception as error:
        if is_control_flow(error):
            raise
        return sentence(error)


def _place(guard: GuardedBackend, key: str) -> Place | None:
    """Where a file of the state lies in the tree of the guard; None for what is no path."""
    try:
        path = canonical_path(key)
    except InvalidPathError:
        return None
    inner = guard.guard.inner
    routes = inner.leaves if isinstance(inner, CompositeBackend) else ()
    prefix = next((route.prefix for route in routes if isinstance(route.backend, StateBackend)), "")
    return Place(prefix + path, prefix + path)
