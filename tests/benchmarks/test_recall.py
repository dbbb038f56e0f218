"""The benchmark of recall: sets are read as they are published, figures are right, contenders find what they must."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.recall import datasets, ours, peers, report
from benchmarks.recall.asking import ask, summary
from benchmarks.recall.datasets import full, said, whole_sessions
from benchmarks.recall.measures import figures, interval
from benchmarks.recall.sample import sample
from benchmarks.recall.stores import conversations, items

from memoranda import MemoryStore
from memoranda.evaluation import Answer, Run

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


def test_locomo_gives_turns_and_sessions(folder: Path) -> None:
    (scope,) = datasets.load("locomo", folder).scopes
    assert [full(turn) for turn in scope.messages] == [
        "Ann (1:56 pm on 8 May, 2023): Look! [shares a picture: a photo of a kiln]",
        "Ben (1:56 pm on 8 May, 2023): Nice.",
        "Ben (9:00 am on 9 May, 2023): I moved.",
    ]
    assert [(asked.category, asked.gold) for asked in scope.questions] == [
        ("temporal", {"D1:1", "D2:1"}),
        ("adversarial", {"D1:2"}),
    ]
    found = datasets.load("locomo-sessions", folder)
    (whole,) = found.scopes
    assert found.aside == {"adversarial"}
    assert [turn.id for turn in whole.messages] == ["session_1", "session_2"]
    assert whole.questions[0].gold == {"session_1", "session_2"}
    assert said(whole) == said(scope) == scope.messages


def test_memdaily_gives_scopes_of_all_kinds_too(tmp_path: Path) -> None:
    kinds = ("01_simple_places", "02_noisy_places")
    several = [{**each, "set": kind, "tid": number} for kind in kinds for number in range(20) for each in MEMDAILY[:1]]
    (tmp_path / "memdaily.json").write_text(json.dumps(several))
    scopes = datasets.load("memdaily", tmp_path).scopes
    assert [{turn.session.partition("/")[0] for turn in scope.messages} for scope in scopes] == [{kinds[0]}, {kinds[1]}]
    assert full(scopes[0].messages[0]) == "(2024年04月01日 周一 08:30 广东深圳) 我住在世纪花园。"
    mixed = datasets.load("memdaily-mixed", tmp_path).scopes
    assert [turn.session for turn in mixed[0].messages[::2]] == [
        f"{kind}/{number}" for kind in kinds for number in range(0, 20, 2)
    ]
    assert mixed[1].questions[0].gold == {"01_simple_places/1/0"}
    for some in (scopes, mixed):
        assert [len(scope.messages) for scope in some] == [40, 40]
        assert [len(scope.questions) for scope in some] == [20, 20]


def test_beam_names_speakers_by_their_role(folder: Path) -> None:
    (scope,) = datasets.load("beam", folder).scopes
    assert [full(turn) for turn in scope.messages] == [
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
    assert summary(Run(frozenset({"two"}), answers, [0.1, 0.2]))["categories"] == {"one": 1.0, "two": 0.0}
    assert summary(Run(frozenset({"two"}), answers, [0.1, 0.2]))["recall@10"] == 1.0
    assert interval(answers, answers) == (0.0, 0.0)


@pytest.mark.parametrize(
    "contender", [ours.layer("ours"), ours.layer("lexical", settings=ours.LEXICAL), *peers.words()]
)
def test_contenders_without_a_model_find_what_they_must(contender: peers.Contender) -> None:
    run = ask(contender, sample())
    assert figures(run.main)["recall@10"] > 0.5
    for answer in run.answers:
        assert len(set(answer.ranked)) == len(answer.ranked) <= 10


def test_sessions_are_found_by_their_turns() -> None:
    run = ask(ours.layer("ours"), whole_sessions(sample()))
    assert figures(run.answers)["recall@10"] == 1.0
    assert {found for answer in run.answers for found in answer.ranked} <= {"session 1", "session 2", "session 3"}


@pytest.mark.parametrize("make", [conversations, items])
def test_stores_are_asked_the_same(store: MemoryStore, make: Callable[[str, Any], peers.Contender]) -> None:
    run = ask(make("store", store), sample())
    assert figures(run.answers)["recall@10"] > 0.5


def test_answers_in_another_order_are_noticed() -> None:
    one, other = (Run(answers=[Answer("s", "c", ranked, frozenset("a"))]) for ranked in (("a", "b"), ("b", "a")))
    assert report.unlike({"x (sqlite)": one, "x (postgres)": one, "y (sqlite)": one}) == {"x": 0}
    assert report.unlike({"x (sqlite)": one, "x (postgres)": other}) == {"x": 1}


def test_sets_in_one_store_do_not_mix(store: MemoryStore) -> None:
    contender = conversations("store", store)
    ask(contender, sample())
    (scope,) = sample().scopes
    other = replace(scope, messages=tuple(replace(turn, id=f"other {turn.id}") for turn in scope.messages))
    answers = ask(contender, replace(sample(), scopes=(other,))).answers
    assert {found.startswith("other ") for answer in answers for found in answer.ranked} == {True}
