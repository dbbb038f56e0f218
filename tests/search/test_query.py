"""A query keeps what says something, with weights, and is cut with a notice."""

from __future__ import annotations

import time

import pytest

from memoranda.search.focus import MOST_QUESTIONS
from memoranda.search.query import MAX_CHARACTERS, MAX_TERMS, Weights, analyse
from memoranda.search.tokens import speaker_id


def base(query: str) -> list[str]:
    return [term.text for term in analyse(query).terms if not term.text.startswith("=") and term.weight == 1.0]


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("What is the name of her dog?", ["name", "dog"]),
        ("Who will die?", ["die"]),
        ("Wer ist die Frau?", ["frau"]),
        ("Où est la voiture ?", ["voitur"]),
        ("¿Dónde está el perro?", ["perro"]),
        ("Где живёт моя собака", ["живет", "собак"]),
        ("मेरा नाम क्या है", ["मेर", "नाम"]),
        ("to be or not to be", ["to", "be", "or", "not"]),
        ("The US and IT", ["us", "it"]),
        ("In May", ["may"]),
        ("的", []),
    ],
)
def test_words_that_say_little_are_dropped(query: str, kept: list[str]) -> None:
    assert base(query) == kept


def test_bigrams_of_grammar_and_questions_count_less() -> None:
    weights = {term.text: term.weight for term in analyse("我的猫喜欢吃什么？").terms}
    assert weights["喜欢"] == 1.0 > weights["的猫"] > weights["什么"] > 0
    japanese = {term.text: term.weight for term in analyse("猫は好きですか").terms}
    assert japanese["=猫"] > japanese["です"] > 0
    assert {term.weight for term in analyse("什么").terms} == {1.0}


def test_each_term_comes_once() -> None:
    terms = analyse("tea Tea teas TEA 茶茶茶").terms
    assert len({term.id for term in terms}) == len(terms)


@pytest.mark.parametrize("query", ["2023-05-08", "8 May 2023", "May 8th, 2023", "8.5.2023", "2023/5/8", "2023年5月8日"])
def test_a_date_is_asked_for_in_every_spelling(query: str) -> None:
    assert {"2023", "8", "may", "=2023-05-08"} <= {term.text for term in analyse(query).terms}


def test_names_of_months_have_short_forms() -> None:
    assert {"jan", "januari"} <= {term.text for term in analyse("in Jan").terms}
    assert {"mon", "monday"} <= {term.text for term in analyse("on Monday").terms}


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("What does Caroline like?", "Caroline"),
        ("What is Caroline's job?", "caroline"),
        ("Did Anna Maria Smith call?", "Anna Maria Smith"),
        ("José?", "jose"),
        ("小明喜欢什么", "小明"),
        ("ask Will", "Will"),
    ],
)
def test_who_may_be_named(query: str, name: str) -> None:
    assert speaker_id(name) in analyse(query).speakers
    assert speaker_id("Melanie") not in analyse(query).speakers


def test_a_long_query_is_cut_with_a_notice() -> None:
    start = time.perf_counter()
    query = analyse("word " * 20_000)
    assert time.perf_counter() - start < 0.5
    assert len(query.text) == MAX_CHARACTERS and "2,000 characters" in query.notices[0]
    many = analyse(" ".join(f"w{number}x" for number in range(300)))
    assert len(many.terms) == MAX_TERMS and "256 terms" in many.notices[0]
    assert analyse("tea").notices == ()


@pytest.mark.parametrize("query", ["", "   ", "???", "\0\0", "\u202e", "\u0301", "─────"])
def test_a_query_without_words_has_no_terms(query: str) -> None:
    assert analyse(query).terms == ()


def test_a_lone_surrogate_does_not_reach_an_embedder() -> None:
    query = analyse("caf\ud800 tea")
    query.text.encode()
    assert "tea" in [term.text for term in query.terms]


def test_weights_can_be_set() -> None:
    weights = {term.text: term.weight for term in analyse("running", Weights(exact=0.75)).terms}
    assert weights == {"run": 1.0, "=running": 0.75}


@pytest.mark.parametrize(
    ("query", "role"),
    [
        ("What did I say about tea?", "user"),
        ("Was hast du mir geraten?", "user"),
        ("What did you recommend?", "assistant"),
        ("我的手机是什么？", "user"),
        ("你推荐了什么？", "assistant"),
        ("Что я говорил?", "user"),
    ],
)
def test_a_query_speaks_of_the_user_or_of_the_assistant(query: str, role: str) -> None:
    speakers = analyse(query).speakers
    assert speaker_id(role) in speakers
    assert not {speaker_id(other) for other in ("user", "assistant") if other != role} & speakers
    assert speaker_id(role) not in analyse("What did Caroline say?").speakers


@pytest.mark.parametrize(
    ("query", "asked", "told"),
    [
        ("The weather is fine. Which tea does Ann like?", "tea", "weather"),
        ("Which tea does Ann like? The weather is fine", "tea", "weather"),
        ("今天天气很好。我的手机是什么？", "手机", "天气"),
    ],
)
def test_what_is_asked_counts_for_more_than_what_is_told(query: str, asked: str, told: str) -> None:
    weights = {term.text: term.weight for term in analyse(query).terms}
    assert weights[asked] == 2 * weights[told] == 1.0


@pytest.mark.parametrize(
    ("query", "each"),
    [
        ("Which tea does Ann like? And where is the umbrella?", ["tea", "umbrella"]),
        ("I am off. Which tea is best?\nWhere is the umbrella? Thanks.", ["tea", "umbrella"]),
        ("手机是什么？另外，雨伞在哪里？", ["手机", "雨伞"]),
    ],
)
def test_several_questions_are_kept_apart(query: str, each: list[str]) -> None:
    read = analyse(query)
    words = {term.id: term.text for term in read.terms}
    assert [[text for text in each if text in {words[term] for term in asked}] for asked in read.questions] == [
        [text] for text in each
    ]


@pytest.mark.parametrize("query", ["Which tea does Ann like?", "I like tea. And you?", "tea"])
def test_one_question_is_the_query_itself(query: str) -> None:
    assert analyse(query).questions == ()


def test_of_many_questions_only_some_are_asked_one_by_one() -> None:
    assert len(analyse("Where is tea? " * 100).questions) == MOST_QUESTIONS


def test_without_a_question_every_sentence_counts_in_full() -> None:
    weights = {term.text: term.weight for term in analyse("The tea is green. The weather is fine.").terms}
    assert weights["tea"] == weights["weather"] == 1.0
    weights = {term.text: term.weight for term in analyse("I like tea. And you?").terms}
    assert weights["tea"] == 1.0


def test_of_a_long_query_the_question_is_kept() -> None:
    query = analyse(" ".join(f"w{number}x" for number in range(270)) + ". Where is my umbrella?")
    assert "umbrella" in [term.text for term in query.terms]
    assert len(query.terms) == MAX_TERMS
