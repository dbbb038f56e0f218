"""Texts cut into passages, each with its lines: what a search finds.

A passage is a few facts or a paragraph, 60 to 900 characters where the text allows. Headings begin new ones and are
carried along; lists, tables and fenced code stay together within limits (see `cutting`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date as calendar_date
from hashlib import blake2b
from typing import Any

from memoranda.search.cutting import (
    BULLET,
    INNER_BULLET,
    LINE,
    LONGEST,
    NEVER,
    PARAGRAPH,
    ROW,
    STATEMENT,
    Bounds,
    Gatherer,
    Piece,
)
from memoranda.search.dates import spelt
from memoranda.search.json_passages import field_pieces


@dataclass(frozen=True, slots=True)
class Passage:
    """Some lines of a text that are found together.

    Attributes:
        first_line: The first of its lines, counted from 1; lines end at a newline.
        last_line: The last of its lines, inclusive.
        text: What stands there, without carriage returns; a part of the line where one line is too long, and
            `field: value` for JSON.
        heading: The headings that it stands under, as `Food > Drinks`; empty where there are none.
        digest: A checksum of heading and text, 32 bits, the same in every process.
    """

    first_line: int
    last_line: int
    text: str
    heading: str
    digest: int


_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{3,})[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_BULLET = re.compile(r"([ \t]*)(?:[-*+•]|\d{1,9}[.)])[ \t]+\S")
_CODE_SUFFIXES = """
    bash c cc clj cpp cs css csv dart ex exs go h hpp hs html ini java jl js json jsonl jsx kt lock log lua mjs ml
    php pl ps1 py pyi r rb rs scala scss sh sql swift tcl toml ts tsv tsx vue xml yaml yml zig zsh
