"""mv --contents: what is in a folder, without the folder."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Run, RunJson


@pytest.fixture
def tree(run: Run) -> Run:
    """A store in which everything lies too deep."""
    for key in ("/memories/a.md", "/memories/deep/b.md", "/memories/memories/a.md", "/top.md"):
        run("write", key, key)
    return run


def keys(run_json: RunJson, *options: str) -> list[str]:
    return sorted(entry["key"] for entry in run_json("ls", "-R", *options)["entries"])


def test_to_the_top(tree: Run, run_json: RunJson) -> None:
    hint = tree("mv", "/memories/", "/", code=2).stderr
    assert "--contents" in hint
    done = run_json("mv", "--contents", "/memories/", "/", "--reason", "tidied")
    assert sorted(change["key"] for change in done["changes"]) == ["/a.md", "/deep/b.md", "/memories/a.md"]
    assert keys(run_json) == ["/a.md", "/deep/b.md", "/memories/a.md", "/top.md"]
    assert tree("cat", "/memories/a.md").stdout == "/memories/memories/a.md"
    assert tree("cat", "/a.md").stdout == "/memories/a.md"
    assert "tidied" in tree("log", "/a.md", "--follow").stdout


def test_what_is_in_the_way_stops_all_of_it(tree: Run, run_json: RunJson) -> None:
    tree("write", "/deep/b.md", "mine")
    before = keys(run_json)
    assert "/deep/b.md" in tree("mv", "--contents", "/memories", "/", code=4).stderr
    assert keys(run_json) == before
    tree("mv", "--contents", "/memories", "/", "--force")
    assert tree("cat", "/deep/b.md").stdout == "/memories/deep/b.md"


def test_from_the_top_and_to_another_namespace(tree: Run, run_json: RunJson) -> None:
    tree("mv", "--contents", "/memories", "/", "--to-namespace", "bob")
    assert keys(run_json, "-n", "bob") == ["/a.md", "/deep/b.md", "/memories/a.md"]
    tree("mv", "--contents", "/", "/archive")
    assert keys(run_json) == ["/archive/top.md"]


def test_what_has_no_contents(tree: Run) -> None:
    assert "no folder" in tree("mv", "--contents", "/top.md", "/x", code=3).stderr
    assert "does not exist" in tree("mv", "--contents", "/nothing", "/x", code=3).stderr
    assert "would be moved to" in tree("mv", "--contents", "/memories", "/memories/", code=2).stderr
    tree("mv", "--contents", "/memories", "/memories/deep", code=2)
