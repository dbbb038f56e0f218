"""From text to the terms of the index."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from hashlib import blake2b

WORDS_VERSION = "0"

_EXTRA = "="
_WORD = re.compile(r"\w+")


def term_id(term: str) -> int:
    """The 64-bit number of a term; odd for an extra (exact) form, which does not count for the length."""
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") & ~1 | term.startswith(_EXTRA)


def speaker_id(name: str) -> int:
    """The 32-bit number of a speaker's name, never 0."""
    folded = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
    return int.from_bytes(blake2b(folded.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "little") or 1


def terms_of(text: str) -> dict[int, int]:
    """Term ids of a text and how often each occurs."""
    return dict(Counter(map(term_id, _WORD.findall(unicodedata.normalize("NFKC", text).casefold()))))


def length_of(counts: Mapping[int, int]) -> int:
    """How many tokens count for the length of a passage."""
    return sum(count for term, count in counts.items() if not term & 1)
