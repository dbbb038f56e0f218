"""The stem of a word, by the algorithm of its script.

Scripts that one large language dominates have that language's Snowball algorithm, and Latin letters the English
one: it treats words of other languages mildly and always alike, which is all that finding the same word needs.
"""

from __future__ import annotations

from typing import Protocol, cast

import Stemmer  # pyright: ignore[reportMissingTypeStubs]

from memoranda.forking import ForkSafeLock
from memoranda.search.scripts import folded


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - the library's name


_LANGUAGES = (
    (0x0000, 0x024F, "english"),
    (0x1E00, 0x1EFF, "english"),
    (0x0370, 0x03FF, "greek"),
    (0x1F00, 0x1FFF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0530, 0x058F, "armenian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
    (0x0B80, 0x0BFF, "tamil"),
)
_LONGEST = 64
_stemmers: dict[str, _Stemmer] = {}
_lock = ForkSafeLock()  # a stemmer keeps its word in itself


def stemmer_version() -> str:
    """The version of the stemming library, whose algorithms change with it.

    Example:
        >>> stemmer_version().count(".") >= 1
        True
    """
    return cast("str", Stemmer.version())  # pyright: ignore[reportUnknownMemberType]


def stem_of(word: str) -> str:
    """The folded stem of a lower case word; the folded word where its script has no stemmer.

    Example:
        >>> stem_of("running"), stem_of("cafés"), stem_of("книгами")
        ('run', 'cafe', 'книг')
    """
    if word.isascii() and word.isalpha() and 2 < len(word) <= _LONGEST:  # most words, the short way
        return _stem("english", word) or word
    plain = folded(word)
    if len(plain) < 3 or len(plain) > _LONGEST or any(map(str.isdigit, plain)):
        return plain
    code = ord(plain[0])
    language = next((language for first, last, language in _LANGUAGES if first <= code <= last), None)
    if language is None:
        return plain
    # Arabic and Hindi endings are told by letters that folding changes.
    stem = folded(_stem(language, word if language in ("arabic", "hindi") else plain))
    return stem if len(stem) > 1 else plain


def _stem(language: str, word: str) -> str:
    try:
        with _lock:
            stemmer = _stemmers.get(language)
            if stemmer is None:
                # No cache in the library: words are cached with all of their terms.
                stemmer = _stemmers[language] = cast("_Stemmer", Stemmer.Stemmer(language, 0))  # pyright: ignore[reportUnknownMemberType]
            return stemmer.stemWord(word)
    except UnicodeError:  # a lone surrogate
        return word
