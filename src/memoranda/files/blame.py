"""Which revision wrote each line of a text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memoranda.files.delta import LineSplice
from memoranda.files.matching import matching_blocks


def blame(lines: list[bytes], steps: Iterable[tuple[int, LineSplice | None]]) -> list[int]:
    r"""Find the revision that wrote each line, walking back from the present.

    A line belongs to whoever wrote its text: whoever ended it, because another line was to follow, or wrote all ends
    anew as CRLF, did not.

    Each step costs as much as its splice is long. Steps are taken from the iterable only until every line
    has its revision, so that a generator need not read the whole history.

    Args:
        lines: The lines of the newest text, split after each LF.
        steps: From newest to oldest, a revision and the splice that turns its text into the one before;
            None for the revision that created the file. Where the steps end without a creation, the oldest
            of them is taken for it.

    Returns:
        A revision for every line.

    Raises:
        ValueError: There are lines but no steps, or a splice does not fit its text.

    Example:
        >>> blame([b"a\n", b"B\n"], [(2, LineSplice(1, 1, (b"b\n",))), (1, None)])
        [1, 2]
        >>> blame([b"one\n", b"two"], [(2, LineSplice(0, 2, (b"one",))), (1, None)])
        [1, 2]
    """
    written = [0] * len(lines)
    current = _without_ends(lines)
    # For each line of the text at hand: its index in the newest text, or -1 if it did not live that long.
    origins = list(range(len(lines)))
    missing = len(lines)
    revision: int | None = None
    for revision, splice in steps if missing else ():
        if splice is None:
            break
        start, end = splice.start, splice.start + splice.count
        if start < 0 or end < start or end > len(current):
            raise ValueError(f"The splice of revision {revision} does not fit its text.")
        older = _without_ends(splice.lines)
        before = [-1] * len(older)
        region = origins[start:end]
        # One line for one line is what most edits are, and needs no search for what they share.
        if len(older) == splice.count == 1:
            if current[start] == older[0]:
                before, region = region, before
        elif older and splice.count:
            for at, older_at, size in matching_blocks(current[start:end], older):
                before[older_at : older_at + size] = region[at : at + size]
                region[at : at + size] = [-1] * size
        for origin in region:
            if origin >= 0:
                written[origin] = revision
                missing -= 1
        if not missing:
            break
        current[start:end] = older
        origins[start:end] = before
    if missing:
        if revision is None:
            raise ValueError("There are lines but no revision that could have written them.")
        for origin in origins:
            if origin >= 0:
                written[origin] = revision
    return written


def _without_ends(lines: Sequence[bytes]) -> list[bytes]:
    return [line.removesuffix(b"\n").removesuffix(b"\r") for line in lines]
