"""Passages cover a text in order, keep together what belongs together, and move only where a text changes."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import get_text_at_path

from memoranda.search.passages import Passage, indexed_text, passages_of, passages_of_json, passages_of_turn
from memoranda.search.tokens import terms_of

LINES = st.lists(
    st.one_of(
        st.sampled_from(
            ["", "", "# One", "## Two", "### Three", "```", "~~~", "---", "===", "| a | b |", "- x", "  - y"]
        ),
        st.text(alphabet="ab .#-`|\t", max_size=80),
        st.text(max_size=40),
        st.integers(100, 3000).map(lambda size: "long words. " * (size // 12)),
    ),
    max_size=40,
)


def check(text: str, passages: list[Passage]) -> None:
    lines = text.split("\n")
    covered: set[int] = set()
    before = 1
    for passage in passages:
        assert 1 <= before <= passage.first_line <= passage.last_line <= len(lines)
        assert len(passage.text) <= 900 and passage.text.strip() and 0 <= passage.digest < 2**32
        before = passage.last_line
        covered.update(range(passage.first_line, passage.last_line + 1))
        if max(map(len, lines[passage.first_line - 1 : passage.last_line])) <= 900:
            cleaned = [line.removesuffix("\r") for line in lines[passage.first_line - 1 : passage.last_line]]
            assert passage.text.split("\n") == [line if line.strip() else "" for line in cleaned]
    assert {number for number, line in enumerate(lines, start=1) if line.strip()} <= covered


@settings(max_examples=200, deadline=None)
@given(LINES, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "/notes.md", "/a.py", "/log.txt"]))
def test_every_line_lies_in_a_passage_in_order(lines: list[str], newline: str, path: str) -> None:
    text = newline.join(lines)
    passages = passages_of(text, path=path)
    check(text, passages)
    assert passages == passages_of(text, path=path)


def test_newlines_of_windows_change_nothing() -> None:
    text = "# A\n\nsome text here\n- and a list\n"
    assert passages_of(text.replace("\n", "\r\n")) == passages_of(text)


def test_headings_are_carried_along() -> None:
    text = "# Anna\n\nA nurse.\n\n## Food\n### Drinks\n- tea\n\n## Work\nat night\n\nOther\n=====\nthe end"
    assert [(p.first_line, p.last_line, p.heading) for p in passages_of(text)] == [
        (1, 3, "Anna"),
        (5, 7, "Anna > Food > Drinks"),
        (9, 10, "Anna > Work"),
        (12, 14, "Other"),
    ]


def test_a_comment_of_code_is_no_heading() -> None:
    assert {p.heading for p in passages_of("# comment\nx = 1\n", path="/a/b.py")} == {""}
    assert {p.heading for p in passages_of("# Title\n```\n# comment\n```\n")} == {"Title"}


def test_a_list_of_facts_gives_passages_of_few_lines() -> None:
    facts = [f"- likes thing number {number} of the list" for number in range(200)]
    passages = passages_of("# Facts\n" + "\n".join(facts))
    assert max(p.last_line - p.first_line + 1 for p in passages) <= 5
    assert 60 <= sum(len(p.text) for p in passages) / len(passages) <= 200


def test_front_matter_and_fences_stay_together() -> None:
    text = "---\ntitle: x\ntags: [a]\n---\n\nSome words.\n\n```py\nx = 1\n\ny = 2\n```\n"
    assert [(p.first_line, p.last_line) for p in passages_of(text)] == [(1, 4), (6, 12)]


def test_all_of_a_very_long_line_is_findable() -> None:
    text = " ".join(f"word{number}x" for number in range(15_000))
    passages = passages_of(text)
    assert all(p.first_line == p.last_line == 1 and len(p.text) <= 900 for p in passages)
    found: Counter[int] = Counter()
    for passage in passages:
        found.update(terms_of(passage.text))
    assert found == Counter(terms_of(text))


def changed(before: list[Passage], after: list[Passage]) -> int:
    old, new = Counter(p.digest for p in before), Counter(p.digest for p in after)
    return (old - new).total() + (new - old).total()


def documents() -> dict[str, str]:
    rnd = random.Random(3)
    words = [
        "tea",
        "green",
        "likes",
        "work",
        "home",
        "river",
        "walks",
        "often",
        "with",
        "friends",
        "under",
        "old",
        "trees",
        "and",
        "sings",
        "loudly",
    ]

    def sentence() -> str:
        return " ".join(rnd.choices(words, k=rnd.randint(3, 14))).capitalize() + "."

    return {
        "facts.md": "\n".join(f"- {sentence()}" for _ in range(1500)),
        "same.md": "\n".join(f"- fact {number:05}" for number in range(1500)),
        "prose.md": "\n\n".join(" ".join(sentence() for _ in range(rnd.randint(1, 9))) for _ in range(400)),
        "wrapped.txt": "\n".join(sentence() for _ in range(1500)),
        "code.py": "\n".join(
            f"def f{n}(x):\n    y = x + {n}\n" + "    y += 1\n" * rnd.randint(1, 9) + "    return y\n"
            for n in range(200)
        ),
        "table.md": "| a | b |\n|---|---|\n" + "\n".join(f"| {n} | {sentence()} |" for n in range(1500)),
        "log.log": "\n".join(f"2024-05-08 10:00:{n:02} {sentence()}" for n in range(1500)),
        "line.md": " ".join(sentence() for _ in range(1500)),
    }


@pytest.mark.parametrize("name", documents().keys())
def test_an_edit_changes_the_passages_around_it_only(name: str) -> None:
    text = documents()[name]
    before = passages_of(text, path=f"/{name}")
    assert len(before) > 20
    breaker = " " if name == "line.md" else "\n"
    parts = text.split(breaker)
    rnd = random.Random(4)
    counts: list[int] = []
    for _ in range(12):
        place = rnd.randrange(5, len(parts) - 5)
        for edited in (
            [*parts[:place], parts[place] + " changed", *parts[place + 1 :]],
            [*parts[:place], "- a new one that is rather long", *parts[place:]],
            [*parts[:place], *parts[place + 1 :]],
        ):
            counts.append(changed(before, passages_of(breaker.join(edited), path=f"/{name}")))
    assert sum(counts) / len(counts) <= 8 and max(counts) <= 40


@pytest.mark.parametrize(
    "unit",
    [
        "word ",
        "a",
        ".",
        ". ",
        "#",
        "#\n",
        "\n",
        "- a\n",
        "```\n",
        " ",
        "我喜欢。",
        "\r",
        "-",
        "- ",
        "a!",
        "1.",
        "…",
        "| ",
    ],
)
def test_hostile_texts_take_linear_time(unit: str) -> None:
    def taken(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.process_time()
        passages_of(text)
        return time.process_time() - start

    small = max(min(taken(15_000) for _ in range(2)), 0.002)
    assert taken(150_000) < 40 * small  # 10 times the text; quadratic would be 100


def test_a_turn_is_one_passage() -> None:
    assert passages_of_turn("  \n") == []
    (turn,) = passages_of_turn("I moved.\r\n\nTo Lisbon.")
    assert (turn.first_line, turn.last_line, turn.text) == (1, 3, "I moved.\n\nTo Lisbon.")
    long = "A sentence of some words. " * 200
    check(long, passages_of_turn(long))


VALUE: dict[str, Any] = {
    "name": "Anna",
    "about": {"job": "nurse", "tags": ["kind", {"text": "funny", "n": 3}], "none": None, "empty": {}, "list": []},
    "items": [{"text": "one", "at": 1.5}, {"text": "two\nlines"}, [1, [2]]],
    "true": True,
}
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 99), st.text(max_size=12)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text("abc", max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


def pretty(value: Any) -> list[str]:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode().split("\n")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (["$"], None),
        (["name"], "name: Anna"),
        (["about.job", "name"], "about.job: nurse\nname: Anna"),
        (["items[*].text"], "items.text: one\nitems.text: two\nlines"),
        (["items[0].text"], "items.text: one"),
        (["items[-1]"], "items: 1\nitems: 2"),
        (["about.tags[1]"], "about.tags.n: 3\nabout.tags.text: funny"),
        (["{name,about.job}"], "about.job: nurse\nname: Anna"),
        (["about.*"], "about.job: nurse\nabout.tags: kind\nabout.tags.n: 3\nabout.tags.text: funny"),
        (["true", "true"], "true: true"),
        (["missing", "name.x", "items[9]", "items[x]", "name[0]", "about.none"], ""),
    ],
)
def test_fields_of_a_value(fields: list[str], text: str | None) -> None:
    passages = passages_of_json(VALUE, fields)
    lines = pretty(VALUE)
    if text is not None:
        assert "\n".join(p.text for p in passages) == text
    for passage in passages:
        first, last = lines[passage.first_line - 1], lines[passage.last_line - 1]
        said = passage.text.split("\n")
        assert said[0].partition(": ")[2] in first and said[-1].split(": ")[-1] in last.replace("\\n", "\n")


@pytest.mark.parametrize(
    "path", ["$", "name", "about.job", "items[*].text", "items[0].at", "*", "about.tags[*]", "{name,true}"]
)
def test_paths_choose_what_langgraph_chooses(path: str) -> None:
    chosen = "\n".join(get_text_at_path(VALUE, path))
    ours = "\n".join(p.text for p in passages_of_json(VALUE, [path]))
    for word in ("Anna", "nurse", "kind", "funny", "one", "two", "1.5"):
        assert (word in chosen) == (word in ours), word


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.text("abc", max_size=3), JSON, max_size=6),
    st.sampled_from(["$", "a", "*", "a[*].b", "*.*", "[0]"]),
)
def test_lines_of_any_value_are_those_of_its_json(value: dict[str, Any], path: str) -> None:
    lines = pretty(value)
    for passage in passages_of_json(value, [path]):
        assert 1 <= passage.first_line <= passage.last_line <= len(lines)
        assert passage == next(p for p in passages_of_json(value, [path]) if p.digest == passage.digest)
    unique = {**value, "zz": [{}, {"k": "needle"}, []]}
    (last,) = passages_of_json(unique, ["zz[1].k"])
    assert "needle" in pretty(unique)[last.first_line - 1] and last.first_line == last.last_line


def test_a_long_text_within_a_value() -> None:
    value = {"text": "\n".join(f"line {number} of a long text" for number in range(500))}
    passages = passages_of_json(value, ["$"])
    assert len(passages) > 5 and {(p.first_line, p.last_line) for p in passages} == {(2, 2)}


def test_what_is_indexed() -> None:
    (passage,) = passages_of("# Food\nlikes tea")
    assert indexed_text(passage, path="/people/anna-smith.md") == "people anna-smith > Food\n# Food\nlikes tea"
    (turn,) = passages_of_turn("Hello")
    assert indexed_text(turn, speaker="Anna", date="2023-05-08T10:00:00") == "Anna (8 May 2023): Hello"
    assert indexed_text(turn, speaker="Anna", date="1:56 pm on 8 May, 2023") == "Anna (1:56 pm on 8 May, 2023): Hello"
    assert indexed_text(turn, speaker="Anna") == "Anna: Hello"
    assert indexed_text(turn) == "Hello"
