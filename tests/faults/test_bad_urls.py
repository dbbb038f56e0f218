"""URLs that cannot be opened: each says what is wrong and what to do, and never shows a password."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from memoranda import open_store
from memoranda.errors import StoreError, StoreReadOnlyError, StoreUnavailableError, StoreUrlError
from tests.support.postgres import with_database


def explains(error: StoreError) -> None:
    """Whether the error names cause and remedy, in a sentence each."""
    assert error.cause.endswith((".", "…")) and error.remedy.endswith("."), error
    assert "s3cret" not in str(error)
    assert "report this" not in error.remedy, error


@pytest.mark.parametrize(
    "url",
    [
        "",
        "memory.db",
        "/tmp/memory.db",
        "sqlite",
        "sqlite:",
        "sqlite:memory.db",
        "sqlite://",
        "sqlite:///",
        "sqlite://memory.db",
        "sqlite:///memory.db?mode=ro",
        "sqlite:///memory.db?cache",
        "file:///memory.db",
        "mysql://ann:s3cret@host/memory",
        "postgresql+asyncpg://ann:s3cret@host/memory",
        "redis://host",
        "://x",
        "memory://named",
        "postgresql://ann:s3cret@host:notaport/memory",
        "postgresql://ann:s3cret@host/memory?nosuch=1",
        "postgresql://ann:s3cret@[::1/memory",
        "postgresql://ann:s3/cret@host/memory?nosuch=1",
        None,
        7,
        b"sqlite:///memory.db",
        Path("memory.db"),
    ],
)
def test_wrong_forms(url: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreUrlError) as caught:
        open_store(url)
    explains(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["missing/memory.db", "%00.db", "x" * 300 + ".db", "a-file/memory.db", "."])
def test_impossible_files(name: str, tmp_path: Path) -> None:
    (tmp_path / "a-file").write_text("text")
    with pytest.raises(StoreUnavailableError) as caught:
        open_store(f"sqlite:///{tmp_path}/{name}")
    explains(caught.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a-file"]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:s3cret@127.0.0.1:1/memory",
        "postgresql://ann:s3cret@no-such-host.invalid/memory",
        "postgresql://ann:s3cret@/memory?host=/no/such/folder",
    ],
)
def test_unreachable_servers(url: str) -> None:
    with pytest.raises(StoreUnavailableError) as caught:
        open_store(url, timeout=2)
    explains(caught.value)


def test_unknown_database(postgres_url: str) -> None:
    with pytest.raises(StoreUnavailableError) as caught:
        open_store(with_database(postgres_url, "no_such_database"))
    assert "no_such_database" in caught.value.cause
    explains(caught.value)


def test_role_that_may_not_write(postgres_url: str) -> None:
    with open_store(postgres_url) as store:
        store.write(("ann",), "/a.md", "a")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS memoranda_reader")
        connection.execute("CREATE ROLE memoranda_reader LOGIN PASSWORD 's3cret'")
        connection.execute("GRANT USAGE ON SCHEMA memoranda TO memoranda_reader")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA memoranda TO memoranda_reader")
    try:
        reader = postgres_url.replace("://postgres:@", "://memoranda_reader:s3cret@").replace(
            "://postgres@", "://memoranda_reader:s3cret@"
        )
        assert "memoranda_reader" in reader
        with open_store(reader) as store:
            assert store.get(("ann",), "/a.md") is not None
            with pytest.raises(StoreReadOnlyError) as caught:
                store.write(("ann",), "/a.md", "b")
            explains(caught.value)
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP OWNED BY memoranda_reader")
            connection.execute("DROP ROLE memoranda_reader")
