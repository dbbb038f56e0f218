"""The documentation is part of the product: its code runs, its links lead somewhere, and it leaves nothing out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import memoranda

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / "CONTRIBUTING.md"])
WITH_CODE = [page for page in PAGES if "```python" in page.read_text("utf-8")]
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    names: dict[str, object] = {"__name__": "__page__"}
    for match in _BLOCK.finditer(text):
        line = text[: match.start(1)].count("\n")
        # Blank lines in front, so that a failure names the line of the page.
        exec(compile("\n" * line + match[1], str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = [link for link in _LINK.findall(page.read_text("utf-8")) if "://" not in link]
    broken = [link for link in links if not (page.parent / link).exists()]
    assert not broken


def test_the_reference_is_in_step() -> None:
    done = subprocess.run([sys.executable, "docs/build.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_everything_public_is_in_the_reference() -> None:
    page = (ROOT / "docs/reference/python.md").read_text("utf-8")
    names = [name for name in memoranda.__all__ if name not in ("__version__", "MemorandaError")]
    assert not [name for name in names if f"### `{name}`" not in page]
