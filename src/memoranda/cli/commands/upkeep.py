"""`verify`, `stats` and `migrate`: is all well, how much is there, is the schema current."""

from __future__ import annotations

from typing import Annotated

import typer

from memoranda.cli.command import WHOLE, command
from memoranda.cli.failures import NO
from memoranda.cli.names import format_namespace
from memoranda.cli.opening import make_room, open_engine, require_existing
from memoranda.cli.output import counted, human_size, printable
from memoranda.cli.session import Session


@command("verify", "memoranda verify", "memoranda verify -n acme", panel=WHOLE)
def verify(session: Session) -> None:
    """Rebuild every revision and check it against its digest; with -n only namespaces that start with those labels.

    The exit code is 1 if anything does not hold. Equal digests of two namespaces mean equal items with equal histories.
    """
    from memoranda.transfer.labels import require_any

    store, prefix = session.reading(), session.named_namespace
    total = None if prefix else store.stats().items
    done = 0
    with session.out.progress("Verifying") as advance:

        def checked(count: int) -> None:
            nonlocal done
            done += count
            advance(done, total)

        result = store.verify(prefix or (), progress=checked)
    if result.ok:
        require_any(len(result.namespaces), prefix or ())
    if session.json:
        session.out.data(
            {
                "ok": result.ok,
                "namespaces": [
                    {
                        "namespace": list(each.namespace),
                        "digest": each.digest,
                        "items": each.items,
                        "revisions": each.revisions,
                    }
                    for each in result.namespaces
                ],
                "problems": list(result.problems),
            }
        )
    else:
        if result.namespaces:
            session.out.rows(
                [
                    [
                        (each.digest[:16], "dim"),
                        str(each.items),
                        str(each.revisions),
                        printable(format_namespace(each.namespace)),
                    ]
                    for each in result.namespaces
                ],
                right=frozenset({1, 2}),
            )
        for problem in result.problems:
            session.out.line(("✗ ", "bold red"), printable(problem))
        items, revisions = (sum(getattr(each, name) for each in result.namespaces) for name in ("items", "revisions"))
        verdict = ("All is well", "green") if result.ok else (counted(len(result.problems), "problem"), "bold red")
        session.out.line(verdict, f": checked {counted(items, 'item')} with {counted(revisions, 'revision')}.")
    if not result.ok:
        raise typer.Exit(NO)


@command("stats", "memoranda stats --json", panel=WHOLE)
def stats(session: Session) -> None:
    """Show how much the store holds and how much room that takes."""
    store = session.reading()
    found = store.stats()
    shown = {
        "store": store.url,
        "engine": found.engine,
        "schema": found.schema,
        "namespaces": found.namespaces,
        "items": found.items,
        "revisions": found.revisions,
        "size": found.size,
    }
    if session.json:
        session.out.data(shown)
        return
    size = "unknown" if found.size is None else human_size(found.size)
    session.out.rows([[(name, "dim"), printable(str(value))] for name, value in (shown | {"size": size}).items()])


@command("migrate", "memoranda migrate --store postgresql://ann@db/memory", panel=WHOLE)
def migrate(
    session: Session,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; the exit code is 1 if there is something to do.")
    ] = False,
) -> None:
    """Bring the store's schema up to date, from whatever it is at; an empty database gets the first one.

    Each step is one transaction; stopped or killed at any moment, the next run completes it. No other command changes
    the schema of a store that holds something.
    """
    require_existing(session.settings) if check else make_room(session.settings)
    engine = open_engine(session.settings)
    try:
        before = engine.schema()
        after = before
        if not check:
            with session.out.progress(f"Migrating from schema {before.applied} to {before.known}") as advance:
                after = engine.setup(lambda state: advance(state.applied, state.known))
                advance(after.applied, after.known)
    finally:
        engine.close()
    behind = after.applied < after.known
    if session.json:
        session.out.data({"from": before.applied, "to": after.applied, "known": after.known, "current": not behind})
    elif behind:
        session.out.line(f"The schema is at {after.applied}; this version needs {after.known}.")
    elif before.applied == after.applied:
        session.out.line(f"The schema is at {after.applied}; there is nothing to do.")
    else:
        session.out.line(f"Migrated the schema from {before.applied} to {after.applied}.")
    if behind:
        raise typer.Exit(NO)
