"""What a query asks for: its terms with weights, and whom it may name."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from memoranda.search.dates import dates_in, other_name, spelt
from memoranda.search.focus import MOST_QUESTIONS, sentences, spoken_of
from memoranda.search.scripts import CLASSES, HAN, folded, is_hiragana, lowered, normalised
from memoranda.search.stems import stem_of
from memoranda.search.stopwords import QUESTIONS, SMALL_CHARACTERS, drops
from memoranda.search.tokens import speaker_id, term_id
from memoranda.search.words import Kind, Word, date_term, words_in

MAX_CHARACTERS = 2_000
"""Of a longer query only so much is read."""

MAX_TERMS = 256
"""A query has no more terms than that; those of its questions come first."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each kind of term counts in a query, beside 1 for a word."""

    exact: float = 0.25
    """The exact form beside a stem: unstemmed, with its accents, in its capitals."""
    compound: float = 1.0
    """The whole of an address, a path, a version."""
    part: float = 0.5
    """A piece of an identifier."""
    other: float = 0.5
    """Another spelling: of a date, an umlaut, a hyphenated word."""
    single: float = 0.5
    """A single Chinese character between others."""
    small: float = 0.3
    """A bigram of grammar and no meaning."""
    told: float = 0.5
    """Any term of a sentence that asks nothing, where another one asks."""


