"""Which files of a store were seeded with a route's prefix in their key, and where a path of the route leads then."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from threading import Lock

from memoranda.backends.base import Backend
from memoranda.backends.places import Place
from memoranda.backends.protocol import FileInfo, LsResult
from memoranda.backends.routes import asked, entries_below, files_below
from memoranda.backends.steps import Steps, together
from memoranda.files.path import is_within, parent_of

logger = logging.getLogger(__name__)

_BELIEVED = 5.0
"""For how many seconds it is believed that a scope holds no seeds."""
_REMEMBERED = 10_000

_none_until: OrderedDict[tuple[str, Hashable], float] = OrderedDict()
_warned: set[str] = set()
_lock = Lock()


class Seeds:
    """The files under a route's prefix in the store behind that route.

    Args:
        inner: The files as the store keeps them.
        prefix: The route's canonical path.
    """

    def __init__(self, inner: Backend, prefix: str) -> None:
        self._inner = inner
        self._prefix = prefix
        self._known: OrderedDict[tuple[Hashable, str], str] = OrderedDict()

    def real_steps(self, places: Sequence[Place], *, anew: bool = False) -> Steps[list[Place]]:
        """The places of files in the store.

        Args:
            places: Where the agent says they are.
            anew: Look even if it is believed that there are no seeds.
        """
        if not (yield from self.any_steps(anew)):
            return list(places)
        seeded = [self.seeded(place) for place in places]
        there = yield from self.existing_steps([*places, *seeded])
        real = [
            seed if place.path not in there and seed.path in there else place
            for place, seed in zip(places, seeded, strict=True)
        ]
        for place, key in zip(places, real, strict=True):
            self.remember(place, key)
        return real

    def aliases_steps(self, paths: Sequence[str]) -> Steps[list[tuple[str, ...]]]:
        """Under which paths an agent can reach keys of the store."""
        doubled = [path[len(self._prefix) :] for path in paths if path.startswith(self._prefix + "/")]
        there = (yield from self.existing_steps([Place(path, path) for path in doubled])) if doubled else set[str]()
        return [
            (path, path[len(self._prefix) :])
            if path.startswith(self._prefix + "/") and path[len(self._prefix) :] not in there
            else (path,)
            for path in paths
        ]

    def seeded(self, place: Place) -> Place:
        """Where a file lies in the store if it was seeded."""
        return Place(self._prefix + place.path if place.path != "/" else self._prefix, place.shown)

    def unseeded(self, path: str) -> str:
        """Under which path the agent knows the key of a seed."""
        return path[len(self._prefix) :] or "/"

    def any_steps(self, anew: bool = False) -> Steps[bool]:
        """Whether the store holds anything under the prefix; that it does not is believed for a few seconds."""
        scope = self._inner.scope_key()
        key = (self._prefix, scope)
        if not anew and scope is not None and _none_until.get(key, 0) > time.monotonic():
            return False
        answer = yield from self._inner.ls_steps(Place(self._prefix, self._prefix))
        if answer.error is None and not answer.entries and scope is not None:
            with _lock:
                _none_until[key] = time.monotonic() + _BELIEVED
                _none_until.move_to_end(key)
                if len(_none_until) > _REMEMBERED:
                    _none_until.popitem(last=False)
        return bool(answer.entries)

    def existing_steps(self, places: Sequence[Place]) -> Steps[set[str]]:
        """Which files there are in the folders of some files; listed and not read, so that nobody has seen them."""
        folders = list(dict.fromkeys(parent_of(place.path) for place in places))
        listings = yield from together([asked(_listing(self._inner, folder)) for folder in folders])
        found: set[str] = set()
        for listing in listings:
            if isinstance(listing, Exception):
                raise listing
            found.update(entry["path"] for entry in listing.entries or [])
        return found

    def all_steps(self) -> Steps[tuple[dict[str, FileInfo], set[str]]]:
        """The seeds by the path they are known under, and what else lies under the prefix."""
        entries = yield from entries_below(self._inner, Place(self._prefix, self._prefix))
        stripped = [place.path[len(self._prefix) :] for place, _ in entries]
        there = yield from self.existing_steps([Place(path, path) for path in stripped])
        seeds: dict[str, FileInfo] = {}
        others: set[str] = set()
        for (place, info), path in zip(entries, stripped, strict=True):
            if path in there:
                others.add(place.path)
            else:
                seeds[path] = info
        if seeds:
            self._warn(next(iter(seeds)))
        return seeds, others

    def remember(self, place: Place, real: Place) -> None:
        """Note where a file was found."""
        if real.path != place.path:
            self._warn(place.path)
        with _lock:
            key = (self._inner.scope_key(), place.path)
            self._known.pop(key, None)
            if real.path != place.path:
                self._known[key] = real.path
                if len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)

    def _warn(self, path: str) -> None:
        with _lock:
            if self._prefix in _warned:
                return
            _warned.add(self._prefix)
        logger.warning(
            "The store holds %s under the key %s, with the route's prefix in it. It is used as that file. "
            "Move it to the key %s, or seed it there: a route takes its prefix off.",
            self._prefix + path,
            self._prefix + path,
            path,
        )

    def known(self, place: Place) -> Place:
        """Where the last look at a file has found it."""
        return Place(self._known.get((self._inner.scope_key(), place.path), place.path), place.shown)

    def is_seed(self, path: str, seeds: dict[str, FileInfo]) -> bool:
        """Whether a key is that of a seed."""
        return path.startswith(self._prefix + "/") and path[len(self._prefix) :] in seeds

    def hidden_steps(self, path: str, seeds: dict[str, FileInfo], others: set[str]) -> Steps[bool]:
        """Whether a file or folder of the store holds nothing but seeds, which are shown elsewhere."""
        if is_within(path, self._prefix):
            return self.is_seed(path, seeds) or not any(is_within(other, path) for other in others)
        if not seeds or others or not is_within(self._prefix, path):
            return False
        return not (
            yield from files_below(
                self._inner, Place(path, path), skipping=lambda below: is_within(below, self._prefix)
            )
        )


def _listing(backend: Backend, folder: str) -> Callable[[], Steps[LsResult]]:
    return lambda: backend.ls_steps(Place(folder, folder))
