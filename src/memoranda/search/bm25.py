"""BM25 over a corpus: how well the words of a query fit each passage.

A term's weight depends on how many living passages hold it, counted over all parts of the search together; what is
dead counts nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memoranda.search.corpus import Corpus, Segment
from memoranda.search.wordblocks import TERM_MASK


@dataclass(frozen=True, slots=True)
class Postings:
    """The living postings of some terms.

    Attributes:
        term: Which of the terms, counted from 0.
        passage: Position in the corpus.
        occurs: How often it occurs there.
        frequency: For each term, how many living passages hold it.
    """

    term: NDArray[np.int64]
    passage: NDArray[np.int64]
    occurs: NDArray[np.uint8]
    frequency: NDArray[np.int64]


def postings_of(corpus: Corpus, terms: NDArray[np.uint64]) -> Postings:
    """Collect the living postings of terms (ids as a block keeps them)."""
    found = [_found(segment, terms) for segment in corpus.segments] or [_NOTHING]
    term, passage, occurs = (np.concatenate(column) for column in zip(*found, strict=True))
    if corpus.living < len(corpus):
        kept = corpus.alive[passage]
        term, passage, occurs = term[kept], passage[kept], occurs[kept]
    return Postings(term, passage, occurs, np.bincount(term, minlength=len(terms)))


def idf_of(frequency: NDArray[np.int64], living: int) -> NDArray[np.float64]:
    """Return how telling terms are that so many of the living passages hold."""
    return np.log1p((living - frequency + 0.5) / (frequency + 0.5))


def bm25(
    corpus: Corpus, postings: Postings, weights: NDArray[np.float64], *, k1: float, b: float
) -> NDArray[np.float64]:
    """Score every passage of the corpus.

    Args:
        corpus: The passages.
        postings: The postings of the query's terms.
        weights: What each of the terms weighs in the query.
        k1: How much a term's second occurrence adds.
        b: How much a long passage loses.
    """
    factor = weights * idf_of(postings.frequency, corpus.living) * (k1 + 1)
    occurs = postings.occurs.astype(np.float64)
    length = k1 * (1 - b + b / corpus.average * corpus.columns.length[postings.passage])
    scores = factor[postings.term] * occurs / (occurs + length)
    return np.bincount(postings.passage, weights=scores, minlength=len(corpus)).astype(np.float64, copy=False)


def kept_ids(ids: list[int]) -> NDArray[np.uint64]:
    """Return terms' ids as blocks keep them."""
    return np.array([term & TERM_MASK for term in ids], np.uint64)


_NOTHING = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint8))


def _found(
    segment: Segment, terms: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    block = segment.block
    at = np.searchsorted(block.terms, terms)
    at[at == len(block.terms)] = 0
    which = np.flatnonzero(block.terms[at] == terms) if len(block.terms) else at[:0]
    begin = block.starts[at[which]]
    size = block.starts[at[which] + 1] - begin
    ends = np.cumsum(size)
    rows = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begin - ends + size, size)
    return np.repeat(which, size), block.locals[rows] + np.int64(segment.base), block.occurs[rows]
