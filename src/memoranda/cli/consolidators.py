"""The consolidators that a command line names, and the store that they work on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from memoranda.cli.failures import UsageError
from memoranda.store.urls import redacted

if TYPE_CHECKING:
    from memoranda.cli.session import Session
    from memoranda.consolidation.consolidator import Consolidator
    from memoranda.store.store import MemoryStore

DEFAULT = "consolidation"
"""The name that a consolidator has where it is given none."""
_LOOKED_AT = 1_000

With: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--with",
        metavar="FILE:NAME",
        help="The consolidator: app.py:consolidator or package.module:consolidator; also a function of the store "
        "that makes one.",
        show_default=False,
    ),
]
Model: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Instead of --with: the ready-made agent with this model, such as anthropic:claude-sonnet-4-5. It keeps "
        "the files of each namespace.",
        show_default=False,
    ),
]
Zone: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--zone",
        metavar="ZONE",
        help="With --model: the time zone in which days are told, such as Europe/Paris. Default: UTC.",
        show_default=False,
    ),
]
Consumer: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--consolidator",
        metavar="NAME",
        help="Only this consolidator, by its name. Default: all.",
        show_default=False,
    ),
]


def one_consolidator(session: Session, reference: str | None, model: str | None, zone: str | None) -> Consolidator:
    """The consolidator that the command line names.

    Raises:
        UsageError: It names none, more than one, or one that works on another store than the command.
        ConsolidatorNotLoadedError: What it names cannot be imported, or is none.
    """
    found = consolidators(session, [] if reference is None else [reference], model, zone)
    if len(found) > 1:
        names = ", ".join(each.name for each in found)
        raise UsageError(f"{reference} names several consolidators: {names}.", "Name one of them by itself.")
    return found[0]


def consolidators(
    session: Session, references: Sequence[str], model: str | None, zone: str | None
) -> list[Consolidator]:
    """The same for a command that takes several.

    Raises:
        UsageError: It names none, or one that works on another store than the command.
        ConsolidatorNotLoadedError: What it names cannot be imported, or is none.
    """
    if (model is None) == (not references):
        given = "Both --with and --model were given." if references else "No consolidator was named."
        raise UsageError(
            given, "Give --with app.py:consolidator, or --model with a name such as anthropic:claude-sonnet-4-5."
        )
    if zone is not None and model is None:
        raise UsageError(
            "--zone says nothing beside --with.", "Give the consolidator its zone: Consolidator(…, zone=…)."
        )
    if model is not None:
        return [_ready_made(session.reading(), model, zone)]
    from memoranda.consolidation.loading import load_consolidators

    found = [each for reference in references for each in load_consolidators(reference, session.reading)]
    for each in found:
        _require_same_store(session, each)
    return found


def _ready_made(store: MemoryStore, model: str, zone: str | None) -> Consolidator:
    from memoranda.backends import StoreBackend
    from memoranda.consolidation.consolidator import Consolidator

    return Consolidator(
        model, store=store, target=lambda of: StoreBackend(namespace=of.scope, store=store), zone=zone or "UTC"
    )


def known_consumers(store: MemoryStore) -> list[str]:
    """The names of the consolidators that have runs, jobs or schedules in a store; of its runs the newest count."""
    runs, jobs = store.runs, store.jobs
    recorded = [*runs.list(limit=_LOOKED_AT), *runs.list(status="parked", limit=None)]
    names = {run.consumer for run in (*recorded, *runs.list(status="proposed", limit=None))}
    names |= {job.queue for state in ("waiting", "running", "parked") for job in jobs.list(state=state, limit=None)}
    return sorted(names | {schedule.queue for schedule in store.schedules.list()})


def _require_same_store(session: Session, consolidator: Consolidator) -> None:
    """Refuse one that has opened another store than the one that the command line names."""
    own = consolidator.store
    if session.settings.store is None:
        session.use(own)
    if session.reading().identity != own.identity or session.reading().context.tenant != own.context.tenant:
        raise UsageError(
            f"The consolidator {consolidator.name} works on {redacted(own.url)}, and the command on "
            f"{redacted(session.reading().url)}.",
            "Name its store with --store, leave --store out, or name a function of the store that makes it.",
        )
