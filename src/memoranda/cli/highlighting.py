"""The words of a query in a passage, made to stand out."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from memoranda.cli.output import Part

if TYPE_CHECKING:
    from memoranda.cli.session import Session

_PIECES = re.compile(r"\w+|\W+")
_CHUNKS = re.compile(r"\S+|\s+")
_STYLE = "bold red"


class Highlighter:
    """Marks what a query asked for, by the terms that the search itself goes by, so inflected forms and all scripts.

    Args:
        session: Whose output it is for: without colours nothing is looked at.
        query: The query.
    """

    def __init__(self, session: Session, query: str) -> None:
        self._session = session
        self._query = query

    def is_in(self, line: str) -> bool:
        """Whether a line holds anything of the query."""
        return self._holds(line)

    def parts(self, line: str, style: str = "") -> list[Part]:
        """A line of somebody's text in parts; what matches has a style of its own."""
        out = self._session.out
        if not out.has_colors:
            return [out.text(line)]
        marked: list[tuple[str, bool]] = []
        for chunk in _CHUNKS.findall(line):
            marked += self._chunk(chunk)
        return [(out.text(text), _STYLE if hit else style) for text, hit in marked]

    @cached_property
    def _wanted(self) -> tuple[frozenset[int], frozenset[str]]:
        from memoranda.search.query import analyse

        terms = analyse(self._query).terms
        return frozenset(term.id for term in terms), frozenset(term.text for term in terms)

    def _chunk(self, chunk: str) -> list[tuple[str, bool]]:
        if not self._holds(chunk):
            return [(chunk, False)]
        found: list[tuple[str, bool]] = []
        for piece in _PIECES.findall(chunk):
            found += self._piece(piece)
        hits = [number for number, (_, hit) in enumerate(found) if hit]
        if not hits:  # an address or a version may match as a whole, and none of its parts
            return [(chunk, True)]
        # The dots and dashes between parts that match belong to them.
        first, last = hits[0], hits[-1]
        return [
            (text, hit or (first < number < last and not text.isalnum())) for number, (text, hit) in enumerate(found)
        ]

    def _piece(self, piece: str) -> list[tuple[str, bool]]:
        if not self._holds(piece):
            return [(piece, False)]
        from memoranda.search.words import Kind, words_in

        if all(word.kind != Kind.RUN for word in words_in(piece)):
            return [(piece, True)]
        return self._run(piece)

    def _run(self, run: str) -> list[tuple[str, bool]]:
        """A run of a script without spaces: its pairs of characters that were asked for, or else single ones."""
        for size in (2, 1):
            hit = [False] * len(run)
            for start in range(len(run) - size + 1):
                if self._asks_for(run[start : start + size]):
                    hit[start : start + size] = [True] * size
            if any(hit):
                return list(zip(run, hit, strict=True))
        return [(run, True)]

    def _holds(self, text: str) -> bool:
        from memoranda.search.tokens import terms_of

        return not self._wanted[0].isdisjoint(terms_of(text))

    def _asks_for(self, text: str) -> bool:
        from memoranda.search.scripts import folded, normalised

        return folded(normalised(text)) in self._wanted[1]
