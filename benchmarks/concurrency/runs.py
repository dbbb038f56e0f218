"""The three parts of the benchmark: edits of the same files, writes of distinct files, reads beside writes."""

from __future__ import annotations

from argparse import Namespace as Options
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.store.memory import InMemoryStore
from rich.console import Console
from rich.table import Table

from benchmarks.concurrency.crew import Tally, run
from benchmarks.concurrency.edits import Edits, lost, prepare
from benchmarks.concurrency.holding import held
from benchmarks.concurrency.rivals import NAMESPACE, Given, Opening, Theirs
from benchmarks.concurrency.traffic import Reader, Writer
from benchmarks.support import running
from benchmarks.support.contenders import fill
from benchmarks.support.measure import quantile
from benchmarks.support.postgres import database
from benchmarks.support.report import Report
from benchmarks.support.texts import files
from memoranda import open_store

PARTS = ("edits", "writes", "reads")
_PEERS = {"sqlite": "SqliteStore", "postgres": "PostgresStore"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where the databases of one engine are."""

    engine: str
    folder: Path
    server: str | None

    def new(self, stack: ExitStack, name: str) -> str:
        """An empty database: a file's path or a libpq URL."""
        if self.engine == "sqlite":
            return str(self.folder / f"{name}.db")
        assert self.server is not None
        return stack.enter_context(database(self.server, f"memoranda_bench_{name}"))

    def ours(self, stack: ExitStack, name: str, threads: int) -> Opening:
        """Memoranda on an empty database, with its schema."""
        where = self.new(stack, name)
        url = f"sqlite:///{where}" if self.engine == "sqlite" else where
        open_store(url).close()
        return Opening("memoranda", url, threads)

    def theirs(self, stack: ExitStack, name: str, threads: int) -> Opening:
        """LangGraph's store on an empty database, with its schema."""
        opening = Opening(self.engine, self.new(stack, name), threads)
        with opening() as rival:
            rival.store.setup()
        return opening


def edits(place: Place, options: Options, console: Console, found: Report) -> None:
    """Edits and appends on few files, ours and through peers, with the losses counted."""
    workers = options.processes * options.threads
    turn = {"edits": (Edits(-(-options.edits // workers)), options.threads)}
    rows: dict[str, dict[str, Any]] = {}
    with ExitStack() as stack:
        opening = place.ours(stack, "edits", options.threads)
        rows["Memoranda"] = _edits(opening, turn, workers, options.processes, None, "Memoranda", options)
        if not options.no_peers:
            peer = _PEERS[place.engine]
            opening = place.theirs(stack, "edits_peer", options.threads)
            name = f"Deep Agents / {peer}"
            rows[name] = _edits(opening, turn, workers, options.processes, options.peer_seconds, name, options)
            if place.engine == "sqlite":
                given = Given(Theirs(InMemoryStore()))
                alone = {"edits": (turn["edits"][0], workers)}
                name = "Deep Agents / InMemoryStore, one process"
                rows[name] = _edits(given, alone, workers, 0, options.peer_seconds, name, options)
    columns = ("contender", "reported ok", "conflicts", "errors", "LOST", "per second", "p50", "p95", "p99")
    title = (
        f"{place.engine}: {options.edits:,} edits and appends on 5 files by "
        f"{options.processes} processes × {options.threads} threads"
    )
    table = _table(title, columns)
    for name, row in rows.items():
        share = f" ({row['lost'] / row['ok']:.1%})" if row["lost"] else ""
        table.add_row(
            name,
            f"{row['ok']:,}",
            f"{row['conflicts']:,}",
            _errors(row["errors"]),
            f"[{'bold red' if row['lost'] else 'green'}]{row['lost']:,}{share}[/]",
            f"{row['per_second']:,.0f}",
            *(f"{row[point]:,.1f} ms" for point in ("p50_ms", "p95_ms", "p99_ms")),
        )
    console.print(table)
    found.results[f"edits/{place.engine}"] = rows
    ours = rows["Memoranda"]
    done = ours["ok"] + ours["conflicts"]
    found.promise(f"{place.engine}: lost updates of {done:,}", ours["lost"], 0, "updates")
    found.promise(f"{place.engine}: errors among them", sum(ours["errors"].values()), 0, "errors")


def _edits(
    opening: Any,
    turns: Any,
    workers: int,
    processes: int,
    seconds: float | None,
    name: str,
    options: Options,
) -> dict[str, Any]:
    with opening() as rival:
        prepare(rival, workers)
    tally = _progressing(name, options.edits, opening, turns, processes, seconds)
    with opening() as rival:
        missing = lost(rival, tally.evidence)
    return _summary(tally) | {"lost": sum(missing.values()), "lost_by_kind": dict(missing)}


def writes(place: Place, options: Options, console: Console, found: Report) -> None:
    """Distinct files, as fast as it goes."""
    rows: dict[str, dict[str, Any]] = {}
    with ExitStack() as stack:
        contenders = {"Memoranda": place.ours(stack, "writes", options.threads)}
        if not options.no_peers:
            peer = f"Deep Agents / {_PEERS[place.engine]}"
            contenders[peer] = place.theirs(stack, "writes_peer", options.threads)
        for apart, where in ((False, "one namespace"), (True, "a namespace for each writer")):
            turn = {"writes": (Writer(1_000_000, apart=apart), options.threads)}
            for name, opening in contenders.items():
                label = f"{name}, {where}"
                tally = _progressing(label, None, opening, turn, options.processes, options.seconds)
                rows[label] = _summary(tally)
    title = f"{place.engine}: new files by {options.processes} processes × {options.threads} threads"
    table = _table(title, ("contender", "written", "errors", "per second", "p50", "p95", "p99", "longest"))
    for name, row in rows.items():
        table.add_row(
            name,
            f"{row['ok']:,}",
            _errors(row["errors"]),
            f"{row['per_second']:,.0f}",
            *(f"{row[point]:,.1f} ms" for point in ("p50_ms", "p95_ms", "p99_ms", "max_ms")),
        )
    console.print(table)
    found.results[f"writes/{place.engine}"] = rows
    crew = f"{options.processes} × {options.threads} writers"
    ours = [row for name, row in rows.items() if name.startswith("Memoranda")]
    if place.engine == "sqlite":
        longest = max(row["p99_ms"] for row in ours)
        found.promise(f"{crew} to one SQLite file: p99", longest, 250, "ms")
    failed = sum(sum(row["errors"].values()) for row in ours)
    found.promise(f"{place.engine}: {crew}: failed", failed, 0, "writes")


def reads(place: Place, options: Options, console: Console, found: Report) -> None:
    """Many readers: alone, beside writers, and while one write transaction stays open."""
    count = 1_000 if not options.quick else 100
    per_process = max(options.readers // options.processes, 1)
    readers = (Reader(count, options.pause), per_process)
    rows: dict[str, dict[str, Any]] = {}
    with ExitStack() as stack:
        opening = place.ours(stack, "reads", per_process)
        with opening() as rival:
            fill(rival.store, NAMESPACE, files(count), lambda _: None)
        writers = (Writer(1_000_000, pause=0.02), 2)
        phases: dict[str, Any] = {
            "readers alone": {"readers": readers},
            "readers beside writers": {"readers": readers, "writers": writers},
        }
        for name, turns in phases.items():
            tally = _progressing(name, None, opening, turns, options.processes, options.seconds)
            _by_kind(rows, name, tally)
        hold = min(options.seconds, 10.0)
        with held(place.engine, opening.url):
            tally = _progressing(
                "readers beside an open write", None, opening, {"readers": readers}, options.processes, hold
            )
        _by_kind(rows, "readers beside an open write", tally)
    table = _table(
        f"{place.engine}: {per_process * options.processes:,} readers in {options.processes} processes, "
        f"each reading every {options.pause:g} s on average",
        ("phase", "operation", "done", "errors", "per second", "p50", "p95", "p99", "longest"),
    )
    for row in rows.values():
        table.add_row(
            row["phase"],
            row["operation"],
            f"{row['ok']:,}",
            _errors(row["errors"]),
            f"{row['per_second']:,.0f}",
            *(f"{row[point]:,.1f} ms" for point in ("p50_ms", "p95_ms", "p99_ms", "max_ms")),
        )
    console.print(table)
    found.results[f"reads/{place.engine}"] = rows
    failed = sum(sum(row["errors"].values()) for row in rows.values())
    found.promise(f"{place.engine}: reads and writes that failed beside each other", failed, 0, "operations")
    waited = rows["readers beside an open write/read"]["max_ms"]
    found.promise(
        f"{place.engine}: longest read while a write transaction stayed open for {hold:g} s",
        waited,
        hold * 500,
        "ms",
    )


def _by_kind(rows: dict[str, dict[str, Any]], phase: str, tally: Tally) -> None:
    """Split what a phase did into reads and writes."""
    wrote = tally.seconds.pop("write", None)
    for operation, seconds in (("read", tally.all_seconds()), ("write", wrote)):
        if seconds is None:
            continue
        errors = tally.counts if operation == "read" else Counter[str]()
        part = Tally({operation: seconds}, Counter(errors), [], tally.wall)
        rows[f"{phase}/{operation}"] = _summary(part) | {
            "phase": phase,
            "operation": operation,
            "ok": len(seconds),
        }


def _progressing(
    name: str,
    total: int | None,
    opening: Any,
    turns: Any,
    processes: int,
    seconds: float | None,
) -> Tally:
    with running.bars() as progress:
        task = progress.add_task(name, total=total)
        return run(
            opening,
            turns,
            processes=processes,
            seconds=seconds,
            progress=lambda steps: progress.update(task, completed=steps),
        )


def _summary(tally: Tally) -> dict[str, Any]:
    every = tally.all_seconds()
    points = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99, "max_ms": 1.0}
    return {
        "ok": tally.counts["ok"],
        "conflicts": tally.counts["conflict"],
        "errors": {
            name.removeprefix("error: "): count for name, count in tally.counts.items() if name.startswith("error: ")
        },
        "seconds": tally.wall,
        "per_second": len(every) / tally.wall if tally.wall else 0.0,
        **{name: quantile(every, share) * 1_000 for name, share in points.items()},
    }


def _errors(errors: dict[str, int]) -> str:
    return "\n".join(f"{count:,} × {text}" for text, count in errors.items()) or "0"


def _table(title: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 or column in ("operation", "errors") else "right")
    return table
