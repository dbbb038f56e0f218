"""Whole sessions: how well a conversation, or a file, answers a query when it is read as one text.

The words of a question are often spread over a conversation. Its passages gain when all of it fits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memoranda.search.bm25 import Postings, idf_of
from memoranda.search.corpus import Corpus


def whole_sessions(
    corpus: Corpus,
    postings: Postings,
    weights: NDArray[np.float64],
    allowed: NDArray[np.bool_],
    *,
    k1: float,
    b: float,
) -> NDArray[np.float64]:
    """Score every session by BM25, as one text made of its passages.

    Args:
        corpus: The passages.
        postings: The postings of the query's terms.
        weights: What each of the terms weighs in the query.
        allowed: Which passages count.
        k1: How much a term's second occurrence adds.
        b: How much a long text loses.

    Returns:
        For each passage the score of its session.
    """
    session, count = corpus.session_of, corpus.sessions
    kept = allowed[postings.passage]
    term, passage = postings.term[kept], postings.passage[kept]
    key = term * count + session[passage]
    if not len(key):
        return np.zeros(len(corpus))
    order = np.argsort(key, kind="stable")
    key = key[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    occurs = np.add.reduceat(postings.occurs[kept][order].astype(np.float64), starts)
    term, where = np.divmod(key[starts], count)
    length = np.bincount(session[allowed], weights=corpus.columns.length[allowed], minlength=count)
    texts = int(np.count_nonzero(np.bincount(session[allowed], minlength=count)))
    average = float(length.sum()) / texts or 1.0
    frequency = np.bincount(term, minlength=len(weights))
    factor = weights * idf_of(frequency, texts) * (k1 + 1)
    longer = k1 * (1 - b + b / average * length[where])
    scores = np.bincount(where, weights=factor[term] * occurs / (occurs + longer), minlength=count)
    return scores.astype(np.float64, copy=False)[session]
