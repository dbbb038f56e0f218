"""The ranking once more, plainly: one passage at a time, from lists. What the arrays must agree with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from memoranda.search.blocks import QUESTION, Entry
from memoranda.search.fusion import FAINT, HIGHEST_FLOOR
from memoranda.search.query import Query, QueryTerm
from memoranda.search.ranking import ContextWeights, Ranking


@dataclass
class Scope:
    """The living passages of a scope, with their vectors."""

    scope: int
    entries: dict[int, Entry] = field(default_factory=dict)
    vectors: dict[int, list[float]] = field(default_factory=dict)


def ask(*terms: int, speakers: Sequence[int] = (), questions: Sequence[Sequence[int]] = ()) -> Query:
    """A query of terms that weigh 1, which may ask several questions."""
    asked = tuple(frozenset(question) for question in questions)
    return Query(tuple(QueryTerm(term, 1.0, "") for term in terms), frozenset(speakers), "", questions=asked)


Key = tuple[int, int]


def ranked(
    scopes: Sequence[Scope],
    query: Query,
    *,
    vector: Sequence[float] | None = None,
    floor: float = 0.0,
    settings: Ranking,
    since: int | None = None,
    until: int | None = None,
    require: int = 0,
    exclude: int = 0,
) -> list[tuple[Key, float]]:
    """The passages (place of the scope, number) with a score, the best first."""
    passages = {(at, number): entry for at, scope in enumerate(scopes) for number, entry in scope.entries.items()}
    allowed = {
        key
        for key, entry in passages.items()
        if (since is None or entry.at >= since)
        and (until is None or entry.at < until)
        and entry.flags & require == require
        and not entry.flags & exclude
    }
    asked = {term.id: term.weight for term in query.terms}
    words = _bm25(passages, asked, settings)
    best = sorted((key for key in allowed if words[key]), key=lambda key: (-words[key], key))
    added = _added(passages, best[: settings.feedback.passages], words, asked, settings)
    more = _bm25(passages, added, settings)
    wholes = _wholes(scopes, {key: passages[key] for key in allowed}, asked, settings)
    words = {key: words[key] + more[key] for key in passages}
    if query.questions:
        each = [_bm25(passages, {term: asked[term] for term in own}, settings) for own in query.questions]
        each = [_by_best(scores, allowed) for scores in [words, *each]]
        words = {key: each[0][key] + max(scores[key] for scores in each[1:]) for key in allowed}
    cosines = {key: _cosine(scopes[key[0]].vectors.get(key[1]), vector) for key in passages}
    known = [cosine for cosine in cosines.values() if cosine is not None]
    floor = max(floor, min(sum(known) / len(known), HIGHEST_FLOOR)) if known else floor
    meaning = {key: _likeness(cosine, floor) for key, cosine in cosines.items()}
    own = dict.fromkeys(passages, 0.0)
    both = settings.words + settings.meaning
    shares = (settings.words / both, settings.meaning / both) if vector else (1.0, 0.0)
    for scores, weight in zip((words, meaning), shares, strict=True):
        for key, score in _by_best(scores, allowed).items():
            own[key] += weight * score
    lent = _lent_by_likeness(scopes, passages, own) if vector else {}
    named = {entry.speaker for entry in passages.values()} & query.speakers - {0}
    total = {key: _in_context(scopes, passages, own, wholes, lent, key, named, settings) for key in passages}
    kinds = (settings.turns, settings.items)
    most = max(1 + _context_at_most(kind) for kind in kinds)
    return sorted(((key, total[key] / most) for key in allowed if total[key] > 0), key=lambda pair: (-pair[1], pair[0]))


def _by_best(scores: dict[Key, float], allowed: set[Key]) -> dict[Key, float]:
    highest = max((scores[key] for key in allowed), default=0.0)
    return {key: scores[key] / highest if highest else 0.0 for key in allowed}


def _lent_by_likeness(
    scopes: Sequence[Scope], passages: dict[Key, Entry], own: dict[Key, float]
) -> dict[Key, dict[Key, float]]:
    """What each passage lends each other one of its session, times its weight; of fewer passages than are sampled."""
    whole = {
        key: [float(round(value / max(map(abs, mine)) * 127)) for value in mine]
        for key in passages
        if (mine := scopes[key[0]].vectors.get(key[1])) and any(mine)
    }
    pairs = [_cosine(whole[one], whole[other]) or 0.0 for one in whole for other in whole if one != other]
    chance = min(max(0.0, sum(pairs) / len(pairs)), 0.99) if pairs else 0.0
    best = sorted((key for key in own if own[key] > 0), key=lambda key: (-own[key], key))[:10]
    return {
        key: {
            lender: max(0.0, own[lender] - own[key])
            * min(1.0, max(0.0, ((_cosine(whole[lender], whole[key]) or 0.0) - chance) / (1 - chance)))
            for lender in best
            if lender in whole and lender[0] == key[0] and passages[lender].session == passages[key].session
        }
        for key in whole
    }


def _context_at_most(weights: ContextWeights) -> float:
    lent = sum(weights.previous) + sum(weights.following) + weights.answer
    return lent + weights.session + weights.whole + weights.speaker


def _wholes(
    scopes: Sequence[Scope], passages: dict[Key, Entry], terms: dict[int, float], settings: Ranking
) -> dict[Key, float]:
    """How well the session of each passage answers, read as one text; the best 1."""
    texts: dict[Key, Entry] = {}
    for key, entry in passages.items():
        text = texts.setdefault((key[0], entry.session), entry._replace(length=0, terms={}))
        counts = {term: text.terms.get(term, 0) + entry.terms.get(term, 0) for term in {*text.terms, *entry.terms}}
        texts[key[0], entry.session] = text._replace(length=text.length + entry.length, terms=counts)
    scores = _bm25(texts, terms, settings)
    best = max(scores.values(), default=0.0) or 1.0
    return {key: scores.get((key[0], entry.session), 0.0) / best for key, entry in passages.items()}


def _idf(passages: dict[Key, Entry], term: int) -> float:
    held = sum(term in entry.terms for entry in passages.values())
    return math.log(1 + (len(passages) - held + 0.5) / (held + 0.5))


def _bm25(passages: dict[Key, Entry], terms: dict[int, float], settings: Ranking) -> dict[Key, float]:
    average = sum(entry.length for entry in passages.values()) / max(1, len(passages)) or 1.0
    k1, b = settings.k1, settings.b
    idf = {term: _idf(passages, term) for term in terms}
    return {
        key: sum(
            weight * idf[term] * (k1 + 1) * occurs / (occurs + k1 * (1 - b + b * entry.length / average))
            for term, weight in sorted(terms.items())
            if (occurs := entry.terms.get(term, 0))
        )
        for key, entry in passages.items()
    }


def _added(
    passages: dict[Key, Entry], best: list[Key], words: dict[Key, float], asked: dict[int, float], settings: Ranking
) -> dict[int, float]:
    rules = settings.feedback
    gains: dict[int, float] = {}
    for key in best:
        share = words[key] / sum(words[each] for each in best)
        for term, occurs in passages[key].terms.items():
            if not term % 2 and term not in asked:
                gains[term] = gains.get(term, 0.0) + share * occurs / (occurs + settings.k1)
    frequent = {
        term for term in gains if sum(term in entry.terms for entry in passages.values()) > rules.rare * len(passages)
    }
    gains = {term: gain * _idf(passages, term) for term, gain in gains.items() if term not in frequent}
    chosen = sorted(gains, key=lambda term: (-gains[term], term))[: rules.terms]
    return {term: rules.weight * gains[term] / max(gains.values()) for term in chosen}


def _cosine(mine: list[float] | None, vector: Sequence[float] | None) -> float | None:
    if mine is None or vector is None or not any(vector):
        return None
    if not any(mine):
        return 0.0
    top = max(map(abs, mine))
    whole = [round(value / top * 127) for value in mine]
    product = sum(one * other for one, other in zip(whole, vector, strict=True))
    return product / (math.hypot(*whole) * math.hypot(*vector))


def _likeness(cosine: float | None, floor: float) -> float:
    if cosine is None:
        return 0.0
    chance = FAINT * min(1.0, max(0.0, (cosine + 1) / (floor + 1)))
    return chance + (1 - FAINT) * min(1.0, max(0.0, (cosine - floor) / (1 - floor)))


def _in_context(
    scopes: Sequence[Scope],
    passages: dict[Key, Entry],
    own: dict[Key, float],
    wholes: dict[Key, float],
    lent_by_likeness: dict[Key, dict[Key, float]],
    key: Key,
    named: set[int],
    settings: Ranking,
) -> float:
    entry = passages[key]
    weights: ContextWeights = settings.turns if scopes[key[0]].scope % 2 else settings.items
    session = sorted(
        (each for each in passages if each[0] == key[0] and passages[each].session == entry.session),
        key=lambda each: (passages[each].place, each[1]),
    )
    at = session.index(key)
    total = own[key]
    lent = {-1 - step: share for step, share in enumerate(weights.previous)}
    lent |= {1 + step: share for step, share in enumerate(weights.following)}
    if at and passages[session[at - 1]].flags & QUESTION:
        lent[-1] = lent.get(-1, 0.0) + weights.answer
    for step, share in lent.items():
        if 0 <= at + step < len(session):
            other = session[at + step]
            near = weights.within if passages[other].source == entry.source else 1.0
            total += share * near * own[other]
    best = sorted((own[each] for each in session), reverse=True)[: weights.best]
    if best:
        total += weights.session * sum(best) / len(best)
    total += weights.whole * wholes.get(key, 0.0)
    total += weights.alike * max(lent_by_likeness.get(key, {}).values(), default=0.0)
    if len(named) == 1 and entry.speaker in named and total > 0:
        total += weights.speaker
    if entry.flags & QUESTION:
        total = max(total - weights.question, 0.1 * total)
    return total
