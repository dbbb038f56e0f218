"""The benchmark of recall: sets are read as they are published, figures are right, contenders find what they must."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.recall import datasets, ours, peers, report
from benchmarks.recall.asking import Run, ask
from benchmarks.recall.measures import Answer, by_category, figures, interval
from benchmarks.recall.sample import sample
from benchmarks.recall.stores import conversations, items

from memoranda import MemoryStore

LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a photo of a kiln"},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "Nice."},
            ],
            "session_2_date_time": "9:00 am on 9 May, 2023",
            "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "I moved."}],
        },
        "qa": [
            {"question": "When?", "evidence": ["D1:01; D2:1"], "category": 2},
            {"question": "Never?", "evidence": ["D9:9"], "category": 1},
            {"question": "Wrong?", "evidence": ["D:1:2"], "category": 5},
        ],
    }
]
MEMDAILY = [
    {
        "set": "01_simple_places",
        "tid": number,
        "message_list": [
            {"mid": 0, "message": "我住在世纪花园。", "time": "2024年04月01日 周一 08:30", "place": "广东深圳"},
            {"mid": 1, "message": "环境很好。", "time": "2024年04月01日 周一 20:58", "place": "广东深圳"},
        ],
        "question_list": [{"question": "我住在哪里？", "target_step_id": [0]}],
    }
    for number in range(3)
]
BEAM = [
    {
        "id": 7,
        "chat": [
            {
                "batch_number": 1,
                "time_anchor": "March-15-2024",
                "turns": [
                    [
                        {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "Plan my week. ->-> 1,1"},
                        {"role": "assistant", "id": 1, "content": "Certainly."},
                    ]
                ],
            }
        ],
        "probing_questions": {
            "abstention": [{"question": "Who?", "source_chat_ids": None}],
            "knowledge_update": [{"question": "What?", "source_chat_ids": {"original_info": [0], "updated_info": [1]}}],
        },
    }
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in (("locomo-x", LOCOMO), ("memdaily-x", MEMDAILY), ("beam-x", BEAM)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    return tmp_path


def test_locomo_is_read(folder: Path) -> None:
    found = datasets.load("locomo", folder)
    (scope,) = found.scopes
    assert [turn.full for turn in scope.turns] == [
        "Ann (1:56 pm on 8 May, 2023): Look! [shares a picture: a photo of a kiln]",
        "Ben (1:56 pm on 8 May, 2023): Nice.",
        "Ben (9:00 am on 9 May, 2023): I moved.",
    ]
    assert [(asked.category, asked.gold) for asked in scope.questions] == [
        ("temporal", {"D1:1", "D2:1"}),
        ("adversarial", {"D1:2"}),
    ]
    (whole,) = found.whole_sessions().scopes
    assert [turn.id for turn in whole.turns] == ["session_1", "session_2"]
    assert whole.questions[0].gold == {"session_1", "session_2"}
    assert whole.said == scope.turns


def test_memdaily_is_read_with_a_few_trajectories_in_a_scope(folder: Path) -> None:
    path = folder / "memdaily-x.json"
    assert [len(scope.turns) for scope in datasets.memdaily(path, size=2).scopes] == [4, 2]
    (scope,) = datasets.memdaily(path, size=3, mixed=True).scopes
    assert scope.turns[0].full == "(2024年04月01日 周一 08:30 广东深圳) 我住在世纪花园。"
    assert scope.turns[0].at is not None and scope.turns[0].at.isoformat() == "2024-04-01T08:30:00+00:00"
    assert {turn.session for turn in scope.turns} == {f"01_simple_places/{number}" for number in range(3)}
    assert scope.questions[1].gold == {"01_simple_places/1/0"}


def test_beam_is_read_without_the_marks_of_its_makers(folder: Path) -> None:
    (scope,) = datasets.load("beam", folder).scopes
    assert [turn.full for turn in scope.turns] == [
        "user (March-15-2024): Plan my week.",
        "assistant (March-15-2024): Certainly.",
    ]
    assert [(asked.text, asked.gold) for asked in scope.questions] == [("What?", {"0", "1"})]


def test_figures_are_those_of_the_textbook() -> None:
    answers = [
        Answer("s", "one", ("a", "x", "b"), frozenset("ab")),
        Answer("s", "two", ("x", *"123456789", "c"), frozenset("c")),
    ]
    found = figures(answers)
    assert found["recall@5"] == found["recall@10"] == 0.5
    assert found["ndcg@10"] == pytest.approx((1 + 0.5) / (1 + 0.6309298) / 2)
    assert found["mrr"] == pytest.approx((1 + 1 / 11) / 2)
    assert by_category(answers) == {"one": 1.0, "two": 0.0}
    assert interval(answers, answers) == (0.0, 0.0)


@pytest.mark.parametrize(
    "contender", [ours.layer("ours"), ours.layer("lexical", settings=ours.LEXICAL), *peers.words()]
)
def test_contenders_without_a_model_find_what_they_must(contender: peers.Contender) -> None:
    run = ask(contender, sample())
    assert figures(run.main(sample()))["recall@10"] > 0.5
    for answer in run.answers:
        assert len(set(answer.ranked)) == len(answer.ranked) <= 10


def test_sessions_are_found_by_their_turns() -> None:
    run = ask(ours.layer("ours"), sample().whole_sessions())
    assert figures(run.answers)["recall@10"] == 1.0
    assert {found for answer in run.answers for found in answer.ranked} <= {"session 1", "session 2", "session 3"}


@pytest.mark.parametrize("make", [conversations, items])
def test_stores_are_asked_the_same(store: MemoryStore, make: Callable[[str, Any], peers.Contender]) -> None:
    run = ask(make("store", store), sample())
    assert figures(run.answers)["recall@10"] > 0.5


def test_answers_in_another_order_are_noticed() -> None:
    one, other = (Run([Answer("s", "c", ranked, frozenset("a"))], [0.1]) for ranked in (("a", "b"), ("b", "a")))
    assert report.unlike({"x (sqlite)": one, "x (postgres)": one, "y (sqlite)": one}) == {"x": 0}
    assert report.unlike({"x (sqlite)": one, "x (postgres)": other}) == {"x": 1}


def test_sets_in_one_store_do_not_mix(store: MemoryStore) -> None:
    contender = conversations("store", store)
    ask(contender, sample())
    (scope,) = sample().scopes
    other = replace(scope, turns=tuple(replace(turn, id=f"other {turn.id}") for turn in scope.turns))
    answers = ask(contender, replace(sample(), scopes=(other,))).answers
    assert {found.startswith("other ") for answer in answers for found in answer.ranked} == {True}
