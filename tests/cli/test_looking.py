"""ls, tree, cat, grep and glob."""

from __future__ import annotations

import time

import pytest

from memoranda import Author, open_store
from tests.cli.conftest import Run, RunJson


def test_ls_lists_names_and_folders_of_the_top(notes: Run, run_json: RunJson) -> None:
    keys = [entry["key"] for entry in run_json("ls")["entries"]]
    assert keys == ["profile", "/logo.png", "/notes/"]
    assert [line.split()[-1] for line in notes("ls").stdout.splitlines()] == keys
    assert [entry["key"] for entry in run_json("ls", "/")["entries"]] == ["/logo.png", "/notes/"]


def test_ls_shows_size_and_revision(notes: Run) -> None:
    (line,) = [line for line in notes("ls", "/notes").stdout.splitlines() if "tea.md" in line]
    size, unit, revision, day, clock, key = line.split()
    assert (size, unit, revision, key) == ("18", "B", "r2", "/notes/tea.md")
    assert len(day) == 10 and clock.endswith("Z")


def test_ls_goes_below_and_takes_a_file(notes: Run, run_json: RunJson) -> None:
    below = [entry["key"] for entry in run_json("ls", "-R")["entries"]]
    assert sorted(below) == ["/logo.png", "/notes/deep/er.md", "/notes/tea.md", "profile"]
    assert [entry["key"] for entry in run_json("ls", "notes/tea.md")["entries"]] == ["/notes/tea.md"]
    assert [entry["key"] for entry in run_json("ls", "profile")["entries"]] == ["profile"]


def test_ls_finds_names_on_both_sides_of_the_paths(run: Run, run_json: RunJson, store_url: str) -> None:
    names = ["!before", "0after", "a/b", "zebra", "日记"]
    with open_store(store_url) as store:
        for name in [*names, "/path.md", "/folder/path.md"]:
            store.put(("ann",), name, {"x": 1})
    listed = [entry["key"] for entry in run_json("ls")["entries"]]
    assert sorted(listed) == sorted([*names, "/folder/", "/path.md"])


def test_ls_without_a_namespace_lists_namespaces(run: Run, run_json: RunJson) -> None:
    for namespace in ("ann", "acme/bob", "a%2Fb"):
        run("write", "-n", namespace, "/x", "x")
    assert run_json("ls", MEMORANDA_NAMESPACE="") == {"namespaces": [["a/b"], ["acme", "bob"], ["ann"]]}
    assert run("ls", MEMORANDA_NAMESPACE="").stdout.split() == ["a%2Fb", "acme/bob", "ann"]


def test_an_empty_namespace_names_those_below_it(run: Run) -> None:
    run("write", "-n", "acme/ann", "/x", "x")
    run("write", "-n", "acme", "/x", "x")
    run("rm", "-n", "acme", "/x")
    assert run("ls", "-n", "acme").stderr == "Nothing is in acme itself; try acme/ann.\n"


def test_the_only_namespace_is_used_and_named(run: Run) -> None:
    run("write", "/x", "only one")
    result = run("cat", "/x", MEMORANDA_NAMESPACE="")
    assert result.stdout == "only one"
    assert "namespace ann" in result.stderr
    run("write", "-n", "bob", "/x", "two")
    refused = run("cat", "/x", MEMORANDA_NAMESPACE="", code=2)
    assert "several namespaces" in refused.stderr and "-n" in refused.stderr


def test_a_namespace_must_be_named_in_an_empty_store(run: Run, open_here, store_url: str) -> None:
    open_here(store_url).close()
    assert "-n" in run("write", "/x", "x", MEMORANDA_NAMESPACE="", code=2).stderr


def test_tree(notes: Run) -> None:
    lines = notes("tree").stdout.splitlines()
    assert lines[0] == "ann /"
    assert lines[1].startswith("├── logo.png  ")
    assert lines[2:4] == ["└── notes/", "    ├── deep/"]
    assert lines[4].startswith("    │   └── er.md  8 B  r1")
    assert lines[5].startswith("    └── tea.md  18 B  r2")
    assert lines[6].startswith("profile")
    assert lines[7].startswith("4 items, ")
    assert notes("tree", "/notes/deep").stdout.splitlines()[1].startswith("└── er.md")


def test_cat_gives_the_very_bytes(notes: Run) -> None:
    assert notes("cat", "/logo.png").stdout_bytes == b"\x89PNG\xff\x00"
    assert notes("cat", "/notes/tea.md").stdout_bytes == b"green\nBLACK\nwhite\n"
    assert notes("cat", "notes//./tea.md").stdout_bytes == b"green\nBLACK\nwhite\n"
    assert notes("cat", "profile").stdout == '{\n  "name": "Ann"\n}\n'


