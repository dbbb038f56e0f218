"""log, diff, blame, restore and changes; verify, stats and migrate."""

from __future__ import annotations

import json

import pytest

from memoranda import MemoryStore
from tests.cli.conftest import Run, RunJson
from tests.cli.support import damage, set_schema


def test_log(notes: Run, run_json: RunJson) -> None:
    newest, oldest = notes("log", "/notes/tea.md").stdout.splitlines()
    assert newest.startswith("r2 ") and "edit" in newest
    assert oldest.startswith("r1 ") and oldest.endswith("asked") and "user:ann" in oldest
    assert len(run_json("log", "/notes/tea.md", "--limit", 1)["revisions"]) == 1
    patched = notes("log", "/notes/tea.md", "--patch").stdout
    assert "-black\n+BLACK\n" in patched and "+green\n" in patched
    assert "+BLACK\n" in run_json("log", "/notes/tea.md", "-p")["revisions"][0]["patch"]
    notes("log", "/never", code=3)


def test_diff(notes: Run, run_json: RunJson) -> None:
    assert "-black\n+BLACK\n" in notes("diff", "/notes/tea.md").stdout
    notes("edit", "/notes/tea.md", "white", "WHITE")
    assert "+BLACK" in notes("diff", "/notes/tea.md", 1).stdout
    assert "WHITE" not in notes("diff", "/notes/tea.md", 1, 2).stdout
    assert run_json("diff", "/notes/tea.md", 2, 2)["diff"] == ""
    last = run_json("diff", "/notes/tea.md")
    assert (last["before"], last["after"]) == (2, 3) and "WHITE" in last["diff"]
    assert "Binary" in notes("diff", "/logo.png").stdout
    notes("diff", "/notes/tea.md", 9, code=3)
    assert "does not exist in ann" in notes("diff", "/never", code=3).stderr
    notes("diff", "/notes/tea.md", "x", code=2)


def test_blame(notes: Run, run_json: RunJson) -> None:
    first, second, _ = notes("blame", "/notes/tea.md").stdout.splitlines()
    assert first.startswith("r1 ") and first.endswith("1  green") and "user:ann" in first
    assert second.startswith("r2 ") and second.endswith("2  BLACK")
    lines = run_json("blame", "/notes/tea.md", "--revision", 1)["lines"]
    assert [line["revision"]["revision"] for line in lines] == [1, 1, 1]
    notes("blame", "/logo.png", code=2)
    assert "does not exist in ann" in notes("blame", "/never", code=3).stderr


def test_restore(notes: Run, run_json: RunJson) -> None:
    assert run_json("restore", "/notes/tea.md", 1, "--reason", "wrong")["revision"] == 3
    assert "(from r1)" in notes("log", "/notes/tea.md").stdout
    notes("restore", "/notes/tea.md", 9, code=3)
    notes("restore", "/never", 1, code=3)


def test_changes(notes: Run, run_json: RunJson) -> None:
    notes("write", "-n", "bob", "/x", "x", "--actor", "user:bob")
    everything = run_json("changes", MEMORANDA_NAMESPACE="")
    assert len(everything["changes"]) == 6
    assert [each["key"] for each in run_json("changes", "--author", "user:bob", MEMORANDA_NAMESPACE="")["changes"]] == [
        "/x"
    ]
    assert len(run_json("changes")["changes"]) == 5
    first = run_json("changes", "--limit", 2)
    rest = run_json("changes", "--since", first["next"])
    assert first["changes"] + rest["changes"] == run_json("changes")["changes"]
    assert run_json("changes", "--since", rest["next"]) == {"changes": [], "next": rest["next"]}
    lines = notes("changes", "--follow", "--limit", 3, "--json").stdout.splitlines()
    assert [json.loads(line) for line in lines] == run_json("changes", "--limit", 3)["changes"]
    assert [json.loads(line)["key"] for line in lines] == ["/notes/tea.md", "/notes/tea.md", "/notes/deep/er.md"]
    assert "ann:/notes/tea.md" in notes("changes").stdout
    notes("changes", "--since", "yesterday", code=2)


