"""`write`, `rm` and `mv`: change what there is. All of it stays in the history."""

from __future__ import annotations

import sys
from pathlib import Path as LocalPath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memoranda.cli.command import CHANGE, Actor, Path, Reason, command
from memoranda.cli.commands import shapes
from memoranda.cli.failures import UsageError
from memoranda.cli.finding import explained, missing
from memoranda.cli.names import format_namespace, parse_namespace
from memoranda.cli.output import counted, printable
from memoranda.cli.session import Session
from memoranda.errors import ItemNotFoundError

if TYPE_CHECKING:
    from memoranda.store.changes import Committed, Move, Namespace
    from memoranda.store.store import MemoryStore

_MANY = 20


@command(
    "write",
    "memoranda write -n ann /notes/tea.md 'Likes green tea.' --reason 'asked to remember'",
    "memoranda write -n ann /photo.png --file photo.png",
    'memoranda write -n ann profile --document \'{"name": "Ann"}\'',
    panel=CHANGE,
)
def write(
    session: Session,
    path: Path,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="The content; - reads it from stdin.", show_default=False)
    ] = None,
    file: Annotated[
        LocalPath | None, typer.Option("--file", "-f", metavar="FILE", help="Take the content from this file.")
    ] = None,
    base: Annotated[
        int | None,
        typer.Option(
            "--base",
            metavar="N",
            min=0,
            help="The revision that the content was made from; 0: the item must be new. What others wrote since is "
            "merged, or the write is refused. Default: replace whatever is there.",
        ),
    ] = None,
    append: Annotated[bool, typer.Option("--append", "-a", help="Add it at the end, on a new line.")] = False,
    document: Annotated[
        bool,
        typer.Option(
            "--document", help="The content is a JSON object, kept as a document; a PATH without a slash stays a name."
        ),
    ] = False,
    actor: Actor = None,
    reason: Reason = None,
) -> None:
    """Write a file, or a JSON document. What was there stays in the history.

    The content is taken exactly as it is given, from TEXT, from a file, or from stdin where neither is named. Bytes
    that are not UTF-8 become a binary file. An item that is a JSON document stays one.
    """
    content = _content(session, text, file)
    store = session.writing()
    author = session.author(actor, reason)
    key = path if document and path[:1] not in ("", "/", "\\") else session.file_key(path)
    if append:
        if base is not None or document:
            raise UsageError("--append goes neither with --base nor with --document.", "Leave those out.")
        shapes.show_committed(session, store.append(session.namespace, key, as_text(content), author=author))
        return
    value: Any = content
    if document or _is_document(session, key):
        value = as_document(as_text(content))
    shapes.show_committed(session, store.write(session.namespace, key, value, base=base, author=author))


@command("rm", "memoranda rm -n ann /notes --recursive --yes", panel=CHANGE)
def rm(
    session: Session,
    path: Path,
    recursive: Annotated[bool, typer.Option("--recursive", "-r", help="A folder with everything below it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before a folder is deleted.")] = False,
    actor: Actor = None,
    reason: Reason = None,
) -> None:
    """Delete an item, or a folder. The history stays, and `memoranda restore` brings it back.

    A folder needs --recursive; on a terminal it is asked for, elsewhere --yes is needed.
    """
    from memoranda.store.changes import ChangeSet, Delete

    store, namespace = session.reading(), session.namespace
    author = session.author(actor, reason)
    key = session.key_or_folder(path)
    below = store.list_keys(namespace, key, recursive=True) if key.startswith("/") else []
    if not below and key != "/":
        with explained(session, key):
            result = store.commit(ChangeSet([Delete(namespace, key, missing_ok=False)], author))
        _show_all(session, result.revisions, "Deleted")
        return
    if not recursive:
        raise UsageError(
            f"{key} is a folder that holds {counted(len(below), 'file')}.", "Add --recursive to delete all of it."
        )
    if not yes:
        _ask(session, f"Delete {counted(len(below), 'file')} below {printable(key)} in {format_namespace(namespace)}?")
    _show_all(session, store.delete_prefix(namespace, key, author=author).revisions, "Deleted")


