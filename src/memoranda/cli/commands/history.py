"""`log`, `diff`, `blame`, `restore` and `changes`: how things came to be, and back again."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from memoranda.cli.command import HISTORY, Actor, Path, Reason, command
from memoranda.cli.commands import shapes
from memoranda.cli.failures import UsageError
from memoranda.cli.finding import explained, missing, namespace_exists, which_namespaces
from memoranda.cli.hints import quoted
from memoranda.cli.names import format_namespace
from memoranda.cli.output import human_time, printable
from memoranda.cli.session import Session

if TYPE_CHECKING:
    from memoranda.store.turns import RecordedTurn
    from memoranda.store.types import BlameLine, FeedChange, Revision

_PAGE = 1_000
_WORDS = 100
_PAUSE = 0.5
Verbose: TypeAlias = Annotated[
    bool, typer.Option("--verbose", "-v", help="Also show the thread, run and tool call of each change.")
]
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


@command("log", "memoranda log -n ann /notes/tea.md --limit 5 --patch", panel=HISTORY)
def log(
    session: Session,
    path: Path,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="At most so many revisions.")] = None,
    patch: Annotated[bool, typer.Option("--patch", "-p", help="Show what each revision changed.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Go on where the item was moved from.")] = False,
    verbose: Verbose = False,
) -> None:
    """Show the revisions of an item, newest first: when, what, who and why. A deleted item has its history too."""
    key = session.key(path)
    revisions = session.reading().history(session.namespace, key, limit=limit, follow=follow)
    if not revisions:
        raise missing(session, key)
    patches = [_patch(session, change) for change in revisions] if patch else [""] * len(revisions)
    if session.json:
        shown = [
            shapes.revision(change) | ({"patch": text} if patch else {})
            for change, text in zip(revisions, patches, strict=True)
        ]
        session.out.data({"namespace": list(session.namespace), "key": key, "revisions": shown})
    elif not patch:
        below = [shapes.where(change.author) for change in revisions] if verbose else []
        session.out.rows([shapes.revision_row(change) for change in revisions], right=frozenset({0}), below=below)
    else:
        for change, text in zip(revisions, patches, strict=True):
            below = [shapes.where(change.author)] if verbose else []
            session.out.rows([shapes.revision_row(change)], below=below)
            show_diff(session, text)


@command("diff", "memoranda diff -n ann /notes/tea.md 3 5", panel=HISTORY)
def diff(
    session: Session,
    path: Path,
    before: Annotated[
        int | None,
        typer.Argument(metavar="A", min=0, help="The older revision; 0: nothing yet. Default: the one before B."),
    ] = None,
    after: Annotated[
        int | None, typer.Argument(metavar="B", min=1, help="The newer revision. Default: the current one.")
    ] = None,
) -> None:
    """Show what changed between two revisions, as a unified diff. Without numbers: the last change.

    The exit code is 0 whether or not anything differs.
    """
    key = session.key(path)
    store, namespace = session.reading(), session.namespace
    if after is None:
        newest = store.history(namespace, key, limit=1)
        if not newest:
            raise missing(session, key)
        after = newest[0].revision
    before = after - 1 if before is None else before
    with explained(session, key):
        text = store.diff(namespace, key, before, after)
    if session.json:
        session.out.data({"namespace": list(namespace), "key": key, "before": before, "after": after, "diff": text})
        return
    show_diff(session, text)


@command("blame", "memoranda blame -n ann /notes/tea.md", "memoranda blame -n ann /notes/tea.md --turns", panel=HISTORY)
def blame(
    session: Session,
    path: Path,
    revision: Annotated[
        int | None,
        typer.Option("--revision", "-r", metavar="N", help="The revision to look at. Default: the current one."),
    ] = None,
    turns: Annotated[
        bool, typer.Option("--turns", help="Also show what was said that each line of a consolidator came from.")
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Show for every line which revision wrote it, when, and who."""
    if turns and revision is not None:
        raise UsageError("--turns is about the current revision.", "Leave --revision out.")
    key = session.key(path)
    with explained(session, key):
        lines = session.reading().blame(session.namespace, key, revision=revision)
        sources = [_sources(session, key, line) for line in lines] if turns else []
    if session.json:
        session.out.data(
            {
                "namespace": list(session.namespace),
                "key": key,
                "lines": [
                    {"number": line.number, "text": line.text, "revision": shapes.revision(line.revision)}
                    | ({"turns": [shapes.turn(turn) for turn in sources[line.number - 1]]} if turns else {})
                    for line in lines
                ],
            }
        )
    elif lines:
        session.out.rows(
            [
                [
                    (f"r{line.revision.revision}", "yellow"),
                    (human_time(line.revision.at), "dim"),
                    (printable(line.revision.author.actor or "-"), "cyan"),
                    *([(shapes.where(line.revision.author), "dim")] if verbose else []),
                    (str(line.number), "dim"),
                    session.out.text(line.text),
                ]
                for line in lines
            ],
            right=frozenset({0, 4 if verbose else 3}),
            below=[_said(found) for found in sources],
        )


