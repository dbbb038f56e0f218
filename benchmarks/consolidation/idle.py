"""What a worker costs that has nothing to do."""

from __future__ import annotations

import multiprocessing
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from typing import Any

from rich.table import Table

from benchmarks.consolidation.conversations import fill, read_on
from benchmarks.consolidation.metering import Meter
from benchmarks.consolidation.places import hurried, place
from benchmarks.support import running
from benchmarks.support.bench import Bench
from memoranda import open_store
from memoranda.backends import StoreBackend
from memoranda.consolidation import Consolidator, Worker

MOST_STATEMENTS, MOST_CPU = 120.0, 200.0
"""Statements, and milliseconds of a processor, that an idle worker may take in a minute."""

_SETTLING = 2.0
_NAME = "idle"


def measure(engine: str, given: Bench) -> None:
    """An idle worker with a cron schedule and an idle one, over scopes that have been read."""
    options = given.options
    size, seconds = options.schedule_scopes[0], options.idle_seconds
    with place(engine, "consolidation_idle", given.folder, given.server) as url, running.bars() as progress:
        with hurried(url) as filling, open_store(filling, index=False) as store:
            task = progress.add_task(f"{engine}: {size:,} scopes that have been read", total=size)
            fill(store, size, 1, lambda done: progress.update(task, advance=done))
            read_on(store, _NAME, ((number, 0, 1) for number in range(size)))
            store.schedules.put(_NAME, _NAME, cron="0 */6 * * *")
            store.schedules.put(f"{_NAME}-idle", _NAME, idle_minutes=30)
        progress.add_task(f"{engine}: an idle worker, for {seconds:g} s", total=None)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
            found = alone.submit(idling, url, seconds).result()
    given.found.results[f"idle/{engine}"] = found
    table = Table(title=f"{engine}: a minute of an idle worker, {size:,} scopes", title_justify="left")
    for name in ("transactions", "statements", "ms in the store", "ms of a processor"):
        table.add_column(name, justify="right")
    table.add_row(
        *(f"{found[name]:.1f}" for name in ("transactions", "statements", "store_ms", "cpu_ms")),
    )
    given.console.print(table)
    given.found.promise(f"{engine}: statements of an idle worker in a minute", found["statements"], MOST_STATEMENTS, "")
    given.found.promise(f"{engine}: processor time of an idle worker in a minute", found["cpu_ms"], MOST_CPU, "ms")


def idling(url: str, seconds: float, settling: float = _SETTLING) -> dict[str, float]:
    """Let a worker wait in this process, and say what a minute of that takes.

    Args:
        url: Of the store.
        seconds: How long it is watched, after it has come to rest.
        settling: How long it has for that, in seconds.
    """
    with open_store(url) as store:
        meter = Meter(store)
        target = StoreBackend(namespace=("notes",), store=store)
        worker = Worker(store, [Consolidator(lambda _: None, store=store, target=target, name=_NAME)])
        looks: list[tuple[Any, float, float]] = []

        def look() -> None:
            looks.append((meter.total, time.process_time(), time.perf_counter()))

        def end() -> None:
            look()
            worker.stop()

        timers = [threading.Timer(settling, look), threading.Timer(settling + seconds, end)]
        for timer in timers:
            timer.start()
        worker.run(signals=False)
    (used, cpu, start), (used_then, cpu_then, end_) = looks
    minute = 60 / (end_ - start)
    taken = asdict(used_then - used)
    return {
        "transactions": taken["transactions"] * minute,
        "statements": taken["statements"] * minute,
        "store_ms": taken["seconds"] * 1_000 * minute,
        "cpu_ms": (cpu_then - cpu) * 1_000 * minute,
        "seconds": end_ - start,
    }
