"""A worker and what it measures of its runs; made anew in each process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from benchmarks.concurrency.crew import Tally
from benchmarks.consolidation.metering import Meter, Used, page_cache, resident
from memoranda import MemoryStore, Turn, open_store
from memoranda.backends import StoreBackend
from memoranda.consolidation import Consolidator, RunReport, Task, Worker
from memoranda.consolidation.agent import ready_made
from memoranda.store.jobs import Job
from memoranda.testing.scripted import ScriptedChatModel, call

WORKS = ("agent", "function")
PATH = "/memory.md"

_FACTS = "".join(f"- Fact {number} about the user, as it was said.\n" for number in range(10))
_SAMPLES = 400


class ForgetfulModel(ScriptedChatModel):
    """A scripted model that keeps no requests, so that only what consolidation keeps shows in the memory."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedChatModel:
        """Nothing is noted."""
        return self

    def _generate(self, messages: list[BaseMessage], *given: Any, **kwargs: Any) -> Any:
        answer = super()._generate(messages, *given, **kwargs)
        self.requests.clear()
        return answer


def _reply(messages: list[BaseMessage]) -> AIMessage:
    """One file is written, then the run is finished."""
    if isinstance(messages[-1], ToolMessage):
        return call("finish", summary="Noted ten facts.")
    return call("write_file", path=PATH, content=_FACTS, turns=["t1"])


def _write(task: Task) -> str:
    task.files.write(PATH, _FACTS)
    return "Noted ten facts."


def work_of(kind: str) -> Callable[[Task], Any]:
    """What does the work: the ready-made agent with a scripted model, or a function that writes the same."""
    return ready_made(ForgetfulModel(script=[_reply])) if kind == "agent" else _write


@dataclass(slots=True)
class Spent:
    """What a run took, in seconds.

    Args:
        work: The agent or the function, the store's share of it included.
        store_in_work: That share.
    """

    work: float = 0.0
    store_in_work: float = 0.0


_spent: ContextVar[Spent] = ContextVar("spent")


class TimedConsolidator(Consolidator):
    """A consolidator that notes what each of a worker's runs took.

    Args:
        work: What does the work.
        meter: Of its store.
        **settings: Those of a consolidator.
    """

    def __init__(self, work: Callable[[Task], Any], meter: Meter, **settings: Any) -> None:
        super().__init__(self._timed(work), **settings)
        self._meter = meter
        self.tally = Tally()
        self.stored = Used()
        self.spent = Spent()

    def step(self, job: Job) -> RunReport:
        """Do one job, and note what it took."""
        spent = Spent()
        token = _spent.set(spent)
        try:
            with self._meter.account() as used:
                start = perf_counter()
                report = super().step(job)
                taken = perf_counter() - start
        finally:
            _spent.reset(token)
        with self._meter.lock:
            self.tally.took("run", taken)
            self.stored += used
            self.spent.work += spent.work
            self.spent.store_in_work += spent.store_in_work
        return report

    def _timed(self, work: Callable[[Task], Any]) -> Callable[[Task], Any]:
        def do(task: Task) -> Any:
            spent, start = _spent.get(Spent()), perf_counter()
            with self._meter.account() as used:
                try:
                    return work(task)
                finally:
                    spent.work += perf_counter() - start
                    spent.store_in_work += used.seconds

        return do


@dataclass(slots=True)
class Station:
    """A store with a consolidator, ready to work.

    Args:
        store: The store.
        meter: Of the store.
        consolidator: The consolidator.
    """

    store: MemoryStore
    meter: Meter
    consolidator: TimedConsolidator


@contextmanager
def station(url: str, work: str, name: str) -> Iterator[Station]:
    """Open a store, and consolidate one scope so that everything is imported and prepared.

    Args:
        url: Of the store.
        work: `agent` or `function`.
        name: Of the consolidator: its cursors, its queue, and the namespaces that it writes to.
    """
    with open_store(url) as store:
        meter = Meter(store)

        def target(who: Any) -> StoreBackend:
            return StoreBackend(namespace=(*who.scope, name), store=store)

        made = TimedConsolidator(work_of(work), meter, store=store, target=target, name=name)
        warm = ("warm", str(os.getpid()))
        store.record_turns(warm, "t", [Turn("m1", "user", "I like green tea.")])
        made.run(warm)
        yield Station(store, meter, made)


@dataclass(frozen=True, slots=True)
class Shift:
    """The work of one process: jobs until there are none.

    Args:
        concurrency: How many scopes side by side.
    """

    concurrency: int

    def __call__(self, at: Station, worker: int, tally: Tally, is_over: Callable[[], bool]) -> None:
        memory = Memory()

        def told(worked: Any) -> None:
            is_over()  # which counts as progress
            tally.counts[worked.outcome if worked.report is None else worked.report.status] += 1
            memory.look()

        before = at.meter.total
        Worker(at.store, [at.consolidator], concurrency=self.concurrency, report=told).run(
            until_idle=True, signals=False
        )
        tally.seconds |= at.consolidator.tally.seconds
        stored, spent = at.consolidator.stored, at.consolidator.spent
        tally.evidence.append(
            {
                "runs": memory.done,
                "store": stored,
                "all": at.meter.total - before,
                "work": spent.work - spent.store_in_work,
                "memory": memory.quarters(),
            }
        )


@dataclass(slots=True)
class Memory:
    """How much memory this process had after its runs, and how much of that SQLite's page caches."""

    done: int = 0
    samples: list[tuple[int, float, float]] = field(default_factory=list[tuple[int, float, float]])
    every: int = 1

    def look(self) -> None:
        """Take note, of every run at first and of fewer later."""
        self.done += 1
        if self.done % self.every:
            return
        self.samples.append(self._now())
        if len(self.samples) > _SAMPLES:
            del self.samples[::2]
            self.every *= 2

    def quarters(self) -> list[tuple[float, float]]:
        """MB when a quarter, a half, three quarters and all was done; the same four times where nothing was."""
        samples = [*self.samples, self._now()]
        return [
            next((size, cached) for done, size, cached in samples if done >= self.done * share)
            for share in (0.25, 0.5, 0.75, 1.0)
        ]

    def _now(self) -> tuple[int, float, float]:
        return self.done, resident(), page_cache()
