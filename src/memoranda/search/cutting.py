"""Where a text is cut into passages: a walk over its lines that looks only at what is near.

A cut before a line depends on what kind of line it is, on how much has gathered since the last cut, and, between
two lengths, on a checksum of the line itself. So two walks that began at different places soon cut at the same lines
again, and an edit changes the passages around it and no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

LONGEST = 900
"""No passage is longer than so many characters."""


class Piece(NamedTuple):
    """Some text that is one passage."""

    first_line: int
    last_line: int
    text: str


class Bounds(NamedTuple):
    """When to cut before a line of some kind."""

    may: int
    """From so many characters on, if the line's checksum says so."""
    must: int
    """From so many characters on, always."""
    one_in: int = 2
    """How many checksums there are to one that says so."""

    def cuts(self, size: int, text: str) -> bool:
        """Whether a piece of so many characters ends before this text."""
        return size >= self.must or (
            size >= self.may and crc32(text.encode("utf-8", "surrogatepass")) % self.one_in == 0
        )


PARAGRAPH = Bounds(60, 120)
BULLET = Bounds(60, 120)
INNER_BULLET = Bounds(240, 480)
ROW = Bounds(200, 480)
STATEMENT = Bounds(150, 400)
"""A line of code at the margin after a blank one."""
LINE = Bounds(500, LONGEST, 4)
FIELD = Bounds(300, 600)
SENTENCE = Bounds(240, 600)
NEVER = Bounds(LONGEST, LONGEST)

_SENTENCES = re.compile(r"[^.!?。！？؟।…]*+(?:[.!?؟…]++(?=\s|$)\s*+|[。！？।]++\s*+|[.!?؟…]++)?")
_WORDS = re.compile(r"\S*+[\s，、；,;]*+")


class Gatherer:
    """Takes lines in order and gives the pieces they make."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._first = self._last = 0
        self._size = self._blanks = 0

    def add(self, number: int, line: str, bounds: Bounds, *, last: int | None = None) -> Iterator[Piece]:
        """Take a line (or a field that lies on the lines from `number` to `last`).

        Yields:
            What was cut off before it; and a line that is too long, in pieces.
        """
        if self._lines and (self._size + self._blanks + len(line) > LONGEST or bounds.cuts(self._size, line)):
            yield from self.cut()
        if self._lines:
            self._lines.extend([""] * self._blanks)
            self._size += self._blanks
        else:
            self._first = self._last = number
        self._blanks = 0
        self._lines.append(line)
        self._size += len(line) + 1
        self._last = max(self._last, last or number)
        if len(line) > LONGEST:  # alone, then
            first, end = self._first, self._last
            self._clear()
            for part in cut_line(line):
                yield Piece(first, end, part)

    def blank(self) -> None:
        """Take a blank line; it counts only between two others of one piece."""
        self._blanks += 1

    def cut(self) -> Iterator[Piece]:
        """Give what has gathered."""
        if self._lines:
            yield Piece(self._first, self._last, "\n".join(self._lines))
        self._clear()

    def _clear(self) -> None:
        self._lines, self._size, self._blanks = [], 0, 0


def cut_line(line: str) -> Iterator[str]:
    """A long line in pieces, at the ends of sentences where there are any, else between words.

    Example:
        >>> [len(piece) for piece in cut_line("word " * 400)]
        [899, 899, 199]
    """
    held: list[str] = []
    size = 0
    for part in _parts(line):
        if size and (size + len(part) > LONGEST or SENTENCE.cuts(size, part)):
            if text := "".join(held).strip():
                yield text
            held, size = [], 0
        held.append(part)
        size += len(part)
    if text := "".join(held).strip():
        yield text


def _parts(line: str) -> Iterator[str]:
    """Sentences; of a sentence that is too long, stretches of words; of a word that is too long, slices."""
    for sentence in _SENTENCES.finditer(line):
        if len(sentence[0]) <= LONGEST:
            yield sentence[0]
            continue
        held, size = list[str](), 0
        for word in _WORDS.finditer(sentence[0]):
            if size + len(word[0]) > LONGEST and held:
                yield "".join(held)
                held, size = [], 0
            if len(word[0]) > LONGEST:
                yield from (word[0][start : start + LONGEST] for start in range(0, len(word[0]), LONGEST))
                continue
            held.append(word[0])
            size += len(word[0])
        yield "".join(held)
