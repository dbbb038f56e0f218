"""Workers that die at a moment that is written down, and a memory that tells how often each turn was folded into it."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerProcess
from typing import Any, Literal, TypeAlias, cast

from langchain_core.messages import BaseMessage

from memoranda import MemoryStore, open_store
from memoranda.backends import StoreBackend
from memoranda.consolidation.consolidator import Consolidator
from memoranda.consolidation.task import Task
from memoranda.consolidation.worker import Worker
from memoranda.store.changes import Namespace
from memoranda.store.turns import Turn
from memoranda.testing.scripted import ScriptedChatModel
from tests.faults.killing import wait_for_backends
from tests.faults.sabotage import _trace, count_down, die

NAME = "folding"
SEEN, COUNT = "/seen.md", "/count.md"
LEASE = 1.5
MOST_TURNS = 5
COMMITTED = 1_000_000
"""The number of a statement that stands for the moment behind a commit, of which its caller does not know yet."""

Moment: TypeAlias = Literal["never", "before", "during", "after", "statement", "any"]
MOMENTS: tuple[Moment, ...] = ("before", "during", "after", "statement", "statement", "any")

# A server process that has imported everything forks each worker in milliseconds, without the parent's threads.
fresh = multiprocessing.get_context("forkserver")
fresh.set_forkserver_preload(
    [
        "memoranda.store.engines.sqlite.engine",
        "memoranda.store.engines.postgres.engine",
        "memoranda.testing.scripted",
        "tests.consolidation.dying",
    ]
)


@dataclass(frozen=True)
class Doom:
    """When a worker dies.

    Args:
        moment: `before`, `during` or `after` the call of the model, at a `statement` behind it, or at `any` time.
        run: In the n-th run that it does.
        number: At which statement; for `any` after so many hundredths of a second.
    """

    moment: Moment = "never"
    run: int = 1
    number: int = 1


class Trap:
    """Kills the process at a statement, once it is set, or where SQLite has just committed."""

    def __init__(self, store: MemoryStore) -> None:
        self._left: int | None = None
        self.at_commit = False
        count_down(self, after=False)  # type: ignore[arg-type]
        if store.engine.name == "sqlite":
            writer = cast("Any", store.engine)._writer
            _trace(writer, self)  # type: ignore[arg-type]
            writer.set_wal_hook(lambda *_: die() if self.at_commit else 0)

    def set(self, number: int) -> None:
        """Let the n-th statement from now on be the last."""
        self._left = number

    def __call__(self, *_: object) -> bool:
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                die()
        return False


class Folding:
    """A consolidator's function: asks a scripted model, notes each turn that it sees, and counts them."""

    def __init__(self, doom: Doom, pause: float, trap: Trap | None) -> None:
        self._doom, self._pause, self._trap = doom, pause, trap
        self._runs = 0

    def _die(self, moment: Moment) -> None:
        if self._runs >= self._doom.run and self._doom.moment == moment:
            die()

    def _answer(self, messages: list[BaseMessage]) -> str:
        time.sleep(self._pause / 2)
        self._die("during")
        time.sleep(self._pause / 2)
        return messages[-1].text

    def __call__(self, task: Task) -> None:
        self._runs += 1
        self._die("before")
        model = ScriptedChatModel(script=[self._answer])
        noted = model.invoke("\n".join(turn.message_id for turn in task.turns)).text
        self._die("after")
        task.files.write(SEEN, f"{text_of(task, SEEN)}{noted}\n")
        task.files.write(COUNT, str(int(text_of(task, COUNT) or 0) + len(task.turns)))
        if self._trap is not None and self._runs >= self._doom.run and self._doom.moment == "statement":
            self._trap.set(self._doom.number)
            self._trap.at_commit = self._doom.number == COMMITTED


def text_of(task: Task, path: str) -> str:
    """The text of a staged file; nothing for one that does not exist."""
    read = task.files.read(path)
    return read.file_data["content"] if read.file_data else ""


def consolidator(store: MemoryStore, work: Folding) -> Consolidator:
    """One that keeps its files beside what was said."""
    return Consolidator(
        work,
        store=store,
        target=lambda of: StoreBackend(namespace=of.scope, store=store),
        name=NAME,
        max_turns=MOST_TURNS,
    )


def work_until_death(url: str, doom: Doom, pause: float) -> None:
    """A worker's process."""
    with open_store(url) as store:
        trap = Trap(store) if doom.moment == "statement" else None
        folding = consolidator(store, Folding(doom, pause, trap))
        Worker(store, [folding], concurrency=2, lease=LEASE, poll=0.25, pause=0.05).run()


def work_once(url: str, doom: Doom) -> None:
    """A worker that does what there is to do, if it lives so long."""
    with open_store(url) as store:
        folding = consolidator(store, Folding(doom, 0, Trap(store)))
        Worker(store, [folding], concurrency=1, lease=0.3, poll=0.05).run(until_idle=True)


def dies_at(url: str, number: int) -> bool:
    """Whether a worker dies at the n-th statement behind the work, or has nothing more to say."""
    process = fresh.Process(target=work_once, args=(url, Doom("statement", 1, number)), daemon=True)
    process.start()
    process.join(30)
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    wait_for_backends(url)
    return process.exitcode != 0


