"""`episodes`: listing, showing, searching and importing conversations."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from memoranda import open_store
from memoranda.store.turns import Turn
from memoranda.testing.scripted import ScriptedChatModel, say
from tests.cli.conftest import Run, RunJson

LONG = "\n".join(f"row {number}" for number in range(200))


def at(day: int, minute: int = 0) -> datetime:
    return datetime(2026, 3, day, 12, minute, tzinfo=UTC)


@pytest.fixture
def talks(run: Run, store_url: str) -> Run:
    """Two conversations of Ann, one of Kim below her."""
    flat = [
        Turn("m1", "user", "Did we look at the flat in Oslo?", speaker="Ann", at=at(1)),
        Turn("m2", "assistant", "", at=at(1, 1), tools=("grep",)),
        Turn("m3", "tool", LONG, at=at(1, 2), tools=("grep",)),
        Turn("m4", "assistant", "Yes, it has a balcony.", at=at(2)),
        Turn("m5", "user", "And a bath?", at=at(2, 1)),
    ]
    with open_store(store_url) as store:
        store.record_turns(("ann",), "flats", flat)
        store.record_turns(("ann",), "茶", [Turn("m1", "user", "我喜欢喝绿茶。", at=at(9))])
        store.record_turns(("ann", "kim"), "boats", [Turn("m1", "user", "A balcony on a boat?", at=at(5))])
    return run


@pytest.fixture
def talks_json(talks: Run, run_json: RunJson) -> RunJson:
    """The same, read as JSON."""
    return run_json


def test_ls_lists_the_last_one_first(talks: Run) -> None:
    lines = talks("episodes", "ls").stdout.splitlines()
    assert lines[0].split() == [
        "2026-03-09",
        "12:00:00Z",
        "2026-03-09",
        "12:00:00Z",
        "1",
        "turn",
        "茶",
        "我喜欢喝绿茶。",
    ]
    assert lines[1].startswith("2026-03-01 12:00:00Z  2026-03-02 12:01:00Z  5 turns  flats  ")
    assert lines[1].endswith("Did we look at the flat in Oslo?") and len(lines) == 2


def test_ls_by_scope_and_time(talks: Run, talks_json: RunJson) -> None:
    def listed(*options: str, **more: Any) -> list[str]:
        return [thread["thread_id"] for thread in talks_json("episodes", "ls", *options, **more)["threads"]]

    assert listed("--below") == ["茶", "boats", "flats"]
    assert listed(MEMORANDA_NAMESPACE="") == ["茶", "boats", "flats"]
    assert listed("--since", "2026-03-03") == ["茶"]
    assert listed("--until", "2026-03-02") == ["flats"]
    assert listed("--limit", "1") == ["茶"]
    assert "ann/kim" in talks("episodes", "ls", "--below").stdout
    nothing = talks("episodes", "ls", "--since", "2026-03-10")
    assert "No conversation in ann was held then; leave out --since" in nothing.stderr and nothing.stdout == ""
    talks("write", "/x.md", "x", "-n", "bob")
    assert "episodes import -n bob FILE`" in talks("episodes", "ls", "-n", "bob").stderr


def test_show_has_dates_roles_tools_and_shortens_what_tools_said(talks: Run) -> None:
    done = talks("episodes", "show", "flats")
    assert done.stdout.startswith("flats  ann  5 turns\n\nSunday 2026-03-01\n12:00:00Z  user (Ann)\n    Did we look")
    assert "12:01:00Z  assistant  calls grep\n12:02:00Z  tool  grep\n    row 0\n" in done.stdout
    left = len(LONG) - LONG.index("\nrow 8")
    assert f"row 7\n    … {left:,} more characters\n" in done.stdout and "row 8\n" not in done.stdout
    assert "\nMonday 2026-03-02\n12:00:00Z  assistant\n    Yes, it has a balcony.\n" in done.stdout
    assert "--full shows all" in done.stderr
    full = talks("episodes", "show", "flats", "--full")
    assert "    row 199\n" in full.stdout and full.stderr == ""


def test_show_as_json_has_everything(talks_json: RunJson) -> None:
    turns = talks_json("episodes", "show", "flats")["turns"]
    assert [turn["message_id"] for turn in turns] == ["m1", "m2", "m3", "m4", "m5"]
    assert turns[2]["text"] == LONG and turns[2]["tools"] == ["grep"] and turns[0]["speaker"] == "Ann"
    assert turns[3]["at"] == "2026-03-02T12:00:00+00:00"


def test_show_finds_the_namespace_or_says_where_it_is(talks: Run, run_json: RunJson) -> None:
    found = talks("episodes", "show", "boats", MEMORANDA_NAMESPACE="")
    assert "A balcony on a boat?" in found.stdout and "ann/kim" in found.stderr
    assert "`memoranda episodes show -n ann/kim boats`" in run_json("episodes", "show", "boats", code=3)["remedy"]
    assert "Did you mean flats?" in run_json("episodes", "show", "flat", code=3)["remedy"]


def test_search_shows_a_conversation_as_it_went(talks: Run) -> None:
    lines = talks("episodes", "search", "balcony", "-k", 1).stdout.splitlines()
    assert lines[0] == "flats  2026-03-01 to 2026-03-02  Did we look at the flat in Oslo?"
    found = lines.index("> 2026-03-02 12:00:00Z  assistant")
    assert lines[found + 1] == "    Yes, it has a balcony."
    assert lines[found + 2] == "  2026-03-02 12:01:00Z  user  And a bath?"
    before = lines[found - 1]
    assert before.startswith("  2026-03-01 12:02:00Z  tool  grep  row 0 row 1") and len(before) < 220


def test_search_can_be_narrowed(talks_json: RunJson) -> None:
    def found(*options: object, code: int = 0) -> list[tuple[str, str]]:
        episodes = talks_json("episodes", "search", "balcony flat", *options, code=code)["episodes"]
        return [(e["thread"]["thread_id"], hit["turn"]["message_id"]) for e in episodes for hit in e["hits"]]

    assert set(found()) >= {("flats", "m1"), ("flats", "m4")}
    assert ("boats", "m1") in found("--below")
    assert {thread for thread, _ in found("--below", "--thread", "boats")} == {"boats"}
    assert {message for _, message in found("--role", "user")} <= {"m1", "m5"}
    assert len(found("-k", 1)) == 1
    assert {message for _, message in found("--since", "2026-03-02")} <= {"m4", "m5"}
    assert found("--since", "2026-03-03", code=1) == []
    by_time = found("--below", "--by-time")
    assert [thread for thread, _ in by_time].index("boats") < [thread for thread, _ in by_time].index("flats")


def test_search_brings_neighbours(talks_json: RunJson) -> None:
    for wanted in (0, 1, 2):
        hit = talks_json("episodes", "search", "balcony", "-k", 1, "--neighbours", wanted)["episodes"][0]["hits"][0]
        assert [turn["message_id"] for turn in hit["before"]] == ["m1", "m2", "m3"][3 - wanted :]
        assert [turn["message_id"] for turn in hit["behind"]] == ["m5"][:wanted]


# --- bringing conversations in -----------------------------------------------------------------------------

CHAT = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Which flat had a balcony?", "at": "2026-01-02T10:00:00Z", "name": "Ann"},
    {"role": "assistant", "tool_calls": [{"id": "c1", "name": "grep", "args": {}}]},
    {"role": "tool", "tool_call_id": "c1", "name": "grep", "content": "/flats.md:3: balcony"},
    {"role": "assistant", "content": [{"type": "text", "text": "The one in Bergen."}], "at": "2026-01-02T10:01:00Z"},
]


def test_a_file_of_messages_is_imported_once(run: Run, run_json: RunJson, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(CHAT))
    first = run("episodes", "import", file, "--agent", "helper", "--user", "ann")
    assert first.stdout == "Recorded 4 turns of 1 conversation in ann.\n" and "1 message left out" in first.stderr
    turns = run_json("episodes", "show", "chat")["turns"]
    assert [(turn["role"], turn["text"], turn["tools"]) for turn in turns] == [
        ("user", "Which flat had a balcony?", []),
        ("assistant", "", ["grep"]),
        ("tool", "/flats.md:3: balcony", ["grep"]),
        ("assistant", "The one in Bergen.", []),
    ]
    assert turns[0]["at"] == "2026-01-02T10:00:00+00:00" and turns[0]["speaker"] == "Ann"
    assert {(turn["user"], turn["agent"]) for turn in turns} == {("ann", "helper")}
    assert run_json("episodes", "import", file) == {
        "namespace": ["ann"],
        "threads": ["chat"],
        "new": 0,
        "known": 4,
        "left_out": 1,
    }
    file.write_text(json.dumps([*CHAT, {"role": "user", "content": "Thanks!"}]))
    assert run_json("episodes", "import", file)["new"] == 1


@pytest.mark.parametrize(
    "text",
    [
        '[{"thread_id": "a", "messages": [{"role": "user", "content": "x"}]}, {"role": "human", "content": "y"}]',
        '{"threads": [{"id": "a", "messages": [{"role": "user", "content": "x"}]}, {"role": "ai", "content": "y"}]}',
        '{"role": "user", "content": "x", "thread": "a"}\n\n{"type": "human", "content": "y"}\n',
        '\ufeff{"thread_id": "a", "messages": [{"role": "user", "content": "x"}]}\n{"role": "user", "content": "y"}',
    ],
)
def test_the_forms_that_a_file_may_have(run_json: RunJson, text: str) -> None:
    done = run_json("episodes", "import", "-", "--thread", "b", input=text)
    assert (done["threads"], done["new"]) == (["a", "b"], 2)
    assert [turn["text"] for turn in run_json("episodes", "show", "b")["turns"]] == ["y"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"role": "usr", "content": "x"}', "has the role 'usr'"),
        ('{"content": "x"}', "has no role"),
        ('{"role": "user"}', "has no content"),
        ('{"role": "user", "content": "x"}\n{"ro', "Line 2 is no JSON"),
        ("[1]", "At entry 1 stands 1"),
        ("3", "holds int"),
        ("[]", "holds no messages"),
        ('{"messages": "x"}', "are no list"),
        ('{"messages": ["x"]}', 'At message 1 of entry 1 stands "x"'),
        ('{"role": "user", "content": "x", "at": "yesterday"}', '"yesterday", at entry 1, is no time'),
        ('{"role": "user", "content": 3}', "is none"),
        ("", "holds no messages"),
    ],
)
def test_a_file_that_is_none_is_told_and_nothing_recorded(run: Run, text: str, said: str) -> None:
    run("write", "/x.md", "x")
    done = run("episodes", "import", "-", input=text, code=3)
    assert said in done.stderr
    assert run("episodes", "ls").stdout == ""


def test_what_makes_no_sense_is_refused(run: Run, tmp_path: Path) -> None:
    assert "Nothing to import was named" in run("episodes", "import", code=2).stderr
    assert "Both FILE and" in run("episodes", "import", "x.json", "--checkpointer", "y", code=2).stderr
    assert "--by-user" in run("episodes", "import", "x.json", "--by-user", code=2).stderr
    assert "Check the path" in run("episodes", "import", tmp_path / "none.json", code=3).stderr
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe")
    assert "no UTF-8" in run("episodes", "import", tmp_path / "latin.json", code=3).stderr


@pytest.fixture
def checkpoints(tmp_path: Path, engine: str, request: pytest.FixtureRequest) -> str:
    """A checkpointer's database with a conversation of Ann, one of Eve, and one of nobody."""

    def talk(saver: Any) -> None:
        agent = create_agent(ScriptedChatModel(script=[say("Noted.")] * 3), checkpointer=saver)
        for name in ("ann", "eve", ""):
            metadata = {"user_id": name} if name else {}
            agent.invoke(
                {"messages": f"{name} sails."}, {"configurable": {"thread_id": f"t-{name}"}, "metadata": metadata}
            )

    if engine == "postgres":
        url = request.getfixturevalue("other_store_url")
        with PostgresSaver.from_conn_string(url) as saver:
            saver.setup()
            talk(saver)
        return url
    path = str(tmp_path / "checkpoints.db")
    with SqliteSaver.from_conn_string(path) as saver:
        talk(saver)
    return path


