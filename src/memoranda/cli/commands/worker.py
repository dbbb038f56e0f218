"""`worker`: does what schedules, idle scopes and requests ask of consolidators."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memoranda.cli.command import CONSOLIDATION, command
from memoranda.cli.commands import shapes
from memoranda.cli.consolidators import Model, Zone, consolidators
from memoranda.cli.failures import NO, STOPPED, StoppedError, UsageError
from memoranda.cli.names import format_namespace
from memoranda.cli.output import Part, counted, human_time, printable
from memoranda.cli.session import Session
from memoranda.store.urls import redacted

if TYPE_CHECKING:
    from memoranda.consolidation.worker import Tally, Worked
    from memoranda.store.store import MemoryStore

_LOOKED_AT = 1_000

_OUTCOMES = {
    "done": ("done", "green"),
    "spread": ("schedule fired", "cyan"),
    "rearmed": ("not idle any more", "dim"),
    "again": ("failed", "yellow"),
    "parked": ("parked", "bold red"),
    "lost": ("taken over by another worker", "yellow"),
}


@command(
    "worker",
    "memoranda worker --with app.py:consolidator",
    "memoranda worker --model anthropic:claude-sonnet-4-5 --concurrency 8",
    "memoranda worker --with app.py:consolidator --until-idle",
    panel=CONSOLIDATION,
)
def worker(
    session: Session,
    with_: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="FILE:NAME",
            help="A consolidator: app.py:consolidator or package.module:consolidator; also a list of them, or a "
            "function of the store that makes them. May be given several times.",
            show_default=False,
        ),
    ] = None,
    model: Model = None,
    zone: Zone = None,
    concurrency: Annotated[
        int, typer.Option("--concurrency", metavar="N", min=1, max=1_000, help="So many namespaces side by side.")
    ] = 4,
    lease: Annotated[
        float,
        typer.Option(
            "--lease", metavar="SECONDS", min=1.0, help="After so long without a sign of life others take its jobs."
        ),
    ] = 60.0,
    poll: Annotated[
        float,
        typer.Option(
            "--poll", metavar="SECONDS", min=0.1, help="Look so often for what other processes have put there."
        ),
    ] = 5.0,
    until_idle: Annotated[
        bool,
        typer.Option("--until-idle", help="End as soon as nothing is due; the exit code is 1 if something failed."),
    ] = False,
) -> None:
    """Do what schedules, idle namespaces and requests ask of consolidators, until Ctrl-C or SIGTERM.

    Any number of workers may run, on any machines with the same store: each job is done by one of them. Ctrl-C or
    SIGTERM lets the running jobs come to their end and takes no more; a second one ends at once and gives them back.
    Killed, a worker loses nothing: another one takes over.
    """
    from memoranda.consolidation.worker import Worker

    if session.given.namespace is not None:
        raise UsageError(
            "A worker does the jobs of all namespaces, and -n says nothing to it.",
            "Leave it out. With -n `memoranda consolidate schedule` plans only those below it, and `memoranda "
            "consolidate run --all` reads only those.",
        )
    found = consolidators(session, with_ or [], model, zone)
    out = threading.Lock()

    def report(worked: Worked) -> None:
        with out:
            _show(session, worked)
            sys.stdout.flush()

    def ending(running: int) -> None:
        them = "it" if running == 1 else "them"
        session.note(f"Waiting for {counted(running, 'run')}; Ctrl-C again gives {them} back.")

    store = session.reading()
    working = Worker(store, found, concurrency=concurrency, lease=lease, poll=poll, report=report, ending=ending)
    if not until_idle:
        names = ", ".join(working.consolidators)
        session.note(f"Worker {working.name} does the jobs of {names} in {redacted(store.url)}. Ctrl-C ends it.")
    _tell_of_others(session, store, working.consolidators)
    tally = working.run(until_idle=until_idle)
    _end(session, tally, until_idle=until_idle)


def _tell_of_others(session: Session, store: MemoryStore, own: Collection[str]) -> None:
    """Say what stands in the store for consolidators that this worker does not have: they may have another name."""
    planned = [each for each in store.schedules.list() if each.queue not in own and not each.paused]
    waiting = Counter(job.queue for job in store.jobs.list(state="waiting", limit=_LOOKED_AT) if job.queue not in own)
    for queue in sorted({each.queue for each in planned} | set(waiting)):
        names = [each.name for each in planned if each.queue == queue]
        these = f"schedule{'s' if len(names) > 1 else ''} {', '.join(names)}"
        said = [*([these] if names else []), *([counted(waiting[queue], "waiting job")] if waiting[queue] else [])]
        session.note(f"Left to other workers, for this one does not do the consolidator {queue}: {' and '.join(said)}.")


def _end(session: Session, tally: Tally, *, until_idle: bool) -> None:
    """Say what was done, and leave with the exit code that says so too."""
    if not session.json:
        failed = f", {tally.parked} parked" if tally.parked else ""
        failed += f", {counted(tally.again, 'attempt')} failed" if tally.again else ""
        failed += f", {counted(tally.given_back, 'job')} given back" if tally.given_back else ""
        session.out.note(f"Done: {counted(tally.done, 'job')}{failed}.")
    if tally.at_once:
        # A model that is still being asked must not keep the process: what it answers lands nowhere.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(STOPPED)
    if tally.signal == signal.SIGINT:
        raise StoppedError("Nothing is lost: the next worker goes on where this one was.")
    if until_idle and (tally.parked or tally.again):
        raise typer.Exit(NO)


def _show(session: Session, worked: Worked) -> None:
    if session.json:
        session.out.data(_shape(worked), one_line=True)
        return
    said, style = _OUTCOMES[worked.outcome]
    scope, fired = worked.job.scope, worked.job.payload.get("schedule")
    if worked.outcome == "spread" and fired:
        said = f"schedule {printable(str(fired))} fired"
    parts: list[Part] = [
        (human_time(worked.job.started_at), "dim"),
        "  ",
        (printable(format_namespace(scope)) if scope is not None else "-", "bold blue"),
        "  ",
        (said, style),
    ]
    if worked.report is not None:
        parts = [*parts[:-1], *shapes.report_parts(worked.report)]
    elif worked.error and worked.outcome != "lost":
        parts.append(f": {printable(' '.join(worked.error.split())).rstrip('.')}")
    if worked.again_at is not None:
        parts.append(f"; again at {human_time(worked.again_at)}")
    session.out.line(*parts)


def _shape(worked: Worked) -> dict[str, Any]:
    return {
        "job": shapes.job(worked.job),
        "outcome": worked.outcome,
        "report": None if worked.report is None else shapes.report(worked.report),
        "error": worked.error,
        "again_at": worked.again_at,
    }
