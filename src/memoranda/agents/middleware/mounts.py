"""Where memory files lie, as far as the store knows: who wrote them last, and who else can write them."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from memoranda.backends import operations
from memoranda.backends.base import Backend
from memoranda.backends.composite import CompositeBackend
from memoranda.backends.factories import BackendOfRuntime
from memoranda.backends.guarded import GuardedBackend
from memoranda.backends.permissions import Mode, strictest
from memoranda.backends.places import PlacedChange, place_of, placed
from memoranda.backends.protocol import FILE_NOT_FOUND, FileDownloadResponse, WriteFile
from memoranda.backends.runtime import current_runtime
from memoranda.backends.scopes import Scope, ScopeError, by_assistant, by_org, by_user
from memoranda.backends.steps import Steps, together
from memoranda.errors import MemorandaError
from memoranda.files.path import parent_of
from memoranda.store.changes import Namespace, Write
from memoranda.store.store import MemoryStore

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Kept(Generic[T]):
    """What was found out, kept in this process for each store apart, and the oldest forgotten.

    Args:
        limit: How much is kept of one store.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = Lock()
        self._by_store: WeakKeyDictionary[MemoryStore, OrderedDict[Any, T]] = WeakKeyDictionary()

    def get(self, store: MemoryStore, key: Any) -> T | None:
        """What is kept under a key; None if nothing is."""
        with self._lock:
            found = self._by_store.get(store)
            if found is None or key not in found:
                return None
            found.move_to_end(key)
            return found[key]

    def put(self, store: MemoryStore, key: Any, value: T) -> None:
        """Keep something."""
        with self._lock:
            kept = self._by_store.setdefault(store, OrderedDict())
            kept[key] = value
            kept.move_to_end(key)
            if len(kept) > self._limit:
                kept.popitem(last=False)


class Spot(NamedTuple):
    """Where a file lies in a store."""

    store: MemoryStore
    namespace: Namespace
    key: str


