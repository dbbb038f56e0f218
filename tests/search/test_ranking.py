"""Ranking: the arrays agree with the plain reference, and the edges hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from memoranda.errors import InvalidValueError
from memoranda.search.blocks import JSON, QUESTION, Entry, VectorBlock, WordBlock, pack_vectors, pack_words
from memoranda.search.ranking import DEFAULT, NO_CONTEXT, Corpus, FeedbackWeights, Ranking, ScopePart, rank
from tests.search.reference import Scope, ask, ranked

NONE = np.zeros(0, np.uint32)
PLAIN = Ranking(feedback=FeedbackWeights(passages=0), turns=NO_CONTEXT, items=NO_CONTEXT)
EVERYTHING = Ranking(feedback=FeedbackWeights(passages=3, terms=4, weight=0.4, rare=0.4))


def entry(number: int, *terms: int, **given: int) -> Entry:
    counts = {term: terms.count(term) for term in terms}
    return Entry(number, number, number, number + 1, 0, 1, 0, 0, len(terms), counts)._replace(**given)


def part(entries: Sequence[Entry], *, scope: int = 1, dead: Sequence[int] = (), size: int = 1_000) -> ScopePart:
    blocks = [WordBlock.unpack(pack_words(entries[at : at + size])) for at in range(0, len(entries), size)]
    return ScopePart(scope, blocks, np.array(dead, np.uint32))


def numbers(parts: Sequence[ScopePart] | Corpus, *terms: int, **given: object) -> list[int]:
    given = {"settings": PLAIN, **given}
    return [hit.number for hit in rank(parts, ask(*terms), **given).hits()]  # type: ignore[arg-type]


def random_scopes(random: Random) -> Iterator[Scope]:
    for at in range(random.randint(1, 3)):
        scope = Scope(2 * at + random.randint(0, 1))
        for number in random.sample(range(100), random.randint(1, 30)):
            terms = [random.randint(0, 40) for _ in range(random.randint(0, 12))]
            scope.entries[number] = entry(
                number,
                *terms,
                place=random.randint(0, 20),
                session=random.randint(1, 4),
                speaker=random.choice([0, 7, 8, 9]),
                flags=random.choice([0, 0, QUESTION, JSON]),
                at=random.randint(0, 10),
            )
            if random.random() < 0.7:
                scope.vectors[number] = [random.gauss(0.3, 1) for _ in range(6)]
        yield scope


def parts_of(scopes: Sequence[Scope], random: Random) -> list[ScopePart]:
    """The scopes in blocks of any sizes and orders, among passages that are dead."""
    parts: list[ScopePart] = []
    for scope in scopes:
        gone = [entry(number, *range(0, 40, random.randint(1, 9))) for number in range(100, 100 + random.randint(0, 9))]
        entries = [*scope.entries.values(), *gone]
        random.shuffle(entries)
        blocks: list[WordBlock] = []
        while entries:
            size = random.randint(1, len(entries))
            blocks.append(WordBlock.unpack(pack_words(entries[:size])))
            del entries[:size]
        vectors: list[VectorBlock] = []
        for number, vector in scope.vectors.items():
            if random.random() < 0.3:
                vectors.insert(0, VectorBlock.unpack(pack_vectors([number], [[9.0] * 6])))
            vectors.append(VectorBlock.unpack(pack_vectors([number, 77_777], [vector, [1.0] * 6])))
        dead = np.array([each.number for each in gone] + [5_000], np.uint32)
        parts.append(ScopePart(scope.scope, blocks, dead, vectors))
    return parts


@pytest.mark.parametrize("seed", range(50))
def test_the_arrays_agree_with_the_plain_reference(seed: int) -> None:
    random = Random(seed)
    scopes = list(random_scopes(random))
    terms = random.sample(range(45), random.randint(0, 5))
    questions = [random.sample(terms, random.randint(0, len(terms))) for _ in range(random.choice([0, 0, 2, 3]))]
    query = ask(*terms, speakers=random.sample([7, 8, 9, 10], 2), questions=questions)
    given = random.choice(
        [{}, {"since": 3}, {"until": 7}, {"since": 2, "until": 8}, {"require": JSON}, {"exclude": JSON | QUESTION}]
    )
    if random.random() < 0.6:
        given |= {"vector": [random.gauss(0.3, 1) for _ in range(6)], "floor": random.choice([0.0, 0.3])}
    settings = random.choice([DEFAULT, PLAIN, EVERYTHING])

    expected = ranked(scopes, query, settings=settings, **given)
    found = rank(parts_of(scopes, random), query, settings=settings, **given).hits()

    # The reference takes the query's vector as it is, the arrays round it.
    exact = 1e-9 if "vector" not in given else 2e-4
    assert len(found) == len(expected)
    assert [hit.score for hit in found] == pytest.approx([score for _, score in expected], abs=exact)
    scores = dict(expected)
    assert [hit.score for hit in found] == pytest.approx([scores[hit.part, hit.number] for hit in found], abs=exact)
    for hit in found:
        passage = scopes[hit.part].entries[hit.number]
        assert (hit.source, hit.digest, hit.at, hit.session, hit.place, hit.flags) == (
            passage.source,
            passage.digest,
            passage.at,
            passage.session,
            passage.place,
            passage.flags,
        )
        assert hit.words + hit.meaning + hit.context == pytest.approx(hit.score)


def test_a_scope_of_one_passage() -> None:
    only = [part([entry(5, 1, 2)])]

    assert [hit.number for hit in rank(only, ask(1)).hits()] == [5]
    assert rank(only, ask(3)).hits() == []
    assert rank(only, ask()).hits() == []


@pytest.mark.parametrize("parts", [[], [ScopePart(1, [], NONE)], [part([entry(1, 4)], dead=[1])]])
def test_nothing_to_find(parts: list[ScopePart]) -> None:
    found = rank(parts, ask(4), vector=[1.0, 0.0])

    assert (len(found), found.hits(), found.hits(3, 9)) == (0, [], [])


def test_passages_without_any_term() -> None:
    assert numbers([part([entry(1), entry(2, 8)])], 8) == [2]
    assert numbers([part([entry(1)])], 8) == []


def test_a_rare_word_counts_for_more_than_a_frequent_one() -> None:
    entries = [entry(number, 1, 50) for number in range(1, 9)]

    assert numbers([part([*entries, entry(20, 2, 50)])], 1, 2)[0] == 20


def test_equal_scores_are_ordered_by_part_and_number_on_every_page() -> None:
    """Whatever the blocks, and whatever was asked of the ranking before."""
    random = Random(1)
    entries = [entry(number, 4) for number in range(400)]
    random.shuffle(entries)
    parts = [part(entries, size=37), part(entries, scope=3, size=50)]
    whole = [(at, number) for at in (0, 1) for number in range(400)]
    found = rank(parts, ask(4), settings=PLAIN)

    assert [(hit.part, hit.number) for hit in found.hits(0, 10)] == whole[:10]
    assert [(hit.part, hit.number) for hit in found.hits(395, 405)] == whole[395:405]
    assert [(hit.part, hit.number) for hit in found.hits(790, 900)] == whole[790:]
    assert [(hit.part, hit.number) for hit in found.hits(2, 4)] == whole[2:4]
    assert found.hits(5, 5) == found.hits(7, 3) == found.hits(0, 0) == []
    assert len(found) == 800


def test_what_is_dead_is_not_found_and_does_not_count() -> None:
    """Nor does it lend anything: the scores are those of a scope that never held it."""
    entries = [entry(number, 1, 2, number, place=number) for number in range(10, 20)]
    ghosts = [entry(number, 1, 1, 1, place=number) for number in range(30, 60)]
    clean = rank([part(entries)], ask(1, 12), settings=EVERYTHING)
    haunted = rank([part([*entries, *ghosts], dead=range(30, 60))], ask(1, 12), settings=EVERYTHING)

    assert haunted.hits() == clean.hits()


def test_the_same_session_number_in_two_scopes_is_two_sessions() -> None:
    first = part([entry(1, 4), entry(2, 5)])
    second = part([entry(1, 6), entry(2, 7)], scope=3)

    assert [(hit.part, hit.number) for hit in rank([first, second], ask(4)).hits()] == [(0, 1), (0, 2)]


def test_neighbours_lend_to_both_sides_and_no_further_than_their_session() -> None:
    entries = [entry(number, 1 if number == 3 else 2) for number in range(1, 7)]
    entries.append(entry(7, 9, session=2))
    settings = replace(PLAIN, turns=replace(NO_CONTEXT, previous=(0.3, 0.09), following=(0.2, 0.04)))
    hits = rank([part(entries)], ask(1), settings=settings).hits()
    scores = {hit.number: hit.score / hits[0].score for hit in hits}

    assert scores == pytest.approx({1: 0.04, 2: 0.2, 3: 1.0, 4: 0.3, 5: 0.09})


def test_passages_of_one_source_lend_only_what_they_may() -> None:
    entries = [entry(number, 1 if number == 2 else 2, source=1 if number < 3 else 2) for number in range(1, 4)]
    settings = replace(PLAIN, turns=replace(NO_CONTEXT, previous=(0.3,), following=(0.2,)))

    assert numbers([part(entries)], 1, settings=settings) == [2, 3]
    settings = replace(PLAIN, turns=replace(settings.turns, within=0.5))
    hits = rank([part(entries)], ask(1), settings=settings).hits()
    assert {hit.number: hit.score / hits[0].score for hit in hits} == pytest.approx({2: 1.0, 3: 0.3, 1: 0.1})


def test_a_question_lends_to_what_follows_it() -> None:
    entries = [entry(1, 4, flags=QUESTION), entry(2, 5), entry(3, 5), entry(4, 4, session=2), entry(5, 5, session=2)]
    settings = replace(PLAIN, turns=replace(NO_CONTEXT, answer=0.4))
    hits = rank([part(entries)], ask(4), settings=settings).hits()

    assert {hit.number: hit.score / hits[0].score for hit in hits} == pytest.approx({1: 1.0, 4: 1.0, 2: 0.4})


def test_a_session_that_fits_as_a_whole_lifts_all_of_it() -> None:
    spread = [entry(1, 4), entry(2, 5), entry(3, 9)]
    others = [entry(number, 4, session=number) for number in range(4, 9)]
    parts = [part([*spread, *others])]

    assert set(numbers(parts, 4, 5)) == {1, 2, 4, 5, 6, 7, 8}
    assert numbers(parts, 4, 5, settings=replace(PLAIN, turns=replace(NO_CONTEXT, whole=0.9)))[:3] == [2, 1, 3]


def test_turns_and_items_have_weights_of_their_own() -> None:
    settings = replace(PLAIN, items=replace(NO_CONTEXT, previous=(0.5,)))
    entries = [entry(1, 4), entry(2, 5)]

    assert numbers([part(entries, scope=2)], 4, settings=settings) == [1, 2]
    assert numbers([part(entries, scope=3)], 4, settings=settings) == [1]


def test_two_speakers_named_or_none_change_nothing() -> None:
    entries = [entry(1, 4, speaker=7), entry(2, 4, speaker=8, session=2), entry(3, 4, session=3)]
    settings = replace(PLAIN, turns=replace(NO_CONTEXT, speaker=0.06))

    def best(*speakers: int) -> list[float]:
        hits = rank([part(entries)], ask(4, speakers=speakers), settings=settings).hits()
        return [round(1.06 * hit.score, 9) for hit in sorted(hits)]

    assert best() == best(7, 8) == best(5) == best(0) == [1.0, 1.0, 1.0]
    assert best(8) == best(8, 5) == [1.0, 1.06, 1.0]


def test_a_question_falls_behind_but_stays() -> None:
    entries = [entry(1, 4, flags=QUESTION), entry(2, 4, session=2), entry(3, 4, 5, 6, 7, session=3)]

    assert numbers([part(entries)], 4, settings=replace(PLAIN, turns=replace(NO_CONTEXT, question=2.0))) == [2, 3, 1]


def test_meaning_alone_finds_what_shares_no_word() -> None:
    vectors = [VectorBlock.unpack(pack_vectors([1, 2, 3], [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]))]
    parts = [replace(part([entry(number, 9) for number in (1, 2, 3, 4)]), vectors=vectors)]

    assert numbers(parts, vector=[0.0, 2.0]) == [2, 3, 1]
    found = rank(parts, ask(), vector=[0.0, 2.0], floor=0.9, settings=PLAIN).hits()
    assert [hit.number for hit in found] == [2, 3, 1]
    assert found[0].meaning > 50 * found[1].meaning > 50 * found[2].meaning > 0
    assert numbers(parts, 9, vector=[0.0, 0.0]) == [1, 2, 3, 4]


def test_of_two_vectors_of_one_passage_the_later_counts() -> None:
    far, near = (VectorBlock.unpack(pack_vectors([1], [vector])) for vector in ([1.0, 0.0], [0.0, 1.0]))
    between = VectorBlock.unpack(pack_vectors([2], [[0.6, 0.8]]))
    words = part([entry(1, 9), entry(2, 9)])

    assert numbers([replace(words, vectors=[between, far, near])], vector=[0.0, 1.0]) == [1, 2]
    assert numbers([replace(words, vectors=[between, near, far])], vector=[0.0, 1.0]) == [2, 1]


def test_the_best_lift_what_means_the_same_in_their_session() -> None:
    """One passage says who it is, another one what was asked of that person, in other words than the question's."""
    about, told, other = [1.0, 0.2, 0.0], [0.9, 0.3, 0.1], [-0.2, 0.1, 1.0]
    rows = [about, told, other, about, told, other]
    entries = [entry(number, 4 if number == 1 else 5, session=1 if number < 4 else 2) for number in range(1, 7)]
    vectors = [VectorBlock.unpack(pack_vectors([number], [row])) for number, row in enumerate(rows, 1)]
    parts = [replace(part(entries, size=4), vectors=vectors)]
    settings = replace(PLAIN, turns=replace(NO_CONTEXT, alike=0.5), meaning=0.0)

    hits = rank(parts, ask(4), vector=[0.0, 1.0, 0.0], settings=settings).hits()

    assert [hit.number for hit in hits] == [1, 2]
    assert 0.3 < hits[1].context / hits[0].score < 0.5
    assert [hit.number for hit in rank(parts, ask(4), settings=settings).hits()] == [1]


