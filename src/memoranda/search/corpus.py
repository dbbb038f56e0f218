"""All passages that a query may find, as arrays: what the parts of a search hold, laid end to end.

A corpus depends on the blocks alone and not on the query, so whoever searches the same blocks again can keep it: under
the ids of the blocks, which are never reused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoranda.search.envelope import MAX_PASSAGES
from memoranda.search.merging import join
from memoranda.search.vectors import EXACT_DIMENSIONS, VectorBlock
from memoranda.search.wordblocks import QUESTION, Columns, WordBlock

# Blocks below this many passages are joined in memory, so that a query looks its terms up in few places.
_SMALL = 512


@dataclass(frozen=True, slots=True)
class ScopePart:
    """One index scope of a search.

    Attributes:
        scope: The index scope: `namespace_id * 2 + kind`, where kind 0 is items and 1 is turns.
        words: Its words blocks, in any order.
        dead: Numbers of its passages that are gone.
        vectors: Its vectors blocks of the serving embedder, oldest first.
    """

    scope: int
    words: Sequence[WordBlock]
    dead: NDArray[np.uint32]
    vectors: Sequence[VectorBlock] = ()


@dataclass(frozen=True, slots=True)
class Segment:
    """One inverted index over the passages from `base` on."""

    base: int
    block: WordBlock


@dataclass(frozen=True)
class Sessions:
    """The living passages of one kind in the order of their sessions.

    Attributes:
        order: Positions in the corpus, by part, session and place.
        place: For each position in the corpus where it is in `order`; -1 for what is not there.
        starts: Where in `order` each session begins.
        group: Each one's session, counted from 0.
        source: Each one's source.
        speaker: Each one's speaker.
        asks: Whether each one is a question.
    """

    order: NDArray[np.int64]
    place: NDArray[np.int64]
    starts: NDArray[np.int64]
    group: NDArray[np.int64]
    source: NDArray[np.uint32]
    speaker: NDArray[np.uint32]
    asks: NDArray[np.bool_]
    _beside: dict[int, tuple[NDArray[np.bool_], NDArray[np.bool_]]] = field(
        default_factory=dict[int, tuple[NDArray[np.bool_], NDArray[np.bool_]]]
    )

    def around(self, passage: int, distance: int) -> NDArray[np.int64]:
        """Return the passages of a passage's session that are no farther from it than that, itself among them."""
        at = int(self.place[passage])
        group = int(self.group[at])
        first = int(self.starts[group])
        last = int(self.starts[group + 1]) if group + 1 < len(self.starts) else len(self.order)
        return self.order[max(first, at - distance) : min(last, at + distance + 1)]

    def beside(self, distance: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Tell of each and the one so many after it whether they are of one session: with two sources, with one."""
        found = self._beside.get(distance)
        if found is None:
            together = self.group[distance:] == self.group[:-distance]
            one = together & (self.source[distance:] == self.source[:-distance])
            found = self._beside[distance] = together & ~one, one
        return found


class Corpus:
    """The passages of several scope parts, by position.

    Args:
        parts: The parts; their order decides ties.

    Example:
        >>> from memoranda.search.blocks import Entry, WordBlock, pack_words
        >>> block = WordBlock.unpack(pack_words([Entry(1, 1, 0, 0, 0, 1, 0, 0, 2, {7: 2})]))
        >>> len(Corpus([ScopePart(2, [block], np.zeros(0, np.uint32))]))
        1
    """

    def __init__(self, parts: Sequence[ScopePart]) -> None:
        self.parts = tuple(parts)
        blocks = [
            (index, block)
            for index, part in enumerate(self.parts)
            for block in sorted(part.words, key=lambda block: int(block.number[0]))
        ]
        # Small blocks come last within the corpus; `before` below restores the order that decides ties.
        large = [pair for pair in blocks if len(pair[1]) >= _SMALL]
        small = [pair for pair in blocks if len(pair[1]) < _SMALL]
        laid = large + small
        self.part = np.repeat([index for index, _ in laid], [len(block) for _, block in laid]).astype(np.int64)
        tables = [block.columns for _, block in laid] or [np.zeros((9, 0), np.uint32)]
        self.columns = Columns(np.concatenate(tables, axis=1))
        self.segments = _segments([block for _, block in large], [block for _, block in small])
        self.chance: float | None = None  # how alike two passages are by chance, once somebody has measured it
        self.alive = self._alive()
        self.living = int(np.count_nonzero(self.alive))

    def __len__(self) -> int:
        return len(self.number)

    @property
    def number(self) -> NDArray[np.uint32]:
        """Each passage's number."""
        return self.columns.number

    @cached_property
    def speakers(self) -> frozenset[int]:
        """Everybody who speaks."""
        return frozenset(np.unique(self.columns.speaker[self.alive]).tolist()) - {0}

    @cached_property
    def average(self) -> float:
        """The average length of a living passage."""
        return float(self.columns.length[self.alive].sum(dtype=np.int64)) / max(1, self.living) or 1.0

    @cached_property
    def in_order(self) -> NDArray[np.int64]:
        """The positions by part and number."""
        return np.argsort(self.part << 32 | self.number.astype(np.int64), kind="stable")

    @cached_property
    def before(self) -> NDArray[np.int64]:
        """Each passage's rank by part and number, which decides between equal scores."""
        ranks = np.empty(len(self), np.int64)
        ranks[self.in_order] = np.arange(len(self))
        return ranks

    @cached_property
    def turns(self) -> Sessions:
        """The sessions of the turns."""
        return self._sessions(1)

    @cached_property
    def items(self) -> Sessions:
        """The sessions of the items: each item is one."""
        return self._sessions(0)

    @cached_property
    def session_of(self) -> NDArray[np.int64]:
        """Each passage's session, counted from 0 over turns and items; 0 for what is dead."""
        numbers = np.zeros(len(self), np.int64)
        numbers[self.turns.order] = self.turns.group
        numbers[self.items.order] = self.items.group + len(self.turns.starts)
        return numbers

    @property
    def sessions(self) -> int:
        """How many sessions there are."""
        return len(self.turns.starts) + len(self.items.starts)

    @cached_property
    def vectors(self) -> list[tuple[VectorBlock, NDArray[np.int64], NDArray[np.int64]]]:
        """Each vectors block, with those rows of it that count and the positions of their passages."""
        found: list[tuple[VectorBlock, NDArray[np.int64], NDArray[np.int64]]] = []
        order = self.in_order
        keys = (self.part << 32 | self.number.astype(np.int64))[order]
        for index, part in enumerate(self.parts):
            for block in part.vectors:
                wanted = index << 32 | block.number.astype(np.int64)
                at = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
                rows = np.flatnonzero(keys[at] == wanted) if len(keys) else np.zeros(0, np.int64)
                found.append((block, rows, order[at[rows]]))
        return found

    def vectors_of(self, passages: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the vectors of passages, a row of whole numbers each, and what gives each row the length one.

        Sums of products of two rows are exact. What has no vector has zeros.
        """
        dims = self.vectors[0][0].dims if self.vectors else 0
        rows: NDArray[Any] = np.zeros((len(passages), dims), np.float32 if dims <= EXACT_DIMENSIONS else np.float64)
        scale = np.zeros(len(passages))
        block_of, row_of = self._rows
        blocks = block_of[passages]
        for index, (block, _, _) in enumerate(self.vectors):
            at = np.flatnonzero(blocks == index)
            if len(at):
                held = row_of[passages[at]]
                rows[at], scale[at] = block.rounded[held], block.scale[held]
        return rows, scale

    @cached_property
    def _rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        # Which of the vectors blocks has each passage's vector, and in which of its rows; a later block is the newer.
        block_of, row_of = np.full(len(self), -1, np.int64), np.zeros(len(self), np.int64)
        for index, (_, rows, passages) in enumerate(self.vectors):
            block_of[passages], row_of[passages] = index, rows
        return block_of, row_of

    def frequencies(self, terms: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Count the living passages that hold each of some terms (ids as a block keeps them, ascending)."""
        total = np.zeros(len(terms), np.int64)
        for segment in self.segments:
            block = segment.block
            if len(block.terms):
                at = block.terms.searchsorted(terms)
                held = block.terms.take(at, mode="clip") == terms
                total += (block.starts.take(at + 1, mode="clip") - block.starts[at]) * held
        if self.living < len(self):
            gone, counts = self._dead_terms
            at = gone.searchsorted(terms)
            total -= np.where(gone.take(at, mode="clip") == terms, counts.take(at, mode="clip"), 0) if len(gone) else 0
        return total

    @cached_property
    def _dead_terms(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        # The terms of the dead, and how many of the dead hold each.
        held: list[NDArray[np.uint64]] = []
        for segment in self.segments:
            block = segment.block
            gone = ~self.alive[segment.base : segment.base + len(block)]
            if gone.any():
                held.append(block.terms_at(np.flatnonzero(gone[block.locals])))
        return np.unique(np.concatenate(held), return_counts=True)

    def _alive(self) -> NDArray[np.bool_]:
        alive = np.ones(len(self.number), bool)
        for index, part in enumerate(self.parts):
            if len(part.dead):
                mine = np.flatnonzero(self.part == index)
                alive[mine] = np.isin(self.number[mine], part.dead, invert=True)
        return alive

    def _sessions(self, kind: int) -> Sessions:
        kinds = np.array([part.scope & 1 for part in self.parts], np.int64)
        chosen = np.flatnonzero(self.alive & (kinds[self.part] == kind)) if len(self) else np.zeros(0, np.int64)
        part, session = self.part[chosen], self.columns.session[chosen]
        order = np.lexsort((self.number[chosen], self.columns.place[chosen], session, part))
        part, session = part[order], session[order]
        new = np.ones(len(chosen), bool)
        new[1:] = (part[1:] != part[:-1]) | (session[1:] != session[:-1])
        order = chosen[order]
        columns = self.columns
        asks = (columns.flags[order] & QUESTION) != 0
        starts, group = np.flatnonzero(new), np.cumsum(new) - 1
        place = np.full(len(self), -1, np.int64)
        place[order] = np.arange(len(order))
        return Sessions(order, place, starts, group, columns.source[order], columns.speaker[order], asks)


def _segments(large: Sequence[WordBlock], small: Sequence[WordBlock]) -> list[Segment]:
    segments: list[Segment] = []
    base = 0
    for block in large:
        segments.append(Segment(base, block))
        base += len(block)
    batch: list[WordBlock] = []
    filled = 0
    for block in [*small, None]:
        if batch and (block is None or filled + len(block) > MAX_PASSAGES):
            segments.append(Segment(base, batch[0] if len(batch) == 1 else join(batch, np.arange(filled))))
            base += filled
            batch, filled = [], 0
        if block is not None:
            batch.append(block)
            filled += len(block)
    return segments
