"""Where a consolidator's files lie: in its own store, and under which namespace and key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memoranda.backends.base import Backend
from memoranda.backends.composite import CompositeBackend
from memoranda.backends.guarded import GuardedBackend
from memoranda.backends.places import Place, location_in
from memoranda.backends.runtime import acting_for
from memoranda.backends.scopes import ScopeError
from memoranda.backends.seeded import SeededFiles
from memoranda.errors import MemorandaError
from memoranda.store.changes import Namespace
from memoranda.store.namespaces import decode_namespace
from memoranda.store.store import MemoryStore


def foreign(store: MemoryStore, target: Backend, place: Place) -> str | None:
    """Why a file is not a consolidator's to change; None: it is.

    Args:
        store: The consolidator's store.
        target: Its target.
        place: The file.
    """
    try:
        where = target.location(place)
    except MemorandaError as error:
        return f"{place.shown} has no place in this run: {error}"
    if where is None or not where.startswith(_of(store)):
        return (
            f"{place.shown} does not lie in the store of this consolidator, so it cannot land together with what was "
            "read. Give the target routes into that store alone."
        )
    if target.is_read_only(place):
        return f"{place.shown} is read-only for a consolidator too. Give it a route with read_only=False."
    return None


def home(store: MemoryStore, target: Backend, place: Place) -> tuple[Namespace, str]:
    """The namespace and the key of a file that lies in a consolidator's store."""
    where = (target.location(place) or "").removeprefix(_of(store))
    # Labels and keys may hold what divides them; the key is what the path ends with, unless it was seeded.
    found = [(where[: at + 1], where[at + 2 :]) for at in range(len(where)) if where.startswith("\x01|/", at)]
    exact = [one for one in found if place.shown.endswith(one[1])]
    for labels, key in exact or [one for one in found if one[1].endswith(place.path)]:
        return decode_namespace(labels), key
    labels, _, key = where.partition("|")
    return decode_namespace(labels), key


def leaves(backend: Any) -> Iterator[Any]:
    """The backends that files lie in, behind guards, routes and the like."""
    match backend:
        case CompositeBackend():
            for leaf in backend.leaves:
                yield from leaves(leaf.backend)
        case GuardedBackend():
            yield from leaves(backend.guard.inner)
        case SeededFiles():
            yield from leaves(backend.inner)
        case _:
            inner = getattr(backend, "backend", None)
            if isinstance(inner, Backend):
                yield from leaves(inner)
            else:
                yield backend


def is_resolved(target: Backend) -> bool:
    """Whether every part of a target knows whose it is, for those that are acted for at present."""
    for leaf in leaves(target):
        try:
            leaf.location(Place("/x", "/x"))
        except MemorandaError:
            return False
        except AttributeError:  # a backend that is not one of ours
            continue
    return True


def unknown_owner(target: Backend) -> tuple[Any, ScopeError] | None:
    """The first part of a target that is to be changed and does not know whose it is, and why; None: all know it."""
    for leaf in leaves(target):
        try:
            if not leaf.is_read_only(Place("/x", "/x")):
                leaf.location(Place("/x", "/x"))
        except ScopeError as error:
            return leaf, error
        except (MemorandaError, AttributeError):
            continue
    return None


def namespaces_in(store: MemoryStore, target: Backend) -> frozenset[Namespace]:
    """The namespaces of a store that a target's files lie in, for those that are acted for at present."""
    found: set[Namespace] = set()
    for leaf in leaves(target):
        try:
            where = leaf.location(Place("/x", "/x")) or ""
        except (MemorandaError, AttributeError):
            continue
        if where.startswith(_of(store)):
            found.add(decode_namespace(where.removeprefix(_of(store)).rpartition("|/")[0]))
    return frozenset(found)


def may_lie_in(store: MemoryStore, target: Backend) -> bool:
    """Whether any file of a target can lie in a store, as far as that is known before anybody is acted for."""
    with acting_for(store=store):
        for leaf in leaves(target):
            try:
                if (leaf.location(Place("/x", "/x")) or "").startswith(_of(store)):
                    return True
            except ScopeError:
                return True
            except (MemorandaError, AttributeError):
                continue
    return False


def _of(store: MemoryStore) -> str:
    return location_in(store.identity, store.context.tenant)
