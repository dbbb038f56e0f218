"""Recall on a terminal: matched words stand out in every script, stored text does no harm, progress shows and goes."""

from __future__ import annotations

import os
import re

import pytest

from memoranda import open_store
from memoranda.store.turns import Turn
from tests.cli.support import memoranda
from tests.cli.terminal import on_terminal

MARKED = re.compile(r"\x1b\[1;31m(.*?)\x1b\[0m")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A SQLite store with a few things in it: what the terminal shows does not depend on the engine."""
    url = f"sqlite:///{tmp_path_factory.mktemp('terminal') / 'memory.db'}"
    with open_store(url) as store:
        for path, content in (
            ("/tea.md", "She was drinking green teas; caffeine-free."),
            ("/茶.md", "我妈妈喜欢喝绿茶。"),
            ("/code.md", "Call `store.search(prefix)` in v1.2.3 first."),
            ("/evil.md", "zebra\x1b[2J crossing"),
            ("/big.md", "a line about giraffes\n\n" * 20_000),
        ):
            store.write(("ann",), path, content)
        said = Turn("m", "user", "My zebra\x1b[2J is \x1b]0;x\x07 striped.", speaker="An\x1b[1mn")
        store.record_turns(("ann",), "chat\x1b[1m", [said])
    return {"MEMORANDA_STORE": url, "MEMORANDA_NAMESPACE": "ann"}


def marked(query: str, place: dict[str, str]) -> list[str]:
    done = memoranda("recall", query, "--kind", "file", "-k", 1, settings={**place, "FORCE_COLOR": "1"})
    return MARKED.findall(done.stdout.decode())


def test_matched_words_stand_out_whatever_their_form_or_script(place: dict[str, str]) -> None:
    assert marked("drink green tea", place) == ["drinking", "green", "teas"]
    assert "".join(marked("绿茶", place)) == "绿茶"
    assert "".join(marked("v1.2.3", place)) == "v1.2.3"
    assert b"\x1b[" not in memoranda("recall", "green tea", settings=place).stdout
    assert "\x1b[1;31mgreen" in on_terminal("recall", "green tea", **place).screen


def test_text_cannot_play_with_the_terminal(place: dict[str, str]) -> None:
    for command in (["recall", "zebra"], ["search", "zebra"], ["episodes", "search", "zebra"], ["episodes", "ls"]):
        screen = on_terminal(*command, "--no-color", **place).screen
        assert "\\x1b[2J" in screen and "\x1b" not in screen and "\x07" not in screen, command


def test_reindex_shows_progress_and_clears_it(place: dict[str, str]) -> None:
    assert "Indexing" in on_terminal("reindex", **place).screen
    assert b"Indexing" not in memoranda("reindex", settings=place).stderr


def test_a_reader_that_leaves_early_is_no_error(place: dict[str, str]) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = memoranda("recall", "giraffes", "-k", 1_000, settings=place, stdout=write)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")
