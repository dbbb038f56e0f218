"""Memoranda's search itself, without a database: the same code that ranks for both engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b

import numpy as np

from benchmarks.recall.datasets import Sessions, said
from benchmarks.recall.embedders import Cached
from benchmarks.recall.peers import Contender, Search
from memoranda.evaluation import Scope
from memoranda.evaluation.asking import first
from memoranda.search.blocks import QUESTION, Entry, VectorBlock, WordBlock, pack_vectors, pack_words
from memoranda.search.focus import is_question
from memoranda.search.passages import indexed_text, passages_of_turn
from memoranda.search.query import Query, analyse
from memoranda.search.ranking import DEFAULT, NO_CONTEXT, Corpus, FeedbackWeights, Ranking, ScopePart, rank
from memoranda.search.tokens import length_of, speaker_id, terms_of

LEXICAL = Ranking(feedback=FeedbackWeights(passages=0), turns=NO_CONTEXT, items=NO_CONTEXT)
"""BM25 and nothing else."""
SIZE = 1_024
"""Passages in a block."""


def layer(
    name: str,
    embedder: Cached | None = None,
    settings: Ranking = DEFAULT,
    floor: float = 0.0,
    read: Callable[[str], Query] = analyse,
) -> Contender:
    """A contender of blocks in memory.

    Args:
        name: For tables.
        embedder: What gives vectors; None: words alone.
        settings: What the ranking is tuned by.
        floor: The embedder's cosine of texts that have nothing in common.
        read: Makes a query of a question.
    """

    def prepare(scope: Scope) -> Search:
        corpus, sources = indexed(scope, embedder)

        def search(question: str, k: int) -> Sequence[str]:
            vector = embedder.meaning(question) if embedder else None
            found = rank(corpus, read(question), vector=vector, floor=floor, settings=settings)
            return first(k, len(found), lambda stop: [sources[hit.source] for hit in found.hits(0, stop)])

        return search

    return Contender(name, prepare)


def indexed(scope: Scope, embedder: Cached | None) -> tuple[Corpus, list[str]]:
    """The index of a scope, and what is found by the source of a passage: the ids of turns, or of their sessions."""
    turns = said(scope)
    entries: list[Entry] = []
    texts: list[str] = []
    for source, turn in enumerate(turns):
        session = int.from_bytes(blake2b(turn.session.encode(), digest_size=4).digest(), "little")
        speaker = speaker_id(turn.speaker) if turn.speaker else 0
        at = int(turn.at.timestamp() * 1_000_000) if turn.at else 0
        for passage in passages_of_turn(turn.text):
            text = indexed_text(passage, speaker=turn.speaker, date=turn.date)
            terms = terms_of(text)
            flags = QUESTION if is_question(passage.text) else 0
            number = len(entries) + 1
            entries.append(
                Entry(number, source, number, passage.digest, at, session, speaker, flags, length_of(terms), terms)
            )
            texts.append(text)
    words = [WordBlock.unpack(pack_words(entries[at : at + SIZE])) for at in range(0, len(entries), SIZE)]
    vectors: list[VectorBlock] = []
    if embedder:
        numbers = [entry.number for entry in entries]
        vectors = [
            VectorBlock.unpack(pack_vectors(numbers[at : at + SIZE], embedder.documents(texts[at : at + SIZE])))
            for at in range(0, len(entries), SIZE)
        ]
    part = ScopePart(1, words, np.zeros(0, np.uint32), vectors)
    return Corpus([part]), [turn.session if isinstance(scope, Sessions) else turn.id for turn in turns]
