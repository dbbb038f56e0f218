"""What the best passages lend to those of their sessions that mean nearly the same.

A question may fit a passage that says whom or what it is about, while the answer stands in another one of the session
that shares words with that passage and none with the question.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memoranda.search.corpus import Corpus, Sessions
from memoranda.search.feedback import best_of

_LENDERS = 10
"""So many of the best passages lend."""
_AROUND = 50
"""To so many passages before and after them."""
_SAMPLE = 256
"""How alike passages are by chance is measured on so many."""


def lent_by_likeness(corpus: Corpus, sessions: Sessions, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each passage the most that one of the best lends it.

    That is what it lacks to that one's score, times how alike the two are.

    Passages that are no more alike than any two of the corpus are on average lend each other nothing.

    Args:
        corpus: The passages, all of whose vectors are of one embedder.
        sessions: The sessions of one kind, beyond which nothing is lent.
        scores: The scores of all passages.
    """
    lent = np.zeros(len(corpus))
    lenders = best_of(corpus, scores, _LENDERS)
    lenders = lenders[sessions.place[lenders] >= 0]
    if not len(lenders) or not corpus.vectors:
        return lent
    around = [sessions.around(lender, _AROUND) for lender in lenders.tolist()]
    found, where = np.unique(np.concatenate(around), return_inverse=True)
    near = np.zeros((len(lenders), len(found)), bool)
    near[np.repeat(np.arange(len(lenders)), list(map(len, around))), where] = True
    rows, scale = corpus.vectors_of(found)
    own = np.searchsorted(found, lenders)
    chance = _by_chance(corpus)
    likeness = np.clip(((rows[own] @ rows.T) * np.multiply.outer(scale[own], scale) - chance) / (1 - chance), 0.0, 1.0)
    lacked = np.subtract.outer(scores[lenders], scores[found])
    lent[found] = (likeness * np.where(near, lacked, 0.0)).max(axis=0).clip(0.0)
    return lent


def _by_chance(corpus: Corpus) -> float:
    """The mean cosine of two passages of the corpus, kept with it."""
    if corpus.chance is None:
        living = corpus.in_order[corpus.alive[corpus.in_order]]
        count = min(len(living), _SAMPLE)
        rows, scale = corpus.vectors_of(living[np.arange(count) * len(living) // max(1, count)])
        held = scale > 0
        units = rows[held] * scale[held, None]
        pairs = len(units) * (len(units) - 1)
        # The square of the sum is what all pairs have together, each passage with itself included.
        total = float(np.square(units.sum(axis=0)).sum()) - len(units)
        corpus.chance = min(max(0.0, total / pairs), 0.99) if pairs else 0.0
    return corpus.chance
