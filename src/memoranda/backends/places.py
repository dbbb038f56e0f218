"""Where a file is: its path in a backend's own tree, and the path by which the agent knows it."""

from __future__ import annotations

from typing import NamedTuple

from memoranda.backends.protocol import FileChange, MoveFile
from memoranda.errors import InvalidPathError
from memoranda.files.path import canonical_path, folder_prefix


class Place(NamedTuple):
    """A file or folder on its way through backends.

    A route strips its prefix from `path`, and `shown` stays as the agent gave it, so that every message and every
    result names the file as the agent knows it, however deep the backend that speaks.

    Args:
        path: The canonical path in the tree of the backend that is asked.
        shown: The canonical path as the agent knows it.
    """

    path: str
    shown: str

    def show(self, path: str) -> str:
        """How the agent knows a path that lies at or below this place; a trailing slash stays.

        Example:
            >>> Place("/", "/memories").show("/notes/tea.md"), Place("/notes", "/m/notes").show("/notes")
            ('/memories/notes/tea.md', '/m/notes')
        """
        base = "" if self.shown == "/" else self.shown
        rest = path if self.path == "/" else path[len(self.path) :]
        return base + rest or "/"

    def below(self, path: str) -> Place:
        """The place of a path that lies at or below this one."""
        return Place(path, self.show(path))

    def holds(self, path: str) -> bool:
        """Whether a canonical path of the same tree is this place or lies below it."""
        return path == self.path or path.startswith(folder_prefix(self.path))


def place_of(path: str) -> Place:
    """The place of a path as a caller gives it.

    Raises:
        InvalidPathError: See `canonical_path`; also for what is no string, as a model may send.
    """
    if not isinstance(path, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidPathError(f"{path!r} is no path.", "Give an absolute path such as /notes/today.md.")
    canonical = canonical_path(path)
    return Place(canonical, canonical)


def file_place_of(path: str) -> Place:
    """The place of a file as a caller gives it, which is not the root folder.

    Raises:
        InvalidPathError: See `place_of`.
    """
    place = place_of(path)
    if place.path == "/":
        raise InvalidPathError(f"The path {path!r} names the root folder, not a file.", "Name a file in it.")
    return place


def location_in(identity: str, tenant: str) -> str:
    """What the locations of all files in a tenant of a store begin with, and those of no other tenant.

    Example:
        >>> location_in("sqlite:///m.db", "acme"), location_in("sqlite:///m.db", "acme|ann")
        ('sqlite:///m.db|acme|', 'sqlite:///m.db|acme%7Cann|')
    """
    return f"{identity}|{tenant.replace('%', '%25').replace('|', '%7C')}|"


class PlacedChange(NamedTuple):
    """A change with the places that its paths mean here; `to` only for a move."""

    place: Place
    change: FileChange
    to: Place | None = None


def placed(change: FileChange) -> PlacedChange:
    """Settle where a change applies.

    Raises:
        InvalidPathError: See `canonical_path`.
    """
    return PlacedChange(place_of(change.path), change, place_of(change.to) if isinstance(change, MoveFile) else None)
