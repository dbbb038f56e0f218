"""Cuts for a text that is too long for a model; they fall between lines."""

from __future__ import annotations

from typing import NamedTuple

from memoranda.agents.middleware.prompt import UNIT, weight_of


class Fitting(NamedTuple):
    """The beginning of a text that fits a budget.

    Args:
        text: It.
        lines: How many lines it has; the last of them may be cut.
        is_whole: Whether nothing is missing.
        is_line_cut: Whether not even the first line fits, so that its end is missing.
    """

    text: str
    lines: int
    is_whole: bool
    is_line_cut: bool = False


def beginning(text: str, tokens: int) -> Fitting:
    r"""As many whole lines of a text as fit, at least the beginning of the first.

    Args:
        text: The text.
        tokens: The budget, by the estimate of `memoranda.agents.middleware.prompt.tokens_of`.

    Example:
        >>> beginning("one\ntwo\nthree\n", 2)
        Fitting(text='one\ntwo\n', lines=2, is_whole=False, is_line_cut=False)
    """
    lines = text.splitlines(keepends=True)
    room = tokens * UNIT
    fitting = 0
    for line in lines:
        room -= weight_of(line)
        if room < 0:
            break
        fitting += 1
    if fitting == len(lines):
        return Fitting(text, fitting, is_whole=True)
    if fitting == 0:
        return Fitting(clipped(lines[0], tokens), 1, is_whole=False, is_line_cut=True)
    return Fitting("".join(lines[:fitting]), fitting, is_whole=False)


def clipped(text: str, tokens: int) -> str:
    """The first characters of a text, as many as fit.

    Example:
        >>> clipped("twelve bytes", 2)
        'twelve b'
    """
    room = tokens * UNIT
    if weight_of(text) <= room:
        return text
    low, high = 0, min(len(text), room)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if weight_of(text[:middle]) <= room else (low, middle - 1)
    return text[:low]


def head_and_tail(text: str, tokens: int, *, lines: int = 5) -> str:
    """The first and the last lines of a text with a mark between them, within a budget.

    Args:
        text: A text of more lines than are shown, or of very long ones.
        tokens: The budget; long lines are cut to keep it.
        lines: How many lines at either end.
    """
    every = text.splitlines()
    share = max(tokens // (2 * lines), 1)
    if len(every) <= 2 * lines:
        return "\n".join(_shortened(line, share) for line in every)
    head = [_shortened(line, share) for line in every[:lines]]
    tail = [_shortened(line, share) for line in every[-lines:]]
    return "\n".join([*head, f"… ({len(every) - 2 * lines:,} lines left out) …", *tail])


def _shortened(line: str, tokens: int) -> str:
    cut = clipped(line, tokens)
    return cut if cut == line else cut + " … (line cut)"
