"""How much of a text a model is shown: an estimate of its tokens, and cuts that fall between lines."""

from __future__ import annotations

from typing import NamedTuple

_BYTES_A_TOKEN = 4
"""A common rule of thumb for English; bytes rather than characters, so that other scripts are not underrated."""


def tokens_of(text: str) -> int:
    """About how many tokens a text has; no tokenizer is asked.

    Example:
        >>> tokens_of("twelve bytes"), tokens_of("")
        (3, 0)
    """
    return -(-len(text.encode(errors="surrogatepass")) // _BYTES_A_TOKEN)


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
    """As many whole lines of a text as fit, at least the beginning of the first.

    Args:
        text: The text.
        tokens: The budget.

    Example:
        >>> beginning("one\\ntwo\\nthree\\n", 2)
        Fitting(text='one\\ntwo\\n', lines=2, is_whole=False, is_line_cut=False)
    """
    lines = text.splitlines(keepends=True)
    budget = tokens * _BYTES_A_TOKEN
    if len(text) * 4 <= budget or len(text.encode(errors="surrogatepass")) <= budget:
        return Fitting(text, len(lines), is_whole=True)
    fitting = 0
    for line in lines:
        budget -= len(line.encode(errors="surrogatepass"))
        if budget < 0:
            break
        fitting += 1
    if fitting == 0:
        return Fitting(clipped(lines[0], tokens), 1, is_whole=False, is_line_cut=True)
    return Fitting("".join(lines[:fitting]), fitting, is_whole=False)


def clipped(text: str, tokens: int) -> str:
    """The first characters of a text, as many as fit; no character is cut in two."""
    raw = text.encode(errors="surrogatepass")[: tokens * _BYTES_A_TOKEN]
    return raw.decode(errors="ignore")


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
