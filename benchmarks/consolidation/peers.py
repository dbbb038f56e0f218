"""What the store costs a run, beside a consolidation that is started by cron and looks at a window of time.

The other way is the one that guides to memory describe for LangGraph: at fixed hours a job lists the threads of a user,
takes those that were updated within the window, reads its document, and puts the whole document again. It keeps no
cursor, no lease, no record and no history, so that a turn is read twice or never where a job is late or runs twice, and
what others have written meanwhile is lost. Its threads are items of LangGraph's store here, one for each conversation;
the server that keeps them in the guides is reached over HTTP, which would cost more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from time import time
from typing import Any, Protocol

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from benchmarks.consolidation.conversations import Namespace, read_on, scope_of, turns_of
from benchmarks.consolidation.places import place
from benchmarks.store.stocks import LABELS, OURS, peer
from benchmarks.support import running
from benchmarks.support.bench import Bench
from benchmarks.support.measure import Budget, Trial, WrongAnswerError, race
from benchmarks.support.postgres import settle
from benchmarks.support.report import comparison
from memoranda import MemoryStore, Turn, open_store
from memoranda.backends import StoreBackend
from memoranda.consolidation import Consolidator, Task

GROWS = 1.5
"""How many times as long a run may take where a scope has many earlier conversations."""

_SCOPES = 20
_PATH = "/memory.md"
_NAME = "bench"
_PAGE = 1_000


class Tended(Protocol):
    """A store with conversations, and a way to consolidate them."""

    name: str

    def talk(self, number: int, thread: int, turns: Sequence[Turn]) -> None:
        """Record one conversation of a scope."""
        ...

    def settle(self, numbers: range) -> None:
        """Count everything so far as consolidated."""
        ...

    def due(self, number: int) -> None:
        """What a schedule does before a run."""
        ...

    def run(self, number: int) -> None:
        """Consolidate what is new in a scope: a line for each turn."""
        ...

    def document(self, number: int) -> str:
        """What is known of a scope."""
        ...


def _line(role: str, text: str) -> str:
    return f"- {role}: {text}\n"


class Ours:
    """Memoranda: turns behind a cursor, staged files, and one transaction at the end."""

    def __init__(self, name: str, store: MemoryStore) -> None:
        def work(task: Task) -> None:
            task.files.append(_PATH, "".join(_line(turn.role, turn.text) for turn in task.turns))

        def target(who: Any) -> StoreBackend:
            return StoreBackend(namespace=(*who.scope, "memories"), store=store)

        self.name = name
        self._store = store
        self._consolidator = Consolidator(work, store=store, target=target, name=_NAME)

    def talk(self, number: int, thread: int, turns: Sequence[Turn]) -> None:
        self._store.record_turns(scope_of(number), f"t{thread}", turns, user=f"user-{number}")

    def settle(self, numbers: range) -> None:
        found = {unread.namespace: unread.turns for unread in self._store.runs.unread(_NAME, limit=None)}
        read_on(
            self._store,
            _NAME,
            ((number, 0, found[scope]) for number in numbers if (scope := scope_of(number)) in found),
        )

    def due(self, number: int) -> None:
        self._store.jobs.enqueue(_NAME, scope_of(number))

    def run(self, number: int) -> None:
        job = self._store.jobs.claim([_NAME], worker="bench")  # as a worker does it
        assert job is not None and job.scope == scope_of(number)
        self._consolidator.step(job)

    def document(self, number: int) -> str:
        item = self._store.get((*scope_of(number), "memories"), _PATH)
        return "" if item is None else item.value["content"]


class Window:
    """Any LangGraph store: the threads within the window, and the whole document again.

    Args:
        name: Of the contender.
        store: The store.
        filtered: Let the store pick the threads, instead of listing them all; not every store of threads can.
    """

    def __init__(self, name: str, store: BaseStore, *, filtered: bool = False) -> None:
        self.name = name
        self._store = store
        self._filtered = filtered
        self._since = 0.0

    def talk(self, number: int, thread: int, turns: Sequence[Turn]) -> None:
        self._since = time()
        messages = [{"id": turn.message_id, "role": turn.role, "content": turn.text} for turn in turns]
        # Its own time: those of the stores differ, and one keeps whole seconds only.
        value = {"messages": messages, "updated": self._since}
        self._store.put(self._threads(number), f"t{thread}", value, index=False)

    def settle(self, numbers: range) -> None:
        """Nothing: the window does not reach so far back."""

    def due(self, number: int) -> None:
        """Nothing: cron starts it."""

    def run(self, number: int) -> None:
        wanted: dict[str, Any] | None = {"updated": {"$gte": self._since}} if self._filtered else None
        threads: list[Any] = []
        while page := self._store.search(
            self._threads(number), filter=wanted, limit=_PAGE, offset=len(threads), refresh_ttl=False
        ):
            threads += page
            if len(page) < _PAGE:
                break
        found = self.document(number)
        for thread in threads:
            if thread.value["updated"] >= self._since:
                found += "".join(_line(message["role"], message["content"]) for message in thread.value["messages"])
        self._store.put((*scope_of(number), "memories"), _PATH, {"content": found}, index=False)

    def document(self, number: int) -> str:
        item = self._store.get((*scope_of(number), "memories"), _PATH)
        return "" if item is None else item.value["content"]

    @staticmethod
    def _threads(number: int) -> Namespace:
        return (*scope_of(number), "threads")


def measure(engine: str, given: Bench) -> None:
    """One run after the other, in scopes with few and with many earlier conversations."""
    options, measured = given.options, dict[str, Any]()
    names: list[str] = []
    with running.bars() as progress:
        task = progress.add_task(f"{engine}: runs beside a time window", total=len(options.earlier))
        for earlier in options.earlier:
            with _contenders(engine, earlier, given) as contenders:
                names = [each.name for each in contenders]
                budget = Budget(samples=options.samples, seconds=options.seconds)
                taken = race([_trial(each, earlier, options.turns) for each in contenders], budget)
            measured[f"{earlier:,} earlier conversations"] = {name: found.summary() for name, found in taken.items()}
            progress.update(task, advance=1)
    given.found.results[f"peers/{engine}"] = measured
    given.console.print(comparison(f"{engine}: one run of {options.turns} new turns, no model", measured, names))
    first, last = next(iter(measured.values())), [*measured.values()][-1]
    ratio = last[OURS]["p50_ms"] / first[OURS]["p50_ms"]
    given.found.promise(
        f"{engine}: a run after {options.earlier[-1]:,} conversations / {options.earlier[0]:,}", ratio, GROWS, "×"
    )


def _trial(each: Tended, earlier: int, turns: int) -> Trial:
    """A run on one new conversation; the scopes take turns, so that their documents stay short."""

    def prepare(sample: int) -> int:
        number = sample % _SCOPES
        said = turns_of(number, turns, earlier * turns + sample * turns)
        each.talk(number, earlier + sample, said)
        each.due(number)
        return sample

    def after(sample: int, _: Any) -> None:
        number = sample % _SCOPES
        last = turns_of(number, turns, earlier * turns + sample * turns)[-1]
        if each.document(number).count(last.text) != 1:
            raise WrongAnswerError(f"{each.name}: the last turn of run {sample} is not in the document once.")

    return Trial(each.name, prepare, lambda sample: each.run(sample % _SCOPES), after)


@contextmanager
def _contenders(engine: str, earlier: int, given: Bench) -> Iterator[list[Tended]]:
    with ExitStack() as stack:
        name = f"consolidation_peers_{earlier}"
        url = stack.enter_context(place(engine, name, given.folder, given.server))
        made: list[Tended] = [Ours(OURS, stack.enter_context(open_store(url)))]
        if not given.options.no_peers:
            theirs = stack.enter_context(place(engine, f"{name}_peer", given.folder, given.server))
            where = theirs.removeprefix("sqlite:///") if engine == "sqlite" else theirs
            store = stack.enter_context(peer(engine, where))
            made.append(Window(f"time window / {LABELS[engine]}", store))
            filtered = stack.enter_context(place(engine, f"{name}_filtered", given.folder, given.server))
            where = filtered.removeprefix("sqlite:///") if engine == "sqlite" else filtered
            store = stack.enter_context(peer(engine, where))
            made.append(Window(f"time window, filtered / {LABELS[engine]}", store, filtered=True))
            made.append(Window("time window / InMemoryStore", InMemoryStore()))
        for each in made:
            for number in range(_SCOPES):
                for thread in range(earlier):
                    each.talk(number, thread, turns_of(number, given.options.turns, thread * given.options.turns))
            each.settle(range(_SCOPES))
        if engine == "postgres":
            settle(url)
        yield made
