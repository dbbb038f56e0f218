"""What a content may be read as, so that a secret in it is seen however it was put down.

Each reading is made once and in time proportional to the content; the readings of one content are a few times its size.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from bisect import bisect_right
from collections.abc import Generator
from dataclasses import dataclass
from typing import Final

_ESCAPE = re.compile(r"\\{1,8}(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|/)")
"""As in JSON, JavaScript and Python; more backslashes are those of a JSON inside a JSON."""

HIDDEN: Final = re.compile(
    # Controls other than white space: NULs among them, which UTF-16 and UTF-32 put between the letters.
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"
    # What Unicode calls default ignorable (zero-width characters, variation selectors, tags, fillers), ...
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    # ... other format characters, and halves of pairs.
    "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001343f\ud800-\udfff]+"
)
"""Characters that show nothing, so that they can stand inside a secret unnoticed."""

_BREAK = r"(?:(?:\\r)?\\n|\r?\n)[ \t]{0,40}"
_BASE64 = re.compile(rf"[A-Za-z0-9+/_-]{{40,}}(?:{_BREAK}[A-Za-z0-9+/_-]+)*")
_BREAKS = re.compile(_BREAK)
_STANDARD = str.maketrans("-_", "+/")
_PRINTED = re.compile(rb"(?:[\t\n\r -~]|[\xc2-\xf4][\x80-\xbf]{1,3}){20,}")
"""What is decoded by mistake has hardly ever so many characters of UTF-8 in a row."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text that a content may be read as.

    Args:
        text: It.
        source: The text that it was decoded from; None: it was not.
        pieces: Where its pieces start in it, and where in the source they come from.
    """

    text: str
    source: str | None = None
    pieces: tuple[list[int], list[int]] = ([], [])

    def line(self, start: int) -> int:
        """On which line of the content something stands, from 1."""
        if self.source is None:
            return self.text.count("\n", 0, start) + 1
        starts, origins = self.pieces
        return self.source.count("\n", 0, origins[bisect_right(starts, start) - 1]) + 1


def readings(content: str | bytes) -> Generator[Reading]:
    r"""The texts that a content may be read as: as it is, bared of what hides, and decoded from base64.

    Args:
        content: A text; or bytes, which may be UTF-8 with faults, UTF-16 or UTF-32.

    Example:
        >>> [reading.text for reading in readings("a\\u200bb")]
        ['a\\u200bb', 'ab']
    """
    seen: set[str] = set()
    for plain, bare in _spellings(content):
        for text in (plain, bare):
            if text and text not in seen:
                seen.add(text)
                yield Reading(text)
        decoded = _decoded(bare)
        if decoded is not None:
            yield decoded


def _spellings(content: str | bytes) -> Generator[tuple[str, str]]:
    """Each way to read the content as a text, and that text without what hides."""
    if isinstance(content, str):
        yield content, _bared(content)
        return
    yield content.decode("latin-1"), _bared(content.decode("utf-8", "ignore"))
    if b"\0" in content:
        for encoding in ("utf-16-le", "utf-16-be"):
            bare = _bared(content.decode(encoding, "ignore"))
            yield bare, bare


def _bared(text: str) -> str:
    if "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    return HIDDEN.sub("", text)


def _unescaped(match: re.Match[str]) -> str:
    digits = match[match.lastindex] if match.lastindex else "2f"
    number = int(digits, 16)
    return chr(number) if number <= 0x10FFFF and number != 0x0A else " "  # the lines keep their numbers


def _decoded(text: str) -> Reading | None:
    """What long runs of base64 stand for, standard or urlsafe, in one line or wrapped."""
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    size = 0
    for match in _BASE64.finditer(text):
        run = _BREAKS.sub("", match[0]).translate(_STANDARD)
        for piece in _printed(run):
            pieces.append(piece)
            starts.append(size)
            origins.append(match.start())
            size += len(piece) + 1
    return Reading("\n".join(pieces), text, (starts, origins)) if pieces else None


def _printed(run: str) -> Generator[str]:
    for offset in range(4):  # it may follow something that is not part of it, such as the folder in a path
        body = run[offset:]
        whole = len(body) % 4 != 1
        data = a2b_base64((body if whole else body[:-1]) + "===").replace(b"\0", b"")
        found = _PRINTED.findall(data)
        for printed in found:
            yield _bared(printed.decode("utf-8", "ignore"))
        if found and len(found[0]) >= len(data) - 2:
            return  # all of it is text, so this is how it was meant
