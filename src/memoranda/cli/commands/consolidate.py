"""`consolidate run | retry | undo`: tend memory by hand, and take back what was done."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from memoranda.cli.command import CONSOLIDATION, Actor, Reason, command
from memoranda.cli.commands import shapes
from memoranda.cli.commands.consolidate_runs import RunId, change_parts, run_named
from memoranda.cli.commands.history import show_diff
from memoranda.cli.consolidators import Model, With, Zone, one_consolidator
from memoranda.cli.failures import NO, STOPPED, StoppedError, UsageError
from memoranda.cli.hints import quoted
from memoranda.cli.names import format_namespace, parse_namespace
from memoranda.cli.output import printable
from memoranda.cli.session import Session
from memoranda.errors import ItemNotFoundError
from memoranda.store.urls import redacted

if TYPE_CHECKING:
    from memoranda.consolidation.consolidator import Consolidator
    from memoranda.consolidation.reports import RunReport
    from memoranda.store.changes import Namespace

_LOOKED_AT = 1_000
_NAMED = 5
_AGAIN = "What was consolidated stays; run it again for the rest: no turn is read twice."


@command(
    "consolidate run",
    "memoranda consolidate run ann --with app.py:consolidator",
    "memoranda consolidate run --all --model anthropic:claude-sonnet-4-5 --dry-run",
    panel=CONSOLIDATION,
)
def run(
    session: Session,
    scope: Annotated[
        str | None,
        typer.Argument(
            metavar="SCOPE", help="Whose conversations to read, such as acme/ann. Default: -n.", show_default=False
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every namespace in which something is new; with -n those below it.")
    ] = False,
    with_: With = None,
    model: Model = None,
    zone: Zone = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what would change, and change nothing; a model is asked all the same."),
    ] = False,
    propose: Annotated[
        bool, typer.Option("--propose", help="Let what comes of it wait for a reviewer; see `proposals`.")
    ] = False,
    concurrency: Annotated[
        int, typer.Option("--concurrency", metavar="N", min=1, max=1_000, help="With --all: so many side by side.")
    ] = 4,
) -> None:
    """Read what was said since the last time, and tend the memory: merge what is new, remove what is outdated.

    Each turn is read once, whoever asks for it: by hand, by a schedule, or on several machines at once. What is
    changed and how far was read land together. The exit code is 1 if a run failed.
    """
    if dry_run and propose:
        raise UsageError("--dry-run and --propose were both given.", "Give one of them.")
    if every and scope is not None:
        raise UsageError("SCOPE and --all were both given.", "Give one of them; -n with --all says below what.")
    consolidator = one_consolidator(session, with_, model, zone)
    mode = "propose" if propose else None
    of = None if every else session.namespace if scope is None else parse_namespace(scope)
    reports: list[RunReport] = []
    try:
        if every:
            with _twice_interruptible(session), session.out.progress("Consolidating") as advance:
                lock = threading.Lock()

                def ended(report: RunReport) -> None:
                    with lock:  # several end at once
                        reports.append(report)
                        advance(len(reports), None)
                        _show(session, report)

                consolidator.run_all(
                    session.named_namespace or (),
                    dry_run=dry_run,
                    mode=mode,
                    concurrency=concurrency,
                    progress=ended,
                )
        elif of is not None:
            with _terminable(), session.out.progress("Consolidating"):
                reports.append(consolidator.run(of, dry_run=dry_run, mode=mode))
            _require_conversations(session, consolidator, of, reports)
            _show(session, reports[0])
    except KeyboardInterrupt:
        raise StoppedError(_AGAIN) from None
    if not reports:
        _require_conversations(session, consolidator, None, reports)
    _end(session, reports)
    if len(reports) == 1 and not every and reports[0].status == "busy":
        raise typer.Exit(NO)
    if not reports and not session.json:
        below = f" below {format_namespace(session.named_namespace)}" if session.named_namespace else ""
        session.out.note(f"Nothing new was said{below}.")


@command("consolidate retry", "memoranda consolidate retry r-7f3k2m --with app.py:consolidator", panel=CONSOLIDATION)
def retry(session: Session, id: RunId, with_: With = None, model: Model = None, zone: Zone = None) -> None:
    """Try a parked run again: the turns that it read, and no others. The exit code is 1 if it fails again."""
    consolidator = one_consolidator(session, with_, model, zone)
    run_named(session, id)
    try:
        with _terminable(), session.out.progress("Consolidating"):
            report = consolidator.retry(id)
    except KeyboardInterrupt:
        raise StoppedError("Nothing has changed; the run can be tried again.") from None
    _show(session, report)
    _end(session, [report])


@command(
    "consolidate undo", "memoranda consolidate undo r-7f3k2m --reason 'it mixed two people up'", panel=CONSOLIDATION
)
def undo(session: Session, id: RunId, actor: Actor = None, reason: Reason = None) -> None:
    """Take back all that a run changed, in one step; what others have changed since stays.

    Where others have changed the same lines since, nothing is taken back, and the exit code is 4. The turns that it
    read are not read again. Of a proposed run the proposal is rejected.
    """
    from memoranda.consolidation.undoing import undo as take_back

    found = run_named(session, id)
    report = take_back(session.reading(), found.id, author=session.author(actor, reason or f"undo of {id}"))
    if session.json:
        session.out.data(shapes.report(report))
        return
    session.out.line((printable(id), "bold yellow"), " is taken back.")
    for change in found.changes:
        session.out.line("  ", *change_parts(change))


def _require_conversations(
    session: Session, consolidator: Consolidator, scope: Namespace | None, reports: list[RunReport]
) -> None:
    """Say so where nothing was ever said: most likely the namespace was mistyped, or the store is another.

    Raises:
        ItemNotFoundError: No conversation was ever recorded there.
    """
    if any(each.status != "nothing" for each in reports) or consolidator.sources.reads_events:
        return
    store, below = session.reading(), scope is None
    where = session.named_namespace or () if scope is None else scope
    if store.threads(where, below=below, limit=1) or (where and store.runs.list(None, where, None, 1)):
        return
    talked_in = sorted({each.namespace for each in store.threads((), below=True, limit=_LOOKED_AT)})
    if not where or not talked_in:
        place = (
            f"in {redacted(store.url)}" if not where else f"in {format_namespace(where)}, or elsewhere in this store"
        )
        raise ItemNotFoundError(f"No conversation was ever recorded {place}.", "Check --store, or record one first.")
    name = format_namespace(where)
    inside = [format_namespace(labels) for labels in talked_in if labels[: len(where)] == where]
    cause = f"No conversation was ever recorded {'below' if below else 'in'} {name}."
    if inside:
        raise ItemNotFoundError(
            cause, f"There are some below it, in {_few(inside)}: --all -n {quoted(name)} reads them."
        )
    names = [format_namespace(labels) for labels in talked_in]
    close = get_close_matches(name, names, n=1)
    raise ItemNotFoundError(cause, f"Did you mean {close[0]}?" if close else f"There are some in {_few(names)}.")


def _few(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", and more" if len(names) > _NAMED else "")


@contextmanager
def _twice_interruptible(session: Session) -> Generator[None]:
    """Give back what runs at the first Ctrl-C; the second one does not wait for that either."""
    first = True

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal first
        if not first:
            # The threads at work would keep the process; what they do lands nowhere, and is done again.
            os.write(2, b"Stopped.\n")
            os._exit(STOPPED)
        first = False
        session.out.note("Giving back what runs; nothing of it lands, and it is done again.")
        raise KeyboardInterrupt

    with _answered({signal.SIGINT: handle, signal.SIGTERM: handle}):
        yield


@contextmanager
def _terminable() -> Generator[None]:
    """Let SIGTERM end it as Ctrl-C does, so that what was begun is given back."""

    def handle(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _answered({signal.SIGTERM: handle}):
        yield


@contextmanager
def _answered(handlers: Mapping[signal.Signals, Callable[[int, FrameType | None], None]]) -> Generator[None]:
    """Answer signals within the block, where this thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


def _show(session: Session, report: RunReport) -> None:
    """Say what came of one namespace, when it is over."""
    if session.json:
        return
    session.out.line((printable(format_namespace(report.scope)), "bold blue"), "  ", *shapes.report_parts(report))
    if report.status == "preview":
        show_diff(session, report.diff)


def _end(session: Session, reports: list[RunReport]) -> None:
    if session.json:
        session.out.data({"reports": [shapes.report(each) for each in reports]})
    if not all(each.ok for each in reports):
        parked = [each.run_id for each in reports if each.status == "parked" and each.run_id]
        if parked:
            session.note(f"`memoranda consolidate show {parked[0]}` shows what failed.")
        raise typer.Exit(NO)
