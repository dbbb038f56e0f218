"""The demo does what it says, on each engine; what it did is checked in the store."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memoranda import open_store
from tests.examples.support import FOLDER, ROOT, made_by, text_in

NAMESPACE = ("acme", "knowledge-base")
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY")


def demo(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the demo without anybody's key."""
    env = {name: value for name, value in os.environ.items() if name not in KEYS} | {"COLUMNS": "150", **environment}
    command = [sys.executable, "examples/demo.py", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=env)


def test_the_demo_runs(store_url: str, tmp_path: Path) -> None:
    picture = tmp_path / "demo.svg"
    done = demo("docs", "--store", store_url, "--picture", str(picture))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "50 of 50 edits and 50 of 50" in " ".join(done.stdout.split())
    assert "every digest holds" in done.stdout
    assert picture.read_text("utf-8").startswith("<svg") and "History" in picture.read_text("utf-8")
    block = done.stdout.partition("In the prompt of the second conversation")[2].partition("</agent_memory>")[0]
    assert '<memory_file path="/memories/preferences.md" revision="1" author="agent:assistant">' in block
    assert "Metric units." in block and "Vegetarian." not in block
    assert "model: scripted" in done.stdout
    for question, thread, said in (
        ("settle on for the kitchen", "kitchen-paint-again:1", "Comfort Grey"),
        ("zero dates cause trouble", "postgres-cutover:1", "the nightly report was empty"),
        ("妈妈对什么过敏", "妈妈来访:1", "对虾过敏"),
        ("allergic to nuts", "lisbon:1", "not even traces"),
        ("How is a mistake documented", ".md:", ""),
    ):
        answer = done.stdout.partition(question)[2].partition("\n\n")[0]
        assert thread in answer and said in answer, question
    assert "By words alone, 0 passages" in done.stdout
    tended = done.stdout.partition("Tended in the background")[2].partition("A team's documents")[0]
    assert "applied, 41 turns read" in tended and "Once more: nothing is new" in tended
    assert "kitchen-paint-again" in tended and "妈妈来访" in tended
    with open_store(store_url) as store:
        assert text_in(store, ("ann@example.org",), "/preferences.md").endswith("- Metric units.\n- Vegetarian.\n")
        assert made_by(store, ("ann@example.org",), "/preferences.md") == [
            ("write", "agent:assistant", "monday"),
            ("edit", "agent:assistant", "tuesday"),
        ]
        imported = {entry.key for entry in store.list_keys(NAMESPACE, recursive=True)}
        pages = {f"/{page.relative_to(ROOT / 'docs')}" for page in (ROOT / "docs").rglob("*.md")}
        assert imported == pages | {"/team/decisions.md"}
        assert sum(thread.turns for thread in store.threads(("mei@example.org",))) == 41
        decisions = store.history(NAMESPACE, "/team/decisions.md")
        assert len(decisions) == 101
        assert {entry.author.actor for entry in decisions} == {"user:ann", "user:ben"}
        restored = [change for change in store.changes(limit=10_000) if change.operation == "restore"]
        assert len(restored) == 1 and restored[0].origin["restored"] == 1


def test_the_demo_says_what_is_missing(tmp_path: Path) -> None:
    done = demo(str(tmp_path / "nothing"))
    assert done.returncode == 2 and "make demo" in done.stdout


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The demo, imported."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("demo")


@pytest.mark.parametrize(("key", "named"), [*zip(KEYS, ["anthropic:", "openai:", "google_genai:"], strict=True)])
def test_a_key_brings_its_model(
    module: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], key: str, named: str
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda package: package)
    assert module.chosen_model({key: "k"}).startswith(named)
    assert module.chosen_model({}) is None and module.chosen_model({key: ""}) is None
    monkeypatch.setattr(module, "find_spec", lambda package: None)
    assert module.chosen_model({key: "k"}) is None
    assert key in capsys.readouterr().out, "a key that is not used is told"


def test_a_model_that_does_not_answer(module: Any, store_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(store_url) as store:
        module.remember(store, "nobody:nothing")
        assert text_in(store, ("ann@example.org",), "/preferences.md").endswith("- Vegetarian.\n")
    said = " ".join(capsys.readouterr().out.split())
    assert "nobody:nothing did not answer" in said and "Once more, model: scripted" in said
