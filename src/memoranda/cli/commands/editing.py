"""`edit`: replace a piece of text, or open an item in an editor."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path as LocalPath
from typing import Annotated, Any

import typer

from memoranda.cli.command import CHANGE, Actor, Path, Reason, command
from memoranda.cli.commands import shapes
from memoranda.cli.commands.reading import document_text
from memoranda.cli.commands.writing import as_document
from memoranda.cli.failures import UsageError
from memoranda.cli.finding import explained
from memoranda.cli.hints import quoted
from memoranda.cli.session import Session
from memoranda.errors import MemorandaError


class EditorError(MemorandaError, ValueError):
    """The editor could not be run, or gave up."""


@command(
    "edit",
    "memoranda edit -n ann /notes/tea.md green black",
    "EDITOR=nano memoranda edit -n ann /notes/tea.md",
    panel=CHANGE,
)
def edit(
    session: Session,
    path: Path,
    old: Annotated[
        str | None,
        typer.Argument(metavar="OLD", help="The text to replace; it has to occur exactly once.", show_default=False),
    ] = None,
    new: Annotated[str | None, typer.Argument(metavar="NEW", help="The text to put there.", show_default=False)] = None,
    everywhere: Annotated[bool, typer.Option("--all", help="Replace OLD wherever it occurs.")] = False,
    actor: Actor = None,
    reason: Reason = None,
) -> None:
    """Replace a piece of text; without OLD and NEW open the item in $VISUAL or $EDITOR.

    What is saved in the editor is merged with what others wrote meanwhile. If the two overlap, nothing is written, the
    exit code is 4, and your text stays in a file that the message names.
    """
    author = session.author(actor, reason)
    if old is None:
        _in_editor(session, path, actor, reason)
        return
    if new is None:
        raise UsageError("NEW is missing.", "Give OLD and NEW, or neither to open an editor.")
    key = session.file_key(path)
    with explained(session, key):
        done = session.reading().edit(session.namespace, key, old, new, replace_all=everywhere, author=author)
    shapes.show_committed(session, done)


def _in_editor(session: Session, path: str, actor: str | None, reason: str | None) -> None:
    editor = _editor()
    store = session.writing()
    key, namespace = session.file_key(path), session.namespace
    item = store.get(namespace, key, refresh_ttl=False)
    before, is_document = ("", False) if item is None else _editable(key, item.value)
    draft = _draft(key, before, is_document)
    try:
        _run_editor(editor, draft)
        after = _read(draft)
        if after == before:
            draft.unlink()
            _say(session, key, 0 if item is None else item.revision)
            return
        value: Any = as_document(after) if is_document else after
        base = 0 if item is None else item.revision
        done = store.write(namespace, key, value, base=base, author=session.author(actor, reason))
    except BaseException as error:
        _keep(draft, before, error)
        raise
    draft.unlink()
    shapes.show_committed(session, done)


def _editable(key: str, value: Mapping[str, Any]) -> tuple[str, bool]:
    """The text to edit, and whether it is a JSON document."""
    from memoranda.files.format import file_text, is_file_value

    if not is_file_value(value):
        return document_text(value), True
    text = file_text(value)
    if text is None:
        raise UsageError(
            f"{key} is a binary file, which has no text to edit.",
            f"Write it whole with `memoranda write {quoted(key)} --file FILE`.",
        )
    return text, False


def _draft(key: str, text: str, is_document: bool) -> LocalPath:
    """A file of its own for the editor, named so that the editor knows what it is."""
    suffix = ".json" if is_document else LocalPath(key).suffix[:20] or ".txt"
    with tempfile.NamedTemporaryFile("wb", prefix="memoranda-", suffix=suffix, delete=False) as file:
        file.write(text.encode())
    return LocalPath(file.name)


def _editor() -> str:
    """The editor that is asked for; one that nobody named needs a terminal."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if named:
        return named
    if os.name == "nt":
        return "notepad"
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "There is no terminal to edit on.",
            "Give OLD and NEW, write the whole text with `memoranda write PATH TEXT`, or set EDITOR to one that needs "
            "none.",
        )
    return "vi"


def _run_editor(editor: str, draft: LocalPath) -> None:
    try:
        process = subprocess.Popen([*shlex.split(editor), str(draft)])
    except (OSError, ValueError) as error:
        raise EditorError(f"The editor {editor!r} cannot be run: {error}.", "Set EDITOR to one that can.") from None
    # Ctrl-C is the editor's as long as it runs, though a terminal sends it here too.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code = process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    if code:
        raise EditorError(f"The editor {editor!r} ended with code {code}, so nothing was written.", "Try again.")


def _read(draft: LocalPath) -> str:
    try:
        return draft.read_bytes().decode()
    except UnicodeDecodeError:
        raise EditorError("The editor saved something that is not UTF-8.", "Set its encoding to UTF-8.") from None


def _keep(draft: LocalPath, before: str, error: BaseException) -> None:
    """Lose no work: a draft with changes stays, and whoever reads the error is told where."""
    try:
        changed = draft.read_bytes() != before.encode()
    except OSError:
        return
    if not changed:
        draft.unlink(missing_ok=True)
    elif isinstance(error, MemorandaError):
        error.remedy = f"{error.remedy} Your text is kept in {draft}.".strip()
    else:
        print(f"Your text is kept in {draft}.", file=sys.stderr)


def _say(session: Session, key: str, revision: int) -> None:
    if session.json:
        session.out.data({"namespace": list(session.namespace), "key": key, "revision": revision, "operation": None})
    else:
        session.out.note("Nothing was changed.")
