"""The words of a stretch of text without spaces, each with its terms.

A term is a string. One that begins with `=` is an *extra*: an exact form beside a base term (the word before
stemming, the accents, the whole of `a.b.c`, a single Chinese character). Extras make an exact match count for more,
and do not count for the length of a passage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple

from memoranda.search.scripts import (
    CLASSES,
    TERM_CHARACTERS,
    VISIBLE,
    folded,
    lowered,
    normalised,
)
from memoranda.search.stems import stem_of

EXTRA = "="


class Kind(IntEnum):
    """What a word is, for its weight in a query."""

    WORD = 0
    PART = 1
    """A piece of an identifier that is a word already: `http` of `HTTPServer2`."""
    COMPOUND = 2
    """Words held together by signs: an address, a path, a version, `C++`."""
    RUN = 3
    """Characters of a script without spaces, as bigrams."""
    SYMBOL = 4


class Word(NamedTuple):
    """A word and its terms."""

    kind: Kind
    surface: str
    """As written, normalised."""
    base: tuple[str, ...]
    extras: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    """Other spellings, as base terms: `mueller` for `müller`, `wifi` for `wi-fi`."""


_ONE = r"[wd]++(?:[zZ]++[wd]++)*+"
_SEQUENCE = re.compile(
    rf"""
    (?P<words> [#@.$]? {_ONE} (?: (?: (?<=d),(?=ddd(?!d)) | [-._'@/:+\#&=~%?\\]{{1,3}} ) {_ONE} )*+ (?: \+\+ | \# )? )
    | (?P<run> [hkr] (?: [zZ]*+ [hkr] )*+ )
    | (?P<flag> f f? )
    | (?P<symbol> e [zs]*+ (?: Z e [zs]*+ )*+ )
    | (?P<tone> s )
    """,
    re.VERBOSE,
)
_ASCII_WORD = re.compile(r"[a-z]+|[A-Z][a-z]*")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DATE = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:T(\d.*))?")
_SCHEME = re.compile(r"^(?:[a-z][a-z0-9+]{1,15}://)?(?:www\.)?")
_SECTIONS = re.compile(r"[@/:+#&=~%?,\\]+")
_HYPHENS = re.compile(r"[-_']+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^A-Za-z\d]+")
_LETTERS_DIGITS = re.compile(r"([^\W\d]{2,})(\d+)|(\d+)([^\W\d]{1,3})")
_WHOLE = 120
_PARTS = 24
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


def date_term(year: int, month: int, day: int) -> str:
    """The term of a whole date, however its numbers are written.

    Example:
        >>> date_term(2023, 5, 8)
        '=2023-05-08'
    """
    return f"{EXTRA}{year:04}-{month:02}-{day:02}"


def words_in(chunk: str) -> Iterator[Word]:
    """The words of a text without spaces, in order.

    Linear in its length, whatever it holds.

    Example:
        >>> [word.base for word in words_in("Running,shoes")]
        [('run',), ('shoe',)]
        >>> [word.base + word.extras for word in words_in("C#")]
        [('c',), ('=c#',)]
    """
    if _ASCII_WORD.fullmatch(chunk) and len(chunk) <= TERM_CHARACTERS:
        yield _word(chunk)
        return
    text = normalised(chunk)
    for found in _SEQUENCE.finditer(text.translate(CLASSES)):
        piece = text[found.start() : found.end()]
        kind = found.lastgroup
        if kind == "words":
            yield from _sequence(piece)
        elif kind == "run":
            yield _run(piece.translate(VISIBLE))
        elif kind == "symbol":
            yield _symbol(piece)
        else:
            yield Word(Kind.SYMBOL, piece, (piece,))


def _word(text: str, kind: Kind = Kind.WORD) -> Word:
    lower = lowered(text)
    if lower.isdigit():
        plain = lower[1:] if len(lower) == 2 and lower[0] == "0" else lower  # 05 is 5, in dates above all
        return Word(kind, text, (plain,))
    stem = stem_of(lower)
    if not stem:  # nothing but marks
        return Word(kind, text, ())
    extras = (EXTRA + lower,) if lower != stem else ()
    if len(text) > 1 and text.isupper() and text.isascii():  # an abbreviation: US is not us
        extras = (*extras, EXTRA + text)
    others = ()
    if not lower.isascii() and (spelt := lower.translate(_UMLAUTS)) != lower:
        others = (stem_of(spelt),)
    return Word(kind, text, (stem,), extras, others)


def _sequence(piece: str) -> Iterator[Word]:
    """Words and the signs between them, the whole with a sign before and after."""
    mark = piece[0] if piece[0] in "#@.$" else ""
    tail = "++" if piece.endswith("++") else "#" if piece.endswith("#") else ""
    body = piece[len(mark) : len(piece) - len(tail)]
    if "," in body:
        body = _THOUSANDS.sub(lambda number: number[0].replace(",", ""), body)
    if body[:4].isdigit() and (date := _DATE.fullmatch(body)):
        year, _, month, day, time = date.groups()
        yield from (_word(part) for part in (year, month, day))
        yield Word(Kind.COMPOUND, piece, (), (date_term(int(year), int(month), int(day)),))
        if time:
            yield from _sequence(time)
        return
    sections = _SECTIONS.split(body) if not body.isalnum() else [body]
    for section in sections:
        yield from _section(section)
    if len(body) > _WHOLE:
        return
    if tail:
        last = re.split(r"\W", body)[-1]
        yield Word(Kind.COMPOUND, piece, (), (EXTRA + folded(last) + tail,))
    if mark and len(sections) == 1:
        yield Word(Kind.COMPOUND, piece, (), (EXTRA + mark + folded(body),))
    if len(sections) > 1:
        whole = _SCHEME.sub("", folded(body))
        yield Word(Kind.COMPOUND, piece, (), (EXTRA + whole,))


def _section(text: str) -> Iterator[Word]:
    """Words between dots, hyphens and underscores."""
    dotted = text.split(".") if "." in text else [text]
    for part in dotted:
        pieces = [piece for piece in _HYPHENS.split(part) if piece] if not part.isalnum() else [part]
        if len(pieces) > 1 and pieces[-1].lower() == "s" and part[-2] == "'":
            pieces.pop()  # Anna's
        for piece in pieces:
            yield from _piece(piece)
        if 1 < len(pieces) <= _PARTS and len(part) <= TERM_CHARACTERS:
            yield Word(Kind.COMPOUND, part, (), (), (stem_of(lowered("".join(pieces))),))
    if len(dotted) > 1 and len(text) <= _WHOLE:
        whole = folded(text).removeprefix("www.")
        yield Word(Kind.COMPOUND, text, (), (EXTRA + whole,))


def _piece(text: str) -> Iterator[Word]:
    """A word, and the words that an identifier such as `HTTPServer2` or `10km` is made of."""
    if len(text) > TERM_CHARACTERS:
        for start in range(0, len(text), TERM_CHARACTERS):
            yield _word(text[start : start + TERM_CHARACTERS])
        return
    if "\u200c" in text:  # Persian joins stem and ending so; readers search for either
        shown = [part for part in text.split("\u200c") if part]
        if len(shown) > 1:
            yield from (_word(part, Kind.PART) for part in shown)
    yield _word(text)
    if text.isalpha() and (text[1:].islower() or text.isupper() or text.islower()):
        return
    pieces: list[str] = _CAMEL.findall(text) if text.isascii() and text.isalnum() else []
    letters = [piece for piece in pieces if piece.isalpha()]
    if len(letters) > 1 and min(map(len, letters)) > 1:
        yield from (_word(piece.lower(), Kind.PART) for piece in pieces)
    elif split := _LETTERS_DIGITS.fullmatch(text):
        yield from (_word(piece, Kind.PART) for piece in split.groups() if piece)


def _run(text: str) -> Word:
    """Bigrams, and single Chinese and Korean characters as extras; a Korean word as a whole."""
    if len(text) == 1:
        return Word(Kind.RUN, text, (), (EXTRA + text,))
    classes = text.translate(CLASSES)
    extras = [EXTRA + character for character, kind in zip(text, classes, strict=True) if kind in "hk"]
    if 2 < len(text) <= 12 and classes == "k" * len(text):
        extras.append(EXTRA + text)
    return Word(Kind.RUN, text, tuple(map("".join, pairwise(text))), tuple(extras))


def _symbol(text: str) -> Word:
    """A sign or an emoji without its skin tone, and exactly as it is where it has more to it."""
    classes = text.translate(CLASSES)
    shown = text.translate(VISIBLE)
    base = tuple(character for character, kind in zip(text, classes, strict=True) if kind == "e")
    return Word(Kind.SYMBOL, text, base, (EXTRA + shown,) if len(shown) > 1 else ())
