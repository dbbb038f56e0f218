"""`search` and `recall`: what is found, how it is shown, and what is said where nothing is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoranda import open_store
from memoranda.store.turns import Turn
from tests.cli.conftest import Run, RunJson

TEA = "# Drinks\n\n## Tea\n\nShe likes it green,\nin the mornings.\n\n## Coffee\n\nNever after noon.\n"


@pytest.fixture
def memory(run: Run, store_url: str) -> Run:
    """A file, a document, a conversation, and another person's memory below."""
    run("write", "/drinks.md", TEA)
    run("write", "profile", "--document", '{"name": "Ann", "town": "Bergen", "stars": 4}')
    run("write", "/drinks.md", "Kim likes black tea.", "-n", "ann/kim")
    with open_store(store_url) as store:
        said = [
            Turn("m1", "user", "Which kettle did I buy?", speaker="Ann", at=datetime(2026, 3, 1, 8, tzinfo=UTC)),
            Turn("m2", "assistant", "The copper one from Røros.", at=datetime(2026, 3, 1, 8, 1, tzinfo=UTC)),
        ]
        store.record_turns(("ann",), "kettles", said)
    return run


@pytest.fixture
def ask_json(memory: Run, run_json: RunJson) -> RunJson:
    """The same, read as JSON."""
    return run_json


def test_recall_shows_path_lines_date_heading_and_passage(memory: Run) -> None:
    first, *rest = memory("recall", "green in the morning").stdout.splitlines()
    assert first.startswith("/drinks.md:1-6  ") and first.endswith("Z  Drinks > Tea")
    assert f"{datetime.now(UTC):%Y-%m-%d}" in first
    passage = ["    # Drinks", "", "    ## Tea", "", "    She likes it green,", "    in the mornings."]
    assert rest[:6] == passage


def test_recall_shows_who_said_it_and_when(memory: Run) -> None:
    shown = memory("recall", "copper kettle", "--kind", "turn").stdout
    assert "kettles  assistant  2026-03-01 08:01:00Z\n    The copper one from Røros." in shown
    assert "kettles  Ann, user  2026-03-01 08:00:00Z\n    Which kettle did I buy?" in shown


def test_recall_as_json_has_all_of_a_hit(ask_json: RunJson) -> None:
    found = ask_json("recall", "green in the morning", "--explain")
    hit = found["hits"][0]
    assert (hit["kind"], hit["key"], hit["revision"]) == ("file", "/drinks.md", 1)
    assert (hit["first_line"], hit["last_line"]) == (1, 6) and hit["text"].endswith("in the mornings.")
    assert hit["heading"] == "Drinks > Tea" and hit["namespace"] == ["ann"] and "green" in hit["why"]
    assert set(hit["parts"]) == {"words", "meaning", "context"} and hit["parts"]["words"] > 0
    turn = ask_json("recall", "copper")["hits"][0]
    assert (turn["kind"], turn["thread_id"], turn["role"], turn["key"]) == ("turn", "kettles", "assistant", "m2")
    assert turn["at"] == "2026-03-01T08:01:00+00:00"


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        ([], {"file", "item", "turn"}),
        (["--kind", "file"], {"file"}),
        (["--kind", "item", "--kind", "turn"], {"item", "turn"}),
        (["--until", "2026-03-01"], {"turn"}),
        (["--until", "2026-03-01T07:00"], set()),
        (["--since", "1h"], {"file", "item"}),
        (["--since", "2026-03-01T09:00+01:00", "--until", "2026-03-01T08:00:30Z"], {"turn"}),
    ],
)
def test_recall_can_be_narrowed(ask_json: RunJson, options: list[str], kinds: set[str]) -> None:
    found = ask_json("recall", "green Bergen kettle copper", *options, code=0 if kinds else 1)
    assert {hit["kind"] for hit in found["hits"]} == kinds


def test_recall_counts(ask_json: RunJson) -> None:
    assert len(ask_json("recall", "green Bergen kettle copper", "-k", 2)["hits"]) == 2


def test_recall_below_looks_into_other_namespaces_and_names_them(memory: Run, ask_json: RunJson) -> None:
    assert {tuple(hit["namespace"]) for hit in ask_json("recall", "tea")["hits"]} == {("ann",)}
    below = memory("recall", "black tea", "--below").stdout
    assert below.startswith("ann/kim:/drinks.md:1  ")
    everything = ask_json("recall", "tea", "--below", MEMORANDA_NAMESPACE="")
    assert {tuple(hit["namespace"]) for hit in everything["hits"]} == {("ann",), ("ann", "kim")}


def test_recall_as_of_an_earlier_time(memory: Run, run_json: RunJson) -> None:
    before = run_json("log", "/drinks.md")["revisions"][0]["at"]
    memory("edit", "/drinks.md", "green", "smoked")
    assert memory("recall", "green", code=1).stdout == ""
    assert run_json("recall", "green", "--as-of", before)["hits"][0]["revision"] == 1


def test_a_long_query_is_cut_with_a_notice_on_stderr(memory: Run, ask_json: RunJson) -> None:
    done = memory("recall", "green " + "x" * 3_000)
    assert "cut to its first 2,000 characters" in done.stderr and "cut" not in done.stdout
    assert "2,000" in ask_json("recall", "green " + "x" * 3_000)["notices"][0]


def test_nothing_found_says_what_to_try(memory: Run) -> None:
    done = memory("recall", "submarine", "--since", "1h", "--kind", "file", code=1)
    assert done.stdout == ""
    for said in ("leave out --kind and --since", "add --below", "`memoranda grep -n ann submarine`", "--embed local"):
        assert said in done.stderr, said
    assert "--below" not in memory("recall", "submarine", "--below", code=1).stderr
    assert "--embed" not in memory("recall", "submarine", "--embed", "none", code=1).stderr