class Crowd:
    """Several workers of one store, of which each dies at its moment and is followed by another.

    Args:
        url: The store.
        workers: How many there are at a time.
        seed: What is drawn.
    """

    def __init__(self, url: str, workers: int, seed: int) -> None:
        self._url, self._workers = url, workers
        self._chance = random.Random(seed)
        self._alive: dict[ForkServerProcess, tuple[Doom, float]] = {}
        self.deaths: dict[Moment, int] = dict.fromkeys(MOMENTS, 0)

    @property
    def killed(self) -> int:
        """How many died."""
        return sum(self.deaths.values())

    def tend(self) -> None:
        """Count the dead, kill who is to die now, and start others in their places."""
        now = time.monotonic()
        for process, (doom, started) in self._alive.items():
            if doom.moment == "any" and now >= started + doom.number / 100 and process.pid is not None:
                with suppress(ProcessLookupError):  # it is dead already, and was not counted yet
                    os.kill(process.pid, signal.SIGKILL)
        sentinels = {process.sentinel: process for process in self._alive}
        for sentinel in wait(list(sentinels), timeout=0.02) if sentinels else ():
            process = sentinels[cast("int", sentinel)]
            process.join()
            doom, _ = self._alive.pop(process)
            assert process.exitcode == -signal.SIGKILL, f"a worker ended by itself: {process.exitcode}"
            self.deaths[doom.moment] += 1
        while len(self._alive) < self._workers:
            self._start(self._doom())

    def end(self) -> None:
        """Kill all of them."""
        for process in self._alive:
            process.kill()
        for process in self._alive:
            process.join(10)
        self._alive.clear()
        wait_for_backends(self._url)

    def _doom(self) -> Doom:
        chance = self._chance
        moment = chance.choice(MOMENTS)
        return Doom(moment, chance.randint(1, 4), chance.randint(1, 120 if moment == "any" else 30))

    def _start(self, doom: Doom) -> None:
        process = fresh.Process(
            target=work_until_death, args=(self._url, doom, self._chance.uniform(0, 0.04)), daemon=True
        )
        process.start()
        self._alive[process] = doom, time.monotonic()


class Talk:
    """Conversations that go on, and jobs, schedules and other mischief that go with them.

    Args:
        store: The store.
        scopes: How many people talk.
        seed: What is drawn.
    """

    def __init__(self, store: MemoryStore, scopes: int, seed: int) -> None:
        self._store = store
        self._chance = random.Random(seed)
        self._consolidator = consolidator(store, Folding(Doom(), 0, None))
        self.said: dict[Namespace, list[str]] = {("people", f"p{number}"): [] for number in range(scopes)}

    @property
    def scope(self) -> Namespace:
        """The first who talks."""
        return next(iter(self.said))

    def say(self, scope: Namespace | None = None) -> None:
        """Somebody says something."""
        scope = self.scope if scope is None else scope
        said = self.said[scope]
        new = [f"{scope[-1]}-{len(said) + number}" for number in range(self._chance.randint(1, 4))]
        self._store.record_turns(scope, self._chance.choice("ab"), [Turn(id, "user", f"I am at {id}.") for id in new])
        said += new

    def go_on(self) -> None:
        """Somebody says something, somebody asks for a run, or somebody meddles with the schedules."""
        chance = self._chance
        scope = chance.choice(list(self.said))
        self.say(scope)
        if chance.random() < 0.5:
            self._consolidator.on_demand(scope)
        elif chance.random() < 0.1:  # somebody does by hand what the workers do, or is told that they are at it
            self._consolidator.run(scope)
        self._meddle()

    def _meddle(self) -> None:
        schedules, chance = self._store.schedules, self._chance
        name = chance.choice(("first", "second"))
        what = chance.choice(("cron", "cron", "idle", "pause", "resume", "remove"))
        if what == "cron":  # also doubled: two of them fire at the same moment
            line = chance.choice(("* * * * * *", "*/2 * * * * *", "0 0 * * *"))
            schedules.put(name, NAME, cron=line, prefix=chance.choice(((), ("people",))))
        elif what == "idle":
            schedules.put(name, NAME, idle_minutes=chance.choice((0.001, 0.01, 60)))
        elif any(each.name == name for each in schedules.list()):
            getattr(schedules, what)(name)


def check(store: MemoryStore, said: dict[Namespace, list[str]]) -> int:
    """Each turn lies in one range of one finished run, and was noted once; returns how many runs there are."""
    runs = 0
    for scope, ids in said.items():
        ranges = store.runs.covered(NAME, scope)
        assert [after for after, _ in ranges] == [0, *(to for _, to in ranges)][: len(ranges)], ranges
        assert (ranges[-1][1] if ranges else 0) == len(ids) == store.runs.cursor(NAME, scope)
        found = store.runs.list(NAME, scope, limit=None)
        assert {run.status for run in found} <= {"applied"}, [run.error for run in found]
        assert sorted((run.after, run.to) for run in found) == ranges
        if not ids:
            continue
        seen, count = store.get(scope, SEEN), store.get(scope, COUNT)
        assert seen is not None and count is not None
        lines = seen.value["content"].split()
        # Within a run conversation by conversation.
        assert [sorted(lines[after:to]) for after, to in ranges] == [sorted(ids[after:to]) for after, to in ranges]
        assert len(lines) == len(ids)
        assert count.value["content"] == str(len(ids))
        # Each run made one revision of each file, which knows the run.
        for key in (SEEN, COUNT):
            history = store.history(scope, key, limit=100_000)
            assert [each.author.run_id for each in history] == [run.id for run in found]
        runs += len(found)
    running = store.jobs.list(NAME, state="parked", limit=None)
    assert not running, [job.error for job in running]
    assert store.verify().ok
    return runs