DEFAULT_WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One term of a query.

    Attributes:
        id: Its number, as `terms_of` gives it.
        weight: How much it counts, above 0.
        text: The term in clear, for explanations. It begins with `=` where it is an exact form.
    """

    id: int
    weight: float
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """A query as the ranking takes it.

    Attributes:
        terms: What to look for, each once, the order without meaning.
        speakers: `speaker_id` of every word and of every two or three in a row: whom the query may name. Of `user`
            too where it says `I`, else of `assistant` where it says `you`.
        text: The query, cut to `MAX_CHARACTERS`; what an embedder gets.
        notices: What was left out, for the caller.
        questions: Where it asks several questions, the ids of the terms of each, so that none drowns in the others.
    """

    terms: tuple[QueryTerm, ...]
    speakers: frozenset[int]
    text: str
    notices: tuple[str, ...] = ()
    questions: tuple[frozenset[int], ...] = ()


def analyse(query: str, weights: Weights = DEFAULT_WEIGHTS) -> Query:
    """Turn a query into weighted terms.

    Words that say little are dropped unless nothing else is left. A query that is too long is cut, and a notice
    says so.

    Args:
        query: What a person or a model asks, in any script.
        weights: How much each kind of term counts.

    Returns:
        The query for the ranking. It has no terms where the text has no words.

    Example:
        >>> [term.text for term in analyse("What is green tea?").terms]
        ['green', 'tea']
    """
    notices: list[str] = []
    text = query[:MAX_CHARACTERS]
    if len(query) > MAX_CHARACTERS:
        notices.append(f"The query was cut to its first {MAX_CHARACTERS:,} characters of {len(query):,}.")
    # What no encoder could take is of no use to an embedder either.
    text = text.encode("utf-8", "replace").decode()
    parts = sentences(text)
    said = [[word for chunk in part.split() for word in words_in(chunk)] for part, _ in parts]
    words = [word for part in said for word in part]
    questions = [{id(word) for word in part} for part, (_, asks) in zip(said, parts, strict=True) if asks]
    asking = {word for question in questions for word in question}
    kept = _kept(words)
    asked = [word for word in kept if id(word) in asking]
    told = [word for word in kept if id(word) not in asking]
    terms: dict[str, float] = {}
    for term, weight in chain(_weighted(asked, weights), _dates(text, weights)):
        terms[term] = max(weight, terms.get(term, 0.0))
    for term, weight in _weighted(told, weights):
        terms[term] = max(weight * weights.told if asked else weight, terms.get(term, 0.0))
    if len(terms) > MAX_TERMS:
        notices.append(f"The query was cut to its first {MAX_TERMS} terms of {len(terms)}.")
    names = [*islice(_names(words), 4 * MAX_TERMS), spoken_of(lowered(word.surface) for word in words) or ""]
    return Query(
        terms=tuple(QueryTerm(term_id(term), weight, term) for term, weight in islice(terms.items(), MAX_TERMS)),
        speakers=frozenset(map(speaker_id, filter(None, names))),
        text=text,
        notices=tuple(notices),
        questions=tuple(_each(kept, questions, weights)) if len(questions) > 1 else (),
    )


def _each(kept: Sequence[Word], questions: Sequence[Container[int]], weights: Weights) -> Iterator[frozenset[int]]:
    """The ids of the terms of each question."""
    for question in questions[:MOST_QUESTIONS]:
        words = [word for word in kept if id(word) in question]
        yield frozenset(term_id(term) for term, _ in _weighted(words, weights))


def _weighted(words: Sequence[Word], weights: Weights) -> Iterator[tuple[str, float]]:
    for word in words:
        if word.kind == Kind.RUN:
            yield from _run_terms(word, weights)
            continue
        factor = weights.part if word.kind == Kind.PART else 1.0
        exact = weights.compound if word.kind == Kind.COMPOUND else weights.exact
        yield from ((term, factor) for term in word.base)
        yield from ((term, factor * exact) for term in word.extras)
        yield from ((term, factor * weights.other) for term in word.others)
        if word.kind == Kind.WORD and (name := other_name(word.surface.lower())):
            yield stem_of(name), weights.other


def _dates(text: str, weights: Weights) -> Iterator[tuple[str, float]]:
    """Full dates, in the other ways that they are written."""
    for day in dates_in(normalised(text)):
        yield date_term(day.year, day.month, day.day), weights.compound
        for part in spelt(day).lower().split():
            yield stem_of(part), weights.other


def _kept(words: Sequence[Word]) -> list[Word]:
    plain = [word for word in words if word.kind == Kind.WORD]
    small = {
        id(word) for word, drop in zip(plain, drops([lowered(word.surface) for word in plain]), strict=True) if drop
    }
    # In a query that is not all capitals, US and IT are no small words.
    shouted = all(word.surface.isupper() for word in plain)
    kept = [
        word
        for word in words
        if id(word) not in small or (not shouted and len(word.surface) > 1 and word.surface.isupper())
    ]
    return kept if any(word.base or word.extras for word in kept) else list(words)


def _run_terms(word: Word, weights: Weights) -> Iterator[tuple[str, float]]:
    """Bigrams by what they say, and a Chinese character alone between characters of grammar."""
    run = word.surface
    if len(run) == 1:
        yield from ((term, 1.0) for term in word.extras)
        return
    small = _small_places(run)
    says_something = not all(small)
    for place, bigram in enumerate(word.base):
        light = small[place] + small[place + 1]
        yield bigram, (weights.small if light == 2 else weights.other if light else 1.0) if says_something else 1.0
    for place, character in enumerate(run):
        alone = (place == 0 or small[place - 1]) and (place + 1 == len(run) or small[place + 1])
        if alone and not small[place] and CLASSES[ord(character)] == HAN:
            yield f"={character}", weights.single
    if len(word.extras) > len(run):  # a Korean word as a whole
        yield word.extras[-1], weights.exact


def _small_places(run: str) -> list[bool]:
    """For each character, whether it belongs to grammar or to the question."""
    japanese = any(map(is_hiragana, run))
    small = [character in SMALL_CHARACTERS or (japanese and is_hiragana(character)) for character in run]
    for question in QUESTIONS:
        at = run.find(question)
        while at >= 0:
            small[at : at + len(question)] = [True] * len(question)
            at = run.find(question, at + len(question))
    return small


def _names(words: Sequence[Word]) -> Iterator[str]:
    """Whom the query may name: words, and two or three in a row; stretches of a run without spaces."""
    plain = [folded(word.surface) for word in words if word.kind == Kind.WORD]
    yield from plain
    for size in (2, 3):
        yield from (" ".join(plain[start : start + size]) for start in range(len(plain) - size + 1))
    for word in words:
        if word.kind == Kind.RUN:
            yield word.surface
            for size in (2, 3, 4):
                yield from (word.surface[start : start + size] for start in range(len(word.surface) - size + 1))
