"""The demo does what it says, on each engine; what it did is checked in the store."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from memoranda import open_store

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = ("acme", "knowledge-base")


def test_the_demo_runs(store_url: str) -> None:
    done = subprocess.run(
        [sys.executable, "examples/demo.py", "docs", "--store", store_url], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "50 of 50 edits and 50 of 50" in " ".join(done.stdout.split())
    assert "every digest holds" in done.stdout
    with open_store(store_url) as store:
        imported = {entry.key for entry in store.list_keys(NAMESPACE, recursive=True)}
        pages = {f"/{page.relative_to(ROOT / 'docs')}" for page in (ROOT / "docs").rglob("*.md")}
        assert imported == pages | {"/team/decisions.md"}
        decisions = store.history(NAMESPACE, "/team/decisions.md")
        assert len(decisions) == 101
        assert {entry.author.actor for entry in decisions} == {"user:ann", "user:ben"}
        restored = [change for change in store.changes(limit=10_000) if change.operation == "restore"]
        assert len(restored) == 1 and restored[0].origin["restored"] == 1


def test_the_demo_says_what_is_missing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "examples/demo.py", str(tmp_path / "nothing")], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2 and "make demo" in done.stdout