@pytest.mark.parametrize("content", [b"", b"\r\n\r\n", b"no end", "日记 🍵".encode(), b"\x00\xff" * 5])
def test_what_goes_in_comes_out(run: Run, content: bytes) -> None:
    run("write", "/x", "-", input=content)
    assert run("cat", "/x").stdout_bytes == content


def test_cat_looks_back(notes: Run, store_url: str) -> None:
    assert notes("cat", "/notes/tea.md", "--revision", 1).stdout == "green\nblack\nwhite\n"
    with open_store(store_url) as store:
        first = store.history(("ann",), "/notes/tea.md")[-1].at
    assert notes("cat", "/notes/tea.md", "--at", first.isoformat()).stdout == "green\nblack\nwhite\n"
    assert notes("cat", "/notes/tea.md", "--at", "2000-01-01", code=3)
    assert "no time" in notes("cat", "/notes/tea.md", "--at", "tea time", code=2).stderr
    notes("cat", "/notes/tea.md", "--at", "2026-01-01", "--revision", 1, code=2)
    notes("cat", "/notes/tea.md", "--revision", 9, code=3)


def test_a_time_that_log_shows_means_the_end_of_its_second(run: Run) -> None:
    while time.time() % 1 > 0.5:  # both writes within one second
        time.sleep(0.05)
    run("write", "/x", "one")
    run("write", "/x", "two")
    shown = run("log", "/x", "--limit", 1).stdout
    day, clock = shown.split()[1:3]
    assert run("cat", "/x", "--at", f"{day} {clock}").stdout == "two"


def test_a_name_wins_over_a_path_and_a_slash_over_both(run: Run, store_url: str) -> None:
    run("write", "/profile", "a file")
    assert run("cat", "profile").stdout == "a file"
    with open_store(store_url) as store:
        store.put(("ann",), "profile", {"a": "name"})
    assert '"a": "name"' in run("cat", "profile").stdout
    assert run("cat", "/profile").stdout == "a file"


def test_grep(notes: Run, run_json: RunJson) -> None:
    assert notes("grep", "te").stdout == "/notes/tea.md:3:white\n/notes/deep/er.md:1:tea time\n"
    assert notes("grep", "te", "/notes/deep").stdout == "/notes/deep/er.md:1:tea time\n"
    assert notes("grep", "te", "--glob", "tea.*").stdout == "/notes/tea.md:3:white\n"
    found = run_json("grep", "e", "--limit", 1)
    assert len(found["matches"]) == 1 and found["truncated"]
    assert [match["key"] for match in run_json("grep", "Ann", "profile")["matches"]] == ["profile"]
    assert notes("grep", "coffee", code=1).stdout == ""
    assert run_json("grep", "coffee", code=1)["matches"] == []


def test_glob(notes: Run, run_json: RunJson) -> None:
    assert {entry["key"] for entry in run_json("glob", "*.md")["entries"]} == {"/notes/tea.md", "/notes/deep/er.md"}
    assert [entry["key"] for entry in run_json("glob", "*.md", "/notes/deep")["entries"]] == ["/notes/deep/er.md"]
    assert "/logo.png" in notes("glob", "*.png").stdout
    assert notes("glob", "*.gif", code=1).stdout == ""


def test_reading_does_not_renew_a_time_to_live(run: Run, store_url: str) -> None:
    with open_store(store_url) as store:
        store.write(("ann",), "/x", "x", ttl=0.03, author=Author("test"))
    deadline = time.monotonic() + 20
    while run("cat", "/x", code=None).exit_code != 3:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_tenants_are_walls(run: Run) -> None:
    run("write", "/x", "mine", "--tenant", "one")
    run("cat", "/x", code=3)
    assert run("cat", "/x", MEMORANDA_TENANT="one").stdout == "mine"


def test_global_options_go_before_and_after_the_command(anywhere: Run, store_url: str) -> None:
    anywhere("--store", store_url, "-n", "ann", "write", "/x", "before")
    assert anywhere("cat", "/x", "--store", store_url, "-n", "ann").stdout == "before"
    assert anywhere("--store", "foo://", "-n", "bob", "cat", "--store", store_url, "-n", "ann", "/x").stdout == "before"
    assert anywhere("--json", "stats", "--store", store_url).stdout.startswith("{")
