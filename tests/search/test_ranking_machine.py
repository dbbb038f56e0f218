"""Whatever was added, killed and merged in whichever order, a search finds what one fresh block would give it."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from memoranda.search.blocks import (
    Entry,
    VectorBlock,
    WordBlock,
    due,
    merge_vectors,
    merge_words,
    pack_vectors,
    pack_words,
)
from memoranda.search.ranking import FeedbackWeights, Ranking, ScopePart, rank
from tests.search.reference import ask

SETTINGS = Ranking(feedback=FeedbackWeights(passages=2, terms=4, weight=0.4, rare=0.8))
TERMS = st.lists(st.integers(0, 12), min_size=0, max_size=6)
VECTOR = st.lists(st.integers(-4, 4).map(float), min_size=3, max_size=3)


class Index(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.words: dict[int, WordBlock] = {}
        self.vectors: dict[int, VectorBlock] = {}
        self.dead: set[int] = set()
        self.alive: dict[int, tuple[Entry, list[float] | None]] = {}
        self.given = 0

    @rule(texts=st.lists(st.tuples(TERMS, VECTOR | st.none(), st.integers(1, 2)), min_size=1, max_size=40))
    def add(self, texts: list[tuple[list[int], list[float] | None, int]]) -> None:
        added: list[tuple[Entry, list[float] | None]] = []
        for terms, vector, session in texts:
            self.given += 1
            counts = {term: terms.count(term) for term in terms}
            number = self.given
            added.append((Entry(number, 1, number % 5, number, number, session, 0, 0, len(terms), counts), vector))
        self.alive |= {each.number: (each, vector) for each, vector in added}
        self.words[self.given] = WordBlock.unpack(pack_words([each for each, _ in added]))
        if rows := [(each.number, vector) for each, vector in added if vector is not None]:
            self.vectors[self.given] = VectorBlock.unpack(pack_vectors(*zip(*rows, strict=True)))

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def kill(self, data: st.DataObject) -> None:
        for number in data.draw(st.sets(st.sampled_from(sorted(self.alive)), min_size=1)):
            self.dead.add(number)
            del self.alive[number]

    @rule(data=st.data())
    def merge(self, data: st.DataObject) -> None:
        """Those that are due, and any others: correctness does not hang on which."""
        for blocks in (self.words, self.vectors):
            groups = due([(name, len(block)) for name, block in blocks.items()])
            left = sorted(blocks.keys() - {name for group in groups for name in group})
            if left:
                groups.append(sorted(data.draw(st.sets(st.sampled_from(left)))))
            for group in groups:
                parsed = [blocks.pop(name) for name in group]
                merge, unpack = (
                    (merge_words, WordBlock.unpack) if blocks is self.words else (merge_vectors, VectorBlock.unpack)
                )
                if (body := merge(parsed, self.dead)) is not None:  # type: ignore[arg-type]
                    self.given += 1
                    blocks[self.given] = unpack(body)  # type: ignore[assignment]

    @rule(terms=st.sets(st.integers(0, 14), max_size=3), vector=VECTOR | st.none())
    def search(self, terms: set[int], vector: list[float] | None) -> None:
        dead = np.array(sorted(self.dead), np.uint32)
        grown = ScopePart(1, list(self.words.values()), dead, list(self.vectors.values()))
        entries = [each for each, _ in self.alive.values()]
        rows = [(number, given) for number, (_, given) in self.alive.items() if given is not None]
        fresh = ScopePart(
            1,
            [WordBlock.unpack(pack_words(entries))] if entries else [],
            np.zeros(0, np.uint32),
            [VectorBlock.unpack(pack_vectors(*zip(*rows, strict=True)))] if rows else [],
        )
        found, expected = (
            rank([each], ask(*terms), vector=vector, settings=SETTINGS).hits() for each in (grown, fresh)
        )
        assert found == expected


TestIndex = Index.TestCase
TestIndex.settings = settings(max_examples=25, stateful_step_count=12, deadline=None)
