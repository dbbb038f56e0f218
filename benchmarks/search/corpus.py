"""Texts whose words are as unevenly used as those of a language, and an embedder that costs nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from zlib import crc32

import numpy as np

DIMS = 384
PASSAGES_A_FILE = 10
_WORDS_A_PASSAGE = 45
_VOCABULARY = 40_000
_ONSETS = [*"bcdfghjklmnprstvwz", *["br", "ch", "cr", "dr", "fl", "gr", "pl", "sh", "st", "tr"]]
_RIMES = [*"aeiou", *["an", "en", "in", "on", "un", "ar", "er", "or", "al", "el", "ol", "ash", "est", "ing", "ound"]]


@cache
def vocabulary() -> tuple[list[str], list[float]]:
    """Words, the most frequent first, and how often each is used, added up (Zipf's law)."""
    source = random.Random(7)
    words: dict[str, None] = {}
    while len(words) < _VOCABULARY:
        syllables = source.choice((1, 2, 2, 3, 3, 4))
        words["".join(source.choice(_ONSETS) + source.choice(_RIMES) for _ in range(syllables))] = None
    return list(words), list(accumulate(1 / (rank + 2.7) for rank in range(_VOCABULARY)))


def passage(source: random.Random) -> str:
    """One paragraph."""
    words, weights = vocabulary()
    return " ".join(source.choices(words, cum_weights=weights, k=_WORDS_A_PASSAGE)).capitalize() + "."


def text(seed: int) -> str:
    """A file of ten paragraphs, always the same for a seed."""
    source = random.Random(seed)
    return "\n\n".join(passage(source) for _ in range(PASSAGES_A_FILE))


def files(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Paths and texts."""
    for number in range(count):
        yield f"/notes/{number // 100:03}/{number:05}.md", text(seed * 1_000_003 + number)


def questions(count: int, seed: int) -> list[str]:
    """Questions of six words taken from one passage each, as people ask about what they know to be there."""
    source = random.Random(seed)
    return [" ".join(source.sample(passage(source).rstrip(".").lower().split(), 6)) for _ in range(count)]


def synthetic_vectors(texts: Sequence[str]) -> list[list[float]]:
    """Random vectors, the same for the same text: an embedder that takes no time and means nothing."""
    return [
        np.random.default_rng(crc32(one.encode())).standard_normal(DIMS, dtype=np.float32).tolist() for one in texts
    ]
