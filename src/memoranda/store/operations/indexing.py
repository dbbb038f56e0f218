"""What a transaction changes in the search index of a namespace: new passages, dead ones, and what embedders owe.

The index is made of immutable blocks (see `memoranda.search.blocks`). A transaction adds at most one block of each
part to each scope; `tending` merges them later. Numbers of passages are given out under the namespace's lock, so they
are unique in it and grow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

from memoranda.search.blocks import (
    Entry,
    VectorBlock,
    WordBlock,
    pack_numbers,
    pack_waiting,
    pack_words,
    unpack_numbers,
    unpack_waiting,
)
from memoranda.store.effects import Sql

TEND_EVERY = 32
"""Blocks are merged when a namespace's count of passages, or of dead ones, passes a multiple of this."""

BLOCK_PASSAGES = 1_024
"""A block that a commit adds holds at most so many passages."""


class Part(IntEnum):
    """What a block holds."""

    WORDS = 0
    DEAD = 1
    VECTORS = 2
    WAITING = 3


class IndexKind(IntEnum):
    """What the passages of a scope were cut from."""

    ITEMS = 0
    TURNS = 1


class IndexScope(NamedTuple):
    """One separately searched part of a namespace: its items, or its turns."""

    namespace_id: int
    kind: IndexKind

    @property
    def number(self) -> int:
        """The number under which its blocks are kept."""
        return self.namespace_id * 2 + self.kind

    @classmethod
    def of(cls, number: int) -> IndexScope:
        """The scope behind a number."""
        return cls(number // 2, IndexKind(number % 2))


@dataclass(slots=True)
class ScopeIndex:
    """What changes in the index of one namespace.

    Args:
        namespace_id: The namespace.
        passages: How many numbers were given out so far.
        indexes: The embedders' indexes that want a vector of every passage.
    """

    namespace_id: int
    passages: int
    indexes: tuple[int, ...] = ()
    loaded_passages: int = field(init=False)
    _added: dict[IndexKind, list[Entry]] = field(default_factory=dict[IndexKind, "list[Entry]"])
    _dead: dict[IndexKind, list[int]] = field(default_factory=dict[IndexKind, "list[int]"])

    def __post_init__(self) -> None:
        self.loaded_passages = self.passages

    def next_number(self) -> int:
        """Give out the number of a new passage."""
        self.passages += 1
        return self.passages

    def add(self, kind: IndexKind, entries: Iterable[Entry]) -> None:
        """Add passages, each with a number of its own from `next_number`."""
        self._added.setdefault(kind, []).extend(entries)

    def kill(self, kind: IndexKind, numbers: Iterable[int]) -> None:
        """Take passages out of all results."""
        self._dead.setdefault(kind, []).extend(numbers)

    @property
    def due(self) -> bool:
        """Whether the scopes' blocks should be merged once this has landed."""
        # A kill is told of now and then by the numbers that died; merging finds out by itself what there is to do.
        died = any(number % TEND_EVERY == 0 for numbers in self._dead.values() for number in numbers)
        return died or self.passages // TEND_EVERY > self.loaded_passages // TEND_EVERY

    def statements(self) -> list[Sql]:
        """The blocks to insert."""
        written: list[Sql] = []
        for kind, entries in self._added.items():
            if not entries:
                continue
            scope = IndexScope(self.namespace_id, kind)
            for start in range(0, len(entries), BLOCK_PASSAGES):
                some = entries[start : start + BLOCK_PASSAGES]
                written.append(insert_block(scope, Part.WORDS, 0, len(some), pack_words(some)))
                if self.indexes:
                    body = pack_waiting([(entry.number, entry.source, entry.digest) for entry in some])
                    written += [insert_block(scope, Part.WAITING, index, len(some), body) for index in self.indexes]
        for kind, numbers in self._dead.items():
            if numbers:
                scope = IndexScope(self.namespace_id, kind)
                written.append(insert_block(scope, Part.DEAD, 0, len(numbers), pack_numbers(numbers)))
        return written


def insert_block(scope: IndexScope, part: Part, index_id: int, count: int, body: bytes) -> Sql:
    """The statement that adds a block; `index_id` is 0 for what belongs to no embedder."""
    row = {"scope": scope.number, "part": int(part), "index_id": index_id, "count": count, "body": body}
    return Sql("insert_block", row)


def parsed(part: Part, body: bytes) -> Any:
    """The content of a block: of words, of vectors, the numbers of the dead, or what waits for an embedder.

    Raises:
        StoreCorruptError: It is damaged.
    """
    match part:
        case Part.WORDS:
            return WordBlock.unpack(body)
        case Part.VECTORS:
            return VectorBlock.unpack(body)
        case Part.DEAD:
            return unpack_numbers(body)
        case Part.WAITING:
            return unpack_waiting(body)
