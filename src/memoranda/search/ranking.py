"""Ranking: from the blocks of the scopes of a search and a query to passages, the best first.

Every stage scores all passages of the scopes, none a pool of candidates: the words (BM25), the meaning (cosines of
vectors, where there are any), both brought together, and the context. Equal scores are ordered by part and number, so
the order is the same whenever and wherever it is asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memoranda.search.bm25 import bm25, kept_ids, postings_of
from memoranda.search.context import NO_CONTEXT, ContextWeights, in_context
from memoranda.search.corpus import Corpus, ScopePart
from memoranda.search.feedback import FeedbackWeights, best_of, expansion
from memoranda.search.fusion import by_best, meaning_of
from memoranda.search.wholes import whole_sessions

if TYPE_CHECKING:
    from memoranda.search.query import Query

__all__ = [
    "DEFAULT",
    "NO_CONTEXT",
    "ContextWeights",
    "Corpus",
    "FeedbackWeights",
    "Ranked",
    "RankedPassage",
    "Ranking",
    "ScopePart",
    "rank",
]


@dataclass(frozen=True, slots=True)
class Ranking:
    """What the ranking can be tuned by.

    Attributes:
        k1: BM25: how much a term's second occurrence adds.
        b: BM25: how much a long passage loses.
        feedback: How the words of the best passages widen the query.
        words: What the words weigh beside the meaning, where there is one.
        meaning: What the meaning weighs beside the words.
        turns: How the context counts for turns of conversations.
        items: How it counts for passages of files and items.
    """

    k1: float = 0.6
    b: float = 0.3
    feedback: FeedbackWeights = field(default_factory=FeedbackWeights)
    words: float = 0.5
    meaning: float = 0.5
    turns: ContextWeights = field(default_factory=ContextWeights)
    items: ContextWeights = field(default_factory=lambda: ContextWeights(within=1.0, alike=0.0))


DEFAULT = Ranking()


class RankedPassage(NamedTuple):
    """One passage of a ranking; `words`, `meaning` and `context` add up to `score`, which is above 0 and at most 1."""

    part: int
    number: int
    source: int
    digest: int
    at: int
    session: int
    place: int
    flags: int
    score: float
    words: float
    meaning: float
    context: float


class Ranked:
    """The outcome of a ranking: all passages with a score, the best first.

    `len()` is how many there are; `hits` gives a page of them.
    """

    def __init__(
        self,
        corpus: Corpus,
        scores: NDArray[np.float64],
        words: NDArray[np.float64],
        meaning: NDArray[np.float64],
    ) -> None:
        self.corpus = corpus
        self.scores = scores
        self.words = words
        self.meaning = meaning
        self._count = int(np.count_nonzero(scores > 0))
        self._order = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return self._count

    def order(self, stop: int | None = None) -> NDArray[np.int64]:
        """Return the positions in the corpus of the best `stop` passages, or of all, the best first."""
        wanted = self._count if stop is None else max(0, min(stop, self._count))
        if wanted > len(self._order):
            self._order = best_of(self.corpus, self.scores, wanted)
        return self._order[:wanted]

    def hits(self, start: int = 0, stop: int | None = None) -> list[RankedPassage]:
        """Return the passages from rank `start` (0 is the best) up to, without, `stop`; all when it is None."""
        at = self.order(stop)[start:]
        corpus = self.corpus
        score, words, meaning = self.scores[at], self.words[at], self.meaning[at]
        columns = (
            corpus.part[at],
            corpus.number[at],
            corpus.columns.source[at],
            corpus.columns.digest[at],
            corpus.columns.at[at],
            corpus.columns.session[at],
            corpus.columns.place[at],
            corpus.columns.flags[at],
            score,
            words,
            meaning,
            score - words - meaning,
        )
        return [RankedPassage(*row) for row in zip(*[column.tolist() for column in columns], strict=True)]


def rank(
    parts: Sequence[ScopePart] | Corpus,
    query: Query,
    *,
    vector: Sequence[float] | NDArray[np.floating] | None = None,
    floor: float = 0.0,
    settings: Ranking = DEFAULT,
    since: int | None = None,
    until: int | None = None,
    require: int = 0,
    exclude: int = 0,
    sources: Sequence[Collection[int] | None] | None = None,
    sessions: Collection[int] | None = None,
) -> Ranked:
    """Rank the passages of some scopes by a query.

    Args:
        parts: The scopes with their blocks, or the `Corpus` made of them earlier.
        query: The query's terms and speakers.
        vector: The query's vector, by the embedder whose vectors the parts hold; None ranks by words alone.
        floor: The cosine that this embedder gives to texts that have nothing to do with each other.
        settings: What the ranking is tuned by.
        since: Only passages of this time (microseconds since 1970) or later.
        until: Only passages before this time.
        require: Only passages that have all of these flags.
        exclude: Only passages that have none of these flags.
        sources: For each part the sources to which the search is confined, None for all of the part.
        sessions: The sessions to which the search is confined.

    Returns:
        All passages with a score above 0. Whatever the filters leave out lends nothing either.

    Raises:
        InvalidValueError: The vector is none, or has another size than those of the passages.

    Example:
        >>> from memoranda.search.blocks import Entry, WordBlock, pack_words
        >>> from memoranda.search.query import Query, QueryTerm
        >>> told = [Entry(1, 1, 0, 0, 0, 1, 0, 0, 2, {7: 2}), Entry(2, 1, 1, 0, 0, 1, 0, 0, 1, {8: 1})]
        >>> part = ScopePart(2, [WordBlock.unpack(pack_words(told))], np.zeros(0, np.uint32))
        >>> [hit.number for hit in rank([part], Query((QueryTerm(8, 1.0, "tea"),), frozenset(), "tea")).hits()]
        [2, 1]
    """
    corpus = parts if isinstance(parts, Corpus) else Corpus(parts)
    allowed = _allowed(corpus, since, until, require, exclude, sources, sessions)
    words, wholes = _words_of(corpus, query, allowed, settings)
    meaning = np.zeros(len(corpus))
    if vector is not None and len(corpus):
        meaning = by_best(meaning_of(corpus, vector, floor=floor) * allowed)
        both = settings.words + settings.meaning
        words, meaning = settings.words / both * words, settings.meaning / both * meaning
    total = in_context(
        corpus,
        words + meaning,
        wholes,
        speakers=query.speakers,
        turns=settings.turns,
        items=settings.items,
        meant=vector is not None,
    )
    # One divisor for all, so that no score is above 1 and the order stays.
    most = max(settings.turns.most, settings.items.most)
    return Ranked(corpus, total * allowed / most, words / most, meaning / most)


def _words_of(
    corpus: Corpus, query: Query, allowed: NDArray[np.bool_], settings: Ranking
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how well the words fit each passage, and its session as a whole; the best of each is 1."""
    if not query.terms or not corpus.living:
        return np.zeros(len(corpus)), np.zeros(len(corpus))
    # Whatever is added up is added in the order of the ids, so that sums are the same to the last bit.
    ordered = sorted(query.terms, key=lambda term: term.id)
    asked = kept_ids([term.id for term in ordered])
    own = np.array([term.weight for term in ordered])
    postings = postings_of(corpus, asked)
    k1, b = settings.k1, settings.b
    scores = bm25(corpus, postings, own, k1=k1, b=b) * allowed
    wholes = np.zeros(len(corpus))
    if settings.turns.whole or settings.items.whole:
        wholes = by_best(whole_sessions(corpus, postings, own, allowed, k1=k1, b=b))
    if settings.feedback.passages:
        terms, weights = expansion(corpus, scores, asked, settings.feedback, k1)
        if len(terms):
            scores += bm25(corpus, postings_of(corpus, terms), weights, k1=k1, b=b) * allowed
    scores = by_best(scores)
    if query.questions:
        # Each question has a best answer of its own, which may share few words with the query as a whole.
        asks = [[term.id in question for term in ordered] for question in query.questions]
        each = [by_best(bm25(corpus, postings, own * some, k1=k1, b=b) * allowed) for some in asks]
        scores = by_best(scores + np.maximum.reduce(each))
    return scores, wholes


def _allowed(
    corpus: Corpus,
    since: int | None,
    until: int | None,
    require: int,
    exclude: int,
    sources: Sequence[Collection[int] | None] | None,
    sessions: Collection[int] | None,
) -> NDArray[np.bool_]:
    allowed = corpus.alive
    if since is not None:
        allowed = allowed & (corpus.columns.at >= since)
    if until is not None:
        allowed = allowed & (corpus.columns.at < until)
    if require or exclude:
        allowed = allowed & ((corpus.columns.flags & np.uint8(require | exclude)) == require)
    if sessions is not None:
        allowed = allowed & np.isin(corpus.columns.session, np.fromiter(sessions, np.uint32, len(sessions)))
    for index, chosen in enumerate(sources or ()):
        if chosen is not None:
            held = np.isin(corpus.columns.source, np.fromiter(chosen, np.uint32, len(chosen)))
            allowed = allowed & (held | (corpus.part != index))
    return allowed
