"""Figures of rankings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found for a question.

    Args:
        scope: What was asked.
        category: What kind of question it was.
        ranked: The ids that were found, the best first.
        gold: The ids that were sought.
    """

    scope: str
    category: str
    ranked: tuple[str, ...]
    gold: frozenset[str]


def recall(answer: Answer, k: int) -> float:
    """The share of what was sought that is among the first `k`.

    Example:
        >>> recall(Answer("ann", "", ("m1", "m2"), frozenset({"m2", "m3"})), 10)
        0.5
    """
    return len(answer.gold.intersection(answer.ranked[:k])) / len(answer.gold)


def ndcg(answer: Answer, k: int = 10) -> float:
    """Normalised discounted cumulative gain of the first `k`, each message sought being worth 1."""
    gain = sum(1 / math.log2(rank + 2) for rank, each in enumerate(answer.ranked[:k]) if each in answer.gold)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(k, len(answer.gold))))


MEASURES: Mapping[str, Callable[[Answer], float]] = {
    "recall@5": lambda answer: recall(answer, 5),
    "recall@10": lambda answer: recall(answer, 10),
    "ndcg@10": ndcg,
}


def figures(
    answers: Iterable[Answer], measures: Mapping[str, Callable[[Answer], float]] = MEASURES
) -> dict[str, float]:
    """The mean of every measure over questions; NaN without any."""
    given = list(answers)
    return {name: fmean(map(measure, given)) if given else math.nan for name, measure in measures.items()}


def by_category(answers: Iterable[Answer]) -> dict[str, tuple[int, dict[str, float]]]:
    """The number of questions and the figures of each category."""
    found: dict[str, list[Answer]] = {}
    for answer in answers:
        found.setdefault(answer.category, []).append(answer)
    return {category: (len(given), figures(given)) for category, given in sorted(found.items())}
