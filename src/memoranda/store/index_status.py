"""What the search index of a store holds, and what it still lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

IndexState: TypeAlias = Literal["building", "serving"]


@dataclass(frozen=True, slots=True)
class EmbedderIndex:
    """The vectors that one embedder has given.

    Args:
        name: What the embedder is called.
        dims: Numbers per vector.
        state: `building` until it has every passage; `serving` from then on.
        passages: How many passages the store has.
        embedded: How many of them have their vector.
        waiting: How many are queued for it.
        in_use: Whether it belongs to the embedder that this store was opened with.
        last_error: Why its embedder last failed, if it does at present; known for the one in use.
    """

    name: str
    dims: int
    state: IndexState
    passages: int
    embedded: int
    waiting: int
    in_use: bool = False
    last_error: str | None = None


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The search index of a store.

    Args:
        passages: How many passages can be found by their words.
        to_index: How many files, documents and messages are not indexed yet.
        indexes: One for each embedder whose vectors it holds.
    """

    passages: int
    to_index: int
    indexes: tuple[EmbedderIndex, ...] = ()

    @property
    def in_use(self) -> EmbedderIndex | None:
        """The index of the embedder that this store was opened with; None without one, or before its first use."""
        return next((index for index in self.indexes if index.in_use), None)
