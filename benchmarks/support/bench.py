"""One run of a benchmark, from its options to its exit status."""

from __future__ import annotations

from argparse import Namespace as Options
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from benchmarks.support import machine, running
from benchmarks.support.report import Report

_PRIVATE = ("json", "postgres_url", "folder", "data", "cache")
"""Options that say where, not what: they are no part of the results."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What measures have at hand.

    Args:
        options: As given on the command line.
        console: Where tables go.
        found: What results are added to.
        folder: Where SQLite files go.
        server: The PostgreSQL server, where one is needed.
    """

    options: Options
    console: Console
    found: Report
    folder: Path
    server: str | None


def run(
    name: str,
    options: Options,
    measure: Callable[[Bench], None],
    *,
    notes: Sequence[str] = (),
    needs_server: bool = True,
) -> int:
    """Measure, and print and keep what was found; what was found until Ctrl-C, too.

    Args:
        name: Of the benchmark.
        options: As given on the command line.
        measure: What fills the report.
        notes: What has to be said beside the figures.
        needs_server: Whether PostgreSQL is measured where `options.engines` has it.

    Returns:
        The exit status: 1 where a target is missed and `options.strict` asks for it.
    """
    console = running.console()
    with ExitStack() as stack:
        folder = stack.enter_context(running.workplace(options.folder))
        server = settings = None
        if needs_server and "postgres" in options.engines:
            from benchmarks.support import postgres  # its driver is not there without the extra

            server = stack.enter_context(postgres.running_server(options.postgres_url))
            settings = postgres.settings(server)
        kept = {option: value for option, value in vars(options).items() if option not in _PRIVATE}
        found = Report(name, kept, machine.describe(settings))
        if options.quick:
            found.notes.append("--quick only shows that everything runs; its figures mean nothing")
        found.notes += notes
        found.show_machine(console)
        if options.json:
            stack.callback(found.save, options.json)
        measure(Bench(options, console, found, folder, server))
        found.show_targets(console)
    return int(options.strict and any(not target.met for target in found.targets))
