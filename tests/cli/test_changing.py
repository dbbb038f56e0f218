"""write, edit, rm and mv."""

from __future__ import annotations

from pathlib import Path

from memoranda import open_store
from tests.cli.conftest import Run, RunJson


def test_write_takes_text_stdin_or_a_file(run: Run, run_json: RunJson, tmp_path: Path) -> None:
    assert run("write", "/a", "given").stdout == "/a is at revision 1.\n"
    run("write", "/b", input="piped")
    run("write", "/c", "-", input="dashed")
    (tmp_path / "d").write_bytes(b"\xff\xfe")
    run("write", "/d", "--file", tmp_path / "d")
    assert [run("cat", path).stdout_bytes for path in ("/a", "/b", "/c", "/d")] == [
        b"given",
        b"piped",
        b"dashed",
        b"\xff\xfe",
    ]
    assert run_json("write", "a", "again")["revision"] == 2
    run("write", "/a", "x", "--file", tmp_path / "d", code=2)
    run("write", "/e", "--file", tmp_path / "missing", code=3)


def test_write_with_a_base_merges_or_refuses(run: Run, run_json: RunJson) -> None:
    run("write", "/x", "1\n2\n3\n4\n5\n")
    run("write", "/x", "one\n2\n3\n4\n5\n", "--base", 1)
    merged = run_json("write", "/x", "1\n2\n3\n4\nfive\n", "--base", 1)
    assert merged["merged"] and run("cat", "/x").stdout == "one\n2\n3\n4\nfive\n"
    refused = run_json("write", "/x", "uno\n2\n3\n4\n5\n", "--base", 1, code=4)
    assert refused["error"] == "ConflictError"
    (conflict,) = refused["conflicts"]
    assert conflict["theirs"].startswith("one\n") and conflict["yours"].startswith("uno\n")
    run("write", "/x", "new", "--base", 0, code=4)
    run("write", "/x", "new", "--base", 99, code=2)


def test_write_appends(run: Run) -> None:
    run("write", "/log", "one", "--append")
    run("write", "/log", "-a", input="two")
    assert run("cat", "/log").stdout == "one\ntwo"
    run("write", "/log", "three", "--append", "--base", 1, code=2)
    run("write", "/log", "-a", input=b"\xff", code=2)


def test_a_document_stays_a_document(run: Run, run_json: RunJson) -> None:
    run("write", "profile", "--document", '{"name": "Ann"}')
    run("write", "profile", '{"name": "Bob"}')
    assert run_json("cat", "profile")["value"] == {"name": "Bob"}
    assert "no JSON" in run("write", "profile", "Bob", code=2).stderr
    run("write", "profile", "[1]", code=2)
    run("edit", "profile", "Bob", "Cid")
    assert run_json("cat", "profile")["value"] == {"name": "Cid"}


def test_who_and_why_are_kept(run: Run, run_json: RunJson) -> None:
    run("write", "/a", "1", "--reason", "because")
    run("write", "/a", "2", "--actor", "user:ann")
    run("write", "/a", "3", MEMORANDA_ACTOR="agent:x")
    authors = [each["author"] for each in run_json("log", "/a")["revisions"]]
    assert [author["actor"] for author in authors[:2]] == ["agent:x", "user:ann"]
    assert authors[2]["actor"].startswith("cli:") and authors[2]["reason"] == "because"


def test_edit_replaces_exactly(notes: Run, run_json: RunJson) -> None:
    assert run_json("edit", "notes/tea.md", "e", "E", "--all")["occurrences"] == 3
    assert notes("cat", "notes/tea.md").stdout == "grEEn\nBLACK\nwhitE\n"
    many = notes("edit", "notes/tea.md", "E", "e", code=4).stderr
    assert "3 times" in many and "--all" in many and "replace_all" not in many
    assert "not found" in notes("edit", "notes/tea.md", "coffee", "x", code=4).stderr
    notes("edit", "notes/missing.md", "a", "b", code=3)
    notes("edit", "/logo.png", "a", "b", code=4)
    notes("edit", "notes/tea.md", "only old", code=2)
    notes("edit", "notes/tea.md", "", "x", code=4)


