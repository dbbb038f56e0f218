"""Asking every question of every contender."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from benchmarks.recall.measures import figures
from benchmarks.recall.peers import Contender
from benchmarks.support.measure import quantile
from memoranda.evaluation import Answer, Dataset, Run
from memoranda.evaluation.asking import DEPTH


def ask(contender: Contender, dataset: Dataset, progress: Callable[[], None] = lambda: None) -> Run:
    """Put all questions of a set to one contender.

    Args:
        contender: Who is asked.
        dataset: The set.
        progress: Called after each scope.

    Returns:
        The answers; how long each took leaves out embedding the question, whose vector comes from the cache.
    """
    run = Run(dataset.aside)
    for scope in dataset.scopes:
        search = contender.prepare(scope)
        for question in scope.questions:
            begun = perf_counter()
            found = search(question.text, DEPTH)
            run.seconds.append(perf_counter() - begun)
            run.answers.append(Answer(scope.name, question.category, tuple(found), question.gold))
        progress()
    return run


def summary(run: Run) -> dict[str, Any]:
    """Figures, recall@10 per category too."""
    return {
        **figures(run.main),
        "categories": {category: found["recall@10"] for category, (_, found) in run.categories().items()},
        "p50_ms": quantile(run.seconds, 0.5) * 1_000,
        "p95_ms": quantile(run.seconds, 0.95) * 1_000,
    }
