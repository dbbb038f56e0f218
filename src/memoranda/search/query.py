"""What a query asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memoranda.search.tokens import speaker_id, term_id

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One term of a query."""

    id: int
    weight: float
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """A query as the ranking takes it."""

    terms: tuple[QueryTerm, ...]
    speakers: frozenset[int]
    text: str
    notices: tuple[str, ...] = ()


def analyse(query: str) -> Query:
    """Turn a query into weighted terms."""
    text = query[:2000]
    words = list(dict.fromkeys(_WORD.findall(text.casefold())))[:64]
    notices = ("The query was cut to its first 2,000 characters.",) if len(query) > 2000 else ()
    return Query(
        tuple(QueryTerm(term_id(word), 1.0, word) for word in words), frozenset(map(speaker_id, words)), text, notices
    )
