"""Runs per second with more and more workers, what each run takes, and whether memory stays flat."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

from rich.table import Table

from benchmarks.concurrency import crew
from benchmarks.concurrency.crew import Tally
from benchmarks.consolidation.conversations import fill, scope_of
from benchmarks.consolidation.metering import Used
from benchmarks.consolidation.places import hurried, place
from benchmarks.consolidation.stations import Shift, station
from benchmarks.support import running
from benchmarks.support.bench import Bench
from benchmarks.support.measure import WrongAnswerError, quantile
from memoranda import MemoryStore, open_store

FLAT = 1.1
"""How many times as much memory a worker may have at the end as after a quarter of its runs."""


def measure(engine: str, given: Bench) -> None:
    """Everything about runs on one engine."""
    options = given.options
    rows: dict[str, dict[str, Any]] = {}
    with place(engine, "consolidation_runs", given.folder, given.server) as url, running.bars() as progress:
        with hurried(url) as filling, open_store(filling) as store:
            task = progress.add_task(f"{engine}: recording conversations", total=options.scopes)
            fill(store, options.scopes, options.turns, lambda done: progress.update(task, advance=done))
        for work in options.works:
            for workers, concurrency in [(1, 1), *((count, options.concurrency) for count in options.workers)]:
                name = f"{work}, {workers} × {concurrency}"
                if name in rows:
                    continue
                task = progress.add_task(f"{engine}: {name}", total=options.scopes)
                done = _cell(url, work, workers, concurrency, given, lambda n, t=task: progress.update(t, completed=n))
                rows[name] = _summary(done, workers)
    given.found.results[f"runs/{engine}"] = rows
    title = f"{engine}: {options.scopes:,} scopes × {options.turns} turns"
    given.console.print(_rates(title, rows))
    given.console.print(_shares(f"{title}: what a run takes, one at a time", rows))
    for name, row in rows.items():
        if name.endswith(" 1 × 1"):
            what = f"{engine}: memory beside page caches at the end / after a quarter, {name}"
            own = [size - cached for size, cached in zip(row["memory_mb"], row["page_cache_mb"], strict=True)]
            given.found.promise(what, own[-1] / own[0], FLAT, "×")


def _cell(url: str, work: str, workers: int, concurrency: int, given: Bench, progress: Any) -> Tally:
    """Queue a job for each scope, and let workers do them all."""
    options, name = given.options, f"{work}-{workers}-{concurrency}"
    with open_store(url) as store:
        for number in range(options.scopes):
            store.jobs.enqueue(name, scope_of(number))
        done = crew.run(
            partial(station, url, work, name),
            {"worker": (Shift(concurrency), 1)},
            processes=workers,
            seconds=None,
            progress=progress,
        )
        check(store, name, options.scopes, options.turns, done)
    return done


def check(store: MemoryStore, name: str, scopes: int, turns: int, done: Tally) -> None:
    """Every turn of every scope in one run, and nothing twice."""
    runs = [run for run in store.runs.list(name, limit=scopes * max(turns, 1) + 1_000) if run.scope[0] == "acme"]
    read = sum(run.turns for run in runs)
    left = store.runs.unread(name, ("acme",), limit=1)
    if (
        left
        or read != scopes * turns
        or any(run.status != "applied" for run in runs)
        or set(done.counts) != {"applied"}
    ):
        raise WrongAnswerError(f"{name}: {len(runs)} runs of {read} turns; {dict(done.counts)}; left: {left}")


def _summary(done: Tally, workers: int) -> dict[str, Any]:
    times, runs = done.all_seconds(), sum(each["runs"] for each in done.evidence)
    stored = sum((each["store"] for each in done.evidence), Used())
    beside = sum((each["all"] for each in done.evidence), Used()) - stored
    work = sum(each["work"] for each in done.evidence)
    return {
        "runs": runs,
        "seconds": done.wall,
        "per_second": runs / done.wall,
        "per_second_and_worker": runs / done.wall / workers,
        "p50_ms": quantile(times, 0.5) * 1_000,
        "p95_ms": quantile(times, 0.95) * 1_000,
        "store_a_run": _each(stored, runs),
        "taking_jobs_a_run": _each(beside, runs),
        "work_ms_a_run": work / runs * 1_000,
        "rest_ms_a_run": (sum(times) - stored.seconds - work) / runs * 1_000,
        "memory_mb": [size for size, _ in done.evidence[0]["memory"]],
        "page_cache_mb": [cached for _, cached in done.evidence[0]["memory"]],
    }


def _each(used: Used, runs: int) -> dict[str, float]:
    shares = {name: value / runs for name, value in asdict(used).items()}
    return {**shares, "ms": shares.pop("seconds") * 1_000}


def _rates(title: str, rows: dict[str, dict[str, Any]]) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        caption="processes × scopes side by side in each; memory of the first process, SQLite's page caches included",
        caption_justify="left",
    )
    for name in ("who works", "runs/s", "per worker", "run: p50 · p95 ms", "MB at 25 · 50 · 75 · 100 %", "page cache"):
        table.add_column(name, justify="left" if name == "who works" else "right")
    for name, row in rows.items():
        table.add_row(
            name,
            f"{row['per_second']:.1f}",
            f"{row['per_second_and_worker']:.1f}",
            f"{row['p50_ms']:.1f} · {row['p95_ms']:.1f}",
            " · ".join(f"{size:.0f}" for size in row["memory_mb"]),
            " · ".join(f"{size:.0f}" for size in row["page_cache_mb"]),
        )
    return table


def _shares(title: str, rows: dict[str, dict[str, Any]]) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        caption="statements without BEGIN and COMMIT; taking jobs: between the runs",
        caption_justify="left",
    )
    columns = (
        "who works",
        "store ms",
        "transactions",
        "round trips",
        "statements",
        "work ms",
        "rest ms",
        "taking jobs ms",
    )
    for name in columns:
        table.add_column(name, justify="left" if name == "who works" else "right")
    for name, row in rows.items():
        if name.endswith(" 1 × 1"):
            store, jobs = row["store_a_run"], row["taking_jobs_a_run"]
            table.add_row(
                name.partition(",")[0],
                *(f"{store[column]:.1f}" for column in ("ms", "transactions", "trips", "statements")),
                f"{row['work_ms_a_run']:.1f}",
                f"{row['rest_ms_a_run']:.1f}",
                f"{jobs['ms']:.1f} ({jobs['statements']:.1f} statements)",
            )
    return table
