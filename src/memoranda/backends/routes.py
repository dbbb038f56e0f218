"""Which backend a path belongs to: the longest route wins, and a route's prefix is taken off on the way in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from memoranda.backends.base import Backend
from memoranda.backends.operations import sentence
from memoranda.backends.places import Place
from memoranda.backends.protocol import FileInfo, LsResult, Result
from memoranda.backends.steps import Steps, together
from memoranda.errors import InvalidPathError, MemorandaError
from memoranda.files.path import canonical_path, folder_prefix, is_within

T = TypeVar("T")


class RouteError(MemorandaError, ValueError):
    """A composite was given a route that leads nowhere, or two that are one."""


class Route(NamedTuple):
    """A folder and the backend behind it; the default backend has the empty prefix."""

    prefix: str
    backend: Backend

    @property
    def folder(self) -> str:
        """The folder as the agent knows it from the composite's own tree; with a slash at its end."""
        return self.prefix + "/"

    def inside(self, place: Place) -> Place:
        """A place of the composite's tree, in the tree of this route's backend."""
        return Place(place.path[len(self.prefix) :] or "/", place.shown)

    def outside(self, path: str) -> str:
        """A path of the backend's tree, in the composite's."""
        return self.prefix + path if path != "/" else self.prefix or "/"


class Routes:
    """A default backend and the routes beside it.

    Args:
        default: What every path belongs to that no route claims.
        routes: Backends by the folder that leads to them.
        adapted: Makes a backend of whatever was given.

    Raises:
        RouteError: A route is no folder of its own, or what it leads to is no backend.
    """

    def __init__(self, default: Any, routes: Mapping[str, Any], adapted: Callable[[str, Any], Backend]) -> None:
        found: dict[str, Route] = {}
        given: dict[str, str] = {}
        for name, backend in routes.items():
            prefix = _prefix(name)
            if prefix in found:
                raise RouteError(
                    f"The routes {given[prefix]!r} and {name!r} are the same folder.", "Give each folder one backend."
                )
            found[prefix], given[prefix] = Route(prefix, adapted(prefix, backend)), name
        self.default = Route("", adapted("", default))
        self.routes = sorted(found.values(), key=lambda route: (-len(route.prefix), route.prefix))

    def find(self, path: str) -> Route:
        """The route that a canonical path belongs to."""
        for route in self.routes:
            if is_within(path, route.prefix):
                return route
        return self.default

    def below(self, path: str) -> list[Route]:
        """The routes that lie below a folder, in order."""
        inside = folder_prefix(path)
        return sorted(route for route in self.routes if route.prefix.startswith(inside))

    def is_mount(self, path: str) -> bool:
        """Whether a path is where a route begins, or a folder on the way to one."""
        inside = folder_prefix(path)
        return any(route.prefix == path or route.prefix.startswith(inside) for route in self.routes)

    def all(self) -> list[Route]:
        """The default and every route."""
        return [self.default, *self.routes]


def check_mapping(default: Any, routes: Any) -> None:
    """Refuse routes that are no mapping.

    Raises:
        RouteError: They are none; perhaps they stand in the place of the default.
    """
    if isinstance(routes, Mapping):
        return
    if isinstance(default, Mapping):
        raise RouteError(
            f"The default of a CompositeBackend is a mapping and its routes are {routes!r}: each in the other's place.",
            "Write CompositeBackend(default, {folder: backend}): the default comes first.",
        )
    raise RouteError(
        f"The routes of a CompositeBackend are {routes!r}, which is no mapping.",
        'Pass the backends by their folders, as in {"/memories/": StoreBackend(namespace=by_user)}.',
    )


def _prefix(name: object) -> str:
    if not isinstance(name, str):
        raise RouteError(f"The route {name!r} is no path.", "Give a folder such as /memories/.")
    try:
        prefix = canonical_path(name)
    except InvalidPathError as error:
        raise RouteError(f"The route {name!r} is no path: {error}") from error
    if prefix == "/":
        raise RouteError(f"The route {name!r} would claim every path.", "Pass that backend as default instead.")
    return prefix


def tree_path(place: Place, shown: str) -> str:
    """The path in a place's own tree of something that was found at or below it.

    Args:
        place: Where was looked.
        shown: What was found there, as the agent knows it; a folder may end with a slash.

    Example:
        >>> tree_path(Place("/a", "/m/a"), "/m/a/b.md"), tree_path(Place("/", "/m"), "/m/b/")
        ('/a/b.md', '/b')
    """
    base = "" if place.shown == "/" else place.shown
    root = "" if place.path == "/" else place.path
    return (root + shown[len(base) :]).rstrip("/") or "/"


def asked(operation: Callable[[], Steps[T]]) -> Steps[T]:
    """An operation of which even the beginning happens only when its turn has come."""
    return (yield from operation())


def failure(outcome: Result | Exception) -> str | None:
    """Why an operation gave nothing, as a sentence; None if it gave something."""
    if isinstance(outcome, Exception):
        return sentence(outcome)
    return outcome.error


def files_below(
    backend: Backend, place: Place, *, skipping: Callable[[str], bool] = lambda _: False
) -> Steps[list[Place]]:
    """Every file below a folder, dot names included, which no pattern finds; see `entries_below`."""
    return [place for place, _ in (yield from entries_below(backend, place, skipping=skipping))]


def entries_below(
    backend: Backend, place: Place, *, skipping: Callable[[str], bool] = lambda _: False
) -> Steps[list[tuple[Place, FileInfo]]]:
    """Every file below a folder with its entry, dot names included, which no pattern finds.

    Args:
        backend: Where to look.
        place: The folder.
        skipping: Which paths of the backend's tree not to look at.

    Returns:
        The files, folder by folder.

    Raises:
        MemorandaError: A folder could not be listed, so that the answer would not be whole.
    """
    found: list[tuple[Place, FileInfo]] = []
    folders = [place]
    for _ in range(_DEEPEST):
        if not folders:
            return found
        answers = yield from together([asked(_ls(backend, folder)) for folder in folders])
        inner: list[Place] = []
        for folder, answer in zip(folders, answers, strict=True):
            if isinstance(answer, Exception) or answer.error is not None:
                why = failure(answer) or ""
                raise MemorandaError(f"{folder.shown} could not be listed: {why.removeprefix('Error: ')}")
            for entry in answer.entries or []:
                path = tree_path(folder, entry["path"])
                if path != folder.path and not skipping(path):
                    if entry.get("is_dir"):
                        inner.append(folder.below(path))
                    else:
                        found.append((folder.below(path), entry))
        folders = inner
    raise MemorandaError(f"{place.shown} has folders more than {_DEEPEST} deep.", "Name a folder further down.")


_DEEPEST = 100


def _ls(backend: Backend, place: Place) -> Callable[[], Steps[LsResult]]:
    return lambda: backend.ls_steps(place)
