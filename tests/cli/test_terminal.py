"""What only shows on a terminal: colours, progress, questions, and what must never get there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from memoranda import open_store
from tests.cli.support import memoranda
from tests.cli.terminal import on_terminal

BINARY = b"\x89PNG\x00\xff"


@pytest.fixture
def place(tmp_path: Path) -> dict[str, str]:
    """A SQLite store with a few things in it: what the terminal shows does not depend on the engine."""
    settings = {"MEMORANDA_STORE": f"sqlite:///{tmp_path / 'memory.db'}", "MEMORANDA_NAMESPACE": "ann"}
    with open_store(settings["MEMORANDA_STORE"]) as store:
        for path, content in (("/notes/tea.md", "green\n"), ("/logo.png", BINARY), ("/evil.md", "a\x1b[2Jb\n")):
            store.write(("ann",), path, content)
    return settings


def write_big(place: dict[str, str]) -> None:
    """A file that fills every pipe."""
    with open_store(place["MEMORANDA_STORE"]) as store:
        store.write(("ann",), "/big.md", "a line of text\n" * 20_000)


def test_colours_are_for_terminals(place: dict[str, str]) -> None:
    assert "\x1b[" in on_terminal("log", "/notes/tea.md", **place).screen
    assert b"\x1b[" not in memoranda("log", "/notes/tea.md", settings=place).stdout
    assert b"\x1b[" in memoranda("log", "/notes/tea.md", settings={**place, "FORCE_COLOR": "1"}).stdout


@pytest.mark.parametrize(
    ("options", "settings"), [(["--no-color"], {}), ([], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"})]
)
def test_colours_can_be_turned_off(place: dict[str, str], options: list[str], settings: dict[str, str]) -> None:
    for command in (["log", "/notes/tea.md"], ["cat", "/never"]):
        screen = on_terminal(*command, *options, **place, **settings).screen
        assert screen and "\x1b[" not in screen


def test_a_binary_file_is_kept_off_the_terminal(place: dict[str, str], tmp_path: Path) -> None:
    shown = on_terminal("cat", "/logo.png", **place)
    assert shown.code == 2 and "binary" in shown.screen and "\x89" not in shown.screen
    with (tmp_path / "out").open("wb") as out:
        assert on_terminal("cat", "/logo.png", stdout=out.fileno(), **place).code == 0
    assert (tmp_path / "out").read_bytes() == BINARY


def test_text_cannot_play_with_the_terminal(place: dict[str, str]) -> None:
    for command in (["cat", "/evil.md"], ["blame", "/evil.md"], ["diff", "/evil.md"], ["grep", "b", "/evil.md"]):
        shown = on_terminal(*command, "--no-color", **place)
        assert "\\x1b[2Jb" in shown.screen and "\x1b[2J" not in shown.screen
    assert memoranda("cat", "/evil.md", settings=place).stdout == b"a\x1b[2Jb\n"


def test_verify_shows_progress_and_clears_it(place: dict[str, str]) -> None:
    assert "Verifying" in on_terminal("verify", **place).screen
    assert b"Verifying" not in memoranda("verify", settings=place).stderr
    assert "Verifying" not in on_terminal("verify", "--json", **place).screen


def test_rm_asks(place: dict[str, str]) -> None:
    no = on_terminal("rm", "-r", "/notes", keys=[("[y/N]", "n\n")], **place)
    assert no.code != 0 and memoranda("cat", "/notes/tea.md", settings=place).returncode == 0
    yes = on_terminal("rm", "-r", "/notes", keys=[("[y/N]", "y\n")], **place)
    assert yes.code == 0 and memoranda("cat", "/notes/tea.md", settings=place).returncode == 3


def test_following_ends_with_ctrl_c(place: dict[str, str]) -> None:
    shown = on_terminal("changes", "--follow", keys=[("/evil.md", "^C")], **place)
    assert shown.code == 130 and "Stopped" in shown.screen and "Traceback" not in shown.screen


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_early_is_no_error(place: dict[str, str], unbuffered: str) -> None:
    write_big(place)
    settings = {**place, "PYTHONUNBUFFERED": unbuffered}
    for command in ("cat /big.md", "blame /big.md", "grep line"):
        reader = subprocess.Popen(["head", "-1"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        assert reader.stdin is not None
        done = memoranda(*command.split(), settings=settings, stdout=reader.stdin, stderr=subprocess.PIPE)
        reader.stdin.close()
        assert reader.wait() == 0
        assert (done.returncode, done.stderr) == (141, b""), command


def test_a_reader_that_has_seen_enough_is_no_error(place: dict[str, str]) -> None:
    write_big(place)
    for command in ("cat /big.md", "blame /big.md", "grep line", "cat /big.md --json", "diff /big.md"):
        read, write = os.pipe()
        os.close(read)
        try:
            done = memoranda(*command.split(), settings=place, stdout=write, stderr=subprocess.PIPE)
        finally:
            os.close(write)
        assert (done.returncode, done.stderr) == (141, b""), command
