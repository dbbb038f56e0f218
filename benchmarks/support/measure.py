"""Timing: samples of every contender taken in turns, so that noise hits all alike."""

from __future__ import annotations

import gc
import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any


@dataclass(slots=True)
class Samples:
    """Durations in seconds, and how many answers among them were wrong."""

    seconds: list[float] = field(default_factory=list[float])
    wrong: int = 0

    def quantile(self, share: float) -> float:
        """The duration that `share` of the samples do not exceed, in seconds; NaN without samples."""
        return quantile(self.seconds, share)

    def summary(self) -> dict[str, float]:
        """Count, wrong answers, and p50, p95, p99 and maximum in milliseconds."""
        points = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99, "max_ms": 1.0}
        return {"count": len(self.seconds), "wrong": self.wrong} | {
            name: self.quantile(share) * 1_000 for name, share in points.items()
        }


def quantile(values: Sequence[float], share: float) -> float:
    """The value that `share` of them do not exceed; NaN for none."""
    if not values:
        return math.nan
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


class WrongAnswerError(Exception):
    """An operation returned something that cannot be right."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One operation of one contender; only `call` is timed.

    Args:
        name: The contender.
        prepare: Makes what sample number `n` works on.
        call: Performs the operation on it.
        after: Looks at what it worked on and at its result, raises `WrongAnswerError` if that is wrong, and tidies up.
        forgiven: Count wrong answers instead of ending the race: others' stores do give them.
    """

    name: str
    prepare: Callable[[int], Any]
    call: Callable[[Any], Any]
    after: Callable[[Any, Any], None] | None = None
    forgiven: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """How much to measure.

    Args:
        samples: Of each contender, at most.
        seconds: Of each contender, after which the minimum number of samples is enough.
        minimum: Samples in any case.
        chunk: Consecutive samples of one contender.
    """

    samples: int = 300
    seconds: float = 2.0
    minimum: int = 3
    chunk: int = 20


def race(trials: Iterable[Trial], budget: Budget) -> dict[str, Samples]:
    """Measure contenders in turns, in an order that changes every round.

    Every contender's first call is made once beforehand and not counted, as connections and caches are then warm;
    unless it alone uses up the budget: then it is the only sample.
    """
    order = list(trials)
    results = {trial.name: Samples() for trial in order}
    running = {trial.name: 0.0 for trial in order}
    shuffle = random.Random(1).shuffle
    for trial in list(order):
        first = Samples()
        first.seconds.append(_sample(trial, 0, first))
        if first.seconds[0] >= budget.seconds:
            results[trial.name] = first
            order.remove(trial)
    gc.collect()
    while order:
        shuffle(order)
        for trial in list(order):
            seconds = results[trial.name].seconds
            for _ in range(budget.chunk):
                taken = _sample(trial, len(seconds) + 1, results[trial.name])
                seconds.append(taken)
                running[trial.name] += taken
                spent = running[trial.name] >= budget.seconds and len(seconds) >= budget.minimum
                if spent or len(seconds) >= budget.samples:
                    order.remove(trial)
                    break
                if taken > budget.seconds / budget.chunk:
                    break
    return results


def _sample(trial: Trial, number: int, samples: Samples) -> float:
    given = trial.prepare(number)
    start = perf_counter()
    result = trial.call(given)
    taken = perf_counter() - start
    if trial.after is not None:
        try:
            trial.after(given, result)
        except WrongAnswerError:
            if not trial.forgiven:
                raise
            samples.wrong += 1
    return taken
