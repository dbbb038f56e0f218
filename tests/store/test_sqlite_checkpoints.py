"""A file that LangGraph's `SqliteSaver` uses as well: told once where it is ours, refused where it is not."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from memoranda import open_store
from memoranda.errors import SchemaError


def save_a_checkpoint(file: Path) -> None:
    """Let LangGraph make its tables in a file."""
    with SqliteSaver.from_conn_string(str(file)) as saver:
        config: Any = {"configurable": {"thread_id": "monday", "checkpoint_ns": ""}}
        saver.put(config, empty_checkpoint(), {}, {})


def test_a_store_that_checkpoints_moved_into_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "memory.db"
    with open_store(f"sqlite:///{file}") as store:
        store.write(("ann",), "/a.md", "a")
    assert not caplog.records
    save_a_checkpoint(file)
    for _ in range(2):
        with open_store(f"sqlite:///{file}") as store:
            assert store.get(("ann",), "/a.md") is not None
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert f"{file} also holds LangGraph's checkpoints; give SqliteSaver a file of its own" in record.getMessage()


def test_another_file_is_told_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("one.db", "two.db"):
        open_store(f"sqlite:///{tmp_path / name}").close()
        save_a_checkpoint(tmp_path / name)
        open_store(f"sqlite:///{tmp_path / name}").close()
    assert len(caplog.records) == 2


@pytest.mark.parametrize("migrate", [True, False])
def test_a_file_of_checkpoints_is_no_store(tmp_path: Path, migrate: bool) -> None:
    file = tmp_path / "checkpoints.db"
    save_a_checkpoint(file)
    before = file.read_bytes()
    with pytest.raises(SchemaError) as caught:
        open_store(f"sqlite:///{file}", migrate=migrate)
    assert f"{file} holds LangGraph's checkpoints" in caught.value.cause
    assert "a file each" in caught.value.remedy
    assert file.read_bytes() == before


def test_checkpoints_beside_other_tables_are_somebody_elses(tmp_path: Path) -> None:
    import sqlite3

    file = tmp_path / "app.db"
    save_a_checkpoint(file)
    with sqlite3.connect(file) as theirs:
        theirs.execute("CREATE TABLE things (x)")
    theirs.close()
    with pytest.raises(SchemaError, match="not Memoranda's"):
        open_store(f"sqlite:///{file}")
