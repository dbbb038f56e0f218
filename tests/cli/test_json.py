"""Every command speaks JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from memoranda import Append, ChangeSet, MemoryStore
from memoranda.backends import StoreBackend
from memoranda.cli.app import COMMANDS
from memoranda.consolidation import Consolidator, Task
from memoranda.store.turns import Turn
from tests.cli.conftest import Run
from tests.cli.test_bench import LOCOMO

LINES = {
    "ls": ["ls"],
    "tree": ["tree"],
    "cat": ["cat", "/notes/tea.md"],
    "grep": ["grep", "e"],
    "glob": ["glob", "*.md"],
    "search": ["search", "green"],
    "recall": ["recall", "green"],
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
    "episodes ls": ["episodes", "ls"],
    "episodes show": ["episodes", "show", "t"],
    "episodes search": ["episodes", "search", "kettle"],
    "episodes import": ["episodes", "import", "{folder}/chat.jsonl"],
    "consolidate run": ["consolidate", "run", "ann", "--with", "{folder}/json_app.py:make"],
    "consolidate status": ["consolidate", "status"],
    "consolidate schedule": ["consolidate", "schedule", "0 * * * *"],
    "consolidate runs": ["consolidate", "runs"],
    "consolidate show": ["consolidate", "show", "{run}"],
    "consolidate undo": ["consolidate", "undo", "{run}"],
    "consolidate retry": ["consolidate", "retry", "{parked}", "--with", "{folder}/json_app.py:make"],
    "worker": ["worker", "--with", "{folder}/json_app.py:make", "--until-idle"],
    "import": ["import", "{folder}"],
    "export": ["export", "{folder}/out"],
    "forget": ["forget", "--scope", "ann", "--yes"],
    "verify": ["verify"],
    "stats": ["stats"],
    "reindex": ["reindex"],
    "migrate": ["migrate"],
    "bench": ["bench", "locomo", "--data", "{folder}/locomo.json"],
}

APP = """\
from memoranda.backends import StoreBackend
from memoranda.consolidation import Consolidator


def note(task):
    task.files.append("/said.md", task.turns[0].text)


def make(store):
    return Consolidator(note, store=store, target=StoreBackend(namespace=("ann",), store=store))
"""


def consolidated(store: MemoryStore) -> dict[str, str]:
    """A run that was applied and one that was parked, and a job for a worker."""

    def work(task: Task) -> None:
        if task.turns[0].text == "bad":
            raise RuntimeError("no")
        task.files.append("/said.md", "tea")

    target = StoreBackend(namespace=("ann",), store=store)
    consolidator = Consolidator(work, store=store, target=target, attempts=1)
    ids: list[str | None] = []
    for text in ("good", "bad"):
        store.record_turns(("ann",), "t", [Turn(text, "user", text)])
        ids.append(consolidator.run(("ann",)).run_id)
    store.record_turns(("ann",), "t", [Turn("new", "user", "new")])
    consolidator.on_demand(("ann",))
    return {"run": str(ids[0]), "parked": str(ids[1])}


@pytest.mark.parametrize("command", [each.name for each in COMMANDS])
def test_json(notes: Run, store: MemoryStore, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    proposal = store.propose(ChangeSet([Append(("ann",), "/notes/tea.md", "oolong")]))
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a.md").write_text("tea")
    (tmp_path / "source" / "chat.jsonl").write_text('{"role": "user", "content": "The kettle is green."}\n')
    (tmp_path / "source" / "locomo.json").write_text(json.dumps(LOCOMO))
    store.record_turns(("ann",), "t", [Turn("m", "user", "The kettle is green.")])
    runs = consolidated(store) if command == "worker" or command.startswith("consolidate") else {}
    if runs:
        (tmp_path / "source" / "json_app.py").write_text(APP)
    line = [part.format(folder=tmp_path / "source", proposal=proposal.id, **runs) for part in LINES[command]]
    result = notes(*line, "--json")
    assert isinstance(json.loads(result.stdout), dict)
    assert result.stderr == ""


def test_hard_text_survives(notes: Run) -> None:
    hard = 'quote " backslash \\ newline\n tab\t nul\x00 escape\x1b emoji 🍵 日记 \u2028'
    notes("write", "/hard", input=hard)
    assert json.loads(notes("cat", "/hard", "--json").stdout)["value"]["content"] == hard
