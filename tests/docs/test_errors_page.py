"""The page of errors: every one is on it, and it says what an edit raises."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import memoranda
from memoranda import ConflictError, MemoryStore
from memoranda.errors import ItemNotFoundError

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "errors.md").read_text("utf-8")
NS = ("ann",)


def subclasses() -> set[str]:
    """Every class that derives from `MemorandaError`, read from the sources rather than from what was imported."""
    bases: dict[str, set[str]] = {}
    for file in Path(memoranda.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases.setdefault(node.name, set()).update(ast.unparse(base).rpartition(".")[2] for base in node.bases)
    found = {"MemorandaError"}
    while more := {name for name, parents in bases.items() if parents & found} - found:
        found |= more
    return found


def test_every_error_is_on_the_page() -> None:
    assert {"ApprovalContextError", "BrokenSkillError", "ForeignFailureError"} <= subclasses()
    assert set(re.findall(r"^\| `(\w+Error)` \|", PAGE, re.MULTILINE)) == subclasses()


def test_what_an_edit_raises(store: MemoryStore) -> None:
    store.write(NS, "/a.md", "tea tea")
    store.write(NS, "/b.bin", b"\xff\x00")
    store.put(NS, "doc", {"kind": "tea"})
    with pytest.raises(ItemNotFoundError):
        store.edit(NS, "/none.md", "a", "b")
    for key, old, new, reason in [
        ("/a.md", "coffee", "x", "text_not_found"),
        ("/a.md", "tea", "x", "text_not_unique"),
        ("/a.md", "", "x", "not_editable"),
        ("/b.bin", "a", "x", "not_editable"),
        ("doc", '"tea"', "tea", "not_editable"),
    ]:
        with pytest.raises(ConflictError) as caught:
            store.edit(NS, key, old, new)
        assert caught.value.conflicts[0].reason == reason and f"| `{reason}` |" in PAGE
