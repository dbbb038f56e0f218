"""Which namespace a command works in, and that following a hint means the same one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

import pytest

from memoranda import MemoryStore, open_store
from tests.cli.conftest import Run, RunJson

WRITERS = ("restore /x.md 1", "write /x.md again", "edit /x.md two three", "rm /x.md", "mv /x.md /y.md")
NOWHERE = {"MEMORANDA_NAMESPACE": ""}


def hints(text: str) -> list[list[str]]:
    """The commands that a message names, as a shell reads them."""
    return [shlex.split(hint)[1:] for hint in re.findall(r"`(memoranda [^`]*)`", text)]


@pytest.fixture
def one_is_deleted(run: Run) -> Run:
    """A store with `a`, whose items are all deleted, and `b`, which holds something."""
    run("write", "-n", "a", "/x.md", "one")
    run("write", "-n", "b", "/x.md", "two")
    run("rm", "-n", "a", "/x.md")
    return run


@pytest.mark.parametrize("command", [*WRITERS, "cat /x.md", "log /x.md", "grep two", "ls -R"])
def test_a_namespace_of_deleted_items_counts(one_is_deleted: Run, store_url: str, command: str) -> None:
    refused = one_is_deleted(*command.split(), code=2, **NOWHERE).stderr
    assert "several namespaces" in refused and "memoranda changes" in refused
    with open_store(store_url) as store:
        assert len(store.history(("b",), "/x.md")) == 1 and len(store.history(("a",), "/x.md")) == 2


def test_two_namespaces_of_deleted_items_are_several(one_is_deleted: Run) -> None:
    one_is_deleted("rm", "-n", "b", "/x.md")
    assert "several namespaces" in one_is_deleted("restore", "/x.md", 1, code=2, **NOWHERE).stderr
    assert "several namespaces" in one_is_deleted("write", "/x.md", "x", code=2, **NOWHERE).stderr


def test_the_only_namespace_is_used_though_all_is_deleted(run: Run) -> None:
    run("write", "-n", "a", "/x.md", "one")
    run("rm", "-n", "a", "/x.md")
    assert "namespace a," in run("restore", "/x.md", 1, **NOWHERE).stderr
    assert run("cat", "-n", "a", "/x.md").stdout == "one"


def test_a_hint_brings_back_what_was_deleted_where_it_was(anywhere: Run, store_url: str) -> None:
    there = ("--store", store_url, "--tenant", "the firm")
    for name, text in (("my team/ann", "one"), ("b", "two")):
        anywhere("write", *there, "-n", name, "/a note.md", text)
        anywhere("rm", *there, "-n", name, "/a note.md")
    told = anywhere("cat", *there, "-n", "my team/ann", "/a note.md", code=3).stderr
    log, restore = hints(told)
    assert log[:6] == ["log", *there, "-n"] or "***" in told
    if "***" not in told:  # a password is not repeated
        assert anywhere(*log).stdout.count("\n") == 2
        anywhere(*restore)
        assert anywhere("cat", *there, "-n", "my team/ann", "/a note.md").stdout == "one"
        anywhere("cat", *there, "-n", "b", "/a note.md", code=3)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("cat /none", 3),
        ("cat /notes", 3),
        ("cat /gone", 3),
        ("cat /notes/tea.md -r 9", 3),
        ("log /none", 3),
        ("diff /none", 3),
        ("blame /gone", 3),
        ("ls /none", 3),
        ("tree /gone", 3),
        ("edit /none a b", 3),
        ("edit /logo.png a b", 4),
        ("rm /none", 3),
        ("mv /none /other", 3),
        ("mv --contents /none /other", 3),
        ("restore /none 1", 3),
        ("restore /notes/tea.md 9", 3),
        ("grep tea /none", 1),
        ("glob *.md /none", 1),
    ],
)
def test_every_hint_repeats_store_and_namespace(notes: Run, store_url: str, command: str, code: int) -> None:
    notes("write", "/gone", "x")
    notes("rm", "/gone")
    given = ("--store", store_url, "-n", "ann")
    told = notes(*command.split(), *given, code=code, **NOWHERE).stderr
    for hint in hints(told):
        assert hint[1:5] == list(given) or "***" in told, told
    if hints(told) and "***" not in told and hints(told)[0][0] in ("ls", "log"):
        notes(*hints(told)[0], MEMORANDA_STORE="", **NOWHERE)  # it can be followed


def test_a_hint_names_what_the_environment_says_too(notes: Run) -> None:
    assert hints(notes("cat", "/none", code=3).stderr) == [["ls", "-n", "ann", "/"]]
    only = notes("cat", "/none", code=3, **NOWHERE).stderr
    assert hints(only) == [["ls", "-n", "ann", "/"]]


def test_where_a_listing_goes_on(notes: Run, store_url: str) -> None:
    (on,) = hints(notes("changes", "-n", "ann", "--store", store_url, "--author", "user:ann").stderr)
    assert on[:3] == ["changes", "--store", store_url] or "***" in on[2]
    assert on[3:7] == ["-n", "ann", "--author", "user:ann"] and on[7] == "--since"


def test_an_agents_path_leads_to_the_key(run: Run, run_json: RunJson) -> None:
    run("write", "-n", "ann@example.com", "/AGENTS.md", "tea")
    run("write", "-n", "ann@example.com", "/notes/a.md", "tea")
    for command in ("log", "cat", "blame", "diff", "ls", "tree", "rm"):
        error = run_json(command, "/memories/AGENTS.md", "-n", "ann@example.com", code=3)
        assert error["cause"] == (
            "/memories/AGENTS.md does not exist in ann@example.com, but /AGENTS.md does; "
            "a route's prefix is no part of the key."
        )
        ((suggested, *rest),) = hints(error["remedy"])
        assert suggested == (command if command in ("log", "cat", "blame", "diff") else "log")
        assert rest == ["-n", "ann@example.com", "/AGENTS.md"]
        run(suggested, *rest)
    for path, hint in (
        ("/memories/notes/a.md", ["log", "-n", "ann@example.com", "/notes/a.md"]),
        ("/org/memories/notes/a.md", ["log", "-n", "ann@example.com", "/notes/a.md"]),
        ("/memories/notes", ["ls", "-n", "ann@example.com", "/notes"]),
    ):
        error = run_json("log", path, "-n", "ann@example.com", code=3)
        assert "route's prefix" in error["cause"] and hints(error["remedy"]) == [hint]
    assert "route's prefix, such as /memories/" in run("ls", "-n", "ann@example.com", "/memories", code=3).stderr
    told = run("grep", "tea", "/memories/notes", "-n", "ann@example.com", code=1)
    assert told.stdout == "" and "but /notes does; a route's prefix" in told.stderr


def test_a_key_of_another_namespace_is_found(run: Run, run_json: RunJson) -> None:
    run("write", "-n", "bob", "/x.md", "x")
    run("write", "-n", "ann", "/y.md", "y")
    same = run_json("log", "/x.md", code=3)
    assert same["cause"] == "/x.md does not exist in ann, but it does in bob."
    assert hints(same["remedy"]) == [["log", "-n", "bob", "/x.md"]]
    longer = run_json("log", "/memories/x.md", "-n", "nobody", code=3)
    assert "but /x.md does in bob; a route's prefix is no part of the key" in longer["cause"]
    run("write", "-n", "bob", "/other.md", "x")
    run("rm", "-n", "bob", "/x.md")
    assert "but it did, and is deleted in bob" in run_json("cat", "/x.md", code=3)["cause"]


@pytest.mark.parametrize(
    "command", ["ls", "ls -R", "ls /", "tree", "grep tea", "glob *.md", "ls /x", "cat /x", "log /x"]
)
def test_a_namespace_that_is_not_there(run: Run, run_json: RunJson, command: str) -> None:
    run("write", "-n", "ann@example.com", "/notes/tea.md", "tea")
    error = run_json(*command.split(), "-n", "typo", code=3)
    assert error["error"] == "ItemNotFoundError"
    assert "typo" in error["cause"] and "no " in error["cause"]
    assert (
        "There is ann@example.com; `MEMORANDA_NAMESPACE= memoranda ls`"
        in run_json(*command.split(), MEMORANDA_NAMESPACE="typo", code=3)["remedy"]
    )
    assert hints(error["remedy"]) == [["ls"]]
    assert run(*command.split(), "-n", "typo", "--json", code=3).stdout == ""


def test_a_namespace_of_deleted_items_is_there(one_is_deleted: Run) -> None:
    assert one_is_deleted("ls", "-n", "a").stderr == "Nothing is in a.\n"
    one_is_deleted("grep", "two", "-n", "a", code=1)


def test_labels_that_only_others_start_with_name_those(run: Run) -> None:
    run("write", "-n", "acme/ann", "/x", "x")
    run("write", "-n", "acme-corp", "/x", "x")
    assert "try -n acme/ann." in run("ls", "-n", "acme", code=3).stderr
    assert "There is acme/ann, acme-corp" in run("ls", "-n", "ac", code=3).stderr


def test_an_empty_store_says_so(run: Run, open_here: Callable[..., MemoryStore], store_url: str) -> None:
    open_here(store_url).close()
    assert "The store holds nothing now" in run("ls", "-n", "typo", code=3).stderr


def test_log_blame_and_changes_show_thread_run_and_tool_call(run: Run, store_url: str) -> None:
    from memoranda import Author

    with open_store(store_url) as store:
        author = Author("agent:planner", thread_id="monday", run_id="run-1", tool_call_id="call\x1b7")
        store.write(("ann",), "/a.md", "one\n", author=author)
        store.write(("ann",), "/a.md", "one\ntwo\n", author=Author("user:ann"))
    shown = "thread monday, run run-1, tool call call\\x1b7"
    newest, oldest, where = run("log", "/a.md", "-v").stdout.splitlines()
    assert newest.startswith("r2 ") and oldest.startswith("r1 ") and where == f"    {shown}"
    assert shown in run("log", "/a.md", "--patch", "--verbose").stdout
    assert f"{shown}  1  one" in run("blame", "/a.md", "-v").stdout.splitlines()[0]
    assert shown in run("changes", "-v").stdout and shown in run("changes", "-v", "--follow", "--limit", 2).stdout
    for command in (["log", "/a.md"], ["blame", "/a.md"], ["changes"]):
        assert "monday" not in run(*command).stdout


def test_a_warning_of_the_library_is_a_line_for_people_and_none_for_programs(tmp_path, anywhere: Run) -> None:
    import sqlite3

    url = f"sqlite:///{tmp_path / 'memory.db'}"
    anywhere("write", "--store", url, "-n", "ann", "/x", "x")
    with sqlite3.connect(tmp_path / "memory.db") as theirs:
        theirs.executescript("CREATE TABLE checkpoints (x); CREATE TABLE writes (x)")
    theirs.close()
    told = anywhere("cat", "--store", url, "-n", "ann", "/x")
    assert told.stdout == "x" and "Warning: " in told.stderr and "also holds LangGraph's checkpoints" in told.stderr
