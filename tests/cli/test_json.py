"""Every command speaks JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memoranda import Append, ChangeSet, MemoryStore
from memoranda.cli.app import COMMANDS
from tests.cli.conftest import Run

LINES = {
    "ls": ["ls"],
    "tree": ["tree"],
    "cat": ["cat", "/notes/tea.md"],
    "grep": ["grep", "e"],
    "glob": ["glob", "*.md"],
    "write": ["write", "/notes/日记.md", "tea"],
    "edit": ["edit", "/notes/tea.md", "green", "GREEN"],
    "rm": ["rm", "/notes/tea.md"],
    "mv": ["mv", "/notes/tea.md", "/tea.md"],
    "log": ["log", "/notes/tea.md"],
    "diff": ["diff", "/notes/tea.md"],
    "blame": ["blame", "/notes/tea.md"],
    "restore": ["restore", "/notes/tea.md", "1"],
    "changes": ["changes"],
    "proposals list": ["proposals", "list"],
    "proposals show": ["proposals", "show", "{proposal}"],
    "proposals accept": ["proposals", "accept", "{proposal}"],
    "proposals reject": ["proposals", "reject", "{proposal}"],
    "import": ["import", "{folder}"],
    "export": ["export", "{folder}/out"],
    "verify": ["verify"],
    "stats": ["stats"],
    "migrate": ["migrate"],
}


@pytest.mark.parametrize("command", [each.name for each in COMMANDS])
def test_json(notes: Run, store: MemoryStore, tmp_path: Path, command: str) -> None:
    proposal = store.propose(ChangeSet([Append(("ann",), "/notes/tea.md", "oolong")]))
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a.md").write_text("tea")
    line = [part.format(folder=tmp_path / "source", proposal=proposal.id) for part in LINES[command]]
    result = notes(*line, "--json")
    assert isinstance(json.loads(result.stdout), dict)
    assert result.stderr == ""


def test_hard_text_survives(notes: Run) -> None:
    hard = 'quote " backslash \\ newline\n tab\t nul\x00 escape\x1b emoji 🍵 日记 \u2028'
    notes("write", "/hard", input=hard)
    assert json.loads(notes("cat", "/hard", "--json").stdout)["value"]["content"] == hard
