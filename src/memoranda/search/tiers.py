"""When to merge blocks, so that a scope has few of them and no write pays for many.

Blocks fall into three tiers by how many passages they hold: *small* (fewer than 32), *middle* (fewer than 512) and
*large*. 32 small ones become one. Middle ones become a large one as soon as they hold 1,024 passages together. Large
ones stay as they are, until more than a quarter of their passages is dead.

So a scope of n passages has at most 31 small blocks, 31 middle ones and n / 512 large ones, of which most hold 1,024.
A passage is packed once by its write and rewritten at most twice on its way up, whatever n is. What is dead does not
change that: a merge of 1,024 gives a large block even when half of them are gone, so who is rewritten once more has had
as many companions die; and writing a block anew for its dead copies at most three living passages for each of those.
Every write and every deletion thus pays for a constant number of passages.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

Id = TypeVar("Id", bound=Hashable)

FANOUT = 32
"""How many small blocks become one, and how many passages make a block a middle one."""
FULL = FANOUT * FANOUT
"""How many passages middle blocks hold together when they are merged."""
LARGE = FULL // 2
"""How many passages make a block a large one."""

# What is dead takes room and time; this much of it is worth writing a block anew.
_DEAD_SHARE = 0.25
_DEAD_LEAST = 64


def due(counts: Sequence[tuple[Id, int]], dead: Mapping[Id, int] | None = None) -> list[list[Id]]:
    """Say which blocks to merge now.

    Args:
        counts: The blocks of one scope, part and index, oldest first: id and number of passages, the dead included.
        dead: How many of a block's passages are dead, for as many blocks as the caller knows it of.

    Returns:
        Lists of ids, oldest first, each to be merged into one block without its dead; a list of one id means to write
        that block anew. No id stands in two lists.

    Example:
        >>> due([(1, 2_000), (2, 500), (3, 5), (4, 400), (5, 200)])
        [[2, 4, 5]]
        >>> due([(1, 2_000), (2, 500)], {1: 900})
        [[1]]
    """
    small = [block for block, count in counts if count < FANOUT]
    middle = [(block, count) for block, count in counts if FANOUT <= count < LARGE]
    # Where nobody merged for long there may be hundreds of small ones: as many merges as they fill.
    merges = [small[start : start + FANOUT] for start in range(0, len(small) - FANOUT + 1, FANOUT)]
    group: list[Id] = []
    held = 0
    for block, count in middle:
        group.append(block)
        held += count
        if held >= FULL:
            merges.append(group)
            group, held = [], 0
    taken = {block for merge in merges for block in merge}
    for block, count in counts:
        gone = (dead or {}).get(block, 0)
        if block not in taken and gone > _DEAD_LEAST and gone > _DEAD_SHARE * count:
            merges.append([block])
    return merges
