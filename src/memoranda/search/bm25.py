"""BM25 over a corpus: how well the words of a query fit each passage.

A term's weight depends on how many living passages hold it, counted over all parts of the search together; what is
dead counts nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memoranda.search.corpus import Corpus
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
    which: list[int] = []
    sizes: list[int] = []
    bases: list[int] = []
    places: list[NDArray[np.uint16] | NDArray[np.uint8]] = []
    occurs: list[NDArray[np.uint8]] = []
    for segment in corpus.segments:
        block = segment.block
        if not len(block.terms):
            continue
        at = block.terms.searchsorted(terms)
        held = (block.terms.take(at, mode="clip") == terms).nonzero()[0]
        at = at[held]
        for term, begin, end in zip(
            held.tolist(), block.starts[at].tolist(), block.starts[at + 1].tolist(), strict=True
        ):
            which.append(term)
            sizes.append(end - begin)
            bases.append(segment.base)
            places.append(block.locals[begin:end])
            occurs.append(block.occurs[begin:end])
    if not which:
        nothing = np.zeros(0, np.int64)
        return Postings(nothing, nothing, np.zeros(0, np.uint8), np.zeros(len(terms), np.int64))
    term = np.repeat(which, sizes)
    passage = np.repeat(np.array(bases, np.int64), sizes) + np.concatenate(places).astype(np.int64)
    count = np.concatenate(occurs)
    if corpus.living < len(corpus):
        kept = corpus.alive[passage]
        term, passage, count = term[kept], passage[kept], count[kept]
    return Postings(term, passage, count, np.bincount(term, minlength=len(terms)))


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