@command(
    "mv",
    "memoranda mv -n ann /notes/tea.md /drinks/",
    "memoranda mv -n ann /notes --to-namespace acme/ann",
    "memoranda mv -n ann --contents /memories /",
    panel=CHANGE,
)
def mv(
    session: Session,
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="A file, a named item, or a folder.", show_default=False)
    ],
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="DST",
            help="Its new path; a folder, or a path that ends with a slash, is moved into. Default with "
            "--to-namespace: the same path.",
            show_default=False,
        ),
    ] = None,
    to_namespace: Annotated[
        str | None, typer.Option("--to-namespace", metavar="LABELS", help="Move it into this namespace.")
    ] = None,
    contents: Annotated[
        bool, typer.Option("--contents", help="Move what is in the folder SRC into the folder DST, not SRC itself.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace what is at the target.")] = False,
    actor: Actor = None,
    reason: Reason = None,
) -> None:
    """Move an item, or a folder with everything below it.

    The old place keeps its history, and `memoranda log --follow` at the new one goes on there.
    """
    from memoranda.store.changes import ChangeSet

    if target is None and to_namespace is None:
        raise UsageError("mv needs a target.", "Give a new path, or --to-namespace.")
    store, namespace = session.reading(), session.namespace
    labels = namespace if to_namespace is None else parse_namespace(to_namespace)
    author = session.author(actor, reason)
    if contents:
        moves = _moves_of_contents(session, source, source if target is None else target, labels, force)
        result = store.commit(ChangeSet(moves, author))
    else:
        key = session.key(source)
        new = key if target is None else _target(store, labels, key, target)
        if (namespace, key) == (labels, new):
            raise UsageError(
                f"{key} is where it would be moved to.", "Give another DST, or --contents to move what is in a folder."
            )
        with explained(session, key):
            result = store.move(namespace, key, new, to_namespace=labels, overwrite=force, author=author)
    _show_all(session, result.revisions, "Moved to")


def _moves_of_contents(session: Session, source: str, target: str, labels: Namespace, force: bool) -> list[Move]:
    """One move for everything that lies in a folder, all of which land together or not at all."""
    from memoranda.files.path import canonical_path, folder_prefix
    from memoranda.store.changes import Move

    namespace, store = session.namespace, session.reading()
    folder, into = (folder_prefix(canonical_path(each)) for each in (source, target))
    inside = store.list_keys(namespace, folder)
    if not inside or any(not entry.key.startswith(folder) for entry in inside):
        if store.get(namespace, folder.rstrip("/"), refresh_ttl=False) is None:
            raise missing(session, folder.rstrip("/") or "/")
        raise ItemNotFoundError(
            f"{source} is no folder in {format_namespace(namespace)}.", "Leave --contents out to move the file."
        )
    if (namespace, folder) == (labels, into):
        raise UsageError(f"What is in {folder} is where it would be moved to.", "Give another DST.")
    keys = [entry.key.rstrip("/") for entry in inside]
    moves = [Move(namespace, key, into + key[len(folder) :], labels, force) for key in keys]
    # What gets a place in the folder itself, as /a/a does on its way to /, waits until that is empty.
    return sorted(moves, key=lambda move: (move.to + "/").startswith(folder))


def _target(store: MemoryStore, namespace: Namespace, key: str, target: str) -> str:
    """The key that a move ends at."""
    from memoranda.files.path import canonical_path, name_of

    if not key.startswith("/") and not target.startswith("/") and not target.endswith("/"):
        return target  # a name stays a name
    path = canonical_path(target)
    into = target.endswith(("/", "\\")) or store.list_keys(namespace, path, limit=1)
    return canonical_path(f"{path}/{name_of(key)}") if into else path


def as_text(content: str | bytes) -> str:
    """The content as text.

    Raises:
        UsageError: It is binary.
    """
    if isinstance(content, str):
        return content
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise UsageError("The content is not UTF-8 text.", "Write it as a file, without other options.") from None


def as_document(text: str) -> dict[str, Any]:
    """The JSON object that a text stands for.

    Raises:
        UsageError: It is none.
    """
    import orjson

    try:
        value: Any = orjson.loads(text)
    except ValueError as error:
        raise UsageError(
            f"The item is a JSON document, and this is no JSON: {error}.",
            'Write an object such as {"name": "Ann"}; delete the item first to put a file in its place.',
        ) from None
    if not isinstance(value, dict):
        raise UsageError("A document is a JSON object, and this is none.", 'Wrap it, such as {"value": 3}.')
    return value  # pyright: ignore[reportUnknownVariableType]


def _content(session: Session, text: str | None, file: LocalPath | None) -> str | bytes:
    if text is not None and file is not None:
        raise UsageError("The content was given twice.", "Give TEXT or --file.")
    if file is not None:
        return file.read_bytes()
    if text is None and sys.stdin.isatty():
        raise UsageError("There is nothing to write.", "Give TEXT or --file, or - to type it and end with Ctrl-D.")
    return sys.stdin.buffer.read() if text in (None, "-") else text or ""


def _is_document(session: Session, key: str) -> bool:
    from memoranda.files.format import is_file_value

    item = session.reading().get(session.namespace, key, refresh_ttl=False)
    return item is not None and not is_file_value(item.value)


def _ask(session: Session, question: str) -> None:
    """Go on only if a person says yes."""
    if session.json or not sys.stdin.isatty():
        raise UsageError("This asks before it deletes, and nobody is here to answer.", "Add --yes.")
    typer.confirm(question, abort=True, err=True)


def _show_all(session: Session, landed: tuple[Committed, ...], did: str) -> None:
    if session.json:
        session.out.data({"changes": [shapes.committed(change) for change in landed]})
        return
    for change in landed[:_MANY]:
        session.out.line(f"{did} ", printable(change.key), (f" (r{change.revision})", "dim"))
    if len(landed) > _MANY:
        session.out.line(f"… and {len(landed) - _MANY} more.")