def test_verify(notes: Run, run_json: RunJson, store_url: str) -> None:
    notes("write", "-n", "bob/private", "/x", "x")
    everything = run_json("verify", MEMORANDA_NAMESPACE="")
    assert everything["ok"] and [each["namespace"] for each in everything["namespaces"]] == [
        ["ann"],
        ["bob", "private"],
    ]
    assert [each["namespace"] for each in run_json("verify", "-n", "bob")["namespaces"]] == [["bob", "private"]]
    assert "All is well" in notes("verify").stdout
    assert "1 item with 1 revision." in notes("verify", "-n", "bob").stdout
    damage(store_url)
    broken = run_json("verify", code=1)
    assert not broken["ok"] and "tea.md" in broken["problems"][0]
    assert "tea.md" in notes("verify", code=1).stdout


def test_stats(notes: Run, run_json: RunJson, engine: str) -> None:
    found = run_json("stats")
    assert (found["engine"], found["items"], found["namespaces"], found["revisions"]) == (engine, 4, 1, 5)
    assert found["size"] > 0
    assert "items" in notes("stats").stdout


@pytest.mark.blank
def test_migrate_says_from_where_to_where(run: Run, run_json: RunJson, store_url: str, engine: str) -> None:
    if engine == "postgres":  # a database that is there, without tables
        error = run_json("ls", code=5)
        assert error["error"] == "SchemaError" and error["cause"].startswith("There is no store in postgresql://")
        assert run_json("migrate", "--check", code=1)["current"] is False
    else:
        run("migrate", "--check", code=5)
    first = run_json("migrate")
    assert first["from"] == 0 and first["to"] == first["known"] > 0 and first["current"]
    assert "nothing to do" in run("migrate").stdout
    run("migrate", "--check")


def test_only_migrate_changes_a_schema_that_is_there(notes: Run, run_json: RunJson, store_url: str) -> None:
    known = run_json("migrate")["known"]
    set_schema(store_url, known - 1)
    for command in (["ls"], ["write", "/x", "x"]):
        error = run_json(*command, code=5)
        assert error["error"] == "SchemaError" and "memoranda migrate" in error["remedy"]
        assert "migrate=True" not in error["remedy"]


def test_a_newer_schema_is_refused(notes: Run, run_json: RunJson, store_url: str) -> None:
    set_schema(store_url, 999)
    for command in (["ls"], ["write", "/x", "x"], ["migrate"]):
        assert run_json(*command, code=5)["error"] == "SchemaTooNewError"


def test_migrate_refuses_a_newer_schema(notes: Run, run_json: RunJson, store_url: str) -> None:
    set_schema(store_url, 999)
    assert run_json("migrate", code=5)["error"] == "SchemaTooNewError"


def test_foreign_tables_are_refused(run: Run, run_json: RunJson, tmp_path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "theirs.db") as theirs:
        theirs.execute("CREATE TABLE things (x)")
    theirs.close()
    for command in (["ls"], ["write", "/x", "x"], ["migrate"]):
        error = run_json(*command, MEMORANDA_STORE=f"sqlite:///{tmp_path / 'theirs.db'}", code=5)
        assert error["error"] == "SchemaError" and "theirs.db" in error["cause"]


def test_a_store_that_is_opened_elsewhere_is_shared(notes: Run, store: MemoryStore, store_url: str) -> None:
    store.edit(("ann",), "/notes/tea.md", "white", "oolong")
    assert notes("cat", "/notes/tea.md").stdout == "green\nBLACK\noolong\n"
    notes("edit", "/notes/tea.md", "green", "GREEN")
    assert store.get(("ann",), "/notes/tea.md").value["content"] == "GREEN\nBLACK\noolong\n"


def test_no_changes_are_told(notes: Run, run_json: RunJson) -> None:
    told = notes("changes", "--author", "nobody", MEMORANDA_NAMESPACE="")
    assert (told.stdout, told.stderr) == ("", "No changes by nobody.\n")
    assert "No changes in nope: there is no such namespace. There is ann;" in notes("changes", "-n", "nope").stderr
    token = run_json("changes")["next"]
    assert "No changes in ann since then." in notes("changes", "--since", token).stderr
