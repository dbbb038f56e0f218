"""What a source is, by its content and not by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from memoranda import MemoryStore
from memoranda.transfer import SourceError, detect, export_bundle


def test_folders_and_bundles(store: MemoryStore, tmp_path: Path) -> None:
    folder = tmp_path / "sqlite.db"
    folder.mkdir()
    assert detect(folder) == detect(str(folder)) == "folder"
    store.write(("ann",), "/a.md", "x")
    export_bundle(store, tmp_path / "notes.txt")
    assert detect(tmp_path / "notes.txt") == "bundle"


def test_stores(store_url: str, store: MemoryStore, engine: str) -> None:
    assert detect(store_url) == "memoranda"
    if engine == "sqlite":
        assert detect(store_url.removeprefix("sqlite:///")) == "memoranda"


@pytest.mark.blank
def test_stores_of_langgraph(tmp_path: Path, postgres_url: str, open_here: Callable[..., MemoryStore]) -> None:
    from langgraph.store.postgres import PostgresStore
    from langgraph.store.sqlite import SqliteStore

    with SqliteStore.from_conn_string(str(tmp_path / "store")) as source:
        source.setup()
        assert detect(f"sqlite:///{tmp_path / 'store'}") == "langgraph-sqlite"
        source.put(("ann",), "k", {"x": 1})
        assert detect(tmp_path / "store") == "langgraph-sqlite"
        assert source.get(("ann",), "k") is not None
    with PostgresStore.from_conn_string(postgres_url) as source:
        source.setup()
        assert detect(postgres_url) == "langgraph-postgres"
        open_here(postgres_url)
        assert detect(postgres_url) == "langgraph-postgres"  # beside a Memoranda store in one database
        for table in ("store_vectors", "store", "store_migrations", "vector_migrations"):
            source.conn.execute(f"DROP TABLE IF EXISTS {table}")
    assert detect(postgres_url) == "memoranda"


def test_neither(tmp_path: Path, other_postgres_url: str) -> None:
    (tmp_path / "note.txt").write_text("x")
    (tmp_path / "empty").write_text("")
    apsw.Connection(str(tmp_path / "else.db")).execute("CREATE TABLE store (x)").connection.close()
    (tmp_path / "torn.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)
    for source in (
        *(tmp_path / name for name in ("note.txt", "empty", "else.db", "torn.db", "missing")),
        f"sqlite:///{tmp_path / 'missing'}",
        "memory://",
        "mysql://host/x",
        other_postgres_url,
        "postgresql://nobody:secret@127.0.0.1:1/none",
    ):
        with pytest.raises(SourceError) as caught:
            detect(source)
        assert caught.value.cause.endswith(".") and caught.value.remedy.endswith(".")
        assert "secret" not in str(caught.value)
