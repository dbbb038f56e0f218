"""What is said when something is not there: whether it was deleted, where it lies instead, which namespaces exist.

Agents see the store below a route, such as `/memories/`, whose prefix is no part of a key; so whoever has read an
agent's path looks for `/memories/AGENTS.md` and has to be told of `/AGENTS.md`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoranda.cli.hints import quoted
from memoranda.cli.names import format_namespace
from memoranda.errors import ItemNotFoundError

if TYPE_CHECKING:
    from memoranda.cli.session import Session
    from memoranda.store.changes import Namespace

_NAMED = 5
_SEARCHED = 50
_DEEPEST = 8
# Where a file lies elsewhere these are told of it with the command that was run; after others one looks first.
_ONLY_LOOK = frozenset(("cat", "log", "blame", "diff"))


def missing(session: Session, key: str) -> ItemNotFoundError:
    """The error for an item that is not there: deleted, a folder, somewhere else, or nothing at all."""
    store, namespace, place = session.reading(), session.namespace, format_namespace(session.namespace)
    last = store.history(namespace, key, limit=1)
    if last:
        before = last[0].revision - 1
        return ItemNotFoundError(
            f"{key} is deleted in {place}.",
            f"`memoranda log {quoted(key)}` shows its history, and `memoranda restore {quoted(key)} {before}` brings "
            "it back.",
        )
    if key.startswith("/") and store.list_keys(namespace, key, limit=1):
        return ItemNotFoundError(
            f"{key} is a folder in {place}, and no item.", f"`memoranda ls {quoted(key)}` lists what is in it."
        )
    return _elsewhere(session, key) or _nowhere(session, key)


@contextmanager
def explained(session: Session, key: str) -> Generator[None]:
    """Say of an item that turns out not to be there what `missing` says."""
    try:
        yield
    except ItemNotFoundError:
        raise missing(session, key) from None


def require_namespace(session: Session) -> None:
    """Refuse to show nothing where nothing was ever written: most likely the namespace was mistyped.

    Raises:
        ItemNotFoundError: There is no such namespace.
    """
    if not namespace_exists(session):
        place = format_namespace(session.namespace)
        raise ItemNotFoundError(f"There is no namespace {place}.", which_namespaces(session))


def note_if_missing(session: Session, path: str | None) -> None:
    """Say why nothing was found: there is no such namespace, or no such file or folder to look in.

    Raises:
        ItemNotFoundError: There is no such namespace.
    """
    require_namespace(session)
    if path is None or not path.strip("/\\"):
        return
    key = session.key_or_folder(path)
    store, namespace = session.reading(), session.namespace
    there = store.get(namespace, key, refresh_ttl=False) is not None
    if not there and not (key.startswith("/") and store.list_keys(namespace, key, limit=1)):
        session.note(str(missing(session, key)))


def namespace_exists(session: Session) -> bool:
    """Whether anything was ever written to this namespace itself, deleted or not."""
    return bool(session.reading().changes(namespace=session.namespace, limit=1))


def which_namespaces(session: Session) -> str:
    """A sentence on the namespaces there are: those below the one that was named, or else any."""
    store = session.reading()
    below = store.list_namespaces(prefix=session.namespace, limit=_NAMED)
    if below:
        return f"A namespace holds nothing of those below it; try -n {_names(below)}."
    found = store.list_namespaces(limit=_NAMED + 1)
    if not found:
        return "The store holds nothing now; `memoranda changes` shows what it held."
    more = ", and more" if len(found) > _NAMED else ""
    return f"There is {_names(found[:_NAMED])}{more}; `memoranda ls` lists all of them."


def _names(namespaces: list[Namespace]) -> str:
    return ", ".join(format_namespace(labels) for labels in namespaces)


def _nowhere(session: Session, key: str) -> ItemNotFoundError:
    place = format_namespace(session.namespace)
    if namespace_exists(session):
        is_like_a_route = key.startswith("/") and "/" not in key[1:] and "." not in key
        route = "; a route's prefix, such as /memories/, is no part of a key" if is_like_a_route else ""
        return ItemNotFoundError(f"{key} does not exist in {place}.", f"`memoranda ls /` lists what does{route}.")
    return ItemNotFoundError(
        f"{key} does not exist in {place}, and there is no such namespace.", which_namespaces(session)
    )


def _elsewhere(session: Session, key: str) -> ItemNotFoundError | None:
    """The error for a key that exists without its first folders, or in another namespace."""
    store, here = session.reading(), session.namespace
    shorter = list(_without_first_folders(key))
    others = [labels for labels in store.list_namespaces(limit=_SEARCHED) if labels != here]
    places = [(here, other) for other in shorter]
    places += [(labels, other) for labels in others for other in (key, *shorter)]
    for labels, other in places:
        changes = store.history(labels, other, limit=1)
        is_folder = not changes and other.startswith("/") and bool(store.list_keys(labels, other, limit=1))
        if not changes and not is_folder:
            continue
        exists = "did, and is deleted" if changes and changes[0].operation == "delete" else "does"
        where = "" if labels == here else f" in {format_namespace(labels)}"
        why = "" if other == key else "; a route's prefix is no part of the key"
        subject = "it" if other == key else other
        command = "ls" if is_folder else session.command if session.command in _ONLY_LOOK else "log"
        label = "" if labels == here else f"-n {quoted(format_namespace(labels))} "
        return ItemNotFoundError(
            f"{key} does not exist in {format_namespace(here)}, but {subject} {exists}{where}{why}.",
            f"Try `memoranda {command} {label}{quoted(other)}`.",
        )
    return None


def _without_first_folders(key: str) -> Iterator[str]:
    """The key as it may be below a route: without its first folder, without the first two, and so on."""
    if key.startswith("/"):
        parts = key.strip("/").split("/")
        for start in range(1, min(len(parts), _DEEPEST + 1)):
            yield "/" + "/".join(parts[start:])
