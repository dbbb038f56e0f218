"""`ls` and `tree`: what there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from memoranda.cli.command import LOOK, command
from memoranda.cli.commands import shapes
from memoranda.cli.finding import missing, require_namespace
from memoranda.cli.names import format_namespace
from memoranda.cli.output import counted, human_size, printable
from memoranda.cli.session import Session

if TYPE_CHECKING:
    from memoranda.store.changes import Namespace
    from memoranda.store.store import MemoryStore
    from memoranda.store.types import KeyEntry

_PAGE = 1_000
_HINTS = 3
# Behind every path, and before every name that starts with a greater character than a slash.
_BEHIND_PATHS = "/\U0010ffff/\U0010ffff"


@command("ls", "memoranda ls", "memoranda ls -n ann /notes -R", panel=LOOK)
def ls(
    session: Session,
    path: Annotated[
        str | None, typer.Argument(metavar="PATH", help="A folder or a file. Default: everything at the top.")
    ] = None,
    recursive: Annotated[
        bool, typer.Option("--recursive", "-R", help="Everything below, not only the folder.")
    ] = False,
) -> None:
    """List a folder: sizes, revisions, times and names; or the namespaces.

    Without -n and PATH it lists the namespaces of the store. Without -n but with PATH or -R it looks into the only
    namespace there is, and says so.
    """
    if path is None and not recursive and session.settings.namespace is None:
        _namespaces(session)
        return
    entries = _entries(session, path, recursive=recursive)
    if session.json:
        session.out.data(
            {"namespace": list(session.namespace), "path": path or "/", "entries": [shapes.entry(e) for e in entries]}
        )
    elif entries:
        session.out.rows(shapes.entry_rows(entries), right=frozenset({0, 1}))
    else:
        _nothing(session)


@command("tree", "memoranda tree -n ann /notes", panel=LOOK)
def tree(
    session: Session,
    path: Annotated[str | None, typer.Argument(metavar="PATH", help="The folder to start at. Default: /.")] = None,
) -> None:
    """Show everything below a folder as a tree, with sizes and revisions."""
    entries = _entries(session, path, recursive=True)
    if session.json:
        session.out.data(
            {"namespace": list(session.namespace), "path": path or "/", "entries": [shapes.entry(e) for e in entries]}
        )
        return
    top = path or "/"
    session.out.line((printable(format_namespace(session.namespace)), "bold"), " ", (printable(top), "bold blue"))
    prefix = "/" + top.strip("/") + "/" if top.strip("/") else "/"
    _branches(session, {e.key[len(prefix) :]: e for e in entries if e.key.startswith(prefix)}, "")
    for named in (e for e in entries if not e.key.startswith(prefix)):
        session.out.line(printable(named.key), (f"  {_detail(named)}", "dim"))
    size = human_size(sum(e.size for e in entries))
    session.out.line((f"{counted(len(entries), 'item')}, {size}", "dim"))


def _namespaces(session: Session) -> None:
    found: list[Namespace] = []
    while page := session.reading().list_namespaces(limit=_PAGE, offset=len(found)):
        found += page
    if session.json:
        session.out.data({"namespaces": [list(labels) for labels in found]})
        return
    for labels in found:
        session.out.line((printable(format_namespace(labels)), "bold blue"))
    if not found:
        session.note("The store is empty. Write something: `memoranda write -n you /hello.md 'Hello.'`")


def _nothing(session: Session) -> None:
    """Say that a namespace is empty, and where its labels lead on, since scope is exact."""
    place = format_namespace(session.namespace)
    below = session.reading().list_namespaces(prefix=session.namespace, limit=_HINTS)
    names = ", ".join(format_namespace(labels) for labels in below)
    session.out.note(f"Nothing is in {place} itself; try {names}." if below else f"Nothing is in {place}.")


def _entries(session: Session, path: str | None, *, recursive: bool) -> list[KeyEntry]:
    store, namespace = session.reading(), session.namespace
    if path is not None:
        found = store.list_keys(namespace, path, recursive=recursive)
        if not found and path.strip("/\\"):
            return [_one(session, path)]
    elif recursive:
        found = list(store.list_keys(namespace, ""))
    else:
        found = [*_names(store, namespace), *store.list_keys(namespace, "/")]
    if not found:
        require_namespace(session)
    return found


def _one(session: Session, path: str) -> KeyEntry:
    """The entry of a single item, for a path that is no folder."""
    from memoranda.store.types import KeyEntry

    key = session.key(path)
    changes = session.reading().history(session.namespace, key, limit=1)
    item = session.reading().get(session.namespace, key, refresh_ttl=False)
    if item is None:
        raise missing(session, key)
    return KeyEntry(key, False, changes[0].size, item.revision, item.created_at, item.updated_at)


def _names(store: MemoryStore, namespace: Namespace) -> Iterator[KeyEntry]:
    """The items whose keys are names and no paths; they come before the paths and behind them."""
    after = None
    while page := store.list_keys(namespace, "", limit=_PAGE, after=after):
        for item in page:
            if item.key.startswith("/"):
                after = max(after or "", _BEHIND_PATHS)
                break
            yield item
        else:
            after = page[-1].key


def _branches(session: Session, below: dict[str, KeyEntry], indent: str) -> None:
    groups: dict[str, dict[str, KeyEntry]] = {}
    for name, item in below.items():
        head, slash, rest = name.partition("/")
        groups.setdefault(head + slash, {})[rest] = item
    for number, (name, inside) in enumerate(sorted(groups.items()), 1):
        last = number == len(groups)
        stem = (indent + ("└── " if last else "├── "), "dim")
        if name.endswith("/"):
            session.out.line(stem, (printable(name), "bold blue"))
            _branches(session, inside, indent + ("    " if last else "│   "))
        else:
            session.out.line(stem, printable(name), (f"  {_detail(inside[''])}", "dim"))


def _detail(item: KeyEntry) -> str:
    return f"{human_size(item.size)}  r{item.revision}"
