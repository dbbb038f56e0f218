"""`forget`: everything of a namespace, a conversation or a person goes for good."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path as LocalPath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memoranda.cli.command import WHOLE, command
from memoranda.cli.failures import UsageError
from memoranda.cli.names import parse_namespace
from memoranda.cli.output import printable
from memoranda.cli.session import Session

if TYPE_CHECKING:
    from memoranda.store.forgetting import Receipt


@command(
    "forget",
    "memoranda forget --subject ann --receipt ann.json",
    "memoranda forget --scope acme/ann --below",
    "memoranda forget --scope ann --thread 4f1c",
    panel=WHOLE,
)
def forget(
    session: Session,
    below: Annotated[bool, typer.Option("--below", help="The namespaces below it too.")] = False,
    thread: Annotated[
        str | None,
        typer.Option("--thread", metavar="ID", help="Only what was said in this conversation.", show_default=False),
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(
            "--subject",
            metavar="NAME",
            help="A person: every namespace that has this label, and elsewhere what this user said.",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="Instead of a scope: all that this tenant has.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and change nothing.")] = False,
    receipt: Annotated[
        LocalPath | None,
        typer.Option("--receipt", metavar="FILE", help="Write the receipt there too, as JSON.", show_default=False),
    ] = None,
    vacuum: Annotated[
        bool,
        typer.Option(
            "--vacuum/--no-vacuum", help="Clean the database's files at the end. Writers of SQLite wait for it."
        ),
    ] = True,
    vacuum_only: Annotated[
        bool,
        typer.Option("--vacuum-only", help="Forget nothing more: complete what was stopped, and clean the files."),
    ] = False,
) -> None:
    """Remove everything of a namespace, a conversation or a person, history and index included; this cannot be undone.

    First it shows what would go, and asks. Then files and documents with all revisions, recorded conversations,
    proposals, and the words and vectors of the index go, in short transactions, and the database's files are cleaned.
    The namespace (--scope or -n, exactly that one) has to be named on the command line; with --thread or --subject it
    says where to look. Nothing of anybody else changes. The receipt says what was removed where, and what could not be
    reached. A call that was stopped is completed by the next.
    """
    named = _named(session, below, thread, subject, everything)
    if vacuum_only and (named or not vacuum):
        raise UsageError("--vacuum-only forgets nothing, so there is nothing to name.", "Leave the other options out.")
    store = session.reading()
    with _written(session, receipt) as show:
        if vacuum_only:
            with session.out.progress("Cleaning"):
                done = store.finish_forgetting()
            show(done)
            return
        with session.out.progress("Looking"):
            plan = store.forget(**named, dry_run=True)
        # Of a conversation that is gone the index may hold what is left of it.
        if dry_run or (plan.empty and not (yes and thread)):
            show(plan)
            return
        if not yes:
            _ask(session, plan)
        show(_forget(session, plan, {**named, "vacuum": vacuum}))


def _ask(session: Session, plan: Receipt) -> None:
    """Go on only if somebody says so who has seen what would go."""
    if session.json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "Nobody is there to be asked, so nothing was forgotten.", "Say --yes, or look first with --dry-run."
        )
    for line in str(plan).splitlines():
        session.out.note(line)
    typer.confirm(f"Forget {printable(plan.what)} for good?", abort=True, err=True)


def _forget(session: Session, plan: Receipt, how: dict[str, Any]) -> Receipt:
    total, gone = sum(each.rows for each in plan.removed) + plan.proposals, 0
    with session.out.progress("Forgetting") as advance:

        def removed(count: int) -> None:
            nonlocal gone
            gone += count
            advance(gone, total)

        return session.reading().forget(**how, progress=removed)


def _named(session: Session, below: bool, thread: str | None, subject: str | None, everything: bool) -> dict[str, Any]:
    """What is to be forgotten. A namespace that the environment names is never meant."""
    scope = session.given.namespace
    if everything:
        if scope is not None or below or thread is not None or subject is not None:
            raise UsageError("--everything leaves nothing else to name.", "Leave the other options out.")
        return {"scope": (), "below": True, "confirm": True}
    if below and scope is None:
        raise UsageError("--below says nothing without --scope.", "Name the namespace.")
    named: dict[str, Any] = {
        "thread": thread,
        "subject": subject,
        "scope": None if scope is None else parse_namespace(scope),
    }
    found = {name: value for name, value in named.items() if value is not None}
    return {**found, "below": below} if found else {}


@contextmanager
def _written(session: Session, path: LocalPath | None) -> Generator[Callable[[Receipt], None]]:
    """Show a receipt, and write it to a file that is made before anything is done, so that it is never lost."""
    from memoranda.transfer.errors import TargetError

    if path is not None:
        try:
            path.open("x").close()
        except FileExistsError as error:
            raise TargetError(f"{path} is there already.", "Give the receipt another name.") from error
        except OSError as error:
            raise TargetError(f"{path} cannot be written: {error.strerror}.", "Choose another place.") from error

    def show(receipt: Receipt) -> None:
        if path is not None:
            path.write_text(json.dumps(receipt.to_dict(), ensure_ascii=False, indent=2) + "\n", "utf-8")
        if session.json:
            session.out.data(receipt.to_dict())
            return
        for line in str(receipt).splitlines():
            session.out.line(printable(line))

    try:
        yield show
    except BaseException:
        if path is not None and not path.stat().st_size:
            path.unlink()
        raise
