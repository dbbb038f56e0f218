"""Feedback: the words of the best passages join the query, with little weight.

Passages about the same matter share words that the question lacks. The terms are read back out of the index itself,
so nothing of the text is needed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memoranda.search.bm25 import idf_of
from memoranda.search.corpus import Corpus


@dataclass(frozen=True, slots=True)
class FeedbackWeights:
    """How much the best passages add to a query.

    Attributes:
        passages: How many of the best are read; 0 turns feedback off.
        terms: How many of their terms join the query.
        weight: What the most telling of them weighs, where 1 is a word of the query.
        rare: Terms that more than this share of all passages hold do not join.
    """

    passages: int = 5
    terms: int = 10
    weight: float = 0.15
    rare: float = 0.1


def best_of(corpus: Corpus, scores: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the positions of the best passages with a score, the best first; ties by part and number."""
    chosen = np.flatnonzero(scores > 0)
    if count < len(chosen):
        # All that score at least as much as the last one wanted, so that ties are seen whole.
        least = np.partition(scores[chosen], len(chosen) - count)[len(chosen) - count] if count else np.inf
        chosen = chosen[scores[chosen] >= least]
    return chosen[np.lexsort((corpus.before[chosen], -scores[chosen]))][:count]


def expansion(
    corpus: Corpus, scores: NDArray[np.float64], asked: NDArray[np.uint64], settings: FeedbackWeights, k1: float
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Find the terms by which to widen a query.

    Args:
        corpus: The passages.
        scores: Their scores by the query's own words.
        asked: The query's own terms, which are left out.
        settings: How many passages and terms, and how much they weigh.
        k1: How much a term's second occurrence adds.

    Returns:
        Terms, ascending, and their weights in the query.
    """
    best = best_of(corpus, scores, settings.passages)
    read = list(_terms_of(corpus, best))
    if not read:
        return np.zeros(0, np.uint64), np.zeros(0)
    share = scores[best] / scores[best].sum()
    terms = np.concatenate([terms for terms, _ in read])
    gains = np.concatenate([part * occurs / (occurs + k1) for part, (_, occurs) in zip(share, read, strict=True)])
    found, where = np.unique(terms, return_inverse=True)
    # An odd id is an exact form beside a term, which stands in the list itself.
    keep = ((found & np.uint64(1)) == 0) & np.isin(found, asked, invert=True)
    gain = np.bincount(where, weights=gains, minlength=len(found))[keep]
    found = found[keep]
    frequency = corpus.frequencies(found)
    gain = gain * idf_of(frequency, corpus.living) * (frequency <= settings.rare * corpus.living)
    chosen = np.lexsort((found, -gain))[: settings.terms]
    chosen = np.sort(chosen[gain[chosen] > 0])
    if not len(chosen):
        return np.zeros(0, np.uint64), np.zeros(0)
    return found[chosen], settings.weight * gain[chosen] / gain[chosen].max()


def _terms_of(corpus: Corpus, passages: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.float64]]]:
    bases = [segment.base for segment in corpus.segments]
    for passage in passages.tolist():
        segment = corpus.segments[bisect_right(bases, passage) - 1]
        block = segment.block
        at = np.flatnonzero(block.locals == passage - segment.base)
        yield block.terms_at(at), block.occurs[at].astype(np.float64)
