"""Under which paths one file can be reached: routes that lead to the same files, wherever in the tree they begin."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Sequence
from threading import Lock
from typing import Any, NamedTuple

from memoranda.backends.base import Backend
from memoranda.backends.places import Place
from memoranda.backends.routes import Route
from memoranda.backends.seeded import SeededFiles
from memoranda.backends.steps import Steps
from memoranda.errors import MemorandaError
from memoranda.files.path import is_within

logger = logging.getLogger(__name__)

_warned: set[tuple[str, str]] = set()
_lock = Lock()


class Scoped(NamedTuple):
    """A route with what its files live in at present."""

    route: Route
    scope: Hashable | None


class Twins:
    """The routes of a tree that lead to files and not on to further routes, those of nested composites included.

    Args:
        routes: These routes, with their prefixes from the root of the whole tree.
        find: Which of them a path of the tree belongs to.
    """

    def __init__(self, routes: Sequence[Route], find: Callable[[str], Route]) -> None:
        self._routes = list(routes)
        self._find = find

    def look(self) -> list[Scoped]:
        """What the routes lead to at present; two that lead to the same are warned about, once for each pair."""
        scoped = [Scoped(route, _scope_of(route.backend)) for route in self._routes]
        known: dict[Hashable, Route] = {}
        for route, scope in scoped:
            other = None if scope is None else known.setdefault(scope, route)
            if other is not None and other is not route:
                _warn_of(*sorted([route.folder, other.folder]))
        return scoped

    def names_steps(self, places: Sequence[Place]) -> Steps[list[tuple[str, ...]]]:
        """Every path of the tree under which each place is known, its own first."""
        scoped = self.look()
        names = [[place.path] for place in places]
        groups: dict[str, list[int]] = {}
        for index, place in enumerate(places):
            groups.setdefault(self._find(place.path).prefix, []).append(index)
        for route, scope in scoped:
            at = groups.get(route.prefix, [])
            if not at:
                continue
            known = yield from _keys_of(route, [route.inside(places[index]) for index in at])
            for twin, other in scoped:
                if twin is not route and not _may_carry(scope, other):
                    continue
                pairs = [
                    (index, key)
                    for index, keys in zip(at, known, strict=True)
                    for key in (keys if twin is route else filter(None, (_carried(k, scope, other) for k in keys)))
                ]
                aliases = yield from _paths_of(twin, [key for _, key in pairs])
                for (index, _), paths in zip(pairs, aliases, strict=True):
                    for path in map(twin.outside, paths):
                        if path not in names[index] and self._find(path) is twin:
                            names[index].append(path)
        return [tuple(found) for found in names]


def _keys_of(route: Route, places: Sequence[Place]) -> Steps[list[tuple[str, ...]]]:
    """What some files of a route are called in the backend itself."""
    if isinstance(route.backend, SeededFiles):
        real = yield from route.backend.seeds.real_steps(places, anew=True)
        return [(place.path,) for place in real]
    return (yield from route.backend.names_steps(places))


def _paths_of(route: Route, keys: Sequence[str]) -> Steps[list[tuple[str, ...]]]:
    """Under which paths of a route its backend's own are reached."""
    if keys and isinstance(route.backend, SeededFiles):
        return (yield from route.backend.seeds.aliases_steps(keys))
    return [(key,) for key in keys]


def _may_carry(scope: Hashable | None, other: Hashable | None) -> bool:
    """Whether two scopes can hold the same files."""
    if scope is None or other is None:
        return False
    return scope == other or (_folder(scope) is not None and _folder(other) is not None)


def _folder(scope: Hashable | None) -> str | None:
    """The real folder that a scope is; None for any other."""
    match scope:
        case ("disk", str(root)):
            return root
        case _:
            return None


def _carried(key: str, scope: Hashable | None, other: Hashable | None) -> str | None:
    """What a file is called in another scope; None where it is not in there."""
    if scope == other:
        return key
    root, inner = _folder(scope), _folder(other)
    if root is None or inner is None:
        return None
    path = root.rstrip("/") + key  # one folder may lie inside the other
    return path[len(inner) :] or "/" if is_within(path, inner) else None


def _scope_of(backend: Backend) -> Hashable | None:
    try:
        return backend.scope_key()
    except MemorandaError:
        return None


def _warn_of(one: str, other: str) -> None:
    with _lock:
        if (one, other) in _warned:
            return
        _warned.add((one, other))
    logger.warning(
        "The routes %s and %s lead to the same files: what is written under one appears under the other. Give each a "
        "namespace of its own, such as by_user + 'memories' and by_user + 'skills'.",
        one,
        other,
    )


def leaves(route: Route, composite: Callable[[Any], Any]) -> list[Route]:
    """The routes that lead to files behind one route, with their prefixes from where that route begins.

    Args:
        route: The route.
        composite: Gives the composite that a backend is, or is around; None where there is none.
    """
    inner = composite(route.backend)
    if inner is None:
        return [route]
    return [Route(route.prefix + leaf.prefix, leaf.backend) for leaf in inner.leaves]
