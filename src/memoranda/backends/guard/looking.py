"""The state of a file as it is, without the thread taking note of having seen it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from memoranda.backends import runtime
from memoranda.backends.base import Backend
from memoranda.backends.places import Place
from memoranda.backends.protocol import FILE_NOT_FOUND, IS_DIRECTORY, Base
from memoranda.backends.runtime import ToolCall, current_thread, current_tool_call, inside_tool_call, last_seen
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
        note: Lets the thread take note of having seen it after all.
    """

    content: str | bytes | None = None
    base: Base | None = 0
    seen: Base | None = None
    is_folder: bool = False
    problem: str | None = None
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


class _Notes(dict[str, "list[Any]"]):
    """Stands in for a thread's notes: what is noted meanwhile is kept apart from what was known before."""

    def __init__(self, around: ToolCall | None) -> None:
        super().__init__(around.seen if around is not None else ())
        self.around = around
        self.before: dict[str, Base | None] = {}
        self.after: dict[str, Base] = {}
        self.process: dict[str, tuple[Base, float] | None] = {}
        self.with_state: set[str] = set()

    def __setitem__(self, file: str, entry: list[Any]) -> None:
        if file not in self.before:
            with inside_tool_call(cast("ToolCall", self.around)):
                self.before[file] = last_seen(file)
            thread = current_thread()
            self.process[file] = None if thread is None else _known[thread, file]
        self.after[file] = entry[0]
        super().__setitem__(file, entry)

    def keep(self) -> None:
        """Take note of what was seen after all."""
        for file, base in self.after.items():
            runtime.saw(file, base, with_state=file in self.with_state)

    def undo(self) -> None:
        """Put the notes of this process back to what they were."""
        thread = current_thread()
        for file, entry in self.process.items():
            if thread is None or _known[thread, file] == entry:
                self.with_state.add(file)  # it never went into the notes of the process
            else:
                _known[thread, file] = entry


class _Known:
    """The notes of this process. Reading and writing them is `runtime`'s own affair but for this one need."""

    def __getitem__(self, key: tuple[str, str]) -> tuple[Base, float] | None:
        with runtime._lock:  # pyright: ignore[reportPrivateUsage]
            return runtime._process.get(key)  # pyright: ignore[reportPrivateUsage]

    def __setitem__(self, key: tuple[str, str], entry: tuple[Base, float] | None) -> None:
        with runtime._lock:  # pyright: ignore[reportPrivateUsage]
            if entry is None:
                runtime._process.pop(key, None)  # pyright: ignore[reportPrivateUsage]
            else:
                runtime._process[key] = entry  # pyright: ignore[reportPrivateUsage]


_known = _Known()


@contextmanager
def unnoticed() -> Generator[_Notes]:
    """Let nothing that happens inside count as seen by the thread, unless the notes are kept afterwards."""
    around = current_tool_call()
    notes = _Notes(around)
    inside = ToolCall(around.id, notes, around.approvals, around.untrusted) if around else ToolCall(seen=notes)
    try:
        with inside_tool_call(inside):
            yield notes
    finally:
        notes.undo()


def look(inner: Backend, place: Place) -> Steps[State]:
    """The present state of a file."""
    with unnoticed() as notes:
        (found,) = yield from inner.download_steps([place])
    seen = next(iter(notes.before.values()), None) if len(notes.before) == 1 else None
    if found.content is not None:
        return State(text_or_bytes(found.content), found.revision, seen, note=notes.keep)
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
