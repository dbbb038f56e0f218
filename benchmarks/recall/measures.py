"""The figures of `memoranda.evaluation` with one more, and how sure they are."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from memoranda.evaluation import Answer, measures


def reciprocal(answer: Answer) -> float:
    """1 / the rank of the first that was sought, 0 if none of those given was."""
    return next((1 / (rank + 1) for rank, each in enumerate(answer.ranked) if each in answer.gold), 0.0)


MEASURES: Mapping[str, Callable[[Answer], float]] = {**measures.MEASURES, "mrr": reciprocal}


def figures(answers: Sequence[Answer]) -> dict[str, float]:
    """The mean of every measure over questions; NaN without any."""
    return measures.figures(answers, MEASURES)


def interval(
    ours: Sequence[Answer], theirs: Sequence[Answer], measure: str = "recall@10", rounds: int = 1_000, seed: int = 7
) -> tuple[float, float]:
    """The 95 % interval of a difference, by drawing the same questions for both again and again."""
    score = MEASURES[measure]
    differences = [score(one) - score(other) for one, other in zip(ours, theirs, strict=True)]
    draw = random.Random(seed)
    means = sorted(fmean(draw.choices(differences, k=len(differences))) for _ in range(rounds))
    return means[int(rounds * 0.025)], means[int(rounds * 0.975) - 1]
