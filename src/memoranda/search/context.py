"""The context stage: what stands beside a passage lends it part of its score.

An answer often stands next to the words that a question shares with the text: the turn before asked for it, the rest
of the conversation is about it. So neighbours in a session lend part of their score, a question most of all to what
follows it, the best passages to what means nearly the same, and the session part of its best and of what it is worth as
one text; a turn gains when the one person that the query names speaks it, and loses when it is itself a question.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memoranda.search.corpus import Corpus, Sessions
from memoranda.search.likeness import lent_by_likeness

# A passage keeps this share of its score at least, whatever counts against it.
_KEPT = 0.1


@dataclass(frozen=True, slots=True)
class ContextWeights:
    """How much the context counts, where 1 is the score of the best passage.

    Attributes:
        previous: The share that each passage before lends, the nearest first.
        following: The share that each passage after lends, the nearest first.
        answer: The share that a question lends to the passage after it, besides.
        within: What passages of one source lend to each other of all this: nothing is 0, all of it is 1.
        session: The share of the mean of the session's best that every passage of it gets.
        best: How many of the session's best make that mean; a shorter session has only its own.
        whole: What every passage of the session gains that answers best when each is read as one text.
        alike: The share of what they lack that the best lend to passages of their session that mean nearly the same.
        speaker: What a passage gains that the one speaker named in the query spoke.
        question: What a passage loses that ends in a question mark.
    """

    previous: tuple[float, ...] = (0.2, 0.06)
    following: tuple[float, ...] = (0.12, 0.04)
    answer: float = 0.4
    within: float = 0.0
    session: float = 0.4
    best: int = 3
    whole: float = 0.4
    alike: float = 0.4
    speaker: float = 0.15
    question: float = 0.15

    @property
    def most(self) -> float:
        """What a passage can have at most, where the best has 1 before its context counts."""
        lent = sum(self.previous) + sum(self.following) + self.answer
        # What is like another one is lifted towards it, not above it.
        return max(1.0, self.alike) + lent + self.session + self.whole + self.speaker


NO_CONTEXT = ContextWeights((), (), answer=0.0, session=0.0, whole=0.0, alike=0.0, speaker=0.0, question=0.0)
"""Every passage for itself."""


def in_context(
    corpus: Corpus,
    scores: NDArray[np.float64],
    wholes: NDArray[np.float64],
    *,
    speakers: frozenset[int],
    turns: ContextWeights,
    items: ContextWeights,
    meant: bool = False,
) -> NDArray[np.float64]:
    """Return the scores of all passages with what their context adds.

    Args:
        corpus: The passages.
        scores: Their scores, the best about 1; dead passages must have 0.
        wholes: For each passage how well its session answers as one text, the best 1.
        speakers: The speakers that the query may name.
        turns: The weights for turns of conversations.
        items: The weights for passages of files and items.
        meant: Whether the scores are by meaning too, so that all vectors are of one embedder.
    """
    named = corpus.speakers & speakers
    total = np.zeros(len(corpus))
    for sessions, weights in ((corpus.turns, turns), (corpus.items, items)):
        if len(sessions.order):
            gained = weights.whole * wholes[sessions.order]
            if meant and weights.alike:
                gained += weights.alike * lent_by_likeness(corpus, sessions, scores)[sessions.order]
            total[sessions.order] = _lent(sessions, scores[sessions.order], gained, named, weights)
    return total


def _lent(
    sessions: Sessions,
    own: NDArray[np.float64],
    gained: NDArray[np.float64],
    named: frozenset[int],
    weights: ContextWeights,
) -> NDArray[np.float64]:
    total = own + gained
    for distance, share in enumerate(weights.previous, 1):
        total[distance:] += _near(share * own[:-distance], sessions, distance, weights)
    for distance, share in enumerate(weights.following, 1):
        total[:-distance] += _near(share * own[distance:], sessions, distance, weights)
    if weights.answer:
        total[1:] += _near(weights.answer * own[:-1] * sessions.asks[:-1], sessions, 1, weights)
    if weights.session and weights.best:
        total += weights.session * _best(own, sessions, weights.best)[sessions.group]
    if len(named) == 1 and weights.speaker:
        spoke = sessions.speaker == np.uint32(next(iter(named)))
        total += np.where(spoke & (total > 0), weights.speaker, 0.0)
    if weights.question:
        total = np.where(sessions.asks, np.maximum(total - weights.question, _KEPT * total), total)
    return total


def _near(lent: NDArray[np.float64], sessions: Sessions, distance: int, weights: ContextWeights) -> NDArray[np.float64]:
    """Cut what is lent over a distance to the passages that are near enough."""
    others, own = sessions.beside(distance)
    return lent * others if not weights.within else lent * others + weights.within * lent * own


def _best(own: NDArray[np.float64], sessions: Sessions, count: int) -> NDArray[np.float64]:
    """Return the mean of each session's best."""
    left = own.copy()
    starts, group = sessions.starts, sessions.group
    sizes = np.diff(starts, append=len(own))
    total = np.zeros(len(starts))
    for taken in range(count):
        highest = np.maximum.reduceat(left, starts)
        total += highest
        if taken + 1 < count:
            # Strike out the first passage that has the highest score of its session.
            at = np.flatnonzero(left == highest[group])
            owner = group[at]
            first = np.ones(len(at), bool)
            first[1:] = owner[1:] != owner[:-1]
            left[at[first]] = 0.0
    return total / np.minimum(sizes, count)
