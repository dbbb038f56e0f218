"""Bringing words and meaning together into one score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memoranda.errors import InvalidValueError
from memoranda.search.corpus import Corpus
from memoranda.search.vectors import rounded_query

FAINT = 0.01
"""The likeness of texts that have nothing to do with each other."""
HIGHEST_FLOOR = 0.99


def meaning_of(corpus: Corpus, vector: Sequence[float] | NDArray[np.floating], *, floor: float) -> NDArray[np.float64]:
    """Return each passage's likeness to a query's vector: its cosine, where the floor is next to nothing and 1 is all.

    The floor is what the embedder gives to texts that have nothing to do with each other, or what this query has with
    the passages on average, if that is more: some embedders find texts of one language, or of one subject, much alike.
    What lies below is like the query only by chance. It still keeps its order, faintly, so that whoever asks
    for ten passages by meaning gets ten; words and context weigh more than all of that.

    Args:
        corpus: The passages; one without a vector is like nothing.
        vector: The query's vector, of the same embedder.
        floor: The cosine that the embedder gives to texts that have nothing to do with each other, below 1.

    Raises:
        InvalidValueError: The vector is none, or has another size than those of the passages.
    """
    cosine = np.full(len(corpus), -1.0)
    held = np.zeros(len(corpus), bool)
    query = rounded_query(vector)
    if not query.whole.any():
        return np.zeros(len(corpus))
    for block, rows, passages in corpus.vectors:
        if block.dims != len(query.whole):
            raise InvalidValueError(
                f"The query's vector has {len(query.whole):,} dimensions and the index {block.dims:,}.",
                "Embed the query with the embedder of the index.",
            )
        cosines = block.cosines(query)
        # A later block overwrites: its vector is the newer one.
        cosine[passages] = cosines[rows]
        held[passages] = True
    held &= corpus.alive
    if held.any():
        floor = max(floor, min(float(cosine[held].mean()), HIGHEST_FLOOR))
    chance = FAINT * np.clip((cosine + 1) / (floor + 1), 0.0, 1.0)
    return chance + (1 - FAINT) * np.clip((cosine - floor) / (1 - floor), 0.0, 1.0)


def by_best(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale scores so that the best is 1; all zeros stay so."""
    best = float(scores.max(initial=0.0))
    return scores / best if best > 0 else scores
