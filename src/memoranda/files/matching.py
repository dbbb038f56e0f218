"""Which lines of two texts are the same lines: the ground of diff, merge and blame.

Patience matching (Bram Cohen, 2008): lines that occur once on each side are anchors, the longest increasing
run of anchors is kept, and the gaps between are matched in turn. Small gaps without anchors go to `difflib`;
large ones stay unmatched, so that no input costs quadratic time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from typing import AnyStr, Literal, NamedTuple, TypeVar

Line = TypeVar("Line", bound=Hashable)

# A gap of about 250 lines on each side, and sixteen such gaps in one call: some 100 ms at the very worst.
_GAP_PRODUCT = 1 << 16
_TOTAL_PRODUCT = 1 << 20
# Each level of patience reads a gap once; more levels than this only occur in texts made to hurt.
_MAX_DEPTH = 32


class Match(NamedTuple):
    """A run of equal lines: `a[a : a + size] == b[b : b + size]`."""

    a: int
    """Index of the first line in the one text, from 0."""
    b: int
    """Index of the first line in the other text, from 0."""
    size: int
    """Number of lines, at least 1."""


class Opcode(NamedTuple):
    """One step of turning `a` into `b`, as in `difflib`: `a[i1:i2]` becomes `b[j1:j2]`."""

    tag: Literal["equal", "replace", "delete", "insert"]
    i1: int
    i2: int
    j1: int
    j2: int


def split_lines(text: AnyStr) -> list[AnyStr]:
    r"""Split after every LF and nowhere else, so that joining the lines gives the text back exactly.

    Args:
        text: A string, or bytes.

    Returns:
        The lines with their ends; the last one may have none. No lines for an empty text.

    Example:
        >>> split_lines("a\r\nb\x0bc")
        ['a\r\n', 'b\x0bc']
    """
    if isinstance(text, str):
        *pieces, last = text.split("\n")
        lines = [piece + "\n" for piece in pieces]
        return [*lines, last] if last else lines
    *pieces, last = text.split(b"\n")
    lines = [piece + b"\n" for piece in pieces]
    return [*lines, last] if last else lines


def matching_blocks(a: Sequence[Line], b: Sequence[Line]) -> list[Match]:
    """Align two sequences of lines.

    Args:
        a: The lines of one text.
        b: The lines of the other.

    Returns:
        Runs of equal lines, increasing on both sides, none touching the next on both sides at once. Unlike
        `difflib` there is no empty run at the end.

    Example:
        >>> matching_blocks(["a", "b", "c"], ["a", "x", "c"])
        [Match(a=0, b=0, size=1), Match(a=2, b=2, size=1)]
    """
    found: list[Match] = []
    budget = _TOTAL_PRODUCT
    gaps = [(0, len(a), 0, len(b), 0)]
    while gaps:
        a_low, a_high, b_low, b_high, depth = gaps.pop()
        size = _common_prefix(a, a_low, a_high, b, b_low, b_high)
        if size:
            found.append(Match(a_low, b_low, size))
            a_low, b_low = a_low + size, b_low + size
        size = _common_suffix(a, a_low, a_high, b, b_low, b_high)
        if size:
            a_high, b_high = a_high - size, b_high - size
            found.append(Match(a_high, b_high, size))
        if a_low == a_high or b_low == b_high:
            continue
        anchors = _anchors(a, a_low, a_high, b, b_low, b_high) if depth < _MAX_DEPTH else []
        if anchors:
            for a_at, b_at in anchors:
                gaps.append((a_low, a_at, b_low, b_at, depth + 1))
                # The anchor leads its gap, whose prefix trimming then takes it and the run behind it.
                a_low, b_low = a_at, b_at
            gaps.append((a_low, a_high, b_low, b_high, depth + 1))
            continue
        product = (a_high - a_low) * (b_high - b_low)
        if product <= _GAP_PRODUCT and product <= budget:
            budget -= product
            found += _match_small(a, a_low, a_high, b, b_low, b_high)
    return _joined(found)


def opcodes(a: Sequence[Line], b: Sequence[Line]) -> list[Opcode]:
    """Describe how to turn one sequence of lines into another.

    Args:
        a: The lines before.
        b: The lines after.

    Returns:
        Steps that cover both sequences from start to end.

    Example:
        >>> [tuple(step) for step in opcodes(["a", "b"], ["a", "c"])]
        [('equal', 0, 1, 0, 1), ('replace', 1, 2, 1, 2)]
    """
    steps: list[Opcode] = []
    i = j = 0
    for at_a, at_b, size in [*matching_blocks(a, b), Match(len(a), len(b), 0)]:
        if i < at_a and j < at_b:
            steps.append(Opcode("replace", i, at_a, j, at_b))
        elif i < at_a:
            steps.append(Opcode("delete", i, at_a, j, j))
        elif j < at_b:
            steps.append(Opcode("insert", i, i, j, at_b))
        i, j = at_a + size, at_b + size
        if size:
            steps.append(Opcode("equal", at_a, i, at_b, j))
    return steps


def _common_prefix(a: Sequence[Line], a_low: int, a_high: int, b: Sequence[Line], b_low: int, b_high: int) -> int:
    limit = min(a_high - a_low, b_high - b_low)
    size = 0
    while size < limit and a[a_low + size] == b[b_low + size]:
        size += 1
    return size


def _common_suffix(a: Sequence[Line], a_low: int, a_high: int, b: Sequence[Line], b_low: int, b_high: int) -> int:
    limit = min(a_high - a_low, b_high - b_low)
    size = 0
    while size < limit and a[a_high - 1 - size] == b[b_high - 1 - size]:
        size += 1
    return size


def _anchors(
    a: Sequence[Line], a_low: int, a_high: int, b: Sequence[Line], b_low: int, b_high: int
) -> list[tuple[int, int]]:
    """Return the longest increasing run of lines that occur exactly once on each side of a gap."""
    in_a = _once(a, a_low, a_high)
    if not in_a:
        return []
    in_b = _once(b, b_low, b_high)
    pairs = [(at, in_b[line]) for line, at in in_a.items() if at >= 0 and in_b.get(line, -1) >= 0]
    # Longest increasing subsequence by patience sorting: piles keep their smallest top, links lead back.
    tops: list[int] = []
    ends: list[int] = []
    links: list[int] = []
    for index, (_, at_b) in enumerate(pairs):
        pile = bisect_left(tops, at_b)
        links.append(ends[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(at_b)
            ends.append(index)
        else:
            tops[pile] = at_b
            ends[pile] = index
    run: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        run.append(pairs[index])
        index = links[index]
    run.reverse()
    return run


def _once(lines: Sequence[Line], low: int, high: int) -> dict[Line, int]:
    """Map each line of a range to its index, or to -1 if it occurs more than once; ordered by first index."""
    places: dict[Line, int] = {}
    for index in range(low, high):
        line = lines[index]
        places[line] = -1 if line in places else index
    return places


def _match_small(a: Sequence[Line], a_low: int, a_high: int, b: Sequence[Line], b_low: int, b_high: int) -> list[Match]:
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, a[a_low:a_high], b[b_low:b_high], autojunk=False)
    return [Match(a_low + i, b_low + j, size) for i, j, size in matcher.get_matching_blocks() if size]


def _joined(blocks: list[Match]) -> list[Match]:
    """Sort runs and join those that touch on both sides."""
    blocks.sort()
    joined: list[Match] = []
    for block in blocks:
        if joined:
            last = joined[-1]
            if last.a + last.size == block.a and last.b + last.size == block.b:
                joined[-1] = Match(last.a, last.b, last.size + block.size)
                continue
        joined.append(block)
    return joined
