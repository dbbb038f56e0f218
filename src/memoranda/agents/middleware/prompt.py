"""Text on its way into a system prompt: escaped, measured, cut to a budget, appended. Pure; nothing is read here."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from langchain_core.messages import SystemMessage

# --- what a text costs ------------------------------------------------------------------------------------------

UNIT: Final = 12
"""The weight of one token. Weights are whole numbers that add up exactly, so that sums of parts keep a budget."""


def weight_of(text: str) -> int:
    """The weight of a text; `UNIT` to a token.

    Tokenizers take about four ASCII characters to a token, one CJK character or two Cyrillic ones to a token or less,
    and up to two tokens to an emoji: roughly the bytes of what is not ASCII, by three.
    """
    if text.isascii():
        return 3 * len(text)
    plain = len(text.encode("ascii", "ignore"))
    return 3 * plain + 4 * (len(text.encode("utf-8", "surrogatepass")) - plain)


def tokens_of(text: str) -> int:
    """About how many tokens a model's tokenizer makes of a text, rather too many than too few.

    Args:
        text: Text in any script.

    Returns:
        The estimate, in tokens.

    Example:
        >>> tokens_of("Tea at four, please."), tokens_of("四点钟喝茶")
        (5, 5)
    """
    return -(-weight_of(text) // UNIT)


# --- what must not leave its block ------------------------------------------------------------------------------

TAGS: Final = ("agent_memory", "memory_file", "memory_guidelines", "agent_skills")
"""The tags that fence what stands in a prompt as data."""

# Everything that a reader may take for the beginning of a tag.
_OPENERS = re.compile(
    "[<\u00ab\u02c2\u1438\u1445\u2039\u226a\u226e\u227a\u22d6\u2329\u276c\u276e\u2770\u27e8\u27ea\u2991\u29fc"
    "\u2a79\u2aa1\u3008\u300a\ufe3d\ufe3f\ufe64\uff1c\U00010438]"
)

# The names side by side in one number: bit n is set while the letters so far may be the first n of a name. One step
# moves all of them on, so that no text takes longer than its length.
_BARE = [tag.replace("_", "") for tag in TAGS]
_STARTS = [sum(len(name) + 1 for name in _BARE[:index]) for index in range(len(_BARE))]
_BEGIN = sum(1 << start for start in _STARTS)
_END = sum(1 << start + len(name) for start, name in zip(_STARTS, _BARE, strict=True))
_WHERE: dict[str, int] = {}
for _start, _name in zip(_STARTS, _BARE, strict=True):
    for _offset, _letter in enumerate(_name):
        _WHERE[_letter] = _WHERE.get(_letter, 0) | 1 << _start + _offset


def escape(text: str, instead: str = "&lt;") -> str:
    """Take away from a text what looks like one of `TAGS`, so that it cannot close its block or open another.

    Whatever may be read as `<` becomes `&lt;` where the letters behind it may be read as one of the names, whatever
    their case and whatever stands between them. A digit may be read as any letter, and a letter outside of ASCII as
    any letter or as nothing, since nobody knows all look-alikes. Other text stays as it is.

    Args:
        text: Any text.
        instead: What stands in the place of what may be read as `<`.

    Example:
        >>> escape("a < b, <b>, </ Agent-Memory >")
        'a < b, <b>, &lt;/ Agent-Memory >'
    """
    made: list[str] = []
    done = 0
    for opener in _OPENERS.finditer(text):
        if _names_a_tag(text, opener.end()):
            made += text[done : opener.start()], instead
            done = opener.end()
    return text if not made else "".join([*made, text[done:]])


def _names_a_tag(text: str, start: int) -> bool:
    """Whether the letters from here on may be read as one of the names; up to the next `<`, which is judged itself."""
    possible = _BEGIN
    for index in range(start, len(text)):
        for reading in _readings(text[index]):
            match reading:
                case "<":
                    return False
                case "?":
                    possible = (possible & ~_END) << 1
                case "*":
                    possible |= (possible & ~_END) << 1
                case letter:
                    possible = (possible & _WHERE.get(letter, 0)) << 1
            if possible & _END:
                return True
            if not possible:
                return False
    return False


@lru_cache(maxsize=4096)
def _readings(character: str) -> str:
    """What a character may be read as: a to z, `?` any letter, `*` any letter or nothing, `<` a tag; empty: nothing."""
    if character.isascii():
        if character.isalpha():
            return character.lower()
        return "?" if character.isdigit() else "<" if character == "<" else ""
    if _OPENERS.match(character):
        return "<"
    found = ""
    for part in unicodedata.normalize("NFKD", character).casefold():
        if part.isascii():
            found += _readings(part)
        elif part.isalnum() or "LETTER" in unicodedata.name(part, ""):
            found += "*"
    return found


def attribute(text: str, limit: int | None = None) -> str:
    """A text between the quotes of a tag's attribute, on one line.

    Args:
        text: Any text.
        limit: At most so many characters of it; None: all.
    """
    if limit is not None and len(text) > limit:
        text = text[: limit - 1] + "…"
    text = text.encode("utf-8", "replace").decode()
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    if not set('&<>"').isdisjoint(text):
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return escape(text)


# --- the lines of a file ----------------------------------------------------------------------------------------


class Line(NamedTuple):
    """A line as it is shown, and the number of the line of the file that it is, from 0."""

    text: str
    number: int


# They stand for a comment and for each line break in it, so that the lines behind it keep their numbers.
_COMMENT = "\uffff"
_BREAK = "\0"


def lines_of(content: bytes | str) -> list[Line]:
    r"""The lines of a file that a prompt shows, escaped, without HTML comments and blank ends.

    Lines end where `read_file` ends them, so that their numbers are its offsets.

    Args:
        content: The file; bytes that are no UTF-8 are shown as replacement characters.

    Example:
        >>> lines_of(b"# Tea\n<!-- ask\nagain -->\ngreen\n")
        [Line(text='# Tea', number=0), Line(text='green', number=3)]
    """
    raw = content.encode("utf-8", "replace") if isinstance(content, str) else content
    text = raw.decode("utf-8", "replace").removeprefix("\ufeff")
    text = escape(_marked(text.replace(_BREAK, "\ufffd").replace(_COMMENT, "\ufffd")))
    found: list[Line] = []
    number = 0
    for line in text.splitlines():
        if _COMMENT not in line:
            found.append(Line(line, number))
        else:
            shown = line.replace(_COMMENT, "").replace(_BREAK, "")
            if shown.strip():  # a line that held only a comment is none
                found.append(Line(shown, number))
            number += line.count(_BREAK)
        number += 1
    while found and not found[-1].text.strip():
        found.pop()
    return found


def _marked(text: str) -> str:
    """Put marks in the place of comments; one that does not end is no comment."""
    made: list[str] = []
    done = 0
    while (start := text.find("<!--", done)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        end += 3
        breaks = len((text[start:end] + ".").splitlines()) - 1
        made += text[done:start], _COMMENT, _BREAK * breaks
        done = end
    return "".join([*made, text[done:]])


# --- cutting ----------------------------------------------------------------------------------------------------


class Cut(NamedTuple):
    """The beginning of a file that fits.

    Args:
        text: It.
        offset: The `read_file` offset of the first line that is not whole here; None: all of it is.
        inside: Whether part of that line is here.
    """

    text: str
    offset: int | None = None
    inside: bool = False


_LEAST_PART = 32 * UNIT
"""The least room for which part of a line is worth showing."""


def cut(lines: Sequence[Line], weight: int) -> Cut:
    """As many whole lines from the start as a weight allows; of a first line that is too long, its beginning.

    Args:
        lines: The lines, as `lines_of` gives them.
        weight: What they may weigh; see `weight_of`.
    """
    spent = 0
    for index, line in enumerate(lines):
        spent += weight_of(line.text) + (3 if index else 0)  # the line break before it
        if spent > weight:
            if index == 0 and weight >= _LEAST_PART:
                return Cut(_part(line.text, weight), line.number, inside=True)
            return Cut("\n".join(shown.text for shown in lines[:index]), line.number)
    return Cut("\n".join(line.text for line in lines))


def _part(text: str, weight: int) -> str:
    """The longest beginning of a text of a weight that ends between characters as a reader sees them."""
    low, high = 0, min(len(text), weight // 3)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if weight_of(text[:middle]) <= weight else (low, middle - 1)
    end = low
    while 0 < end < len(text) and (unicodedata.category(text[end])[0] == "M" or "\u200d" in text[end - 1 : end + 1]):
        end -= 1
    return text[: end or low]


def clip(text: str, weight: int) -> str:
    """A text, or its beginning with an ellipsis, of at most a weight."""
    if weight_of(text) <= weight:
        return text
    room = weight - weight_of("…")
    return _part(text, room) + "…" if room > 0 else ""


def shares(needs: Sequence[int], total: int) -> list[int]:
    """Share out a total: nobody gets more than it needs, and who gets less gets as much as every other such one.

    Args:
        needs: What each one needs.
        total: What there is.

    Example:
        >>> shares([10, 100, 200], 150)
        [10, 70, 70]
    """
    given = [0] * len(needs)
    waiting = sorted(range(len(needs)), key=lambda index: needs[index])
    for position, index in enumerate(waiting):
        given[index] = min(needs[index], max(total, 0) // (len(waiting) - position))
        total -= given[index]
    return given


# --- the system message -----------------------------------------------------------------------------------------


def appended(message: SystemMessage | None, section: str, *, cache: bool = False) -> SystemMessage:
    r"""A system message with a section at its end; what it holds already stays as it is, cache marks included.

    Args:
        message: The message so far; None: there is none.
        section: What is added.
        cache: Mark the new end as one that Anthropic's prompt cache may keep.

    Example:
        >>> appended(SystemMessage("You are kind."), "Remember tea.").text
        'You are kind.\n\nRemember tea.'
    """
    content: Any = message.content if message is not None else ""
    if isinstance(content, str) and not cache:
        text = f"{content}\n\n{section}" if content else section
        return SystemMessage(text) if message is None else message.model_copy(update={"content": text})
    blocks: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else [*content]
    blocks = [] if content == "" else blocks
    block: dict[str, Any] = {"type": "text", "text": f"\n\n{section}" if blocks else section}
    if cache:
        block["cache_control"] = {"type": "ephemeral"}
    blocks.append(block)
    return SystemMessage(blocks) if message is None else message.model_copy(update={"content": blocks})


def takes_cache_marks(model: object) -> bool:
    """Whether a model is one of LangChain's for Anthropic, which is not imported to find out."""
    return any(kind.__name__.startswith("ChatAnthropic") for kind in type(model).__mro__)
