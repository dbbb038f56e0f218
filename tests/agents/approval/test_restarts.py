"""What waits for a person outlives the process that asked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memoranda import MemoryStore
from tests.agents.approval.support import ACME, APPROVE

ROOT = Path(__file__).parents[3]


@pytest.fixture
def threads(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the checkpoints are: never in the database of the store, and on its engine, which says nothing of them."""
    if engine == "postgres":
        return request.getfixturevalue("other_postgres_url")
    return str(tmp_path / "threads.db")


def run(store: MemoryStore, store_url: str, threads: str, *, code: int = 0, **wish: Any) -> Any:
    wish = {"store": store_url, "threads": threads, "position": 0, **wish}
    command = [sys.executable, "-m", "tests.agents.approval.approving_process", json.dumps(wish)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout.splitlines()[-1]) if code == 0 else None


def text(store: MemoryStore) -> str:
    item = store.get(ACME, "/policies/tea.md")
    assert item is not None
    return item.value["content"]


def test_another_process_goes_on(store: MemoryStore, store_url: str, threads: str) -> None:
    store.write(ACME, "/policies/tea.md", "one\ntwo\nthree\n")
    (asked,) = run(store, store_url, threads)["asked"]
    assert "-one\n+ONE\n" in asked["action_requests"][0]["description"]
    # Somebody else changes the file while no process of the agent runs.
    store.edit(ACME, "/policies/tea.md", "three", "THREE")
    (again,) = run(store, store_url, threads, position=2, decisions=[APPROVE])["asked"]
    assert again["action_requests"][0]["args"]["content"] == "ONE\ntwo\nTHREE\n"
    assert text(store) == "one\ntwo\nTHREE\n"
    done = run(store, store_url, threads, position=2, decisions=[APPROVE])
    assert done["asked"] == [] and done["last"] == "Done."
    assert text(store) == "ONE\ntwo\nTHREE\n"
    assert store.history(ACME, "/policies/tea.md", limit=1)[0].author.actor == "agent:agent"


def test_a_rejection_after_a_restart(store: MemoryStore, store_url: str, threads: str) -> None:
    store.write(ACME, "/policies/tea.md", "one\ntwo\nthree\n")
    run(store, store_url, threads)
    done = run(store, store_url, threads, position=2, decisions=[{"type": "reject", "message": "no"}])
    assert "rejected" in done["told"][-1] and text(store) == "one\ntwo\nthree\n"


def test_a_process_that_dies_after_the_change_lands_it_once(store: MemoryStore, store_url: str, threads: str) -> None:
    store.write(ACME, "/policies/tea.md", "one\ntwo\nthree\n")
    run(store, store_url, threads)
    run(store, store_url, threads, position=2, decisions=[APPROVE], dying=True, code=9)
    assert text(store) == "ONE\ntwo\nthree\n"
    store.append(ACME, "/policies/tea.md", "four")
    done = run(store, store_url, threads, position=2, decisions=[APPROVE])
    assert done["asked"] == [] and done["told"][-1].startswith("A person approved this.")
    assert text(store) == "ONE\ntwo\nthree\nfour"
    assert len(store.history(ACME, "/policies/tea.md")) == 3
