"""`consolidate schedule`: when consolidation starts by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memoranda.cli.command import CONSOLIDATION, command
from memoranda.cli.commands import shapes
from memoranda.cli.consolidators import Consumer, consumer_name
from memoranda.cli.failures import UsageError
from memoranda.cli.names import format_namespace
from memoranda.cli.output import Part, counted, human_time, printable
from memoranda.cli.session import Session

if TYPE_CHECKING:
    from memoranda.store.schedules import Schedule


_FIELDS = 5


def _switch(option: str, what: str) -> typer.models.OptionInfo:
    return typer.Option(option, metavar="NAME", help=what, show_default=False)


@command(
    "consolidate schedule",
    "memoranda consolidate schedule '0 */6 * * *' --zone Europe/Paris",
    "memoranda consolidate schedule --idle 30 -n acme",
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
    consumer: Consumer = None,
    every: Annotated[bool, typer.Option("--list", help="List the schedules; so does nothing at all.")] = False,
    pause: Annotated[str | None, _switch("--pause", "Let this one make no jobs until it is resumed.")] = None,
    resume: Annotated[
        str | None, _switch("--resume", "Let this one go on, from now: what a pause left out is not caught up.")
    ] = None,
    remove: Annotated[str | None, _switch("--remove", "Remove this one; jobs that it has made stay.")] = None,
) -> None:
    """Say when workers consolidate by themselves: at the times of a cron line, or once a scope is idle.

    With -n it is for the namespaces that start with those labels. Each due time fires once, however many workers
    there are; what was missed while none ran is caught up once. Without anything it lists the schedules.
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
        _put(session, cron, zone, idle, name, consumer_name(consumer))


def _one_line(parts: list[str]) -> str | None:
    """The cron line, which a shell takes apart where it is not quoted, and whose stars it takes for files."""
    if len(parts) > 1:
        line = " ".join(parts)
        meant = f"'{line}'" if len(parts) == _FIELDS else "'0 */6 * * *'"
        raise UsageError(f"The cron line came in {len(parts)} parts.", f"Quote it, as {meant}.")
    return parts[0] if parts else None


def _put(
    session: Session, line: str | None, zone: str | None, idle: float | None, name: str | None, consumer: str
) -> None:
    from memoranda.consolidation.triggers import schedule_name

    prefix = session.named_namespace or ()
    store = session.writing()
    found = store.schedules.put(
        name or schedule_name(consumer, prefix, idle=idle is not None),
        consumer,
        cron=line,
        zone=zone or "UTC",
        idle_minutes=idle,
        prefix=prefix,
    )
    _told(session, found, f": {_what(found)}; {_when(found)}.")
    session.note("Workers see to it: `memoranda worker --with app.py:consolidator`.")


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
        (_when(found), "yellow" if found.paused else "dim"),
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
    return f"next {human_time(found.next_due)}" if found.next_due else "when a scope is idle"
