"""`consolidate schedule`: when consolidation starts by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from memoranda.cli.command import CONSOLIDATION, command
from memoranda.cli.commands import shapes
from memoranda.cli.consolidators import DEFAULT, With, one_consolidator
from memoranda.cli.failures import UsageError
from memoranda.cli.hints import quoted
from memoranda.cli.names import format_namespace
from memoranda.cli.output import Part, counted, human_time, printable
from memoranda.cli.session import Session
from memoranda.store.urls import redacted

if TYPE_CHECKING:
    from memoranda.store.changes import Namespace
    from memoranda.store.schedules import Schedule


_FIELDS = 5
_SOON = timedelta(seconds=15)
"""A worker that runs fires what is due well before that."""


def _switch(option: str, what: str) -> typer.models.OptionInfo:
    return typer.Option(option, metavar="NAME", help=what, show_default=False)


@command(
    "consolidate schedule",
    "memoranda consolidate schedule '0 */6 * * *' --zone Europe/Paris",
    "memoranda consolidate schedule --idle 30 -n acme",
    "memoranda consolidate schedule '30 3 * * *' --with app.py:consolidator",
    "memoranda consolidate schedule --list",
    panel=CONSOLIDATION,
)
def schedule(
    session: Session,
    line: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LINE",
            help="A cron line, quoted: minute, hour, day of the month, month, day of the week.",
            show_default=False,
        ),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(
            "--zone",
            metavar="ZONE",
            help="The time zone of the line, such as Europe/Paris. Default: UTC.",
            show_default=False,
        ),
    ] = None,
    idle: Annotated[
        float | None,
        typer.Option(
            "--idle",
            metavar="MINUTES",
            help="Instead of a line: each scope, once nothing was said in it for so long.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="What it is called; one of that name is replaced. Default: made of the rest.",
            show_default=False,
        ),
    ] = None,
    with_: With = None,
    consumer: Annotated[
        str | None,
        typer.Option(
            "--consolidator",
            metavar="NAME",
            help=f"Instead of --with: the name of the consolidator that it is for. Default: {DEFAULT}; of a list: all.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--list", help="List the schedules; so does nothing at all.")] = False,
    pause: Annotated[str | None, _switch("--pause", "Let this one make no jobs until it is resumed.")] = None,
    resume: Annotated[
        str | None, _switch("--resume", "Let this one go on, from now: what a pause left out is not caught up.")
    ] = None,
    remove: Annotated[str | None, _switch("--remove", "Remove this one; jobs that it has made stay.")] = None,
) -> None:
    """Say when workers consolidate by themselves: at the times of a cron line, or once a scope is idle.

    With -n it is for the namespaces that start with those labels. Each due time fires once, however many workers
    there are; what was missed while none ran is caught up once. Without anything it lists the schedules. With --with
    it stands in the store of that consolidator, under its name, for its scopes.
    """
    cron = _one_line(line or [])
    asked = {"LINE": cron, "--idle": idle, "--list": every or None}
    asked |= {"--pause": pause, "--resume": resume, "--remove": remove}
    given = [option for option, value in asked.items() if value is not None]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} were both given.", "Give one of them.")
    if zone is not None and cron is None:
        raise UsageError("--zone says nothing without a cron line.", "Leave it out, or give LINE.")
    if name is not None and cron is None and idle is None:
        raise UsageError("--name says nothing here.", "Give LINE or --idle with it, or leave it out.")
    if with_ is not None and consumer is not None:
        raise UsageError("--with and --consolidator were both given.", "Give one of them: --with knows the name.")
    prefix = session.named_namespace
    if with_ is not None:
        consolidator = one_consolidator(session, with_, None, None)
        consumer, prefix = consolidator.name, consolidator.prefix if prefix is None else prefix
    if pause is not None:
        _told(session, session.reading().schedules.pause(pause), " is paused.")
    elif resume is not None:
        found = session.reading().schedules.resume(resume)
        _told(session, found, f" goes on: {_when(found)}.")
    elif remove is not None:
        session.reading().schedules.remove(remove)
        if session.json:
            session.out.data({"name": remove, "removed": True})
        else:
            session.out.line(printable(remove), " is removed.")
    elif cron is None and idle is None:
        _list(session, consumer)
    else:
        made = _put(session, cron, zone, idle, name, DEFAULT if consumer is None else consumer, prefix or ())
        session.note(f"It stands in {redacted(session.reading().url)}. {_who(made.queue, with_)}")


def _one_line(parts: list[str]) -> str | None:
    """The cron line, which a shell takes apart where it is not quoted, and whose stars it takes for files."""
    if len(parts) > 1:
        line = " ".join(parts)
        meant = f"'{line}'" if len(parts) == _FIELDS else "'0 */6 * * *'"
        raise UsageError(f"The cron line came in {len(parts)} parts.", f"Quote it, as {meant}.")
    return parts[0] if parts else None


def _put(
    session: Session,
    line: str | None,
    zone: str | None,
    idle: float | None,
    name: str | None,
    consumer: str,
    prefix: Namespace,
) -> Schedule:
    from memoranda.backends.steps import perform
    from memoranda.consolidation.triggers import free_name, schedule_name

    # Not `writing`: where there is no store nothing was said, and the URL was most likely mistyped.
    store = session.reading()
    found = store.schedules.put(
        perform(free_name(store, consumer, name or schedule_name(consumer, prefix, idle=idle is not None))),
        consumer,
        cron=line,
        zone=zone or "UTC",
        idle_minutes=idle,
        prefix=prefix,
    )
    _told(session, found, f": {_what(found)}; {_when(found)}.")
    return found


def _who(consumer: str, reference: str | None) -> str:
    """Who sees to a schedule."""
    if reference is not None or consumer == DEFAULT:
        given = "app.py:consolidator" if reference is None else quoted(reference)
        return f"Workers see to it: `memoranda worker --with {given}`."
    return (
        f"Workers see to it whose consolidator has this name, Consolidator(…, name={consumer!r}): `memoranda worker "
        "--with FILE:NAME`."
    )


def _list(session: Session, consumer: str | None) -> None:
    found = session.reading().schedules.list(consumer)
    if session.json:
        session.out.data({"schedules": [shapes.schedule(each) for each in found]})
    elif found:
        session.out.rows([_row(each) for each in found])
    else:
        of = f" of {consumer}" if consumer else ""
        session.note(f"There are no schedules{of}. `memoranda consolidate schedule '0 */6 * * *'` makes one.")


def _told(session: Session, found: Schedule, said: str) -> None:
    if session.json:
        session.out.data(shapes.schedule(found))
    else:
        session.out.line((printable(found.name), "bold"), said)


def _row(found: Schedule) -> list[Part]:
    return [
        (printable(found.name), "bold"),
        (printable(found.queue), "cyan"),
        _what(found),
        (_when(found), "yellow" if found.paused or _is_overdue(found) else "dim"),
        f"last {human_time(found.last_due)}" if found.last_due else "",
    ]


def _what(found: Schedule) -> str:
    """What makes its jobs, for which scopes."""
    place = f" below {printable(format_namespace(found.prefix))}" if found.prefix else ""
    if found.kind == "cron":
        return f"{found.line} ({found.zone}){place}"
    minutes = found.minutes or 0.0
    many = counted(int(minutes), "minute") if minutes == int(minutes) else f"{minutes:g} minutes"
    return f"idle for {many}{place}"


def _when(found: Schedule) -> str:
    if found.paused:
        return "paused"
    if _is_overdue(found):
        return f"due since {human_time(found.next_due)}; no worker has fired it"
    return f"next {human_time(found.next_due)}" if found.next_due else "when a scope is idle"


def _is_overdue(found: Schedule) -> bool:
    return found.next_due is not None and found.next_due < datetime.now(UTC) - _SOON