"""
_CODE = frozenset(_CODE_SUFFIXES.split())
_FRONT_MATTER_LINES = 100
_HEADING_CHARACTERS = 200
_WHOLE_TURN = 1_200


def passages_of(text: str, *, path: str = "") -> list[Passage]:
    r"""The passages of a file.

    Every line that is not blank lies in one. Linear in the length of the text; an edit changes the passages around
    it only.

    Args:
        text: The whole text: Markdown, plain text, source code.
        path: Where it lies; its ending tells source code and data from prose.

    Returns:
        The passages, in order of the text.

    Example:
        >>> [(p.first_line, p.heading) for p in passages_of("# Food\nlikes tea\n\n# Work\nis a nurse")]
        [(1, 'Food'), (4, 'Work')]
    """
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower() if "." in path else ""
    if suffix in _CODE:
        return [_passage(piece, "") for piece in _code_pieces(lines)]
    return [_passage(piece, heading) for piece, heading in _Prose(lines).pieces()]


def passages_of_turn(text: str) -> list[Passage]:
    """The passages of a turn of a conversation: one, unless it is very long.

    Example:
        >>> [p.text for p in passages_of_turn("I moved to Lisbon.")]
        ['I moved to Lisbon.']
    """
    if len(text) > _WHOLE_TURN:
        return passages_of(text)
    if not text.strip():
        return []
    gathered = text.replace("\r\n", "\n")
    return [_passage(Piece(1, gathered.count("\n") + 1, gathered), "")]


def passages_of_json(value: Mapping[str, Any], fields: Sequence[str]) -> list[Passage]:
    """The passages of a JSON value: its fields as `name: value`.

    Args:
        value: The value, as it was put.
        fields: Paths as LangGraph's `index` takes them: `"$"` for all, `"a.b"`, `"items[*].text"`, `"{a,b}"`.

    Returns:
        The passages in order; their lines are those of the value as indented JSON with sorted keys, the form in
        which the store keeps it.

    Example:
        >>> [(p.text, p.first_line) for p in passages_of_json({"name": "Anna", "age": 41}, ["name"])]
        [('name: Anna', 3)]
    """
    return [_passage(piece, "") for piece in field_pieces(value, fields)]


def indexed_text(passage: Passage, *, path: str = "", speaker: str = "", date: str = "") -> str:
    """What is tokenised and embedded of a passage: it, and what a reader would know around it.

    Args:
        passage: The passage.
        path: The key or path of its file.
        speaker: Who said it, in a conversation.
        date: When; an ISO date or time is spelt out, anything else is taken as it is.

    Example:
        >>> turn = passages_of_turn("I moved.")[0]
        >>> indexed_text(turn, speaker="Anna", date="2023-05-08T10:00:00Z")
        'Anna (8 May 2023): I moved.'
    """
    try:
        date = spelt(calendar_date.fromisoformat(date[:10])) if date else ""
    except ValueError:
        pass
    said = f"{speaker} ({date}): " if speaker and date else f"{speaker}: " if speaker else f"({date}) " if date else ""
    name = path.strip("/").rpartition(".")[0] or path.strip("/")
    around = " > ".join(part for part in (name.replace("/", " "), passage.heading) if part)
    return f"{around}\n{said}{passage.text}" if around else said + passage.text


def _passage(piece: Piece, heading: str) -> Passage:
    content = f"{heading}\0{piece.text}".encode("utf-8", "surrogatepass")
    digest = int.from_bytes(blake2b(content, digest_size=4).digest(), "little")
    return Passage(piece.first_line, piece.last_line, piece.text, heading, digest)


def _code_pieces(lines: Sequence[str]) -> Iterator[Piece]:
    gatherer = Gatherer()
    after_blank = False
    for number, line in enumerate(lines, start=1):
        if line.strip():
            at_margin = after_blank and line[0] not in " \t})]"
            yield from gatherer.add(number, line, STATEMENT if at_margin else LINE)
            after_blank = False
        else:
            gatherer.blank()
            after_blank = True
    yield from gatherer.cut()


class _Prose:
    """One walk over a text of Markdown or plain paragraphs."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._gatherer = Gatherer()
        self._path: list[tuple[int, str]] = []
        self._heading = ""
        self._waits = False
        """Only headings have gathered, which wait for what stands under them."""

    def pieces(self) -> Iterator[tuple[Piece, str]]:
        """The pieces, each with its heading."""
        start = self._front_matter()
        for number in range(1, start + 1):
            yield from self._add(number, LINE)
        if start:
            yield from self._cut()
        fence = ""
        after_blank = True
        for number, line in enumerate(self._lines[start:], start=start + 1):
            if not line.strip():
                self._gatherer.blank()
                after_blank = True
                continue
            if fence:
                yield from self._add(number, LINE)
                if (closing := _FENCE.match(line)) and closing[1].startswith(fence):
                    fence = ""
            elif heading := self._heading_at(number, after_blank):
                yield from self._begin(number, *heading)
            else:
                if opening := _FENCE.match(line):
                    fence = opening[1]
                yield from self._add(number, self._bounds(line, after_blank))
            after_blank = False
        yield from self._cut()

    def _bounds(self, line: str, after_blank: bool) -> Bounds:
        if bullet := _BULLET.match(line):
            return INNER_BULLET if len(bullet[1].expandtabs(4)) > 1 else BULLET
        if line.lstrip().startswith("|"):
            return ROW
        return PARAGRAPH if after_blank and line[0] not in " \t" else LINE

    def _begin(self, number: int, level: int, title: str) -> Iterator[tuple[Piece, str]]:
        """Take a heading; headings with nothing between them stay together."""
        if not self._waits:
            yield from self._cut()
        self._path = [(above, name) for above, name in self._path if above < level] + [(level, title)]
        self._heading = " > ".join(name for _, name in self._path if name)[:_HEADING_CHARACTERS]
        yield from self._add(number, NEVER)
        self._waits = True

    def _heading_at(self, number: int, after_blank: bool) -> tuple[int, str] | None:
        """The level and the title, if the line is a heading: after `#`, or underlined."""
        line = self._lines[number - 1]
        if len(line) > LONGEST:
            return None
        if "#" in line[:4] and (found := _HEADING.match(line)):
            return len(found[1]), (found[2] or "").strip()
        if after_blank and number < len(self._lines) and _UNDERLINE.match(self._lines[number]):
            if _BULLET.match(line) or _UNDERLINE.match(line) or line.lstrip()[0] in "|>`~":
                return None
            return (1 if "=" in self._lines[number] else 2), line.strip()
        return None

    def _add(self, number: int, bounds: Bounds) -> Iterator[tuple[Piece, str]]:
        heading = self._heading
        for piece in self._gatherer.add(number, self._lines[number - 1], NEVER if self._waits else bounds):
            yield piece, heading
        self._waits = False

    def _cut(self) -> Iterator[tuple[Piece, str]]:
        for piece in self._gatherer.cut():
            yield piece, self._heading

    def _front_matter(self) -> int:
        """How many lines of front matter the text begins with."""
        if self._lines[0].rstrip() == "---":
            for number, line in enumerate(self._lines[1:_FRONT_MATTER_LINES], start=2):
                if line.rstrip() in ("---", "..."):
                    return number
        return 0