def test_a_mistyped_namespace_is_told(memory: Run, run_json: RunJson) -> None:
    for command in ("recall", "search", "episodes search"):
        error = run_json(*command.split(), "tea", "-n", "amn", code=3)
        assert "There is no namespace amn." in error["cause"] and "Did you mean -n ann?" in error["remedy"], command
    assert "ann/kim" in run_json("recall", "tea", "-n", "ann/k", code=3)["remedy"]
    memory("write", "/x.md", "x", "-n", "acme/deep")
    assert "acme/deep" in run_json("recall", "tea", "-n", "acme", code=3)["remedy"]


def test_a_namespace_with_nothing_but_conversations_is_one(run: Run, store_url: str) -> None:
    with open_store(store_url) as store:
        store.record_turns(("bob",), "t", [Turn("m", "user", "I sail.")])
    assert "I sail." in run("recall", "sail", "-n", "bob").stdout
    alone = run("recall", "sail", MEMORANDA_NAMESPACE="")
    assert "I sail." in alone.stdout and "bob, the only one" in alone.stderr
    assert "Nothing in bob" in run("recall", "ski", "-n", "bob", code=1).stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["recall", "tea", "-k", "0"], "-k"),
        (["recall", "tea", "-k", "1001"], "-k"),
        (["recall", "tea", "--since", "tomorrow"], "'tomorrow' is no time for --since"),
        (["recall", "tea", "--until", "2026-13-01"], "'2026-13-01' is no time for --until"),
        (["recall", "tea", "--since", "2026-03-02", "--until", "2026-03-01"], "the other way round"),
        (["recall", "tea", "--since", "999999w"], "is no time"),
        (["recall", "tea", "--as-of", "noon"], "'noon' is no time"),
        (["recall", "tea", "--kind", "note"], "'note'"),
        (["recall", " "], "The query is empty"),
        (["recall"], "QUERY"),
        (["search", ""], "The query is empty"),
        (["search", "tea", "--filter", "stars"], "'stars' is no filter"),
        (["search", "--filter", "a=1", "--filter", "a=2"], "a is filtered twice"),
        (["recall", "tea", "--embed", "locl"], 'Did you mean "local"?'),
    ],
)
def test_bad_input_names_the_fix(run: Run, arguments: list[str], said: str) -> None:
    run("write", "/tea.md", "tea")
    done = run(*arguments, code=2)
    assert said in done.stderr and done.stdout == ""


def test_reading_makes_no_store(anywhere: Run, tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path / 'none.db'}"
    for command in (["recall", "tea"], ["search", "tea"], ["episodes", "ls"], ["reindex"]):
        assert "There is no store" in anywhere(*command, "--store", url, code=5).stderr
    assert not list(tmp_path.iterdir())


def test_search_lists_items_with_scores(memory: Run, ask_json: RunJson) -> None:
    lines = memory("search", "tea").stdout.splitlines()
    assert {line.split()[1] for line in lines} == {"ann:/drinks.md", "ann/kim:/drinks.md"}
    scores = [float(line.split()[0]) for line in lines]
    assert scores == sorted(scores, reverse=True) and all(score > 0 for score in scores)
    found = ask_json("search", "tea", "-n", "ann/kim")
    assert [(item["namespace"], item["key"], item["revision"]) for item in found["items"]] == [
        (["ann", "kim"], "/drinks.md", 1)
    ]
    assert found["items"][0]["value"]["content"] == "Kim likes black tea."


@pytest.mark.parametrize(
    ("conditions", "keys"),
    [
        (["town=Bergen"], ["profile"]),
        (["town!=Bergen"], ["/drinks.md", "/drinks.md"]),
        (["stars>=4", "stars<5"], ["profile"]),
        (["stars>4"], []),
        (["stars=4"], ["profile"]),
        (['stars="4"'], []),
        (["town==Bergen", "name=Ann"], ["profile"]),
    ],
)
def test_search_filters(ask_json: RunJson, conditions: list[str], keys: list[str]) -> None:
    options = [option for condition in conditions for option in ("--filter", condition)]
    found = ask_json("search", *options, code=0 if keys else 1)
    assert [item["key"] for item in found["items"]] == keys
    if keys == ["profile"]:
        assert [item["key"] for item in ask_json("search", "Bergen", *options)["items"]] == keys


def test_search_pages(memory: Run, ask_json: RunJson) -> None:
    whole = [(item["namespace"], item["key"]) for item in ask_json("search", "tea")["items"]]
    pages = [
        (item["namespace"], item["key"])
        for offset in range(len(whole))
        for item in ask_json("search", "tea", "--limit", 1, "--offset", offset)["items"]
    ]
    assert pages == whole
    assert "--offset 1 goes on" in memory("search", "tea", "--limit", 1).stderr
    assert "Nothing comes after the first 9" in memory("search", "tea", "--offset", 9, code=1).stderr


def test_a_relative_time_is_from_now(ask_json: RunJson, store_url: str) -> None:
    with open_store(store_url) as store:
        at = datetime.now(UTC) - timedelta(days=13)
        store.record_turns(("ann",), "t", [Turn("m", "user", "zebra crossing", at=at)])
    assert ask_json("recall", "zebra", "--since", "2w")["hits"]
    assert not ask_json("recall", "zebra", "--since", "12d", code=1)["hits"]


def test_scope_is_another_name_for_the_namespace(memory: Run) -> None:
    assert memory("recall", "black tea", "--scope", "ann/kim").stdout.startswith("/drinks.md:1")
