"""When to merge blocks, so that a scope has few of them and no write pays for many."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

Id = TypeVar("Id", bound=Hashable)

FANOUT = 32


def due(counts: Sequence[tuple[Id, int]]) -> list[list[Id]]:
    """Say which blocks to merge now, each list into one block.

    Args:
        counts: The blocks of one scope and part, oldest first: id and number of passages.
    """
    tiers: dict[int, list[Id]] = {0: [], 1: [], 2: []}
    for name, count in counts:
        tiers[0 if count < FANOUT else 1 if count < FANOUT * FANOUT else 2].append(name)
    return [tiers[level][:FANOUT] for level in (0, 1) if len(tiers[level]) >= FANOUT]
