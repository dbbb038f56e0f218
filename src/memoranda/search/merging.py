"""Joining words blocks: many small ones become a large one, and what is dead stays behind."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from memoranda.search.envelope import MAX_PASSAGES
from memoranda.search.wordblocks import TERM_SHIFT, WordBlock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def merge_words(blocks: Sequence[WordBlock], dead: Collection[int] | NDArray[np.uint32]) -> bytes | None:
    """Merge words blocks of one scope into one, without the passages that are dead.

    Args:
        blocks: The blocks; what is left of them is at most `MAX_PASSAGES` passages.
        dead: Numbers of passages that are gone; others than those of the blocks do not matter.

    Returns:
        The new block's body, or None when no passage is left.

    Raises:
        ValueError: Too many passages are left for one block.

    Example:
        >>> from memoranda.search.wordblocks import Entry, pack_words
        >>> told = [Entry(number, 1, 0, 0, 0, 1, 0, 0, 1, {5: 1}) for number in (1, 2, 3)]
        >>> merged = merge_words([WordBlock.unpack(pack_words([each])) for each in told], {2})
        >>> merged == pack_words([told[0], told[2]])
        True
    """
    import numpy as np

    if not blocks:
        return None
    numbers = np.concatenate([block.number for block in blocks])
    gone = np.fromiter(dead, np.uint32, len(dead))
    kept = np.flatnonzero(np.isin(numbers, gone, invert=True))
    if not len(kept):
        return None
    return join(blocks, kept[np.argsort(numbers[kept], kind="stable")]).pack()


def join(blocks: Sequence[WordBlock], order: NDArray[np.int64]) -> WordBlock:
    """Join blocks into one, in memory.

    Args:
        blocks: At least one block.
        order: Which passages to keep, in their new order, as positions in the blocks laid end to end.

    Raises:
        ValueError: These are too many passages for one block.
    """
    import numpy as np

    if len(order) > MAX_PASSAGES:
        raise ValueError(f"A block holds at most {MAX_PASSAGES} passages, not {len(order)}.")
    sizes = [len(block) for block in blocks]
    total = sum(sizes)
    places = np.full(total, MAX_PASSAGES, np.uint64)
    places[order] = np.arange(len(order), dtype=np.uint64)
    bases = np.repeat(np.cumsum([0, *sizes[:-1]]), [len(block.locals) for block in blocks])
    local = places[bases + np.concatenate([block.locals for block in blocks])]
    # The same integers as in `pack_words`: sorting them sorts by term, then by passage.
    terms = np.concatenate([block.terms for block in blocks])
    frequencies = np.concatenate([block.starts[1:] for block in blocks])
    frequencies -= np.concatenate([block.starts[:-1] for block in blocks])
    keys = np.repeat(terms << np.uint64(TERM_SHIFT), frequencies)
    keys |= local << np.uint64(8)
    keys |= np.concatenate([block.occurs for block in blocks])
    if len(order) < total:
        keys = keys[local != MAX_PASSAGES]
    # Each block is an ascending run, which a merging sort makes the most of.
    keys.sort(kind="stable")
    ids = keys >> np.uint64(TERM_SHIFT)
    first = np.flatnonzero(np.concatenate((np.ones(min(1, len(ids)), bool), ids[1:] != ids[:-1])))
    return WordBlock(
        np.concatenate([block.columns for block in blocks], axis=1)[:, order],
        ids[first],
        np.append(first, len(ids)),
        (keys >> np.uint64(8)).astype(np.uint16),
        keys.astype(np.uint8),
    )
