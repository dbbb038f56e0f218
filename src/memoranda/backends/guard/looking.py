"""The state of a file as it is, without the thread taking note of having seen it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from memoranda.backends.base import Backend
from memoranda.backends.places import Place
from memoranda.backends.protocol import FILE_NOT_FOUND, IS_DIRECTORY, Base
from memoranda.backends.runtime import unnoticed
from memoranda.backends.steps import Steps


def _nothing() -> None:
    """Nothing was seen."""


@dataclass(frozen=True, slots=True)
class State:
    """A file as it was when the guard looked.

    Args:
        content: Text, or bytes that are no text; None: it does not exist.
        base: Its state; 0: it does not exist; None: the backend knows no states.
        seen: The state that the thread saw last; None: it never did, or it is not known.
        is_folder: Whether a folder is there instead.
        problem: Why nothing is known about it.
        is_known: Whether the thread has seen just this state, or will have after the tool calls of this message.
        note: Lets the thread take note of having seen it after all.
    """

    content: str | bytes | None = None
    base: Base | None = 0
    seen: Base | None = None
    is_folder: bool = False
    problem: str | None = None
    is_known: bool = True
    note: Callable[[], None] = field(default=_nothing, compare=False, repr=False)

    def is_same(self, other: State) -> bool:
        """Whether the file has not changed between two looks."""
        return self.base == other.base and self.content == other.content


def text_or_bytes(content: str | bytes) -> str | bytes:
    """Bytes that are UTF-8 as text, which is how they would be stored."""
    if isinstance(content, str):
        return content
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content


def look(inner: Backend, place: Place) -> Steps[State]:
    """The present state of a file."""
    with unnoticed() as notes:
        (found,) = yield from inner.download_steps([place])
    seen = next(iter(notes.before.values()), None) if len(notes.before) == 1 else None
    if found.content is not None:
        is_known = bool(notes.is_known) and all(notes.is_known.values())
        return State(text_or_bytes(found.content), found.revision, seen, is_known=is_known, note=notes.keep)
    if found.error == FILE_NOT_FOUND:
        return State()
    if found.error == IS_DIRECTORY:
        return State(is_folder=True)
    return State(base=None, problem=found.error or "Error: the file cannot be read, so the change cannot be checked.")


def files_below(inner: Backend, place: Place) -> Steps[list[Place]]:
    """Every file below a folder, dot names and all; the place itself if it is a file."""
    found: list[Place] = []
    itself = yield from look(inner, place) if place.path != "/" else _no_file()
    if itself.content is not None or itself.problem is not None:
        found.append(place)
    folders, walked = [place], {place.path}
    while folders:
        folder = folders.pop()
        listed = yield from inner.ls_steps(folder)
        if listed.error is not None:
            raise ListingError(listed.error)
        for child, is_folder in _children(folder, listed.entries or ()):
            if not is_folder:
                found.append(child)
            elif child.path not in walked:
                walked.add(child.path)
                (names,) = yield from inner.names_steps([child])
                # A link to a folder is one thing of its own; what it leads to lies elsewhere.
                if len(names) > 1 and any(name not in walked and _leads_away(name, child.path) for name in names[1:]):
                    found.append(child)
                else:
                    folders.append(child)
    return list(dict.fromkeys(found))


def _leads_away(name: str, path: str) -> bool:
    return name.rpartition("/")[2] != path.rpartition("/")[2]


def _children(folder: Place, entries: Sequence[Any]) -> Generator[tuple[Place, bool]]:
    from memoranda.backends.guard.layers import place_below

    for entry in entries:
        child = place_below(folder, entry["path"])
        if child is not None and child.path != folder.path:
            yield child, bool(entry.get("is_dir")) or entry["path"].endswith("/")


def _no_file() -> Steps[State]:
    return State(is_folder=True)
    yield  # pragma: no cover - makes this a generator


class ListingError(Exception):
    """A folder could not be listed, so what lies below it is not known."""
