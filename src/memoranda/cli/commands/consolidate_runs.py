"""`consolidate runs | show | status`: what was consolidated, what came of it, and what is still to do."""

from __future__ import annotations

from contextlib import suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from memoranda.cli.command import CONSOLIDATION, command
from memoranda.cli.commands import shapes
from memoranda.cli.commands.history import show_diff
from memoranda.cli.consolidators import DEFAULT, Consumer, With, consolidators, known_consumers
from memoranda.cli.failures import UsageError
from memoranda.cli.names import format_namespace
from memoranda.cli.output import Part, counted, human_time, printable
from memoranda.cli.session import Session
from memoranda.errors import MemorandaError, RunNotFoundError

if TYPE_CHECKING:
    from memoranda.consolidation.reports import ScopeStatus
    from memoranda.store.changes import Namespace
    from memoranda.store.runs import Run, RunChange
    from memoranda.store.store import MemoryStore

_LOOKED_AT = 1_000
_WORDS = 100

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run, such as r-7f3k2m.", show_default=False)]


@command(
    "consolidate runs",
    "memoranda consolidate runs -n ann",
    "memoranda consolidate runs --status parked",
    panel=CONSOLIDATION,
)
def runs(
    session: Session,
    status: Annotated[
        Literal["applied", "unchanged", "proposed", "rejected", "parked", "undone"] | None,
        typer.Option("--status", help="Only these.", show_default=False),
    ] = None,
    consumer: Consumer = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")] = 100,
) -> None:
    """List what was consolidated, newest first: when, what came of it, whose conversations, how many turns.

    Without -n it lists the runs of all namespaces, and without --consolidator those of all consolidators.
    """
    scope = session.named_namespace
    found = session.reading().runs.list(consumer, scope, status, limit)
    if session.json:
        session.out.data({"runs": [shapes.run(each) for each in found]})
        return
    if found:
        session.out.rows([_row(each) for each in found], right=frozenset({4}))
        if len(found) == limit:
            session.out.note(f"There may be more; --limit shows more than {limit}.")
    else:
        place = f" of {format_namespace(scope)}" if scope else ""
        session.out.note(f"No {status + ' ' if status else ''}runs{place}.")


@command("consolidate show", "memoranda consolidate show r-7f3k2m --turns", panel=CONSOLIDATION)
def show(
    session: Session,
    id: RunId,
    turns: Annotated[bool, typer.Option("--turns", help="What was said, too: the turns that it read.")] = False,
) -> None:
    """Show a run: which turns it read, what it changed as a unified diff, and which turns each change came from."""
    store = session.reading()
    found = run_named(session, id)
    diff = _diff(store, found)
    read = store.turns(found.scope, after=found.after, limit=None) if turns or not session.json else []
    read = [turn for turn in read if turn.position <= found.to]
    if session.json:
        shown = [shapes.turn(turn) for turn in read]
        session.out.data(shapes.run(found) | {"diff": diff} | ({"read": shown} if turns else {}))
        return
    for line in _header(found):
        session.out.line(*line)
    for change in found.changes:
        session.out.line("  ", *change_parts(change))
    if diff:
        session.out.line("")
        show_diff(session, diff)
    if turns:
        session.out.line("")
        if not read:
            session.out.note("What it read is not there any more.")
        for turn in read:
            said = " ".join(turn.text.split())
            said = said if len(said) <= _WORDS else said[: _WORDS - 1] + "…"
            session.out.line(
                (f"{human_time(turn.at)}  ", "dim"),
                (f"#{turn.position}", "magenta"),
                f"  {turn.role}: ",
                printable(said),
            )
    if found.status == "parked":
        session.note(f"`memoranda consolidate retry {found.id} --with app.py:consolidator` tries it again.")
    elif found.status == "proposed" and found.proposal:
        session.note(f"`memoranda proposals accept {found.proposal}` lets it land.")


@command(
    "consolidate status", "memoranda consolidate status", "memoranda consolidate status -n acme", panel=CONSOLIDATION
)
def status(
    session: Session,
    with_: With = None,
    consumer: Consumer = None,
) -> None:
    """Show what is still to be consolidated: unread turns by namespace, and what runs, waits, or has failed.

    Of all consolidators that ever worked in this store, or have something to do. With --with it is about that one, in
    its store, and its scopes. With -n only namespaces that start with those labels. The exit code is 0 whether or not
    there is anything.
    """
    from memoranda.backends.steps import perform
    from memoranda.consolidation.statuses import statuses

    if with_ is not None and consumer is not None:
        raise UsageError("--with and --consolidator were both given.", "Give one of them: --with knows the name.")
    prefix = session.named_namespace
    if with_ is not None:
        places = {each.name: each.prefix for each in consolidators(session, [with_], None, None)}
    else:
        names = known_consumers(session.reading()) if consumer is None else [consumer]
        places = dict.fromkeys(names or [DEFAULT], ())
    store = session.reading()
    found = [
        (name, each)
        for name, own in places.items()
        for each in perform(statuses(store, name, own if prefix is None else prefix))
    ]
    if session.json:
        shown = [{"consolidator": name} | shapes.scope_status(each) for name, each in found]
        session.out.data({"consolidators": list(places), "namespaces": shown})
        return
    if found:
        several = len(places) > 1
        session.out.rows(
            [_status_row(name if several else None, each) for name, each in found],
            right=frozenset({2 if several else 1}),
        )
    else:
        place = f" of {printable(format_namespace(prefix))}" if prefix else ""
        session.out.line(f"All that was said{place} is read by {printable(', '.join(places))}; nothing waits.")
    if any(each.parked for _, each in found):
        session.note("`memoranda consolidate runs --status parked` lists the runs that failed.")


