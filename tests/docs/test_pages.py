"""The documentation is part of the product: its code runs, its links lead somewhere, and it leaves nothing out."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.docs.pages import run_page

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / "CONTRIBUTING.md"])
WITH_CODE = [page for page in PAGES if "```python" in page.read_text("utf-8")]
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_ANCHOR = re.compile(r"\]\(([^)#\s]*)#([^)]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text("utf-8"), page, monkeypatch)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    broken = [link for link in _LINK.findall(text) if "://" not in link and not (page.parent / link).exists()]
    for link, anchor in _ANCHOR.findall(text):
        target = page.parent / link if link else page
        if "://" not in link and target.exists() and anchor not in _anchors(target.read_text("utf-8")):
            broken.append(f"{link}#{anchor}")
    assert not broken


def _anchors(text: str) -> list[str]:
    return [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in _HEADING.findall(text)]


def test_the_reference_is_in_step() -> None:
    done = subprocess.run([sys.executable, "docs/build.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("memoranda", "python.md agents.md"),
        ("memoranda.backends", "backends.md"),
        ("memoranda.backends.hooks", "backends.md"),
        ("memoranda.agents", "agents.md"),
        ("memoranda.agents.middleware", "agents.md"),
        ("memoranda.episodes", "episodes.md"),
        ("memoranda.knowledge", "knowledge.md"),
        ("memoranda.consolidation", "consolidation.md"),
    ],
)
def test_everything_public_is_in_the_reference(module: str, names: str) -> None:
    described = "".join((ROOT / "docs/reference" / page).read_text("utf-8") for page in names.split())
    errors = (ROOT / "docs/reference/errors.md").read_text("utf-8")
    missing = [
        public
        for public in import_module(module).__all__
        if public != "__version__" and f"### `{public}`" not in described and f"| `{public}` |" not in errors
    ]
    assert not missing


def test_every_error_is_in_the_list() -> None:
    errors = (ROOT / "docs/reference/errors.md").read_text("utf-8")
    defined = {
        found
        for path in (ROOT / "src/memoranda").rglob("*.py")
        if "cli" not in path.parts
        for found in re.findall(r"^class ([A-Z]\w+Error)\(\w+Error\b", path.read_text("utf-8"), re.MULTILINE)
    }
    answered = {"ForeignFailureError", "BrokenSkillError"}  # they become part of an answer
    assert answered < defined
    assert not [name for name in sorted(defined - answered) if f"| `{name}` |" not in errors]
