"""Forgetting from the command line: nothing goes before somebody has seen what, and the receipt is never lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memoranda import open_store
from memoranda.store.turns import Turn
from memoranda.transfer import import_bundle
from tests.cli.conftest import Run, RunJson
from tests.cli.terminal import on_terminal


@pytest.fixture
def filled(notes: Run, store_url: str) -> Run:
    """A store with something of Ann and of Bob."""
    notes("write", "/tea.md", "black", MEMORANDA_NAMESPACE="bob")
    with open_store(store_url) as store:
        store.record_turns(("ann",), "t1", [Turn("m1", "user", "I like green tea.")], user="ann")
        store.record_turns(("bob",), "t2", [Turn("m1", "user", "So do I.")], user="ann")
    return notes


def test_it_says_what_would_go_and_changes_nothing(filled: Run, run_json: RunJson) -> None:
    told = filled("forget", "--subject", "ann", "--dry-run").stdout
    assert told.startswith("Would forget ann, ")
    assert "  ann: 4 items, 5 revisions, 1 turn, 1 thread" in told
    assert "  bob: 1 turn, 1 thread" in told
    assert run_json("verify", "-n", "ann")["ok"]
    assert run_json("cat", "/notes/tea.md")["revision"] == 2


def test_nobody_is_asked_without_a_terminal(filled: Run, run_json: RunJson) -> None:
    refused = filled("forget", "--scope", "ann", code=2)
    assert "--yes" in refused.stderr
    assert run_json("forget", "--scope", "ann", code=2)["remedy"]
    assert run_json("cat", "/notes/tea.md")["revision"] == 2


def test_it_goes_with_a_receipt(filled: Run, run_json: RunJson, tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.json"
    told = filled("forget", "--scope", "ann", "--yes", "--receipt", receipt).stdout
    assert told.startswith("Forgot ann, ")
    assert "Not reached:" in told
    written = json.loads(receipt.read_text("utf-8"))
    assert written["counts"]["items"] == 4
    assert written["removed"][0]["namespace"] == ["ann"]
    filled("cat", "/notes/tea.md", code=3)
    filled("cat", "-n", "bob", "/tea.md")
    assert run_json("forget", "--scope", "ann", "--yes")["counts"]["items"] == 0
    filled("forget", "--scope", "bob", "--yes", "--receipt", receipt, code=5)
    filled("cat", "-n", "bob", "/tea.md")
    filled("forget", "--scope", "bob", "--receipt", tmp_path / "other.json", code=2)
    assert not (tmp_path / "other.json").exists()


def test_the_namespace_of_the_environment_is_never_meant(filled: Run) -> None:
    refused = filled("forget", "--yes", code=2)
    assert "Nothing was named" in refused.stderr
    filled("forget", "-n", "ann", "--yes")
    filled("cat", "/notes/tea.md", code=3)


@pytest.mark.parametrize(
    "wrong",
    [
        ("--below",),
        ("--everything", "--scope", "ann"),
        ("--thread", "t", "--subject", "ann"),
        ("--scope", "a//b"),
        ("--vacuum-only", "--scope", "ann"),
    ],
)
def test_what_makes_no_sense_is_refused(filled: Run, wrong: tuple[str, ...]) -> None:
    filled("forget", *wrong, "--yes", code=2)
    filled("cat", "/notes/tea.md")


def test_one_conversation(filled: Run, store_url: str) -> None:
    told = filled("forget", "--thread", "t1", "--yes").stdout
    assert "ann: 1 turn, 1 thread" in told
    with open_store(store_url) as store:
        assert store.turns(("ann",)) == []
        assert len(store.turns(("bob",))) == 1


def test_everything(filled: Run, run_json: RunJson) -> None:
    filled("forget", "--everything", "--yes", "--no-vacuum")
    assert run_json("stats")["items"] == 0
    assert run_json("forget", "--vacuum-only")["vacuumed"]


def test_somebody_at_a_terminal_is_asked(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    with open_store(url) as store:
        store.write(("ann",), "/tea.md", "green")
    asked = "for good? [y/N]"
    said = on_terminal("forget", "--scope", "ann", "--store", url, keys=[(asked, "n\n")])
    assert "Would forget ann" in said.screen
    with open_store(url) as store:
        assert store.get(("ann",), "/tea.md") is not None
    said = on_terminal("forget", "--scope", "ann", "--store", url, keys=[(asked, "y\n")])
    assert said.code == 0
    assert "Forgot ann" in said.screen
    with open_store(url) as store:
        assert store.get(("ann",), "/tea.md") is None


def test_one_person_is_exported(filled: Run, run_json: RunJson, tmp_path: Path) -> None:
    bundle = tmp_path / "ann.mbundle"
    found = run_json("export", bundle, "--subject", "ann")
    assert (found["items"], found["turns"], found["namespaces"]) == (4, 2, [["ann"], ["bob"]])
    with open_store("memory://") as store:
        import_bundle(store, bundle)
        assert store.list_namespaces() == [("ann",)]
        assert len(store.turns(("bob",))) == 1
    found = run_json("export", tmp_path / "scope.mbundle", "--scope", "ann")
    assert (found["items"], found["turns"], found["namespaces"]) == (4, 1, [["ann"]])
    filled("export", tmp_path / "no.mbundle", "--subject", "an", code=3)
    filled("export", tmp_path / "no.mbundle", "--subject", "ann", "-n", "acme", code=3)
    assert "1 turn" in filled("export", tmp_path / "told.mbundle", "--scope", "ann").stdout
