"""What kind of character each one is, and what it folds to.

Every table fills itself as characters turn up, from Python's Unicode data, with ranges for what those data cannot
tell. A character that is not assigned in the Unicode of one Python and is in another's is classed by its block, so
that processes with different Pythons agree.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Callable

WORD, DIGIT, HAN, HANGUL, RUN, SYMBOL, TONE, FLAG, INVISIBLE, JOINER, OTHER = "wdhkresfzZ "
"""Classes of characters. HAN, HANGUL and RUN (other scripts without spaces, Kana) make runs; TONE is a skin tone,
JOINER the zero width joiner.

A printable ASCII punctuation mark is a class of its own: itself.
"""

TERM_CHARACTERS = 64
"""A longer word is cut into pieces of so many characters."""

_TABLE_ENTRIES = 60_000
_NORMALISED_AT_ONCE = 256


def _ranges(text: str) -> list[int]:
    """The bounds of sorted ranges, each with its first code and the one after its last."""
    pairs = (part.split("-") for part in text.split())
    return [bound for pair in pairs for bound in (int(pair[0], 16), int(pair[-1], 16) + 1)]


def _within(code: int, ranges: list[int]) -> bool:
    return bisect_right(ranges, code) % 2 == 1


_HAN = _ranges("2E80-2FDF 3005-3007 3021-3029 3038-303B 3400-4DBF 4E00-9FFF F900-FAFF 20000-3FFFD")
_HANGUL = _ranges("1100-11FF 3130-318F A960-A97F AC00-D7FF")
_KANA = _ranges("3031-3035 303C 3041-30FA 30FC-30FF 31F0-31FF 1AFF0-1B16F")
_OTHER_RUNS = _ranges(
    # Thai, Lao, Myanmar, Khmer, Tai Le, New Tai Lue, Tai Tham, Balinese, Javanese, Bopomofo, Yi
    "0E01-0E3A 0E40-0E4E 0E81-0ECE 0EDC-0EDF 1000-103F 1050-108F 109A-109D 1780-17D3 17DD 1950-19DF 1A20-1A7F "
    "1B00-1B59 3105-312F 31A0-31BF A000-A4CF A980-A9CF A9E0-A9EF A9FA-A9FF AA60-AADF"
)
_EMOJI = _ranges("1F000-1F1E5 1F200-1F3FA 1F400-1FAFF")
# Frames of tables, shades and the replacement character: they say nothing.
_DECORATION = _ranges("2500-259F 2800-28FF FFFC-FFFD")
_MARKS = _ranges(  # vowel points and accents that a reader may leave out
    "0300-036F 0483-0489 0591-05BD 05BF 05C1-05C2 05C4-05C5 05C7 0610-061A 0640 064B-065F 0670 06D6-06DC 06DF-06E4 "
    "06E7-06E8 06EA-06ED 0711 0730-074A 08CA-08E1 08E3-08FF 093C 09BC 0A3C 0ABC 0B3C 0C3C 0CBC 1AB0-1AFF 1DC0-1DFF "
    "20D0-20FF FE20-FE2F"
)
_SPELLINGS = {
    "ı": "i", "ł": "l", "đ": "d", "ø": "o", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ß": "ss",
    "ё": "е", "ѐ": "е", "ѝ": "и", "ґ": "г", "ی": "ي", "ى": "ي", "ک": "ك", "ە": "ه", "ة": "ه", "ۀ": "ه", "ہ": "ه",
}  # fmt: skip


def _class_of(code: int) -> str:
    character = chr(code)
    if code < 0x80:
        if character.isalpha():
            return WORD
        return DIGIT if character.isdigit() else character if character.isprintable() else OTHER
    if code == 0x200D:
        return JOINER
    if code == 0x200B:  # the zero width space parts words
        return OTHER
    if _within(code, _HAN):
        return HAN
    if _within(code, _HANGUL):
        return HANGUL
    if _within(code, _KANA) or _within(code, _OTHER_RUNS):
        return RUN
    if 0x1F3FB <= code <= 0x1F3FF:
        return TONE
    if 0x1F1E6 <= code <= 0x1F1FF:
        return FLAG
    if _within(code, _EMOJI):
        return SYMBOL
    if 0xFE00 <= code <= 0xFE0F or code == 0x20E3 or 0xE0000 <= code <= 0xE0FFF:
        return INVISIBLE
    category = unicodedata.category(character)
    if category == "Nd":
        return DIGIT
    if category == "Cf":
        return INVISIBLE
    if category[0] in "LMN" or category == "Cn":
        return WORD
    if category in ("So", "Sc", "Sm") and not _within(code, _DECORATION):
        return SYMBOL
    return OTHER


def _fold_of(code: int) -> str:
    """What is left of a composed, lower case character once accents, points and invisible signs are gone."""
    character = chr(code)
    if character in _SPELLINGS:
        return _SPELLINGS[character]
    if _within(code, _MARKS):
        return ""
    if 0x400 <= code <= 0x52F:  # й is no и with an accent
        return character
    plain = "".join(part for part in unicodedata.normalize("NFD", character) if not _within(ord(part), _MARKS))
    return unicodedata.normalize("NFC", "".join(_SPELLINGS.get(part, part) for part in plain))


def _visible_of(code: int) -> str:
    kind = CLASSES[code]
    if kind == DIGIT:
        return str(unicodedata.digit(chr(code)))
    return "" if kind in (INVISIBLE, JOINER) else chr(code)


class _Table(dict[int, str]):
    """A table for `str.translate` that works out an entry when it is first asked for."""

    def __init__(self, entry: Callable[[int], str]) -> None:
        super().__init__()
        self._entry = entry

    def __missing__(self, code: int) -> str:
        if len(self) >= _TABLE_ENTRIES:  # a text of everything in Unicode must not stay in memory
            self.clear()
        value = self[code] = self._entry(code)
        return value


CLASSES = _Table(_class_of)
"""Translates a text into its classes, one letter for each character."""

FOLDS = _Table(_fold_of)
"""Translates composed lower case text into its form without accents."""

VISIBLE = _Table(_visible_of)
"""Translates away what is not seen, and digits of any script into 0-9."""

# Apostrophes and hyphens of print that NFKC leaves as they are.
_PUNCTUATION = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "‐": "-", "‑": "-", "\u05be": "-", "・": "-"})


def normalised(text: str) -> str:
    """The text in Unicode's NFKC form, with one kind of apostrophe and hyphen.

    Python's normalisation sorts a run of combining marks in quadratic time, so a long text goes through it in slices
    that begin at a base character where there is one.
    """
    if text.isascii():
        return text
    if len(text) <= _NORMALISED_AT_ONCE:
        return unicodedata.normalize("NFKC", text).translate(_PUNCTUATION)
    parts: list[str] = []
    start = 0
    while start < len(text):
        end = start + _NORMALISED_AT_ONCE
        while end < len(text) and end > start + 192 and _attaches(text[end]):
            end -= 1
        parts.append(unicodedata.normalize("NFKC", text[start:end]))
        start = end
    return "".join(parts).translate(_PUNCTUATION)


def _attaches(character: str) -> bool:
    """Whether the character may become one with that before it."""
    return (
        unicodedata.combining(character) > 0
        or "\u1160" <= character <= "\u11ff"
        or character in "\u3099\u309a\uff9e\uff9f"
        or unicodedata.category(character)[0] == "M"
    )


def folded(text: str) -> str:
    """Lower case without accents, of normalised text.

    Example:
        >>> folded("Größe"), folded("Việt"), folded("ΟΔΟΣ")
        ('grosse', 'viet', 'οδοσ')
    """
    return text if text.isascii() and text.islower() else lowered(text).translate(FOLDS)


def lowered(text: str) -> str:
    """Lower case with its accents, of normalised text: composed, and with nothing invisible."""
    if text.isascii():
        return text.lower()
    # Lowering may leave marks behind (the dot of a Turkish İ), hence the second normalisation.
    return normalised(text.translate(VISIBLE).casefold().replace("i\u0307", "i"))


def is_hiragana(character: str) -> bool:
    """Whether it is Hiragana, in which Japanese writes its endings and particles."""
    return "\u3041" <= character <= "\u309f"