def test_a_checkpointer_is_taken_over(run: Run, run_json: RunJson, checkpoints: str) -> None:
    done = run("episodes", "import", "--checkpointer", checkpoints, "--by-user", MEMORANDA_NAMESPACE="")
    assert done.stdout == "Recorded 4 turns of 2 conversations.\n" and "1 conversation skipped" in done.stderr
    turns = run_json("episodes", "show", "t-eve", "-n", "eve")["turns"]
    assert [(turn["role"], turn["text"], turn["user"]) for turn in turns] == [
        ("user", "eve sails.", "eve"),
        ("assistant", "Noted.", "eve"),
    ]
    again = run_json("episodes", "import", "--checkpointer", checkpoints, "--by-user", MEMORANDA_NAMESPACE="")
    assert (again["new"], again["skipped"]) == (0, 3)
    one = run_json("episodes", "import", "--checkpointer", checkpoints, "--thread", "t-ann", "-n", "all")
    assert (one["conversations"], one["new"]) == (1, 2)
    assert [each["thread_id"] for each in run_json("episodes", "ls", "-n", "all")["threads"]] == ["t-ann"]


def test_what_is_no_checkpointer_is_told(run: Run, tmp_path: Path, store_url: str) -> None:
    run("write", "/x.md", "x")
    (tmp_path / "text.db").write_text("no database")
    assert "no SQLite database" in run("episodes", "import", "--checkpointer", tmp_path / "text.db", code=3).stderr
    assert "cannot be read" in run("episodes", "import", "--checkpointer", tmp_path / "none.db", code=3).stderr
    assert "holds no checkpoints" in run("episodes", "import", "--checkpointer", store_url, code=3).stderr
