"""Figures of rankings, and how sure they are."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True, slots=True)
class Answer:
    """What a contender gave for a question: ids, best first, and what was sought."""

    scope: str
    category: str
    ranked: tuple[str, ...]
    gold: frozenset[str]


def recall(answer: Answer, k: int) -> float:
    """The share of what was sought that is among the first `k`."""
    return len(answer.gold.intersection(answer.ranked[:k])) / len(answer.gold)


def ndcg(answer: Answer, k: int = 10) -> float:
    """Normalised discounted cumulative gain of the first `k`, each turn sought being worth 1."""
    gain = sum(1 / math.log2(rank + 2) for rank, each in enumerate(answer.ranked[:k]) if each in answer.gold)
    best = sum(1 / math.log2(rank + 2) for rank in range(min(k, len(answer.gold))))
    return gain / best


def reciprocal(answer: Answer) -> float:
    """1 / the rank of the first that was sought, 0 if none of those given was."""
    return next((1 / (rank + 1) for rank, each in enumerate(answer.ranked) if each in answer.gold), 0.0)


MEASURES: Mapping[str, Callable[[Answer], float]] = {
    "recall@5": lambda answer: recall(answer, 5),
    "recall@10": lambda answer: recall(answer, 10),
    "ndcg@10": ndcg,
    "mrr": reciprocal,
}


def figures(answers: Iterable[Answer]) -> dict[str, float]:
    """The mean of every measure over questions; NaN without any."""
    given = list(answers)
    return {name: fmean(map(measure, given)) if given else math.nan for name, measure in MEASURES.items()}


def by_category(answers: Iterable[Answer], measure: str = "recall@10") -> dict[str, float]:
    """One measure per category."""
    found: dict[str, list[float]] = {}
    for answer in answers:
        found.setdefault(answer.category, []).append(MEASURES[measure](answer))
    return {category: fmean(values) for category, values in sorted(found.items())}


def interval(
    ours: Sequence[Answer], theirs: Sequence[Answer], measure: str = "recall@10", rounds: int = 1_000, seed: int = 7
) -> tuple[float, float]:
    """The 95 % interval of a difference, by drawing the same questions for both again and again."""
    score = MEASURES[measure]
    differences = [score(one) - score(other) for one, other in zip(ours, theirs, strict=True)]
    draw = random.Random(seed)
    means = sorted(fmean(draw.choices(differences, k=len(differences))) for _ in range(rounds))
    return means[int(rounds * 0.025)], means[int(rounds * 0.975) - 1]
