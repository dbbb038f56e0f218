"""Workers: threads in processes that start together, report what they did, and can be stopped."""

from __future__ import annotations

import multiprocessing
import queue
import signal
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

# A forked child would share connections with its parent.
_spawn = multiprocessing.get_context("spawn")
_STARTING = 120.0


@dataclass(slots=True)
class Tally:
    """What the threads of one process, or of all, did.

    Args:
        seconds: How long each successful operation took, by kind.
        counts: Outcomes by name: `ok`, `conflict`, and errors by their text.
        evidence: What must be found afterwards; its form is the workload's own.
        wall: Seconds from the common start to the last end.
    """

    seconds: dict[str, list[float]] = field(default_factory=dict[str, "list[float]"])
    counts: Counter[str] = field(default_factory=Counter[str])
    evidence: list[Any] = field(default_factory=list[Any])
    wall: float = 0.0

    def took(self, kind: str, seconds: float) -> None:
        """Record a success."""
        self.seconds.setdefault(kind, []).append(seconds)

    def add(self, other: Tally) -> None:
        """Take in what others did."""
        for kind, seconds in other.seconds.items():
            self.seconds.setdefault(kind, []).extend(seconds)
        self.counts += other.counts
        self.evidence += other.evidence
        self.wall = max(self.wall, other.wall)

    def all_seconds(self) -> list[float]:
        """Every duration, whatever its kind."""
        return [taken for seconds in self.seconds.values() for taken in seconds]


Turn = Callable[[Any, int, Tally, Callable[[], bool]], None]
"""The work of one thread: the opened store, the worker's number, its tally, and whether time is up.

It asks whether time is up before every step, which also counts as its progress."""


def run(
    opening: Callable[[], Any],
    turns: dict[str, tuple[Turn, int]],
    *,
    processes: int,
    seconds: float | None,
    progress: Callable[[int], None],
) -> Tally:
    """Let workers loose and collect what they did.

    Args:
        opening: Opens the store in each process: a context manager. It must be picklable.
        turns: The work and how many threads of each process do it. It must be picklable.
        processes: How many; 0 stays in this one.
        seconds: After which they stop; None: when they are done.
        progress: Called now and then with the number of steps taken.
    """
    if not processes:
        return _inside(opening, turns, 0, threading.Barrier(1), seconds, _Steps(progress))
    barrier = _spawn.Barrier(processes)
    results = _spawn.Queue()
    counters = [_spawn.Value("q", 0, lock=False) for _ in range(processes)]
    crew = [
        _spawn.Process(
            target=_process,
            args=(opening, turns, number, barrier, seconds, counters[number], results),
            daemon=True,
        )
        for number in range(processes)
    ]
    total = Tally()
    try:
        for process in crew:
            process.start()
        waiting = len(crew)
        while waiting:
            progress(sum(counter.value for counter in counters))
            try:
                outcome = results.get(timeout=0.2)
            except queue.Empty:
                if any(process.exitcode not in (None, 0) for process in crew):
                    raise RuntimeError("A worker process died.") from None
                continue
            if isinstance(outcome, str):
                raise RuntimeError(outcome)
            total.add(outcome)
            waiting -= 1
        for process in crew:
            process.join()
    finally:
        for process in crew:
            if process.pid is not None and process.is_alive():
                process.terminate()
        for process in crew:
            if process.pid is not None:
                process.join()
    return total


class _Steps:
    """A counter that tells somebody."""

    def __init__(self, progress: Callable[[int], None]) -> None:
        self._progress = progress
        self._value = 0

    @property
    def value(self) -> int:
        return self._value

    @value.setter
    def value(self, value: int) -> None:
        self._value = value
        if value % 50 == 0:
            self._progress(value)


def _process(
    opening: Any,
    turns: Any,
    number: int,
    barrier: Any,
    seconds: float | None,
    counter: Any,
    results: Any,
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        results.put(_inside(opening, turns, number, barrier, seconds, counter))
    except BaseException:  # noqa: BLE001 - told to the parent
        results.put(traceback.format_exc())


def _inside(opening: Any, turns: Any, process: int, barrier: Any, seconds: float | None, counter: Any) -> Tally:
    """The threads of one process."""
    total, failures = Tally(), list[str]()
    per_process = sum(threads for _, threads in turns.values())
    with opening() as store:
        ready = threading.Barrier(per_process + 1)
        go = threading.Event()
        deadline = [float("inf")]

        def is_over() -> bool:
            counter.value += 1  # only progress: a count lost between threads does not matter
            return time.perf_counter() >= deadline[0]

        def body(turn: Turn, worker: int, tally: Tally) -> None:
            ready.wait(_STARTING)
            go.wait()
            try:
                turn(store, worker, tally, is_over)
            except Exception:  # noqa: BLE001 - told to the caller
                failures.append(traceback.format_exc())

        tallies: list[Tally] = []
        threads: list[threading.Thread] = []
        worker = process * per_process
        for turn, count in turns.values():
            for _ in range(count):
                tallies.append(Tally())
                threads.append(threading.Thread(target=body, args=(turn, worker, tallies[-1]), daemon=True))
                worker += 1
        for thread in threads:
            thread.start()
        ready.wait(_STARTING)
        barrier.wait(_STARTING)
        start = time.perf_counter()
        deadline[0] = start + seconds if seconds is not None else float("inf")
        go.set()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)  # in short steps, so that Ctrl-C is heard
        finally:
            deadline[0] = 0.0
        total.wall = time.perf_counter() - start
        for tally in tallies:
            total.add(tally)
    if failures:
        raise RuntimeError(failures[0])
    return total
