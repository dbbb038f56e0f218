"""The parts of the benchmark, each measured, printed and held against its targets."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial

from rich.table import Table

from benchmarks.store import histories, imports, operations, promises
from benchmarks.store.million import pair
from benchmarks.store.stocks import Entry, stocks
from benchmarks.support import report, running
from benchmarks.support.bench import Bench
from benchmarks.support.measure import Budget, Samples
from benchmarks.support.postgres import database
from memoranda import open_store

PARTS = ("operations", "imports", "history")


class Suite:
    """One run.

    Args:
        given: What it has at hand.
    """

    def __init__(self, given: Bench) -> None:
        self._options = given.options
        self._console = given.console
        self._found = given.found
        self._folder = given.folder
        self._server = given.server
        self._budget = Budget(samples=given.options.samples, seconds=given.options.seconds)

    def operations(self, engine: str, size: int) -> None:
        """Every operation at one size on one engine."""
        options = self._options
        peers = not options.no_peers and size <= options.peer_limit
        where = f"{engine}, {size:,} files"
        with running.bars() as progress:
            filling = progress.add_task(where, total=size * (3 if peers else 1))
            with stocks(
                engine,
                size,
                folder=self._folder,
                server=self._server,
                peers=peers,
                progress=lambda name, count: progress.update(
                    filling, advance=count, description=f"{where}: filling {name}"
                ),
            ) as entries:
                progress.remove_task(filling)
                measured = self._race(where, entries, size, progress)
        title = f"{engine}, {size:,} files of 2 KB in 50 folders"
        if not peers and not options.no_peers:
            title += f" (no peers above --peer-limit {options.peer_limit:,})"
        self._found.results[f"{engine}/{size}"] = measured
        names = [entry.contender.name for entry in entries]
        self._console.print(report.comparison(title, measured, names))
        judged = 10_000 if 10_000 in options.sizes else max(options.sizes)
        if size == judged:
            promises.operations(self._found, engine, size, measured)

    def million(self, engine: str) -> None:
        """One namespace alone, and in a large store."""
        total, size = self._options.million, self._options.million_namespace
        where = f"{engine}, {total:,} files"
        with running.bars() as progress:
            filling = progress.add_task(f"{where}: filling", total=total + size)
            with pair(
                engine,
                total,
                size,
                folder=self._folder,
                server=self._server,
                progress=lambda count: progress.update(filling, advance=count),
            ) as entries:
                progress.remove_task(filling)
                measured = self._race(where, entries, size, progress)
        names = [entry.contender.name for entry in entries]
        self._found.results[f"million/{engine}"] = measured
        self._console.print(report.comparison(f"{engine}: one namespace alone, and in a large store", measured, names))
        promises.million(self._found, engine, measured, *names)

    def imports(self) -> None:
        """Importing and opening."""
        rounds = self._options.import_rounds
        with ExitStack() as stack, running.bars() as progress:
            urls = {engine: self._new(stack, engine, "imports") for engine in self._options.engines}
            for url in urls.values():
                open_store(url).close()
            count = len(imports.statements(urls)) * (rounds + 1)
            task = progress.add_task("imports", total=count)
            measured = imports.measure(urls, rounds, lambda name: progress.update(task, advance=1, description=name))
        table = Table(title=f"Import and opening, {rounds} fresh processes each", title_justify="left")
        table.add_column("what")
        table.add_column("median", justify="right")
        table.add_column("shortest", justify="right")
        for name, row in measured.items():
            table.add_row(name, f"{row['median_s']:.3f} s", f"{row['shortest_s']:.3f} s")
        self._console.print(table)
        self._found.results["imports"] = measured
        promises.imports(self._found, measured, self._options.engines)

    def histories(self) -> None:
        """The room that a long history takes."""
        edits = self._options.history_edits
        table = Table(title=f"{edits:,} one-line edits of a 100 KB file", title_justify="left")
        columns = ["", "history", "per edit", "database", "edit p50", "edit p95"]
        columns += ["get_at(1) p50", "get_at(any) max", "blame p50"]
        for number, column in enumerate(columns):
            table.add_column(column, justify="right" if number else "left")
        for engine in self._options.engines:
            with ExitStack() as stack, running.bars() as progress:
                url = self._new(stack, engine, "history")
                task = progress.add_task(f"{engine}: history", total=edits)
                found = histories.measure(engine, url, edits, partial(progress.advance, task))
            table.add_row(
                engine,
                f"{found['history_bytes'] / 1e6:.2f} MB",
                f"{found['history_bytes'] / edits:,.0f} B",
                f"{found['database_bytes'] / 1e6:.2f} MB",
                *(
                    f"{found[name]:.2f} ms"
                    for name in ("edit_p50_ms", "edit_p95_ms", "get_at_1_p50_ms", "get_at_any_max_ms", "blame_p50_ms")
                ),
            )
            self._found.results[f"history/{engine}"] = found
            promises.history(self._found, engine, edits, found)
        table.caption = (
            "history: growth of the table of revisions with its indexes; database: growth of the file, or of the "
            "database with the dead rows that a vacuum will free"
        )
        self._console.print(table)

    def _new(self, stack: ExitStack, engine: str, name: str) -> str:
        """The URL of an empty database."""
        if engine == "sqlite":
            return f"sqlite:///{self._folder / name}.db"
        assert self._server is not None
        return stack.enter_context(database(self._server, f"memoranda_bench_{name}"))

    def _race(
        self, where: str, entries: list[Entry], size: int, progress: running.Progress
    ) -> Mapping[str, Mapping[str, Mapping[str, float]]]:
        task = progress.add_task(where, total=len(operations.PLAN))
        measured: dict[str, dict[str, Samples]] = operations.measure(
            entries,
            size,
            self._budget,
            lambda name: progress.update(task, advance=1, description=f"{where}: {name}"),
        )
        return {
            operation: {name: samples.summary() for name, samples in by_name.items()}
            for operation, by_name in measured.items()
        }