def test_rm_and_back(notes: Run, run_json: RunJson) -> None:
    assert notes("rm", "/notes/tea.md").stdout == "Deleted /notes/tea.md (r3)\n"
    gone = notes("cat", "/notes/tea.md", code=3).stderr
    assert "deleted" in gone and "restore" in gone
    assert "deleted" in notes("ls", "/notes/tea.md", code=3).stderr
    assert len(run_json("log", "/notes/tea.md")["revisions"]) == 3
    notes("restore", "/notes/tea.md", 1)
    assert notes("cat", "/notes/tea.md").stdout == "green\nblack\nwhite\n"
    notes("rm", "profile")
    notes("restore", "profile", 1)
    assert "Ann" in notes("cat", "profile").stdout
    notes("rm", "/never", code=3)
    notes("rm", "/notes/../x", code=2)


def test_rm_of_a_folder_wants_to_be_sure(notes: Run, run_json: RunJson) -> None:
    assert "--recursive" in notes("rm", "/notes", code=2).stderr
    assert "--yes" in notes("rm", "-r", "/notes", code=2).stderr
    assert len(run_json("ls", "-R", "/notes")["entries"]) == 2
    deleted = run_json("rm", "-r", "-y", "/notes")["changes"]
    assert {change["key"] for change in deleted} == {"/notes/tea.md", "/notes/deep/er.md"}
    assert [entry["key"] for entry in run_json("ls")["entries"]] == ["profile", "/logo.png"]
    notes("rm", "-r", "-y", "/")
    assert [entry["key"] for entry in run_json("ls")["entries"]] == ["profile"]


def test_mv(notes: Run, run_json: RunJson) -> None:
    def moved(*arguments: object) -> list[str]:
        return [change["key"] for change in run_json("mv", *arguments)["changes"]]

    assert moved("/notes/tea.md", "/tea.md") == ["/tea.md"]
    assert moved("/tea.md", "/notes") == ["/notes/tea.md"]
    assert moved("notes/tea.md", "new/") == ["/new/tea.md"]
    assert moved("profile", "me") == ["me"]
    assert moved("me", "/docs/") == ["/docs/me"]
    assert moved("/new", "/newer") == ["/newer/tea.md"]
    history = run_json("log", "/docs/me", "--follow")["revisions"]
    assert [entry["key"] for entry in history] == ["/docs/me", "me", "profile"]
    notes("mv", "/never", "/x", code=3)
    notes("mv", "/newer/tea.md", code=2)
    notes("mv", "/newer/tea.md", "/newer/tea.md", code=2)
    refused = notes("mv", "/newer/tea.md", "/logo.png", code=4).stderr
    assert "--force" in refused and "overwrite" not in refused
    assert moved("/newer/tea.md", "/logo.png", "--force") == ["/logo.png"]


def test_log_follows_an_item_that_was_moved_away_and_back(notes: Run, run_json: RunJson) -> None:
    notes("mv", "/notes/tea.md", "/tea.md")
    notes("mv", "/tea.md", "/notes/tea.md")
    history = run_json("log", "/notes/tea.md", "--follow")["revisions"]
    assert [entry["operation"] for entry in history] == ["move", "move", "edit", "write"]


def test_mv_to_another_namespace(notes: Run, store_url: str) -> None:
    notes("mv", "/notes", "--to-namespace", "acme/a%2Fb")
    with open_store(store_url) as store:
        assert sorted(entry.key for entry in store.list_keys(("acme", "a/b"), "")) == [
            "/notes/deep/er.md",
            "/notes/tea.md",
        ]
    notes("cat", "/notes/tea.md", code=3)
    assert notes("cat", "-n", "acme/a%2Fb", "/notes/tea.md").stdout == "green\nBLACK\nwhite\n"
