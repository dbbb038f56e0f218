"""What schedules cost: they must follow what has changed, and not how much there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from time import perf_counter, time_ns
from typing import Any

from rich.table import Table

from benchmarks.consolidation.conversations import fill, read_on, talk
from benchmarks.consolidation.metering import Meter
from benchmarks.consolidation.places import hurried, place
from benchmarks.support import running
from benchmarks.support.bench import Bench
from benchmarks.support.measure import WrongAnswerError, quantile
from memoranda import MemoryStore, open_store

FOLLOWS = 0.1
"""What a schedule may cost with 1 % changed, of what it costs with all changed."""
GROWS = 2.0
"""How many times as much a schedule may cost where ten times as many scopes have not changed."""

_MINUTE = 60_000_000
_REPEATS = 5
_CRON, _IDLE = "cron", "idle"
_KINDS = {_CRON: "every 10 minutes", _IDLE: "after 5 minutes idle"}


class Clock:
    """A time that is moved by hand, in microseconds."""

    def __init__(self) -> None:
        self.now = time_ns() // 1_000 - 7 * 24 * 60 * _MINUTE

    def __call__(self) -> int:
        return self.now

    def wait(self, minutes: float) -> None:
        """Let some time pass."""
        self.now += int(minutes * _MINUTE)


@dataclass(slots=True)
class Scene:
    """Many scopes, all of which both consumers have read.

    Args:
        store: With a clock of its own.
        clock: That clock.
        meter: Of the store.
        scopes: How many.
        turns: How many turns each scope has.
        cursors: How far each consumer has read, where that is not the first turn.
    """

    store: MemoryStore
    clock: Clock
    meter: Meter
    scopes: int
    turns: dict[int, int] = field(default_factory=dict[int, int])

    def change(self, numbers: range) -> None:
        """Something is said in some scopes."""
        for number in numbers:
            known = self.turns.get(number, 1)
            talk(self.store, number, 1, known)
            self.turns[number] = known + 1

    def read(self, numbers: range) -> None:
        """And both consumers have read it."""
        for consumer in _KINDS:
            read_on(self.store, consumer, ((number, self.turns[number] - 1, self.turns[number]) for number in numbers))

    def fire(self, kind: str, expected: int) -> dict[str, float]:
        """Fire what is due, make the jobs of the scopes, and see that these are as many as have changed."""
        before, start = self.meter.total, perf_counter()
        made = self.store.schedules.fire([kind])
        if kind == _CRON:
            if made != 1:
                raise WrongAnswerError(f"A cron schedule made {made} jobs.")
            job = self.store.jobs.list(kind, state="waiting", limit=1)[0]
            job = self.store.jobs.claim([kind], worker="bench", number=job.number)
            assert job is not None
            made = self.store.jobs.fan_out(job)
        taken, used = perf_counter() - start, self.meter.total - before
        # Out of the way of the next firing, which a job that waits would absorb.
        while (waiting := self.store.jobs.claim([kind], worker="bench")) is not None:
            self.store.jobs.finish(waiting)
        if made != expected:
            raise WrongAnswerError(f"{kind}: {made} jobs were made for {expected} scopes with something new.")
        return {"ms": taken * 1_000, **asdict(used), "jobs": made}


def measure(engine: str, given: Bench) -> None:
    """Schedules over stores of several sizes, on one engine."""
    rows: list[dict[str, Any]] = []
    with running.bars() as progress:
        for size in given.options.schedule_scopes:
            task = progress.add_task(f"{engine}: {size:,} scopes that have been read", total=size)
            rows += _over(engine, size, given, lambda done, t=task: progress.update(t, advance=done))
    given.found.results[f"schedules/{engine}"] = rows
    given.console.print(_table(f"{engine}: firing a schedule and making the jobs of the scopes", rows))
    _promise(engine, rows, given)


def _over(engine: str, size: int, given: Bench, progress: Callable[[int], None]) -> list[dict[str, Any]]:
    clock = Clock()
    with place(engine, f"consolidation_schedules_{size}", given.folder, given.server) as url:
        with hurried(url) as filling, _opened(filling, clock) as store:
            fill(store, size, 1, progress)
            for consumer in _KINDS:
                read_on(store, consumer, ((number, 0, 1) for number in range(size)))
        with _opened(url, clock) as store:
            scene = Scene(store, clock, Meter(store), size)
            return _scenes(scene, given.options.changed, given.options.schedule_scopes[0])


@contextmanager
def _opened(url: str, clock: Clock) -> Iterator[MemoryStore]:
    """A store with that clock; nothing of it is searched, so nothing is indexed."""
    with open_store(url, index=False) as store:
        yield MemoryStore(store.engine, replace(store.context, clock=clock), url=store.url)


def _scenes(scene: Scene, few: int, first_size: int) -> list[dict[str, Any]]:
    """From nothing to everything changed; the last leaves its jobs behind."""
    store, clock, rows = scene.store, scene.clock, list[dict[str, Any]]()
    clock.wait(120)
    store.schedules.put(_CRON, _CRON, cron="*/10 * * * *")
    store.schedules.put(_IDLE, _IDLE, idle_minutes=5)

    def stage(what: str, changed: range, repeats: int, step: int = 0) -> None:
        taken: dict[str, list[dict[str, float]]] = {kind: [] for kind in _KINDS}
        for repeat in range(repeats):
            numbers = range(changed.start + repeat * step, changed.stop + repeat * step)
            clock.wait(1)
            scene.change(numbers)
            clock.wait(10)
            for kind, found in taken.items():
                found.append(scene.fire(kind, len(numbers)))
            scene.read(numbers)
        for kind, found in taken.items():
            middle = sorted(found, key=lambda row: row["ms"])[len(found) // 2]
            middle |= {"ms": quantile([row["ms"] for row in found], 0.5)}
            rows.append({"scopes": scene.scopes, "kind": kind, "what": what, "changed": len(changed), **middle})

    none = range(0)
    stage("first look at all", none, 1)
    stage("nothing changed", none, _REPEATS - 1)  # within the hour after which all are looked at again
    clock.wait(70)
    stage("after an hour", none, 1)
    stage(f"{few:,} changed", range(few), _REPEATS - 1, few)
    if scene.scopes == first_size:
        clock.wait(10)
        stage("all changed", range(scene.scopes), 1)
    return rows


def _promise(engine: str, rows: list[dict[str, Any]], given: Bench) -> None:
    sizes = given.options.schedule_scopes

    def cost(kind: str, size: int, changed: int) -> float:
        return next(
            row["ms"]
            for row in rows
            if (row["kind"], row["scopes"], row["changed"]) == (kind, size, changed) and "look" not in row["what"]
        )

    few = given.options.changed
    for kind, words in _KINDS.items():
        ratio = cost(kind, sizes[0], few) / cost(kind, sizes[0], sizes[0])
        what = f"{engine}, {words}: {few:,} of {sizes[0]:,} scopes changed / all changed"
        given.found.promise(what, ratio, max(FOLLOWS, 3 * few / sizes[0]), "×")
        for size in sizes[1:]:
            ratio = cost(kind, size, few) / cost(kind, sizes[0], few)
            given.found.promise(f"{engine}, {words}: {few:,} changed of {size:,} / of {sizes[0]:,}", ratio, GROWS, "×")


def _table(title: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        caption="all but the changed scopes have been read; medians where it was done several times",
        caption_justify="left",
    )
    for name in ("schedule", "scopes", "", "ms", "statements", "round trips", "jobs made"):
        table.add_column(name, justify="left" if name in ("schedule", "") else "right")
    for row in rows:
        table.add_row(
            _KINDS[row["kind"]],
            f"{row['scopes']:,}",
            row["what"],
            f"{row['ms']:.1f}",
            f"{row['statements']:,}",
            f"{row['trips']:,}",
            f"{row['jobs']:,}",
        )
    return table
