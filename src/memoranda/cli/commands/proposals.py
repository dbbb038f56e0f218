"""`proposals list | show | accept | reject`: what waits for a person, and what that person decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from memoranda.cli.command import REVIEW, command
from memoranda.cli.commands import shapes
from memoranda.cli.commands.history import show_diff
from memoranda.cli.failures import UsageError
from memoranda.cli.names import format_namespace
from memoranda.cli.output import Part, human_time, printable
from memoranda.cli.session import Session

if TYPE_CHECKING:
    from memoranda.store.changes import Change, Conflict
    from memoranda.store.types import Proposal

_STYLES = {"pending": "yellow", "accepted": "green", "rejected": "red"}

Id = Annotated[str, typer.Argument(metavar="ID", help="The proposal, such as p-7f3k2m.", show_default=False)]
Note = Annotated[
    str | None, typer.Option("--note", "--reason", metavar="TEXT", help="What to say about it.", show_default=False)
]
Reviewer = Annotated[
    str | None,
    typer.Option(
        "--as",
        "--actor",
        metavar="WHO",
        help="Who decides. Default: $MEMORANDA_ACTOR, else cli:<your user name>.",
        show_default=False,
    ),
]


@command("proposals list", "memoranda proposals list -n acme", "memoranda proposals list --all", panel=REVIEW)
def list_(
    session: Session,
    status: Annotated[
        Literal["pending", "accepted", "rejected"] | None,
        typer.Option("--status", help="Only these. Default: pending.", show_default=False),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Those that are decided too.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="At most so many.", show_default=False)
    ] = None,
) -> None:
    """List the changes that wait for a reviewer, oldest first; with -n only those that touch that namespace."""
    if every and status is not None:
        raise UsageError("--all and --status were both given.", "Give one of them.")
    wanted = None if every else status or "pending"
    found = session.reading().proposals(session.named_namespace, status=wanted, limit=limit)
    if session.json:
        session.out.data({"proposals": [_shape(proposal) for proposal in found]})
        return
    session.out.rows([_row(proposal, with_status=every) for proposal in found])
    if not found:
        place = f" in {format_namespace(session.named_namespace)}" if session.named_namespace else ""
        session.out.note(f"No {wanted + ' ' if wanted else ''}proposals{place}.")


@command("proposals show", "memoranda proposals show p-7f3k2m", panel=REVIEW)
def show(session: Session, id: Id) -> None:
    """Show a proposal: who made it, why it waits, and what accepting it would change now."""
    from memoranda.store.changes import ConflictError

    store = session.reading()
    proposal = store.get_proposal(id)
    diff = ""
    conflicts: tuple[Conflict, ...] = ()
    if proposal.status == "pending":
        try:
            diff = store.proposal_diff(id)
        except ConflictError as error:
            conflicts = error.conflicts
    if session.json:
        shape = _shape(proposal)
        if proposal.status == "pending":
            shape |= {"diff": diff, "conflicts": [_conflict(each) for each in conflicts]}
        session.out.data(shape)
        return
    for line in _header(proposal):
        session.out.line(*line)
    if conflicts:
        for each in conflicts:
            session.out.line(("Conflict: ", "bold red"), printable(each.cause))
        session.out.note("It cannot be accepted as it is: write what is wanted yourself and reject it.")
        for each in conflicts:
            _show_texts(session, each)
    elif proposal.status == "pending":
        session.out.line("")
        show_diff(session, diff)
        if not diff:
            session.out.note("It would change nothing now.")


@command("proposals accept", "memoranda proposals accept p-7f3k2m --note 'as agreed'", panel=REVIEW)
def accept(session: Session, id: Id, note: Note = None, reviewer: Reviewer = None) -> None:
    """Let a proposal land. What others have written meanwhile is merged; where it cannot be, nothing lands."""
    done = session.reading().accept_proposal(id, author=session.author(reviewer, None), note=note)
    if session.json:
        session.out.data({"id": id, "status": "accepted", "revisions": [shapes.committed(r) for r in done.revisions]})
        return
    session.out.line(printable(id), " is accepted.")
    for change in done.revisions:
        shapes.show_committed(session, change)


@command("proposals reject", "memoranda proposals reject p-7f3k2m --note 'not for everybody'", panel=REVIEW)
def reject(session: Session, id: Id, note: Note = None, reviewer: Reviewer = None) -> None:
    """Decide that a proposal does not land. It can still be looked at."""
    rejected = session.reading().reject_proposal(id, author=session.author(reviewer, None), note=note)
    if session.json:
        session.out.data(_shape(rejected))
    else:
        session.out.line(printable(id), " is rejected; nothing was changed.")


def _shape(proposal: Proposal) -> dict[str, Any]:
    from memoranda.store.recorded_changes import change_to_json

    return {
        "id": proposal.id,
        "status": proposal.status,
        "author": shapes.author(proposal.author),
        "created_at": proposal.created_at,
        "reason": proposal.reason,
        "source": proposal.source,
        "changes": [change_to_json(change) for change in proposal.changes],
        "decided_by": proposal.decided_by,
        "decided_at": proposal.decided_at,
        "note": proposal.note,
    }


def _conflict(conflict: Conflict) -> dict[str, Any]:
    return {
        "namespace": list(conflict.namespace),
        "key": conflict.key,
        "reason": conflict.reason,
        "cause": conflict.cause,
        "revision": conflict.revision,
        "base": conflict.base,
        "theirs": conflict.theirs,
        "yours": conflict.yours,
    }


def _row(proposal: Proposal, *, with_status: bool) -> list[Part]:
    first, *others = proposal.changes
    more = f" and {len(others)} more" if others else ""
    status: list[Part] = [(proposal.status, _STYLES[proposal.status])] if with_status else []
    return [
        (proposal.id, "bold yellow"),
        (human_time(proposal.created_at), "dim"),
        *status,
        (printable(proposal.author.actor or "-"), "cyan"),
        _said(first) + more,
        printable(proposal.author.reason or proposal.reason or ""),
    ]


def _header(proposal: Proposal) -> list[tuple[Part, ...]]:
    author = proposal.author
    lines: list[tuple[Part, ...]] = [
        ((proposal.id, "bold yellow"), " is ", (proposal.status, _STYLES[proposal.status])),
        (f"Proposed by {printable(author.actor or 'nobody named')} at ", (human_time(proposal.created_at), "dim")),
    ]
    if where := shapes.where(author):
        lines.append((f"In {where}",))
    if author.reason:
        lines.append((f"Because: {printable(author.reason)}",))
    if proposal.reason or proposal.source:
        source = f" ({printable(proposal.source)})" if proposal.source else ""
        lines.append((f"Waits because: {printable(proposal.reason or 'it was held back')}{source}",))
    if proposal.status != "pending":
        said = f": {printable(proposal.note)}" if proposal.note else ""
        by = printable(proposal.decided_by or "nobody named")
        lines.append((f"{proposal.status.capitalize()} by {by} at {human_time(proposal.decided_at)}{said}",))
    lines += [("  " + _said(change),) for change in proposal.changes]
    return lines


def _said(change: Change) -> str:
    """A change in a few words."""
    from memoranda.store.changes import Move, Restore

    text = f"{type(change).__name__.lower()} {format_namespace(change.namespace)}:{change.key}"
    if isinstance(change, Move):
        place = "" if change.to_namespace is None else format_namespace(change.to_namespace) + ":"
        text += f" to {place}{change.to}"
    if isinstance(change, Restore):
        text += f" r{change.revision}"
    return printable(text)


def _show_texts(session: Session, conflict: Conflict) -> None:
    """The current text against the one proposed, where both are texts."""
    from memoranda.files.diff import unified_diff

    if conflict.theirs is None or conflict.yours is None:
        return
    old, new = f"{conflict.key} (revision {conflict.revision})", f"{conflict.key} (as proposed)"
    session.out.line("")
    show_diff(session, unified_diff(conflict.theirs, conflict.yours, before_label=old, after_label=new))
