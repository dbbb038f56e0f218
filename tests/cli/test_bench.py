"""`bench`: sets in the forms that their authors publish, made up for this, and what is measured on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memoranda import open_store
from memoranda.evaluation import Answer, figures, load
from memoranda.transfer.errors import SourceError
from tests.cli.conftest import Run

LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I started a pottery class."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a greyhound on a sofa"},
            ],
            "session_2_date_time": "9:00 am on 1 June, 2023",
            "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "I moved above the bakery."}],
        },
        "qa": [
            {"question": "What class did Ann start?", "evidence": ["D1:1"], "category": 4, "answer": "pottery"},
            {"question": "Which dog lies on the sofa, and who moved?", "evidence": ["D1:2; D2:01"], "category": 1},
            {"question": "When did Ben buy a boat?", "evidence": ["D2:1"], "category": 5},
            {"question": "Nothing is known of it", "evidence": ["D9:9"], "category": 3},
        ],
    }
]
MEMDAILY = [
    {
        "tid": 7,
        "message_list": [
            {"mid": 0, "message": "我的上司是银行行长。", "time": "2024年04月02日 周二 07:29", "place": "广东深圳"},
            {"mid": 1, "message": "我表妹喜欢练瑜伽。", "time": "2024年04月03日 周三 17:08", "place": "广东深圳"},
        ],
        "question_list": [{"question": "谁喜欢瑜伽？", "target_step_id": [1]}],
    }
]
CHAT = [
    {
        "batch_number": 1,
        "time_anchor": "March-15-2024",
        "turns": [
            [
                {"role": "user", "id": 0, "content": "My sprint ends on March 29. ->-> 1,1"},
                {"role": "assistant", "id": 1, "content": "Then plan the login first."},
            ]
        ],
    }
]
PROBING = {
    "abstention": [{"question": "What is my favourite colour?"}],
    "temporal": [{"question": "When does my sprint end?", "source_chat_ids": {"first": [0], "second": [[0]]}}],
}


@pytest.fixture
def sets(tmp_path: Path) -> dict[str, Path]:
    """The sets as files and folders."""
    (tmp_path / "daily").mkdir()
    folder = tmp_path / "100K" / "1"
    (folder / "probing_questions").mkdir(parents=True)
    files: dict[str, tuple[Path, Any]] = {
        "locomo": (tmp_path / "locomo10.json", LOCOMO),
        "memdaily": (tmp_path / "daily" / "01_simple_roles.json", MEMDAILY),
        "beam": (tmp_path / "beam.json", [{"id": "1", "chat": CHAT, "probing_questions": PROBING}]),
        "chat": (folder / "chat.json", CHAT),
        "questions": (folder / "probing_questions" / "probing_questions.json", PROBING),
    }
    for path, content in files.values():
        path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return {name: path for name, (path, _) in files.items()} | {"daily": tmp_path / "daily", "100K": tmp_path / "100K"}


def test_what_is_measured(anywhere: Run, sets: dict[str, Path]) -> None:
    done = anywhere("bench", "locomo", "--data", sets["locomo"])
    lines = done.stdout.splitlines()
    assert lines[0] == "locomo: 1 scope, 3 messages, 3 questions; by words, in memory."
    assert lines[1].split() == ["questions", "recall@5", "recall@10", "ndcg@10"]
    rows = {line.split()[0]: line.split()[-4:] for line in lines[2:-1]}
    assert rows["all"] == ["2", "1.000", "1.000", "1.000"] and rows["single-hop"][0] == "1"
    assert rows["adversarial"][0] == "1" and "(aside)" in done.stdout and lines[-1].startswith("A question takes ")


def test_as_json_and_cut(anywhere: Run, sets: dict[str, Path]) -> None:
    found = json.loads(anywhere("bench", "locomo", "--data", sets["locomo"], "--limit", 1, "--json").stdout)
    assert (found["set"], found["messages"], found["questions"], found["recall@5"]) == ("locomo", 3, 1, 1.0)
    assert found["embedder"] is None and found["categories"]["single-hop"]["questions"] == 1 and found["p50_ms"] > 0


@pytest.mark.parametrize(
    ("name", "data", "category"),
    [
        ("memdaily", "memdaily", "simple"),
        ("memdaily", "daily", "simple"),
        ("beam", "beam", "temporal"),
        ("beam", "100K", "temporal"),
    ],
)
def test_the_forms_of_the_sets(anywhere: Run, sets: dict[str, Path], name: str, data: str, category: str) -> None:
    found = json.loads(anywhere("bench", name, "--data", sets[data], "--json").stdout)
    assert (found["scopes"], found["messages"], found["questions"]) == (1, 2, 1)
    assert found["categories"][category]["recall@5"] == 1.0


def test_loading_keeps_dates_speakers_and_evidence(sets: dict[str, Path]) -> None:
    (scope,) = load("locomo", sets["locomo"]).scopes
    assert [(each.id, each.speaker, f"{each.at:%Y-%m-%d %H:%M}") for each in scope.messages] == [
        ("D1:1", "Ann", "2023-05-08 13:56"),
        ("D1:2", "Ben", "2023-05-08 13:57"),
        ("D2:1", "Ben", "2023-06-01 09:00"),
    ]
    assert scope.messages[1].text == "Look! [shares a picture: a greyhound on a sofa]"
    assert scope.questions[1].gold == {"D1:2", "D2:1"}
    (chat,) = load("beam", sets["100K"]).scopes
    assert chat.messages[0].text == "My sprint ends on March 29." and chat.messages[1].role == "assistant"


def test_the_store_of_the_environment_is_not_touched(run: Run, run_json: Any, sets: dict[str, Path]) -> None:
    run("write", "/x.md", "x")
    before = run_json("verify")
    run("bench", "memdaily", "--data", sets["memdaily"])
    assert run_json("verify") == before and run_json("episodes", "ls", "--below", MEMORANDA_NAMESPACE="") == {
        "threads": []
    }


def test_a_named_store_has_to_be_empty_and_is_left_so(anywhere: Run, store_url: str, sets: dict[str, Path]) -> None:
    options = ("bench", "locomo", "--data", sets["locomo"], "--store", store_url)
    assert f"in {'postgres' if 'postgres' in store_url else 'sqlite'}" in anywhere(*options).stdout
    with open_store(store_url) as store:
        assert store.threads((), below=True) == [] and store.stats().namespaces == 0
    assert "recall@10" in anywhere(*options).stdout, "it can be run again"
    anywhere("write", "-n", "ann", "/x.md", "x", "--store", store_url)
    assert "holds something" in anywhere(*options, code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["locomo", "--data", "none.json"], 3, "does not exist"),
        (["locomo"], 2, "--data"),
        (["locmo", "--data", "x"], 2, "'locmo'"),
        (["locomo", "--data", "{memdaily}"], 3, "does not hold the set locomo"),
        (["beam", "--data", "{locomo}"], 3, "does not hold the set beam"),
        (["memdaily", "--data", "{questions}"], 3, "does not hold the set memdaily"),
        (["beam", "--data", "{daily}"], 3, "holds no questions"),
        (["locomo", "--data", "{locomo}", "--limit", "0"], 2, "--limit"),
    ],
)
def test_what_is_no_set_is_told(
    anywhere: Run, sets: dict[str, Path], arguments: list[str], code: int, said: str
) -> None:
    given = [argument.format(**sets) if argument.startswith("{") else argument for argument in arguments]
    assert said in anywhere("bench", *given, code=code).stderr


def test_the_measures() -> None:
    half = Answer("s", "c", ("a", "b", "c"), frozenset({"b", "x"}))
    assert figures([half])["recall@10"] == 0.5
    assert figures([half])["ndcg@10"] == pytest.approx(0.63093 / 1.63093, abs=1e-4)
    late = Answer("s", "c", tuple("abcdefghij"), frozenset({"g"}))
    assert (figures([late])["recall@5"], figures([late])["recall@10"]) == (0.0, 1.0)
    with pytest.raises(SourceError, match="locomo, memdaily, beam"):
        load("squad", Path("x"))
