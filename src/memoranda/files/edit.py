"""Replace a piece of text, exactly; and where it is not there, say what nearly is.

The rules are Deep Agents': the old text occurs exactly once unless all are asked for, and nothing is relaxed
silently. The errors show a model what to send instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from unicodedata import normalize

from memoranda.errors import EditError, TextNotFoundError, TextNotUniqueError

# How much of a text an error may quote, and how much of a file the search for the nearest text may read.
_QUOTED = 400
_SEARCHED = 2_000_000


@dataclass(frozen=True, slots=True)
class Replaced:
    """The outcome of a replacement."""

    text: str
    """The text after it."""

    occurrences: int
    """How many places were replaced."""


def replace(text: str, old: str, new: str, *, replace_all: bool = False, path: str = "") -> Replaced:
    """Replace one piece of a text by another.

    Args:
        text: The text as it is.
        old: What to replace, exactly as it stands in the text.
        new: What to put there; may equal `old`.
        replace_all: Replace every occurrence rather than the only one.
        path: The file's path as the caller knows it, for the error messages.

    Returns:
        The new text, and in how many places it changed.

    Raises:
        EditError: `old` is empty.
        TextNotFoundError: `old` does not occur; the message shows the nearest text, if there is any.
        TextNotUniqueError: `old` occurs more than once and `replace_all` is not set.

    Example:
        >>> replace("likes tea", "tea", "coffee")
        Replaced(text='likes coffee', occurrences=1)
    """
    if not old:
        raise EditError("old_string cannot be empty.", "Provide the exact text to replace.")
    occurrences = text.count(old)
    if occurrences == 1 or (occurrences and replace_all):
        return Replaced(text.replace(old, new), occurrences)
    if occurrences:
        raise TextNotUniqueError(
            f"String {_quoted(old)} appears {occurrences} times in file{_named(path)}.",
            "Use replace_all=True to replace all instances, or provide a more specific string with "
            "surrounding context.",
        )
    raise _not_found(text, old, path)


def _not_found(text: str, old: str, path: str) -> TextNotFoundError:
    stripped = old.removesuffix("\n")
    if stripped and stripped != old and text.endswith(stripped):
        cause = f"old_string ends with a newline, but the file{_named(path)} does not end with a newline."
        count = text.count(stripped)
        if count == 1:
            return TextNotFoundError(
                cause,
                "Retry with the trailing newline removed from old_string (and from new_string if it also "
                "ends with a newline).",
            )
        return TextNotFoundError(
            f"{cause} With the trailing newline removed, old_string would appear {count} times in the file.",
            "Retry with the trailing newline removed and add surrounding context so the match is unique.",
        )
    return TextNotFoundError(
        f"String not found in file{_named(path)}: {_quoted(old)}.",
        _nearest(text[:_SEARCHED], old[:_SEARCHED]) or "Read the file again and copy the text exactly.",
    )


# --- what is nearly there -----------------------------------------------------------------------------------


def _line_endings(text: str) -> str:
    return text.replace("\r\n", "\n")


def _normal_form(text: str) -> str:
    return normalize("NFC", text)


_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        "\u2026": "...",
    }
)


def _punctuation(text: str) -> str:
    return text if text.isascii() else text.translate(_PLAIN)


def _whitespace(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.split("\n"))


# Each keeps the number of line feeds, so that a place in its result has the same line number as in the text.
_RELAXATIONS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("line endings", _line_endings),
    ("Unicode normal form", _normal_form),
    ("curly quotes or dashes", _punctuation),
    ("whitespace", _whitespace),
    ("upper and lower case", str.casefold),
)


def _nearest(text: str, old: str) -> str:
    """Say where something like the old text stands; empty if nothing does. Each step is one linear pass."""
    loose_text, loose_old = text, old
    for difference, relax in _RELAXATIONS:
        at = _line_of(relax(text), relax(old))
        if at:
            return _shown(text, at, old, f"differs only in {difference}")
        loose_text, loose_old = relax(loose_text), relax(loose_old)
    at = _line_of(loose_text, loose_old)
    if at:
        return _shown(text, at, old, "differs in whitespace, case or special characters")
    return _first_line_found(text, loose_text.split("\n"), loose_old.split("\n"))


def _line_of(text: str, old: str) -> int:
    """Return the number of the line on which a text occurs, from 1; 0 if it does not."""
    wanted = old.strip()
    at = text.find(wanted) if len(wanted) >= 3 else -1  # less than a word is found anywhere
    return text.count("\n", 0, at) + 1 if at >= 0 else 0


def _first_line_found(text: str, loose_lines: list[str], loose_old: list[str]) -> str:
    """Where a line of several is there but not its neighbours, show what stands around it."""
    wanted = [line for line in loose_old if len(line) >= 4]
    if len(wanted) < 2:
        return ""
    numbers: dict[str, int] = {}
    for number, line in enumerate(loose_lines, 1):
        numbers.setdefault(line, number)
    for line in wanted:
        if line in numbers:
            first = max(1, numbers[line] - loose_old.index(line))
            return _shown(text, first, "\n" * (len(loose_old) - 1), "shares a line with it")
    return ""


def _shown(text: str, line: int, old: str, how: str) -> str:
    lines = text.split("\n")
    count = max(1, old.strip("\n").count("\n") + 1) if old.strip("\n") else old.count("\n") + 1
    near = "\n".join(lines[line - 1 : line - 1 + count])
    if "line endings" in how:
        near = near.replace("\r", "\\r")
    return f"The nearest text, at line {line}, {how}:\n{_cut(near)}\nRetry with exactly that text."


def _named(path: str) -> str:
    return f" {path}" if path else ""


def _quoted(text: str) -> str:
    return f"'{_cut(text)}'"


def _cut(text: str) -> str:
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}… ({len(text)} characters)"
