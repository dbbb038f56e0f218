"""Asking every question of every contender."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

from benchmarks.recall.datasets import Dataset
from benchmarks.recall.measures import Answer, by_category, figures
from benchmarks.recall.peers import Contender
from benchmarks.support.measure import quantile

DEPTH = 10
"""How many are asked for."""


@dataclass(slots=True)
class Run:
    """What one contender answered on one set.

    Args:
        answers: In the order of the questions.
        seconds: Per question, embedding it aside where vectors come from the cache.
    """

    answers: list[Answer] = field(default_factory=list[Answer])
    seconds: list[float] = field(default_factory=list[float])

    def main(self, dataset: Dataset) -> list[Answer]:
        """The answers whose mean is the figure of the set."""
        return [answer for answer in self.answers if answer.category not in dataset.aside]

    def summary(self, dataset: Dataset) -> dict[str, object]:
        """Figures, per category too."""
        return {
            **figures(self.main(dataset)),
            "categories": by_category(self.answers),
            "p50_ms": quantile(self.seconds, 0.5) * 1_000,
            "p95_ms": quantile(self.seconds, 0.95) * 1_000,
        }


def ask(contender: Contender, dataset: Dataset, progress: Callable[[], None] = lambda: None) -> Run:
    """Put all questions of a set to one contender.

    Args:
        contender: Who is asked.
        dataset: The set.
        progress: Called after each scope.
    """
    run = Run()
    for scope in dataset.scopes:
        search = contender.prepare(scope)
        for question in scope.questions:
            begun = perf_counter()
            found = search(question.text, DEPTH)
            run.seconds.append(perf_counter() - begun)
            run.answers.append(Answer(scope.name, question.category, tuple(found), question.gold))
        progress()
    return run
