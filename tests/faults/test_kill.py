"""A writer is killed with SIGKILL; what it acknowledged is there, and nothing is half there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memoranda import MemoryStore
from tests.faults.killing import kill_writer, random_kills
from tests.faults.sabotage import AtFileSize, AtStatement, InCommit

Opening = Callable[..., MemoryStore]
SEED = 7
STATEMENTS = 40


def test_random_moments(store_url: str) -> None:
    counts = random_kills(store_url, 15, longest=0.15)
    assert counts["acknowledged"] > 100


def test_every_statement(store_url: str, open_here: Opening) -> None:
    """The first change sets of a plan, with the writer killed before each of their statements in turn."""
    store = open_here(store_url)
    acknowledged = set[int]()
    for number in range(1, STATEMENTS + 1):
        killed = kill_writer(store_url, SEED, f"statement-{number}", delay=None, sabotage=AtStatement(number))
        killed.check(store)
        acknowledged.add(killed.acknowledged)
    assert store.verify().ok
    # The points lay within several change sets, each hit more than once.
    assert acknowledged >= {0, 1, 2} and len(acknowledged) < STATEMENTS / 2


def test_after_every_statement_was_sent(postgres_url: str, open_here: Opening) -> None:
    store = open_here(postgres_url)
    for number in range(1, 20):
        killed = kill_writer(
            postgres_url, SEED, f"statement-{number}", delay=None, sabotage=AtStatement(number, after=True)
        )
        killed.check(store)
    assert store.verify().ok


@pytest.mark.parametrize("landed", [False, True])
def test_inside_the_commit(tmp_path: Path, open_here: Opening, landed: bool) -> None:
    store = open_here(f"sqlite:///{tmp_path / 'memory.db'}")
    for number in range(1, 9):
        killed = kill_writer(
            f"sqlite:///{tmp_path / 'memory.db'}",
            SEED,
            f"commit-{number}",
            delay=None,
            sabotage=InCommit(number, landed),
        )
        assert killed.acknowledged == number - 1
        # A commit that was killed before its record was written is undone, one killed after that is there.
        assert killed.check(store) is landed
    assert store.verify().ok


def test_torn_writes(tmp_path: Path, open_here: Opening) -> None:
    """The write-ahead log ends in the middle of a page or of a header, wherever the limit falls."""
    acknowledged = set[int]()
    for number, size in enumerate(range(270_001, 540_000, 17_111)):
        url = f"sqlite:///{tmp_path / f'{number}.db'}"
        killed = kill_writer(url, SEED, "torn", delay=None, sabotage=AtFileSize(size))
        store = open_here(url)
        killed.check(store)
        assert store.verify().ok
        acknowledged.add(killed.acknowledged)
    assert len(acknowledged) > 3
