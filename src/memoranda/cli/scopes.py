"""Whose memory is searched, and what is said where nothing was found."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from memoranda.cli.hints import quoted
from memoranda.cli.names import format_namespace
from memoranda.errors import ItemNotFoundError

if TYPE_CHECKING:
    from memoranda.cli.session import Session
    from memoranda.store.changes import Namespace

_LOOKED_AT = 1_000
_NAMED = 5


def requested_scope(session: Session, *, below: bool) -> tuple[Namespace, bool]:
    """The namespace to search, and whether those below it are searched too; without -n, --below means all."""
    if below and session.named_namespace is None:
        return (), True
    return session.namespace, below


def nothing_found(
    session: Session, scope: Namespace, query: str | None, *, below: bool, narrowed: Sequence[str] = ()
) -> None:
    """Say what to try where nothing was found.

    Args:
        session: The run.
        scope: Where it was looked.
        query: For what.
        below: Whether the namespaces below were looked into too.
        narrowed: The options by which only some of it was looked at.

    Raises:
        ItemNotFoundError: There is no such namespace: most likely it was mistyped.
    """
    _require_memory(session, scope, below=below)
    place = f" in {format_namespace(scope)}" if scope else ""
    tries: list[str] = []
    if narrowed:
        tries.append(f"leave out {' and '.join(narrowed)}")
    if not below and any(labels[: len(scope)] == scope != labels for labels in known_namespaces(session)):
        tries.append("add --below for the namespaces below it")
    if query is not None:
        tries.append(f"try fewer or other words, or `memoranda grep {quoted(query)}` for the text as it stands")
        if session.settings.embed is None:
            # Vectors that are there are of use to their own embedder only.
            names = [index.name for index in session.reading().index_status().indexes if index.state == "serving"]
            tries.append(f"add --embed {quoted(names[0] if names else 'local')} to find by meaning too")
    session.note(f"Nothing{place} answers that{': ' if tries else ''}{'; '.join(tries)}.")


def nothing_recorded(session: Session, scope: Namespace, *, below: bool, narrowed: Sequence[str] = ()) -> None:
    """Say why no conversations are listed.

    Raises:
        ItemNotFoundError: There is no such namespace: most likely it was mistyped.
    """
    _require_memory(session, scope, below=below)
    place = f" in {format_namespace(scope)}" if scope else ""
    store = session.reading()
    if narrowed and store.threads(scope, below=below, limit=1):
        session.note(f"No conversation{place} was held then; leave out {' and '.join(narrowed)} to see all.")
    elif not below and store.threads(scope, below=True, limit=1):
        session.note(f"No conversations are recorded{place} itself; add --below for the namespaces below it.")
    else:
        session.note(
            f"No conversations are recorded{place}. `memoranda episodes import FILE` brings one in; agents record "
            "theirs with EpisodeRecorder."
        )


def narrowed_by(**options: object) -> list[str]:
    """The names of the options that were given.

    Example:
        >>> narrowed_by(since="14d", as_of=None)
        ['--since']
    """
    return [f"--{name.replace('_', '-')}" for name, value in options.items() if value]


def _require_memory(session: Session, scope: Namespace, *, below: bool) -> None:
    """Refuse a namespace that nothing was ever written to or said in."""
    store = session.reading()
    if not scope or store.changes(namespace=scope, limit=1) or store.threads(scope, below=below, limit=1):
        return
    if below and store.list_namespaces(prefix=scope, limit=1):
        return
    name, known = format_namespace(scope), known_namespaces(session)
    inside = [format_namespace(labels) for labels in known if labels[: len(scope)] == scope]
    if inside:
        more = ", and more" if len(inside) > _NAMED else ""
        remedy = f"A namespace holds nothing of those below it; try -n {', '.join(inside[:_NAMED])}{more}, or --below."
        raise ItemNotFoundError(f"There is no namespace {name} itself.", remedy)
    names = list(map(format_namespace, known))
    close = get_close_matches(name, names, n=1)
    meant = f"Did you mean -n {quoted(close[0])}? " if close else ""
    more = ", and more" if len(names) > _NAMED else ""
    remedy = f"{meant}There is {', '.join(names[:_NAMED])}{more}." if names else "The store holds nothing now."
    raise ItemNotFoundError(f"There is no namespace {name}.", remedy)


def known_namespaces(session: Session) -> list[Namespace]:
    """Namespaces that hold something, those with nothing but conversations too; not all where there are very many."""
    store = session.reading()
    threads = store.threads((), below=True, limit=_LOOKED_AT)
    return list(dict.fromkeys((*store.list_namespaces(limit=_LOOKED_AT), *(each.namespace for each in threads))))
