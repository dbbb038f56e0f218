"""One ranking over everything that backends have offered.

All parts are ranked as one corpus, so that a word counts the same wherever it stands. Vectors of different embedders
are on scales of their own: each part is ranked by the vector of its own, and one without vectors by its words alone,
on the scale of all. What a backend has ranked by itself is put between by its distance from the best of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memoranda.backends.finding.parts import Answered, Findable, Part, Question, Told
from memoranda.backends.protocol import SearchMatch, SearchResult
from memoranda.backends.steps import Steps, block, together

if TYPE_CHECKING:
    from memoranda.search.ranking import Ranked, RankedPassage

_Found = tuple[SearchMatch, tuple[Told, ...]]


def answer_steps(question: Question, offered: Findable) -> Steps[SearchResult]:
    """Rank what was offered, and read the best passages."""
    if offered.error is not None:
        return SearchResult(error=offered.error)
    found: list[_Found] = []
    warnings = dict.fromkeys(offered.warnings)
    if offered.parts:
        ranked = yield from block(lambda: rank_together(offered.parts, question))
        start = 0
        while len(found) < question.k and start < len(ranked):
            page = ranked.hits(start, start + 2 * question.k)
            found += yield from _read(offered.parts, page, warnings)
            start += 2 * question.k
    best = _merged(found, offered.answers)[: question.k]
    yield from _tell(best)
    return SearchResult(
        matches=[match for match, _ in best],
        notices=tuple(dict.fromkeys((*question.query.notices, *offered.notices))),
        warnings=tuple(warnings),
    )


def rank_together(parts: Sequence[Part], question: Question) -> Ranked:
    """Rank the passages of all parts by words and, where there are vectors, by meaning."""
    import numpy as np

    from memoranda.search.ranking import DEFAULT, Corpus, Ranked, rank

    kept = parts[0].corpus if len(parts) == 1 else None
    corpus = Corpus([part.index for part in parts]) if kept is None else kept
    spaces = list(dict.fromkeys(part.space for part in parts if part.space is not None))
    outcome: Ranked | None = None
    for space in spaces or [None]:
        mine = [at for at, part in enumerate(parts) if part.space == space]
        meaning = None if space is None else parts[mine[0]].meaning
        if len(spaces) > 1:
            corpus = Corpus([part.index if part.space == space else replace(part.index, vectors=()) for part in parts])
        ranked = rank(
            corpus,
            question.query,
            vector=None if meaning is None else meaning.vector,
            floor=0.0 if meaning is None else meaning.floor,
            since=question.first,
            until=question.last,
            sources=[part.sources for part in parts],
        )
        if space is None:
            return ranked
        if outcome is None:
            # Of parts without vectors only the words were weighed: they count for the whole.
            whole = (DEFAULT.words + DEFAULT.meaning) / DEFAULT.words
            silent = np.isin(corpus.part, [at for at, part in enumerate(parts) if part.space is None])
            outcome = Ranked(
                corpus,
                np.where(silent, ranked.scores * whole, ranked.scores),
                np.where(silent, ranked.words * whole, ranked.words),
                ranked.meaning,
            )
        else:
            here = np.isin(corpus.part, mine)
            outcome = Ranked(
                outcome.corpus,
                np.where(here, ranked.scores, outcome.scores),
                np.where(here, ranked.words, outcome.words),
                np.where(here, ranked.meaning, outcome.meaning),
            )
    assert outcome is not None
    return outcome


def _read(parts: Sequence[Part], page: Sequence[RankedPassage], warnings: dict[str, None]) -> Steps[list[_Found]]:
    """The passages of a page that can be read, in its order."""
    from memoranda.backends.operations import sentence

    wanted = {at: [one for one in page if one.part == at] for at in dict.fromkeys(one.part for one in page)}
    outcomes = yield from together([parts[at].read(found) for at, found in wanted.items()])
    matches: dict[RankedPassage, SearchMatch] = {}
    for ranks, outcome in zip(wanted.values(), outcomes, strict=True):
        if isinstance(outcome, Exception):
            warnings["Some passages could not be read: " + sentence(outcome).removeprefix("Error: ")] = None
        else:
            matches |= {one: match for one, match in zip(ranks, outcome, strict=True) if match is not None}
    return [(matches[one], parts[one.part].told) for one in page if one in matches]


def _merged(found: list[_Found], answers: Sequence[Answered]) -> list[_Found]:
    """Bring in what backends have ranked by themselves."""
    best = max((match.score for match, _ in found), default=0.0) or 1.0
    merged = list(found)
    for answer in answers:
        highest = max((match.score for match in answer.matches), default=0.0) or 1.0
        merged += [(replace(match, score=match.score / highest * best), answer.told) for match in answer.matches]
    return sorted(merged, key=lambda one: -one[0].score)


def _tell(found: Sequence[_Found]) -> Steps[None]:
    shown: dict[Told, dict[str, None]] = {}
    for match, told in found:
        for one in told:
            shown.setdefault(one, {})[match.path] = None
    for one, paths in shown.items():
        yield from one(list(paths))