class Spots:
    """Where the paths of one backend lead to.

    This is for what is kept of files that were read, and for warnings. Files themselves are reached through the
    backend as it stands.

    Args:
        backend: It.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._lock = Lock()
        self._found: OrderedDict[tuple[Hashable, tuple[str, ...]], list[Spot | None]] = OrderedDict()

    def of(self, paths: Sequence[str]) -> list[Spot | None]:
        """Where paths lead to; None where no `MemoryStore` lies behind one, or it cannot be told."""
        if not paths:
            return []
        try:
            files = within_guards(self._backend)[0]
            scope = files.scope_key()
            if scope is None:  # who knows whose files they are
                return _found_spots(files, paths)
            key = scope, tuple(paths)
            with self._lock:
                found = self._found.get(key)
                if found is not None:
                    self._found.move_to_end(key)
                    return found
            found = _found_spots(files, paths)
            with self._lock:
                self._found[key] = found
                if len(self._found) > _SCOPES:
                    self._found.popitem(last=False)
        except (MemorandaError, NotImplementedError):
            return [None] * len(paths)
        return found


_SCOPES = 100
"""For how many users and the like it is remembered where a list of paths leads to."""


def _found_spots(files: Backend, paths: Sequence[str]) -> list[Spot | None]:
    return _spots(files, [placed(WriteFile(path, "", base=0)) for path in paths])


def _spots(backend: Backend, changes: Sequence[PlacedChange]) -> list[Spot | None]:
    # What a change would change says it, through all routes, without a question to the store.
    found = backend.store_changes(changes)
    if found is None or len(found[1]) != len(changes):
        if len(changes) == 1:
            return [None]
        return [spot for change in changes for spot in _spots(backend, [change])]  # several stores, perhaps
    return [Spot(found[0], made.namespace, made.key) if isinstance(made, Write) else None for made in found[1]]


def within_guards(backend: Backend) -> tuple[Backend, list[GuardedBackend]]:
    """A backend without the guards around it, and these guards."""
    guards: list[GuardedBackend] = []
    while True:
        if isinstance(backend, BackendOfRuntime):
            backend = backend.present()
        elif isinstance(backend, GuardedBackend):
            guards.append(backend)
            backend = backend.guard.inner
        else:
            return backend, guards


def unguarded(backend: Backend) -> Backend:
    """A backend without the guards around it, as it was given to the agent: functions of the runtime are not asked."""
    return backend.guard.inner if isinstance(backend, GuardedBackend) else backend


_authors: Kept[str] = Kept(10_000)
_warned: Kept[bool] = Kept(1_000)


class Mounts:
    """What lies behind the paths of one backend.

    Args:
        backend: It.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._spots = Spots(backend)

    def authors(self, paths: Sequence[str], answers: Sequence[FileDownloadResponse]) -> Steps[list[str | None]]:
        """Who made the states that were read; a state that was met before costs no question.

        Args:
            paths: The files.
            answers: What reading them gave.
        """
        found = [answer.author for answer in answers]
        spots = self._spots.of(paths)
        asked: list[tuple[int, Spot]] = []
        for index, (path, answer) in enumerate(zip(paths, answers, strict=True)):
            if answer.error not in (None, FILE_NOT_FOUND):
                continue
            spot = spots[index]
            if spot is None:
                continue
            self._warn_if_shared(path, spot)
            # What keeps no revisions has no authors.
            if answer.author is None and isinstance(answer.revision, int):
                found[index] = _authors.get(spot.store, _state(spot, answer))
                if found[index] is None:
                    asked.append((index, spot))
        if asked:
            histories = yield from together(
                [operations.history(self._backend, paths[index], limit=3) for index, _ in asked]
            )
            for (index, spot), history in zip(asked, histories, strict=True):
                if isinstance(history, Exception):
                    continue
                for entry in history.revisions or ():
                    if entry.revision == answers[index].revision:  # else it was changed in between
                        _authors.put(spot.store, _state(spot, answers[index]), entry.author.actor or "")
                        found[index] = entry.author.actor
        return [author or None for author in found]

    def may_write(self, path: str) -> bool:
        """Whether an agent may write a file or into a folder at all, a person's approval aside."""
        try:
            return self._mode(path) != "deny"
        except (MemorandaError, NotImplementedError):
            return True

    def is_mount(self, path: str) -> bool:
        """Whether a path is where a route begins, so that no file can be there."""
        try:
            files = within_guards(self._backend)[0]
        except MemorandaError:
            return False
        return isinstance(files, CompositeBackend) and files.is_mount(path)

    def _mode(self, path: str) -> Mode:
        """What rules say of writing there."""
        backend, guards = within_guards(self._backend)
        place = place_of(path)
        if backend.is_read_only(place):
            return "deny"
        return strictest(guard.guard.mode("write", [place.path]) for guard in guards)

    def _warn_if_shared(self, path: str, spot: Spot) -> None:
        """Warn once where what one user makes an agent write is in the prompts of others."""
        if _warned.get(spot.store, spot.namespace) or not _is_shared(spot.namespace):
            return
        if self._mode(path) != "allow":
            return
        _warned.put(spot.store, spot.namespace, True)
        logger.warning(
            "The memory %s lies in the namespace %r, which names no user of this run, and an agent may write there: "
            "what one user makes it write is then in the prompts of all others. Give the mount a namespace with "
            'by_user, or let writes to it wait with FilesystemPermission(["write"], [%r], mode="propose").',
            path,
            spot.namespace,
            parent_of(path).rstrip("/") + "/**",
        )


def _state(spot: Spot, answer: FileDownloadResponse) -> tuple[Any, ...]:
    # The content too: an item that was erased and made anew counts its revisions from 1 again.
    return spot.namespace, spot.key, answer.revision, hash(answer.content)


def _is_shared(namespace: Namespace) -> bool:
    """Whether a namespace is known not to be of the user of this run, or where none is known, to be of all."""
    runtime = current_runtime()
    user = _label(by_user, runtime)
    if user is not None:
        return user not in namespace
    return any(_label(scope, runtime) in namespace for scope in (by_assistant, by_org))


def _label(scope: Scope, runtime: Any) -> str | None:
    try:
        return scope.resolve(runtime)[0]
    except ScopeError:
        return None