def test_of_two_questions_none_drowns_in_the_other() -> None:
    """Three rare words of the first would outweigh the only word of the second ten times over."""
    entries = [entry(number, 1, 2, 3, session=number) for number in range(1, 11)]
    entries += [entry(11, 4, *range(20, 28), session=11), *(entry(number, 4) for number in range(12, 40))]
    parts = [part([*entries, *(entry(number, 9) for number in range(40, 80))])]

    assert 11 not in numbers(parts, 1, 2, 3, 4)[:10]
    together = rank(parts, ask(1, 2, 3, 4), settings=PLAIN).hits()
    apart = rank(parts, ask(1, 2, 3, 4, questions=[(1, 2, 3), (4,)]), settings=PLAIN).hits()
    lowest = {hit.number: hit.score for hit in together}, {hit.number: hit.score for hit in apart}
    assert lowest[1][12] > 2 * lowest[0][12] > 0
    assert lowest[1][1] == 1.0


def test_vectors_of_another_size_than_the_query_are_refused() -> None:
    parts = [replace(part([entry(1, 9)]), vectors=[VectorBlock.unpack(pack_vectors([1], [[1.0, 0.0]]))])]

    with pytest.raises(InvalidValueError, match="3 dimensions"):
        rank(parts, ask(9), vector=[1.0, 0.0, 0.0])


