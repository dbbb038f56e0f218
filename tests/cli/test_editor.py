"""`memoranda edit PATH` with an editor, which here is a script."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memoranda import MemoryStore
from tests.cli.conftest import Run, RunJson

Editor = Callable[[str], str]


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Editor:
    """Make an editor of a few lines of Python, in which `file` is the path to edit."""
    drafts = tmp_path / "drafts"
    drafts.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(drafts))

    def make(body: str) -> str:
        script = tmp_path / "my editor.py"
        script.write_text(f"import sys\nfrom pathlib import Path\nfile = Path(sys.argv[1])\n{body}\n")
        return f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"

    return make


def drafts(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "drafts").iterdir())


def test_what_is_saved_is_written(notes: Run, editor: Editor, tmp_path: Path) -> None:
    change = editor("assert file.suffix == '.md'; file.write_text(file.read_text().replace('green', 'GREEN'))")
    assert "revision 3" in notes("edit", "/notes/tea.md", "--reason", "loud", EDITOR=change).stdout
    assert notes("cat", "/notes/tea.md").stdout == "GREEN\nBLACK\nwhite\n"
    assert "loud" in notes("log", "/notes/tea.md").stdout
    assert drafts(tmp_path) == []


def test_nothing_saved_is_nothing_written(notes: Run, run_json: RunJson, editor: Editor, tmp_path: Path) -> None:
    assert "Nothing" in notes("edit", "/notes/tea.md", EDITOR=editor("")).stderr
    assert run_json("edit", "/notes/tea.md", EDITOR=editor(""))["operation"] is None
    assert len(run_json("log", "/notes/tea.md")["revisions"]) == 2
    assert drafts(tmp_path) == []


def test_a_new_file_and_a_document(run: Run, run_json: RunJson, editor: Editor) -> None:
    run("edit", "/new.md", EDITOR=editor("assert not file.read_text(); file.write_text('new')"))
    assert run("cat", "/new.md").stdout == "new"
    run("write", "profile", "--document", '{"name": "Ann"}')
    change = editor("assert file.suffix == '.json'; file.write_text(file.read_text().replace('Ann', 'Bob'))")
    run("edit", "profile", VISUAL=change)
    assert run_json("cat", "profile")["value"] == {"name": "Bob"}


def meanwhile(store_url: str, old: str, new: str) -> str:
    return (
        "from memoranda import open_store\n"
        f"with open_store({store_url!r}) as store: store.edit(('ann',), '/notes/tea.md', {old!r}, {new!r})\n"
    )


def test_what_others_wrote_meanwhile_is_merged(notes: Run, editor: Editor, store_url: str, tmp_path: Path) -> None:
    change = editor(
        meanwhile(store_url, "white", "WHITE") + "file.write_text(file.read_text().replace('green', 'GREEN'))"
    )
    assert "merged" in notes("edit", "/notes/tea.md", EDITOR=change).stdout
    assert notes("cat", "/notes/tea.md").stdout == "GREEN\nBLACK\nWHITE\n"
    assert drafts(tmp_path) == []


def test_a_conflict_loses_no_work(
    notes: Run, editor: Editor, store: MemoryStore, store_url: str, tmp_path: Path
) -> None:
    change = editor(meanwhile(store_url, "green", "oolong") + "file.write_text('sencha\\nBLACK\\nwhite\\n')")
    error = notes("edit", "/notes/tea.md", EDITOR=change, code=4).stderr
    (draft,) = drafts(tmp_path)
    assert str(draft) in error
    assert draft.read_text() == "sencha\nBLACK\nwhite\n"
    assert notes("cat", "/notes/tea.md").stdout == "oolong\nBLACK\nwhite\n"


@pytest.mark.parametrize(
    ("path", "body", "word"),
    [
        ("/notes/tea.md", "file.write_bytes(b'\\xff')", "UTF-8"),
        ("/notes/tea.md", "file.write_text('work'); sys.exit(3)", "code 3"),
        ("profile", "file.write_text('{broken')", "no JSON"),
    ],
)
def test_no_failure_loses_work(notes: Run, editor: Editor, tmp_path: Path, path: str, body: str, word: str) -> None:
    error = notes("edit", path, EDITOR=editor(body), code=2).stderr
    (draft,) = drafts(tmp_path)
    assert word in error and re.search(r"Your text is kept in \S+", error)
    assert draft.stat().st_size
    assert notes("log", path).stdout.startswith(("r1", "r2"))


def test_ctrl_c_belongs_to_the_editor(notes: Run, editor: Editor) -> None:
    pressed = "import os, signal, time; time.sleep(0.3); os.kill(os.getppid(), signal.SIGINT); time.sleep(0.1)"
    notes("edit", "/notes/tea.md", EDITOR=editor(f"{pressed}; file.write_text('work')"))
    assert notes("cat", "/notes/tea.md").stdout == "work"


def test_an_editor_that_is_not_there(notes: Run, editor: Editor, tmp_path: Path) -> None:
    error = notes("edit", "/notes/tea.md", EDITOR="no-such-editor", code=2).stderr
    assert "no-such-editor" in error and "kept" not in error
    assert "quotation" in notes("edit", "/notes/tea.md", EDITOR="'", code=2).stderr
    assert drafts(tmp_path) == []


def test_without_a_terminal_no_editor_is_guessed(run: Run, run_json: RunJson, engine: str, store_url: str) -> None:
    error = run_json("edit", "/notes/tea.md", code=2)
    assert error["error"] == "UsageError" and error["cause"] == "There is no terminal to edit on."
    assert "OLD" in error["remedy"] and "EDITOR" in error["remedy"]
    if engine == "sqlite":
        assert not Path(store_url.removeprefix("sqlite:///")).exists()


def test_a_binary_file_is_not_edited(notes: Run, editor: Editor) -> None:
    assert "binary" in notes("edit", "/logo.png", EDITOR=editor("raise SystemExit(9)"), code=2).stderr
