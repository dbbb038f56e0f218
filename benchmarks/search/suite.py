"""What is measured: queries in scopes of several sizes in stores of several sizes, writes, and room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from rich.table import Table

from benchmarks.search import corpus
from benchmarks.search.room import Room, room_of
from benchmarks.support import running
from benchmarks.support.bench import Bench
from benchmarks.support.measure import Budget, Samples, Trial, race
from benchmarks.support.postgres import database, settle
from memoranda import ChangeSet, MemoryStore, Write, open_store

OWN = ("acme", "ann")
WORDS, MEANING = "words", "words and vectors"
_BATCH = 100


@dataclass(slots=True)
class Stock:
    """A filled store, opened twice: with words alone, and with vectors too."""

    name: str
    passages: int
    words: MemoryStore
    meaning: MemoryStore | None
    room: Room


class Suite:
    """All measurements of one run."""

    def __init__(self, given: Bench) -> None:
        self._options = given.options
        self._console = given.console
        self._report = given.found
        self._folder = given.folder
        self._server = given.server

    def sizes(self, engine: str) -> None:
        """Scopes of 2,000 passages in stores of several sizes."""
        for total in self._options.sizes:
            scope = min(total, self._options.scope)
            with self._stock(engine, total, scope) as stock:
                found = self._queries(engine, stock)
                self._writes(engine, stock, found)
                if scope == self._options.scope:
                    self._report.promise(
                        f"{engine}: p95 of a query in {scope:,} passages of {total:,}, {WORDS}",
                        found[WORDS][1],
                        10,
                        "ms",
                    )
                    if MEANING in found:
                        self._report.promise(f"{engine}: the same with vectors", found[MEANING][1], 10, "ms")

    def large_scope(self, engine: str) -> None:
        """One scope that holds very much."""
        total = self._options.large
        with self._stock(engine, total, total) as stock:
            found = self._queries(engine, stock)
            for name, (_, p95, _) in found.items():
                self._report.promise(f"{engine}: p95 of a query in one scope of {total:,}, {name}", p95, 50, "ms")

    @contextmanager
    def _stock(self, engine: str, total: int, scope: int) -> Iterator[Stock]:
        name = f"search-{total}-{scope}"
        with self._place(engine, name) as url:
            index = {"embed": corpus.synthetic_vectors, "dims": corpus.DIMS} if self._options.vectors else None
            start = perf_counter()
            with open_store(url, index=index) as filling:
                self._fill(filling, total, scope)
                if index is not None:
                    filling.wait_for_index()
            if engine == "postgres":
                settle(url)
            taken = perf_counter() - start
            with open_store(url) as words:
                room = room_of(words)
                held = room.passages
                self._console.print(
                    f"[bold]{engine}[/]: {held:,} passages in {max(total // scope, 1):,} scopes, made in {taken:,.0f} s"
                )
                if index is None:
                    yield Stock(name, held, words, None, room)
                else:
                    with open_store(url, index=index) as meaning:
                        yield Stock(name, held, words, meaning, room)

    @contextmanager
    def _place(self, engine: str, name: str) -> Iterator[str]:
        if engine == "sqlite":
            path = self._folder / f"{name}.db"
            yield f"sqlite:///{path}"
            for part in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
                part.unlink(missing_ok=True)
        else:
            assert self._server is not None
            with database(self._server, f"memoranda_bench_{name.replace('-', '_')}") as url:
                yield url

    def _fill(self, store: MemoryStore, total: int, scope: int) -> None:
        scopes = [OWN, *(("acme", f"user-{number:04}") for number in range(max(total // scope, 1) - 1))]
        count = max(scope // corpus.PASSAGES_A_FILE, 1)
        with running.bars() as bars:
            bar = bars.add_task("filling", total=len(scopes) * count)
            for seed, namespace in enumerate(scopes):
                changes = [Write(namespace, key, text) for key, text in corpus.files(count, seed)]
                for start in range(0, count, _BATCH):
                    store.commit(ChangeSet(changes[start : start + _BATCH]))
                    bars.advance(bar, len(changes[start : start + _BATCH]))

    def _queries(self, engine: str, stock: Stock) -> dict[str, tuple[float, float, float]]:
        """p50, p95 and the first query of a process, in milliseconds, by what is asked."""
        asked = corpus.questions(self._options.samples + 2, 11)
        found: dict[str, tuple[float, float, float]] = {}
        samples: dict[str, Samples] = {}
        for name, store in ((WORDS, stock.words), (MEANING, stock.meaning)):
            if store is None:
                continue
            start = perf_counter()
            store.recall(OWN, asked[0])
            cold = (perf_counter() - start) * 1_000
            ask: Callable[[str], object] = lambda query, store=store: store.recall(OWN, query)  # noqa: E731
            trial = Trial(name, lambda number: asked[number % len(asked)], ask)
            budget = Budget(samples=self._options.samples, seconds=self._options.seconds, minimum=20)
            taken = samples[name] = race([trial], budget)[name]
            found[name] = (taken.quantile(0.5) * 1_000, taken.quantile(0.95) * 1_000, cold)
        self._report.results.setdefault(engine, {})[stock.name] = {
            "passages": stock.passages,
            "queries": {name: one.summary() | {"cold_ms": found[name][2]} for name, one in samples.items()},
            "room": stock.room.to_dict(),
        }
        self._table(stock, found)
        if engine == "sqlite" and not self._options.quick:
            room = stock.room.to_dict()
            self._report.promise(f"{stock.name}: bytes of words by bytes of text", room["words_by_text"], 3, "x")
            self._report.promise(
                f"{stock.name}: bytes a dimension", stock.room.vectors / stock.room.passages / stock.room.dims, 1.02, ""
            )
        return found

    def _writes(self, engine: str, stock: Stock, found: dict[str, tuple[float, float, float]]) -> None:
        """A new file of 2 KB, with the index and without, in turns."""
        del found
        with open_store_like(stock.words) as plain:
            trials = [
                Trial(name, _file, lambda given, store=store: store.write(OWN, *given))
                for name, store in (("indexed", stock.words), ("not indexed", plain))
            ]
            taken = race(trials, Budget(samples=self._options.samples, seconds=self._options.seconds))
        p50 = {name: one.quantile(0.5) * 1_000 for name, one in taken.items()}
        self._report.results[engine][stock.name]["writes"] = {name: one.summary() for name, one in taken.items()}
        self._console.print(
            "  a file of 2 KB written, p50: " + ", ".join(f"{name} {value:.2f} ms" for name, value in p50.items())
        )
        if engine == "sqlite":
            what = f"{engine}: p50 of a write of 2 KB in a store of {stock.passages:,}"
            self._report.promise(what, p50["indexed"], 1.5, "ms")

    def _table(self, stock: Stock, found: dict[str, tuple[float, float, float]]) -> None:
        table = Table("", "p50", "p95", "first", title_justify="left")
        for name, (p50, p95, cold) in found.items():
            table.add_row(name, f"{p50:.2f}", f"{p95:.2f}", f"{cold:.1f}")
        self._console.print(table)
        self._console.print("  " + stock.room.in_words())


def _file(number: int) -> tuple[str, str]:
    return f"/new/{number}-{perf_counter()}.md", corpus.text(10_000_000 + number)[:2_048]


def open_store_like(store: MemoryStore) -> MemoryStore:
    """The same store, without an index."""
    return MemoryStore(store.engine, _without_index(store), url=store.url)


def _without_index(store: MemoryStore):
    from dataclasses import replace

    return replace(store.context, indexing=False)
