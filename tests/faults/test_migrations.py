"""A migration that is killed, raced, or met by another version."""

from __future__ import annotations

import multiprocessing.connection
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from memoranda import MemoryStore, open_store
from memoranda.errors import SchemaError, SchemaTooNewError, StoreBusyError
from memoranda.store.migrations import VERSION_TABLE, migrations
from tests.faults.killing import fresh
from tests.faults.sabotage import AtStatement, trace_new_connections
from tests.support.scale import sized

Opening = Callable[..., MemoryStore]
pytestmark = pytest.mark.blank


def open_and_die(url: str, number: int) -> None:
    if url.startswith("sqlite"):
        trace_new_connections(number)
    else:
        AtStatement(number)()
    open_store(url).close()


def open_and_write(url: str, name: str, result: multiprocessing.connection.Connection) -> None:
    try:
        with open_store(url) as store:
            store.write(("ann",), f"/{name}.md", name)
    except Exception as error:  # noqa: BLE001
        result.send(repr(error))
    else:
        result.send("")


def statement(url: str, text: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Run a statement behind the store's back."""
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        try:
            return connection.execute(text, parameters).fetchall()
        finally:
            connection.close()
    with psycopg.connect(url, autocommit=True, options="-c search_path=memoranda") as connection:
        cursor = connection.execute(text.replace("?", "%s").encode(), parameters)
        return cursor.fetchall() if cursor.description else []


def wipe(url: str) -> str:
    if url.startswith("sqlite"):
        file = Path(url.removeprefix("sqlite:///"))
        for part in file.parent.glob(f"{file.name}*"):
            part.unlink()
    else:
        statement(url, "DROP SCHEMA IF EXISTS memoranda CASCADE")
    return url


def test_killed_at_every_statement(store_url: str) -> None:
    number, survived = 0, False
    while not survived:
        number += sized(1, quick=3)
        wipe(store_url)
        process = fresh.Process(target=open_and_die, args=(store_url, number), daemon=True)
        process.start()
        process.join(20)
        survived = process.exitcode == 0
        assert survived or process.exitcode == -9
        with open_store(store_url) as store:
            store.write(("ann",), "/a.md", "a")
            assert store.verify().ok
            assert store.schema().applied == migrations()[-1].number
        applied = statement(store_url, f"SELECT number FROM {VERSION_TABLE} ORDER BY number")
        assert applied == [(migration.number,) for migration in migrations()]
    assert number > 15  # every third statement of every migration was one of them, or every one


def test_many_start_on_an_empty_database(store_url: str) -> None:
    for _ in range(4):
        wipe(store_url)
        pipes = [fresh.Pipe(duplex=False) for _ in range(4)]
        processes = [
            fresh.Process(target=open_and_write, args=(store_url, str(n), pipes[n][1]), daemon=True) for n in range(4)
        ]
        for process in processes:
            process.start()
        assert [reading.recv() if reading.poll(30) else "late" for reading, _ in pipes] == [""] * 4
        for process in processes:
            process.join(20)
        with open_store(store_url) as store:
            assert len(store.list_keys(("ann",))) == 4
            assert store.verify().ok


def test_newer_schema_is_refused(store_url: str, open_here: Opening) -> None:
    open_here(store_url).write(("ann",), "/a.md", "a")
    statement(store_url, f"INSERT INTO {VERSION_TABLE} VALUES (?, ?)", 9_999, 0)
    with pytest.raises(SchemaTooNewError) as caught:
        open_here(store_url)
    assert "9999" in caught.value.cause and "pip install --upgrade" in caught.value.remedy


def test_newer_schema_is_refused_without_migrating_too(store_url: str, open_here: Opening) -> None:
    open_here(store_url).write(("ann",), "/a.md", "a")
    statement(store_url, f"INSERT INTO {VERSION_TABLE} VALUES (?, ?)", 9_999, 0)
    with pytest.raises(SchemaTooNewError):
        open_here(store_url, migrate=False)


def test_from_version_one(store_url: str, open_here: Opening) -> None:
    from memoranda.store.engines.postgres.engine import POSTGRES
    from memoranda.store.engines.sqlite.engine import SQLITE

    first = migrations()[0]
    if store_url.startswith("postgres"):
        statement(store_url, "CREATE SCHEMA memoranda")
    statement(store_url, f"CREATE TABLE {VERSION_TABLE} (number integer PRIMARY KEY, applied_at bigint)")
    for text in first.statements(SQLITE if store_url.startswith("sqlite") else POSTGRES):
        statement(store_url, text)
    statement(store_url, f"INSERT INTO {VERSION_TABLE} VALUES (1, 0)")
    with pytest.raises(SchemaError) as caught:
        open_here(store_url, migrate=False)
    assert "memoranda migrate" in caught.value.remedy
    store = open_here(store_url)
    assert store.schema().applied == store.schema().known == migrations()[-1].number
    store.write(("ann",), "/a.md", "a")
    assert store.verify().ok


def test_foreign_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    connection = apsw.Connection(str(file))
    connection.execute("CREATE TABLE theirs (name TEXT); INSERT INTO theirs VALUES ('precious')")
    connection.close()
    before = file.read_bytes()
    for migrate in (True, False):
        with pytest.raises(SchemaError) as caught:
            open_store(f"sqlite:///{file}", migrate=migrate)
        assert "not Memoranda's" in caught.value.cause and caught.value.remedy
    assert file.read_bytes() == before
    assert [part.name for part in tmp_path.iterdir()] == ["other.db"]


def test_foreign_tables_of_the_same_name(store_url: str) -> None:
    if store_url.startswith("postgres"):
        statement(store_url, "CREATE SCHEMA memoranda")
    statement(store_url, "CREATE TABLE items (name text)")
    statement(store_url, "INSERT INTO items VALUES ('precious')")
    with pytest.raises(SchemaError):
        open_store(store_url)
    assert statement(store_url, "SELECT name FROM items") == [("precious",)]


def test_foreign_version_table(store_url: str) -> None:
    if store_url.startswith("postgres"):
        statement(store_url, "CREATE SCHEMA memoranda")
    statement(store_url, f"CREATE TABLE {VERSION_TABLE} (name text)")
    with pytest.raises(SchemaError) as caught:
        open_store(store_url)
    assert caught.value.remedy


def test_a_migration_lock_that_is_never_given_back(store_url: str) -> None:
    if store_url.startswith("sqlite"):
        connection = apsw.Connection(store_url.removeprefix("sqlite:///"))
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreBusyError):
            open_store(store_url, timeout=0.3)
        connection.close()
        return
    from memoranda.store.engines.postgres.engine import _LOCK_KEY  # pyright: ignore[reportPrivateUsage]

    with psycopg.connect(store_url) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK_KEY,))
        with pytest.raises(StoreBusyError):
            open_store(store_url, timeout=0.3)