def run_named(session: Session, id: str) -> Run:
    """A run by its id.

    Raises:
        RunNotFoundError: There is none; with an id that may be meant.
    """
    store = session.reading()
    try:
        return store.runs.get(id)
    except RunNotFoundError as error:
        known = [run.id for run in store.runs.list(None, None, None, _LOOKED_AT)]
        close = get_close_matches(id, known, n=1)
        meant = f"Did you mean {close[0]}? " if close else ""
        raise RunNotFoundError(error.cause, f"{meant}`memoranda consolidate runs` lists those there are.") from None


def _diff(store: MemoryStore, run: Run) -> str:
    """What a run changed, or what its proposal would change now."""
    if run.status == "proposed" and run.proposal:
        with suppress(MemorandaError):  # it conflicts by now; `proposals show` says how
            return store.proposal_diff(run.proposal)
        return ""
    parts: list[str] = []
    for change in run.changes:
        if change.revision:
            with suppress(MemorandaError):  # it was forgotten
                parts.append(store.diff(change.namespace, change.to or change.key, change.before, change.revision))
    return "".join(parts)


def _row(run: Run) -> list[Part]:
    said = _error(run.error) if run.error else printable(" ".join((run.summary or "").split()))
    return [
        (run.id, "bold yellow"),
        (human_time(run.ended_at), "dim"),
        (run.status, shapes.RUN_STYLES[run.status]),
        (_place(run), "bold blue"),
        counted(run.turns, "turn"),
        counted(len(run.changes), "change"),
        said,
    ]


def _place(run: Run) -> str:
    return printable(format_namespace(run.scope))


def _error(text: str | None) -> str:
    return printable(" ".join((text or "").split()))


def _header(run: Run) -> list[tuple[Part, ...]]:
    which = f"turn {run.to}" if run.to == run.after + 1 else f"turns {run.after + 1} to {run.to}"
    seconds = (run.ended_at - run.started_at).total_seconds()
    lines: list[tuple[Part, ...]] = [
        ((run.id, "bold yellow"), " is ", (run.status, shapes.RUN_STYLES[run.status])),
        (f"By {printable(run.consumer)} at ", (human_time(run.ended_at), "dim"), f", in {seconds:.1f} s"),
        ("Read ", (_place(run), "bold blue"), f": {which}"),
    ]
    if run.model:
        tokens = f"{counted(run.tokens_in, 'token')} in, {run.tokens_out:,} out"
        lines.append((f"Model: {printable(run.model)}, {tokens}",))
    if run.attempts > 1:
        lines.append((f"Attempts: {run.attempts}",))
    if run.summary:
        lines.append((f"Because: {printable(' '.join(run.summary.split()))}",))
    if run.error:
        lines.append((("Failed: ", "bold red"), _error(run.error)))
    if run.proposal:
        lines.append((f"Proposal: {run.proposal}",))
    if run.undone_by:
        lines.append((f"Undone by {printable(run.undone_by)}",))
    return lines


def change_parts(change: RunChange) -> list[Part]:
    """One item that a run changed, and the turns that led to it."""
    revision = f" r{change.revision}" if change.revision else ""
    to = f" to {printable(change.to)}" if change.to else ""
    from_turns = f"  from {', '.join(f'#{position}' for position in change.sources)}" if change.sources else ""
    return [
        f"{change.operation} {_item(change.namespace, change.key)}{to}",
        (revision, "yellow"),
        (from_turns, "dim"),
    ]


def _item(namespace: Namespace, key: str) -> str:
    return printable(f"{format_namespace(namespace)}:{key}")


def _status_row(name: str | None, found: ScopeStatus) -> list[Part]:
    """How a namespace stands; with the consolidator's name where there are several."""
    said: list[str] = []
    if found.running:
        said.append("runs now")
    elif found.waiting:
        said.append("waits for a worker")
    if found.parked:
        said.append(f"{counted(found.parked, 'run')} parked")
    if found.proposed:
        said.append(f"{counted(found.proposed, 'proposal')} to review")
    last = found.last_run
    return [
        *([] if name is None else [(printable(name), "cyan")]),
        (printable(format_namespace(found.scope)), "bold blue"),
        counted(found.unread, "unread turn"),
        (f"last read {human_time(last.ended_at)}" if last else "never read", "dim"),
        (", ".join(said), "bold red" if found.parked else ""),
    ]
