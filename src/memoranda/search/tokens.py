"""From text to the numbers of its terms: one tokenizer for every script and both sides of a search.

A word gives its folded stem and, where they differ, its exact form; a run of a script without spaces gives
bigrams; an identifier, an address or a version gives itself and its parts (see `words`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b

from memoranda.search.scripts import folded, normalised
from memoranda.search.stems import stemmer_version
from memoranda.search.words import EXTRA, words_in

WORDS_VERSION = f"1+snowball-{stemmer_version()}"
"""Names how words become terms; an index of another version has to be built again."""

_CACHED_CHARACTERS = 40
"""A longer stretch without spaces is hardly met twice."""


def term_id(term: str) -> int:
    """The number of a term: 64 bits, the same in every process.

    The lowest bit tells an extra (see `words`), which does not count for the length.

    Example:
        >>> term_id("tea") & 1, term_id("=teas") & 1
        (0, 1)
    """
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    number = int.from_bytes(digest, "little")
    return number | 1 if term.startswith(EXTRA) else number & ~1


def speaker_id(name: str) -> int:
    """The number of a speaker: 32 bits, never 0, whatever the case and accents of the name.

    Example:
        >>> speaker_id("José  Silva") == speaker_id("jose silva")
        True
    """
    plain = " ".join(folded(normalised(name)).split())
    return int.from_bytes(blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "little") or 1


def terms_of(text: str) -> dict[int, int]:
    """The terms of a text and how often each occurs, for the index.

    Linear in the length of the text; words met before come out of a cache.

    Args:
        text: Any text, in any scripts, of any length.

    Returns:
        Numbers of terms (`term_id`) and their counts.

    Example:
        >>> terms_of("Tea, TEA and teas")[term_id("tea")]
        3
    """
    numbers: list[int] = []
    extend = numbers.extend
    for chunk in text.split():
        if len(chunk) <= _CACHED_CHARACTERS:
            extend(_known(chunk))
        else:
            terms = Counter(_terms(chunk))
            for term, count in terms.items():
                extend((term_id(term),) * count)
    return dict(Counter(numbers))


def length_of(counts: Mapping[int, int]) -> int:
    """How many tokens of a text count for its length: all but the extras.

    Example:
        >>> length_of(terms_of("green teas"))
        2
    """
    return sum(count for number, count in counts.items() if not number & 1)


@lru_cache(maxsize=32_768)
def _known(chunk: str) -> tuple[int, ...]:
    return tuple(map(term_id, _terms(chunk)))


def _terms(chunk: str) -> list[str]:
    return [term for word in words_in(chunk) for term in (*word.base, *word.extras, *word.others)]
