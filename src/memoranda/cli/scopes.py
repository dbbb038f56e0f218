"""Whose memory is searched, and what is said where nothing was found."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from memoranda.cli.finding import namespace_exists, which_namespaces
from memoranda.cli.hints import quoted
from memoranda.cli.names import format_namespace
from memoranda.errors import ItemNotFoundError

if TYPE_CHECKING:
    from memoranda.cli.session import Session
    from memoranda.store.changes import Namespace

_LOOKED_AT = 1_000


def requested_scope(session: Session, *, below: bool) -> tuple[Namespace, bool]:
    """The namespace to search, and whether those below it are searched too; without -n, --below means all."""
    if below and session.named_namespace is None:
        return (), True
    return session.namespace, below


def nothing_found(
    session: Session, scope: Namespace, query: str | None, *, below: bool, narrowed: bool = False
) -> None:
    """Say what to try where nothing was found.

    Args:
        session: The run.
        scope: Where it was looked.
        query: For what.
        below: Whether the namespaces below were looked into too.
        narrowed: Whether only some of it was looked at, by time or by kind.

    Raises:
        ItemNotFoundError: There is no such namespace: most likely it was mistyped.
    """
    _require_memory(session, scope, below=below)
    place = f" in {format_namespace(scope)}" if scope else ""
    tries: list[str] = []
    if narrowed:
        tries.append("leave out --since, --until, --kind and --as-of")
    if not below and session.reading().list_namespaces(prefix=scope, limit=2) not in ([], [scope]):
        tries.append("add --below for the namespaces below it")
    if query is not None:
        tries.append(f"try fewer or other words, or `memoranda grep {quoted(query)}` for the text as it stands")
        if session.settings.embed is None:
            tries.append("add --embed local to find by meaning too")
    session.note(f"Nothing{place} answers that{': ' if tries else ''}{'; '.join(tries)}.")


def nothing_recorded(session: Session, scope: Namespace, *, below: bool, narrowed: bool) -> None:
    """Say why no conversations are listed.

    Raises:
        ItemNotFoundError: There is no such namespace: most likely it was mistyped.
    """
    _require_memory(session, scope, below=below)
    place = f" in {format_namespace(scope)}" if scope else ""
    if narrowed and session.reading().threads(scope, below=below, limit=1):
        session.note(f"No conversation{place} was held then.")
    elif not below and session.reading().threads(scope, below=True, limit=1):
        session.note(f"No conversation{place} itself; add --below for the namespaces below it.")
    else:
        session.note(
            f"No conversation{place} is recorded. `memoranda episodes import` brings one in, and agents record "
            "theirs with EpisodeRecorder."
        )


def _require_memory(session: Session, scope: Namespace, *, below: bool) -> None:
    """Refuse a namespace that nothing was ever written to or said in."""
    store = session.reading()
    if not scope or namespace_exists(session) or store.threads(scope, below=below, limit=1):
        return
    if below and store.list_namespaces(prefix=scope, limit=1):
        return
    name = format_namespace(scope)
    known = list(dict.fromkeys(format_namespace(labels) for labels in known_namespaces(session)))
    close = get_close_matches(name, known, n=1)
    meant = f"Did you mean -n {quoted(close[0])}? " if close else ""
    raise ItemNotFoundError(f"There is no namespace {name}.", meant + which_namespaces(session))


def known_namespaces(session: Session) -> list[Namespace]:
    """Namespaces that hold something, those with nothing but conversations too; not all where there are very many."""
    store = session.reading()
    return [
        *store.list_namespaces(limit=_LOOKED_AT),
        *(thread.namespace for thread in store.threads((), below=True, limit=_LOOKED_AT)),
    ]
