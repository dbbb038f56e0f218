"""`grep` and `glob`: find text, and find files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from memoranda.cli.command import LOOK, command
from memoranda.cli.commands import shapes
from memoranda.cli.failures import NO
from memoranda.cli.finding import note_if_missing
from memoranda.cli.output import Part, printable
from memoranda.cli.session import Session

if TYPE_CHECKING:
    from memoranda.store.types import GrepMatch

_Folder = Annotated[str, typer.Argument(metavar="PATH", help="Look only in this file, or below this folder.")]


@command("grep", "memoranda grep -n ann 'green tea' /notes --glob '*.md'", panel=LOOK)
def grep(
    session: Session,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text to find, as it stands.", show_default=False)],
    path: Annotated[
        str | None, typer.Argument(metavar="PATH", help="Look only in this file, or below this folder.")
    ] = None,
    pattern: Annotated[
        str | None, typer.Option("--glob", metavar="PATTERN", help="Only files that match this pattern.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="At most so many lines.")] = None,
) -> None:
    """Find the lines that hold a text: `key:line:text`. Case counts; nothing in the text is special.

    The exit code is 1 if there is none.
    """
    matches, truncated = _found(session, text, path, pattern, limit)
    if not matches:
        note_if_missing(session, path)
    if session.json:
        session.out.data(
            {
                "namespace": list(session.namespace),
                "matches": [{"key": m.key, "line": m.line, "text": m.text} for m in matches],
                "truncated": truncated,
            }
        )
    else:
        for match in matches:
            session.out.line(
                (printable(match.key), "magenta"),
                ":",
                (str(match.line), "green"),
                ":",
                *_highlighted(session.out.text(match.text), text),
            )
        if truncated:
            session.out.note(f"There are more than {limit}; --limit shows more.")
    if not matches:
        raise typer.Exit(NO)


@command("glob", "memoranda glob -n ann '**/*.md'", panel=LOOK)
def glob(
    session: Session,
    pattern: Annotated[
        str,
        typer.Argument(
            metavar="PATTERN",
            help="Without a slash it matches names at any depth, with one the path below PATH; ** crosses folders.",
            show_default=False,
        ),
    ],
    path: _Folder = "/",
) -> None:
    """Find files by a pattern, the last changed first.

    The exit code is 1 if there is none.
    """
    entries = session.reading().glob(session.namespace, pattern, path)
    if not entries:
        note_if_missing(session, path)
    if session.json:
        session.out.data({"namespace": list(session.namespace), "entries": [shapes.entry(e) for e in entries]})
    elif entries:
        session.out.rows(shapes.entry_rows(entries), right=frozenset({0, 1}))
    if not entries:
        raise typer.Exit(NO)


def _found(
    session: Session, text: str, path: str | None, pattern: str | None, limit: int | None
) -> tuple[Sequence[GrepMatch], bool]:
    """The lines, and whether there are more."""
    store, namespace = session.reading(), session.namespace
    key = "/" if path is None else session.key_or_folder(path)
    if not key.startswith("/"):  # such a name is no path, so it is picked out of everything
        everything = [match for match in store.grep(namespace, text, "", glob=pattern).matches if match.key == key]
        return everything[:limit], limit is not None and len(everything) > limit
    result = store.grep(namespace, text, path or "", glob=pattern, limit=limit)
    return result.matches, result.truncated


def _highlighted(line: str, text: str) -> list[Part]:
    parts: list[Part] = []
    for number, piece in enumerate(line.split(printable(text))):
        parts += [(printable(text), "bold red"), piece] if number else [piece]
    return parts
