"""Recording a set in a store as conversations, and asking its questions through the public interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from statistics import quantiles
from time import perf_counter

from memoranda.evaluation.datasets import Dataset, Message, Scope
from memoranda.evaluation.measures import Answer, by_category, figures
from memoranda.store.changes import Namespace
from memoranda.store.store import MemoryStore
from memoranda.store.turns import Turn

ROOT = "memoranda-bench"
"""The first label of the namespaces that sets are recorded in."""

DEPTH = 10
"""So many messages are asked for."""

MOST = 1_000
"""`recall` gives no more hits."""

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class Run:
    """What a store answered.

    Args:
        aside: Categories that are not among the main figures.
        answers: In the order of the questions.
        seconds: How long each took.
    """

    aside: frozenset[str] = field(default_factory=frozenset[str])
    answers: list[Answer] = field(default_factory=list[Answer])
    seconds: list[float] = field(default_factory=list[float])

    @property
    def main(self) -> list[Answer]:
        """The answers whose mean is the figure of the set."""
        return [answer for answer in self.answers if answer.category not in self.aside]

    def summary(self) -> dict[str, float]:
        """The main figures, and how long a question took: half of them at most `p50_ms`, 95 % at most `p95_ms`."""
        spread = quantiles(self.seconds, n=20, method="inclusive") if len(self.seconds) > 1 else 19 * self.seconds
        times = {"p50_ms": spread[9] * 1_000, "p95_ms": spread[18] * 1_000} if spread else {}
        return {**figures(self.main), **times}

    def categories(self) -> dict[str, tuple[int, dict[str, float]]]:
        """The number of questions and the figures of each category."""
        return by_category(self.answers)


def record(store: MemoryStore, dataset: Dataset, *, progress: Progress | None = None) -> None:
    """Record the conversations of a set, each scope in a namespace of its own.

    Args:
        store: Where.
        dataset: The set.
        progress: Told how many messages are recorded, and of how many.
    """
    done = 0
    for scope in dataset.scopes:
        namespace = namespace_of(dataset, scope)
        for session, messages in groupby(scope.messages, key=lambda message: message.session):
            turns = [_turn(message) for message in messages]
            store.record_turns(namespace, session, turns)
            done += len(turns)
            if progress is not None:
                progress(done, dataset.messages)


def ask(store: MemoryStore, dataset: Dataset, *, progress: Progress | None = None) -> Run:
    """Put every question of a set to a store that has it.

    Args:
        store: The store.
        dataset: The set.
        progress: Told how many questions are answered, and of how many.

    Returns:
        The answers.
    """
    run = Run(dataset.aside)
    for scope in dataset.scopes:
        namespace = namespace_of(dataset, scope)
        for question in scope.questions:
            begun = perf_counter()
            ranked = first(DEPTH, MOST, partial(_found, store, namespace, question.text))
            run.seconds.append(perf_counter() - begun)
            run.answers.append(Answer(scope.name, question.category, ranked, question.gold))
            if progress is not None:
                progress(len(run.answers), dataset.questions)
    return run


def namespace_of(dataset: Dataset, scope: Scope) -> Namespace:
    """Where a scope is recorded."""
    return (ROOT, dataset.name, scope.name)


def first(k: int, most: int, search: Callable[[int], Sequence[str]]) -> tuple[str, ...]:
    """The first `k` different ids of a search that may find several passages of one thing.

    Args:
        k: How many are wanted.
        most: How many passages the search gives at most.
        search: Gives the ids of the best so many passages, fewer where there are no more.

    Example:
        >>> first(2, 100, lambda passages: ["m1", "m1", "m2", "m3"][:passages])
        ('m1', 'm2')
    """
    wanted = k
    while True:
        found = search(wanted)
        ids = tuple(dict.fromkeys(found))
        if len(ids) >= k or len(found) < wanted or wanted >= most:
            return ids[:k]
        wanted = min(2 * wanted, most)


def _found(store: MemoryStore, namespace: Namespace, question: str, k: int) -> list[str]:
    return [hit.key for hit in store.recall(namespace, question, k=k, kinds=("turn",)).hits]


def _turn(message: Message) -> Turn:
    return Turn(message.id, message.role, message.text, speaker=message.speaker or None, at=message.at)