def _sources(session: Session, key: str, line: BlameLine) -> tuple[RecordedTurn, ...]:
    """What was said that a line came from."""
    if not (line.revision.author.run_id or "").startswith("r-"):
        return ()
    from memoranda.consolidation.provenance import sources_of

    return sources_of(session.reading(), session.namespace, key, line.number)


def _said(turns: Sequence[RecordedTurn]) -> str:
    """What was said that a line came from, a line for each turn."""
    lines: list[str] = []
    for turn in turns:
        said = " ".join(turn.text.split())
        said = said if len(said) <= _WORDS else said[: _WORDS - 1].rstrip() + "…"
        place = printable(turn.thread_id)
        lines.append(f"from {place}  {human_time(turn.at)}  #{turn.position}  {turn.role}: {printable(said)}")
    return "\n".join(lines)


@command("restore", "memoranda restore -n ann /notes/tea.md 3 --reason 'the edit was wrong'", panel=HISTORY)
def restore(
    session: Session,
    path: Path,
    revision: Annotated[
        int, typer.Argument(metavar="REVISION", min=1, help="The revision to bring back.", show_default=False)
    ],
    actor: Actor = None,
    reason: Reason = None,
) -> None:
    """Bring back an earlier revision, as a new one. A deleted item comes back to life."""
    key = session.key(path)
    with explained(session, key):
        done = session.reading().restore(session.namespace, key, revision, author=session.author(actor, reason))
    shapes.show_committed(session, done)


@command("changes", "memoranda changes --author user:ann --limit 20", panel=HISTORY)
def changes(
    session: Session,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TOKEN", help="Go on after this change; the end of each listing names its token."
        ),
    ] = None,
    author: Annotated[str | None, typer.Option("--author", metavar="WHO", help="Only changes by this actor.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="At most so many changes.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more, until Ctrl-C.")] = False,
    verbose: Verbose = False,
) -> None:
    """Show every change of the store, oldest first; with -n only those of one namespace.

    Nothing is skipped, however late it was committed. With --json --follow each change is one line.
    """
    token, shown = since, 0
    gathered: list[dict[str, Any]] = []
    while True:
        wanted = _PAGE if limit is None else min(_PAGE, limit - shown)
        page = session.reading().changes(since=token, author=author, namespace=session.named_namespace, limit=wanted)
        for change in page:
            shape = shapes.revision(change) | {"token": change.token}
            if follow:
                _show_now(session, change, shape, verbose)
            elif session.json:
                gathered.append(shape)
        if not follow and not session.json and page:
            _show_page(session, page, verbose)
        shown += len(page)
        token = page[-1].token if page else token
        if limit is not None and shown >= limit:
            break
        if len(page) < wanted:
            if not follow:
                break
            time.sleep(_PAUSE)
    if follow:
        return
    if session.json:
        session.out.data({"changes": gathered, "next": token})
        return
    if not shown:
        by = f" by {author}" if author else ""
        place = f" in {format_namespace(session.named_namespace)}" if session.named_namespace else ""
        nowhere = place and not since and not namespace_exists(session)
        why = f": there is no such namespace. {which_namespaces(session)}" if nowhere else "."
        session.note(f"No changes{by}{place}{' since then' if since else ''}{why}")
    if token:
        scope = f" -n {quoted(format_namespace(session.named_namespace))}" if session.named_namespace else ""
        only = f" --author {quoted(author)}" if author else ""
        session.note(f"Go on with `memoranda changes{scope}{only} --since {quoted(token)}`.")


def _show_page(session: Session, page: Sequence[FeedChange], verbose: bool) -> None:
    below = [shapes.where(change.author) for change in page] if verbose else []
    session.out.rows([_feed_row(change) for change in page], below=below)


def _show_now(session: Session, change: FeedChange, shape: dict[str, Any], verbose: bool) -> None:
    if session.json:
        session.out.data(shape, one_line=True)
    else:
        _show_page(session, [change], verbose)
    sys.stdout.flush()


def _feed_row(change: FeedChange) -> list[Any]:
    place = f"{format_namespace(change.namespace)}:{change.key}"
    return shapes.revision_row(change, place=printable(place))


def _patch(session: Session, change: Revision) -> str:
    return session.reading().diff(change.namespace, change.key, change.revision - 1, change.revision)


def show_diff(session: Session, text: str) -> None:
    """Write a unified diff, in colour on a terminal."""
    lines = text.split("\n")
    for line in lines[:-1] if lines[-1] == "" else lines:
        shown = session.out.text(line)
        session.out.line((shown, "bold" if line.startswith(("--- ", "+++ ")) else _STYLES.get(line[:1], "")))
