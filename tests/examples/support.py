"""Running the examples as `python examples/<name>.py` does, without a process for each."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from memoranda import MemoryStore

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples"
NAMES = sorted(path.stem for path in FOLDER.glob("[!_]*.py") if path.stem != "demo")


def run_example(name: str, monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    """Run one example with options of its command line."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *options])
    monkeypatch.setenv("COLUMNS", "200")
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")


def text_in(store: MemoryStore, namespace: tuple[str, ...], key: str) -> str:
    """The text of a file that has to be there."""
    item = store.get(namespace, key)
    assert item is not None, f"{key} is not in {namespace}"
    return item.value["content"]


def tree(store: MemoryStore) -> dict[tuple[str, ...], list[str]]:
    """Every file of the store, by namespace."""
    return {
        namespace: [entry.key for entry in store.list_keys(namespace, recursive=True)]
        for namespace in store.list_namespaces(limit=100)
    }


def made_by(store: MemoryStore, namespace: tuple[str, ...], key: str) -> list[tuple[str, str | None, str | None]]:
    """Operation, actor and thread of every revision, the first one first."""
    return [
        (entry.operation, entry.author.actor, entry.author.thread_id)
        for entry in reversed(store.history(namespace, key))
    ]
