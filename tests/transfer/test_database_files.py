"""Looking at a SQLite file leaves everybody's locks on it alone."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memoranda import MemoryStore
from memoranda.transfer import SourceError, TargetError, detect, export_bundle, import_bundle, import_langgraph
from memoranda.transfer import database_files as files

BUSY = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0)
try:
    connection.execute("BEGIN IMMEDIATE")
    print("free")
except sqlite3.OperationalError:
    print("locked")
"""


def state(path: Path) -> str:
    """Whether another process could write to a database now."""
    return subprocess.run(
        [sys.executable, "-c", BUSY, str(path)], capture_output=True, text=True, check=True
    ).stdout.strip()


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_lock_held_in_this_process_stays(mode: str, tmp_path: Path, open_here: Callable[..., MemoryStore]) -> None:
    path = tmp_path / "busy.db"
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE x (y)")
        connection.execute("BEGIN IMMEDIATE")
        assert state(path) == "locked"  # or the test would show nothing
        with pytest.raises(SourceError):
            detect(path)
        store = open_here("memory://")
        with pytest.raises(SourceError):
            import_langgraph(store, str(path))
        with pytest.raises(TargetError):
            export_bundle(store, path)
        with pytest.raises(ValueError):
            import_bundle(store, path)
        assert files.belongs_to_database(path)
        assert state(path) == "locked"
        connection.execute("COMMIT")
    connection.close()
    assert state(path) == "free"


def test_a_closed_descriptor_would_drop_it(tmp_path: Path) -> None:
    """The reason for all this: what every other way of reading the file does."""
    path = tmp_path / "busy.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("CREATE TABLE x (y)")
    connection.execute("BEGIN IMMEDIATE")
    path.read_bytes()
    assert state(path) == "free"
    connection.close()


def test_descriptors_of_other_databases_are_closed(tmp_path: Path) -> None:
    for number in range(20):
        connection = sqlite3.connect(tmp_path / f"{number}.db")
        connection.execute("CREATE TABLE x (y)")
        connection.close()
    before = open_descriptors()
    for number in range(20):
        assert files.is_database(tmp_path / f"{number}.db")
        with files.copied(tmp_path / f"{number}.db") as copy:
            assert copy.execute("SELECT count(*) FROM sqlite_schema").fetchall() == [(1,)]
    assert open_descriptors() == before


def test_another_file_that_is_open_stays_another_file(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("x")
    with (tmp_path / "note.txt").open("rb"):
        assert not files.is_database(tmp_path / "note.txt")
        assert not files.is_database(tmp_path / "note.txt")


def test_a_copy_holds_what_is_in_the_log(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE x (y)")
    connection.execute("INSERT INTO x VALUES (42)")
    assert (tmp_path / "a.db-wal").stat().st_size > 0
    with files.copied(tmp_path / "a.db") as copy:
        assert copy.execute("SELECT y FROM x").fetchall() == [(42,)]
    connection.close()