def test_the_search_is_confined_to_sources_and_sessions() -> None:
    first = part([entry(number, 4, source=number % 3, session=number % 2) for number in range(12)])
    parts = [first, replace(first, scope=3)]

    def found(**given: object) -> list[tuple[int, int]]:
        hits = rank(parts, ask(4), settings=PLAIN, **given).hits()  # type: ignore[arg-type]
        return [(hit.part, hit.number) for hit in hits]

    assert found(sources=[[1], []]) == [(0, 1), (0, 4), (0, 7), (0, 10)]
    assert found(sources=[[0, 1], None], sessions=[0]) == [
        *((0, number) for number in (0, 4, 6, 10)),
        *((1, number) for number in range(0, 12, 2)),
    ]
    assert found(sessions=[]) == []


def test_what_a_filter_leaves_out_lends_nothing() -> None:
    entries = [entry(1, 4, at=1), entry(2, 5, at=2), entry(3, 4, at=3)]

    assert numbers([part(entries)], 4, since=2, until=3, settings=DEFAULT) == []


def test_feedback_brings_passages_that_share_other_words() -> None:
    others = [entry(number, 100 + 2 * number, session=number) for number in range(10, 60)]
    entries = [entry(1, 4, 6, 8, session=1), entry(2, 6, 8, session=2), *others]
    settings = replace(PLAIN, feedback=FeedbackWeights(passages=1, terms=5, weight=0.3))

    assert numbers([part(entries)], 4) == [1]
    assert numbers([part(entries)], 4, settings=settings) == [1, 2]


def test_a_corpus_can_be_kept() -> None:
    parts = [part([entry(number, 4, number) for number in range(700)], dead=[3], size=600)]
    corpus = Corpus(parts)

    assert rank(corpus, ask(4, 8)).hits() == rank(corpus, ask(4, 8)).hits() == rank(parts, ask(4, 8)).hits()


def test_scores_are_at_most_about_one() -> None:
    """All that the best can have: every word, its whole session, its neighbours, its speaker."""
    entries = [entry(number, 4, speaker=7) for number in range(5)]
    hits = rank([part(entries)], ask(4, speakers=[7])).hits()

    assert 0 < hits[-1].score <= hits[0].score <= 1.0
