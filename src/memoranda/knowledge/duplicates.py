"""Whether two texts say the same: told by their words, with the few differences that change no meaning.

The judgement is careful: a fact that is stored twice costs a line, one that is taken for another is lost. So texts are
the same only if they hold the same words, but for case, punctuation, articles and the like, and plurals; in the same
order, but for one part that stands elsewhere ("Tomorrow Ann flies" and "Ann flies tomorrow"). Other numbers, names,
prepositions or tenses make another fact, and so does every negation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, NamedTuple, cast

from memoranda.search.scripts import CLASSES, HAN, RUN, folded, lowered, normalised

NEAR: Final = 0.9
"""How alike two texts must be at least to be the same memory, unless told otherwise."""

_SOFT: Final = frozenset(
    "a an the is are am be being been that which what it very really quite just too also so".split()  # noqa: SIM905
)
_JOINING: Final = frozenset(["and", "&", "和", "与", "及", "と", "و"])
_NEGATING: Final = frozenset(
    "not no never none nobody nothing neither nor without cannot hardly stopped quit "  # noqa: SIM905
    "不 没 沒 非 无 無 未 别 別 な ず لا لم لن ليس غير بدون".split()
)
# What may stand between tokens without saying anything; all other signs are tokens.
_QUIET: Final = frozenset(".,;:!\"'`()[]{}«»“”„‘’–—…·、。，；：！「」『』《》〈〉【】〜،؛*_|/\\-‐‑")
_SOFT_AT_END: Final = frozenset("的了呢吧啊呀嘛ね")
_SOFT_INSIDE: Final = frozenset("是很")
_WORD: Final = re.compile(
    r"""
    [+\-]?\d+(?:[.,:/\-]\d+)*(?:%|‰|°|[^\W\d_]+)?   # 5, -5, 1,000, 10:30, 2024-05-08, 5%, 10km
    | [^\W_](?:[^\W_]|[.'@&:/_\-](?=[^\W_]))*[+\#]{0,2}        # words, addresses, C++
    | \S
    """,
    re.VERBOSE,
)
_THOUSANDS: Final = re.compile(r"[+\-]?\d{1,3}(?:,\d{3})+(?!\d)")
_ARABIC: Final = re.compile("[\u0600-\u06ff]")
_POINTS: Final = re.compile("[\u0610-\u061a\u0640\u064b-\u065f\u0670]")
_NOT: Final = re.compile(r"(?:(can)not|(\w+)n't)")
_OTHER_WORDS: Final = frozenset(["US", "IT", "WHO"])


_SHORT: Final = 1_000


class Token(NamedTuple):
    """A word, number, sign, or character of a script without spaces."""

    text: str
    weight: float
    joined: bool = False
    """Whether an "and" or a comma stands before it."""


def tokens_of(text: str) -> tuple[Token, ...]:
    """The tokens of a text, in order, whatever its case and punctuation.

    Example:
        >>> [token.text for token in tokens_of("The café's open, 9:30!")]
        ['the', "café's", 'open', '9:30']
    """
    # Long texts would fill the memory of a process that lives long.
    return _short_tokens(text) if len(text) <= _SHORT else _tokens(text)


def _tokens(text: str) -> tuple[Token, ...]:
    plain = _POINTS.sub("", normalised(text))
    found: list[Token] = []
    joined = False
    for place, word in enumerate(_WORD.findall(plain)):
        if word in _QUIET:
            joined = joined or word in ",、，،"
            continue
        for piece in _pieces(word):
            if piece in _JOINING:
                joined = True
                found.append(Token(piece, 0.1))
                continue
            soft = (piece in _SOFT and (word.islower() or place == 0)) or piece in _SOFT_INSIDE
            found.append(Token(piece, 0.1 if soft else 1.0, joined))
            joined = False
    while found and found[-1].text in _SOFT_AT_END:
        found.pop()
    return tuple(found)


_short_tokens = lru_cache(maxsize=4_096)(_tokens)


def canonical(value: Any) -> str:
    """A text that is the same for values which differ in case, punctuation and white space alone.

    Example:
        >>> canonical({"text": "Likes  green tea."}) == canonical({"text": "likes green tea"})
        True
    """
    if isinstance(value, str):
        return " ".join(token.text for token in tokens_of(value))
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        # A field that is left out and one that holds nothing say the same.
        return (
            "{"
            + "\x1f".join(f"{name}\x1e{canonical(fields[name])}" for name in sorted(fields) if _says(fields[name]))
            + "}"
        )
    if isinstance(value, Sequence):
        return "[" + "\x1f".join(map(canonical, cast("Sequence[Any]", value))) + "]"
    if isinstance(value, float) and value.is_integer():  # to JSON 1.0 and 1 are the same number
        value = int(value)
    return f"\x1d{value!r}"


def digest_of(value: Any) -> str:
    """Sixteen characters that tell values apart, alike for those whose canonical text is.

    Example:
        >>> digest_of("Green tea!") == digest_of("green tea"), len(digest_of("Green tea!"))
        (True, 16)
    """
    return blake2b(canonical(value).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def bag_of(value: Any) -> str:
    """Eight characters that are the same for all values that are alike at all, in whatever order their words stand.

    Example:
        >>> bag_of("Ann likes green tea.") == bag_of("Green tea is what Ann likes")
        True
    """
    return blake2b(_bag(value).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def likeness(one: Any, other: Any) -> float:
    """How far two values say the same, from 0 to 1; see this module.

    Args:
        one: A text, or any JSON value: all but its texts must be equal then.
        other: The other.

    Returns:
        1.0 for the same words in the same order; 0.0 where a word differs that may change the meaning.

    Example:
        >>> likeness("Ann likes green tea.", "Green tea is what Ann likes") > 0.9
        True
        >>> likeness("Ann likes green tea.", "Ann likes black tea.")
        0.0
    """
    if isinstance(one, str) and isinstance(other, str):
        return _likeness(tokens_of(one), tokens_of(other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        mine, theirs = cast("Mapping[str, Any]", one), cast("Mapping[str, Any]", other)
        names = {*mine, *theirs}
        return min((likeness(mine.get(name), theirs.get(name)) for name in names), default=1.0)
    return 1.0 if canonical(one) == canonical(other) else 0.0


def _bag(value: Any) -> str:
    if isinstance(value, str):
        tokens = tokens_of(value)
        firm = sorted(token.text for token in _firm(tokens))
        return " ".join(firm or [token.text for token in tokens])
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        return "\x1f".join(f"{name}\x1e{_bag(fields[name])}" for name in sorted(fields) if _says(fields[name]))
    return canonical(value)


def _likeness(one: tuple[Token, ...], other: tuple[Token, ...]) -> float:
    if [token.text for token in one] == [token.text for token in other]:
        return 1.0
    mine, theirs = _firm(one), _firm(other)
    if not mine or sorted(token.text for token in mine) != sorted(token.text for token in theirs):
        return 0.0
    if not _same_order(mine, theirs):
        return 0.0
    common = 2.0 * len(mine)
    return common / (common + _difference(_soft(one), _soft(other)))


def _difference(one: list[Token], other: list[Token]) -> float:
    """The weight of what only one of two holds."""
    left = [token.text for token in other]
    alone = 0.0
    for token in one:
        if token.text in left:
            left.remove(token.text)
        else:
            alone += token.weight
    return alone + 0.1 * len(left)


def _firm(tokens: tuple[Token, ...]) -> list[Token]:
    """The tokens that must be the same, in one form for singular and plural."""
    return [token._replace(text=_singular(token.text)) for token in tokens if token.weight == 1.0]


def _soft(tokens: tuple[Token, ...]) -> list[Token]:
    return [token for token in tokens if token.weight < 1.0]


def _singular(word: str) -> str:
    if len(word) > 3 and word.isascii() and word.isalpha() and word[-1] == "s" and word[-2] not in "sui":
        return word[:-1]
    return word


def _same_order(one: list[Token], other: list[Token]) -> bool:
    """Whether two sequences of the same tokens differ at most by one part that stands elsewhere."""
    mine, theirs = [token.text for token in one], [token.text for token in other]
    if mine == theirs:
        return True
    if any(word in _NEGATING for word in mine) or _numbers(mine) != _numbers(theirs):
        return False
    start = next(place for place, (left, right) in enumerate(zip(mine, theirs, strict=True)) if left != right)
    end = len(mine)
    while mine[end - 1] == theirs[end - 1]:
        end -= 1
    for cut in range(start + 1, end):
        if mine[cut:end] + mine[start:cut] == theirs[start:end]:
            return _may_swap(one, other, start, cut, end)
    return False


def _may_swap(one: list[Token], other: list[Token], start: int, cut: int, end: int) -> bool:
    """Whether two neighbouring parts may change places: "tea and coffee", but not "chocolate milk"."""
    if max(cut - start, end - cut) > 1:
        return True
    return one[cut].joined and other[start + end - cut].joined


def _numbers(words: list[str]) -> list[str]:
    return [word for word in words if any(map(str.isdigit, word))]


def _pieces(word: str) -> list[str]:
    """A stretch without spaces, as tokens: characters of scripts that write none, words folded in case."""
    if word.isascii():
        if word in _OTHER_WORDS:
            return [word]
        lower = word.lower()
        if found := _THOUSANDS.match(lower):
            return [found[0].replace(",", "") + lower[found.end() :]]
        if found := _NOT.fullmatch(lower):
            return [_FULL.get(found[1] or found[2], found[1] or found[2]), "not"]
        return [lower]
    pieces: list[str] = []
    current = ""
    for character, kind in zip(word, word.translate(CLASSES), strict=True):
        if kind in (HAN, RUN):
            if current:
                pieces.append(_lower(current))
            pieces.append(character)
            current = ""
        else:
            current += character
    return [*pieces, _lower(current)] if current else pieces


def _lower(word: str) -> str:
    # Arabic is mostly written without its points, and often without the marks of its first letters.
    return (folded(word) if _ARABIC.search(word) else lowered(word)) or word


def _says(value: Any) -> bool:
    return value is not None and value != "" and value != [] and value != {}


_FULL: Final = {"ca": "can", "wo": "will", "sha": "shall"}
