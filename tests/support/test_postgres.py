"""However the tests end, no server of theirs stays behind, and no test finds what another one left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import mkdtemp

import psycopg
import pytest

from memoranda import open_store
from tests.support.postgres import Reused

ROOT = Path(__file__).parents[2]
HOLDER = """
import sys, time
from pathlib import Path
from tests.support.postgres import running_server
with running_server(Path(sys.argv[1])) as url:
    print(url, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_a_server_ends_with_the_tests(end: signal.Signals) -> None:
    folder = Path(mkdtemp(prefix="memoranda-ending-")) / "data"
    clean = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, env=clean
    ) as holder:
        assert holder.stdout is not None
        url = holder.stdout.readline().decode().strip()
        try:
            with psycopg.connect(url) as connection:  # somebody who is connected does not hold it up
                assert (folder / "postmaster.pid").exists()
                holder.send_signal(end)
                holder.wait(timeout=30)
                until = time.monotonic() + 30
                while folder.exists() and time.monotonic() < until:
                    time.sleep(0.05)
                assert not folder.exists()
                with pytest.raises(psycopg.OperationalError):
                    connection.execute("SELECT 1")
        finally:
            holder.kill()
    folder.parent.rmdir()


CHANGES = [
    "ALTER TABLE memoranda.items ADD another int",
    "ALTER TABLE memoranda.items ALTER key DROP NOT NULL",
    "CREATE INDEX another ON memoranda.items (key)",
    "DROP TABLE memoranda.cursors",
    "GRANT SELECT ON memoranda.items TO PUBLIC",
    "CREATE TABLE public.store (key text)",
    "DROP SCHEMA memoranda CASCADE",
    "ANALYZE",
    "INSERT INTO memoranda.memoranda_schema VALUES (999, 0)",
    "DELETE FROM memoranda.memoranda_schema WHERE number > 1",
]


def test_a_store_is_as_new_for_every_test(postgres_database: Reused) -> None:
    identities: set[str] = set()
    for change in (None, None, *CHANGES):
        url = postgres_database.with_empty_store()
        with open_store(url) as store, psycopg.connect(url, autocommit=True) as connection:
            assert store.identity not in identities
            identities.add(store.identity)
            assert store.stats().items == 0 and store.verify().ok
            assert connection.execute(
                "SELECT count(*) FROM pg_class WHERE relname IN ('another', 'store')"
            ).fetchone() == (0,)
            assert store.write(("ann",), "/tea.md", "green").revision == 1
            state = postgres_database._state(connection)
            assert state == postgres_database._made
            if change is not None:
                connection.execute(change)
                assert postgres_database._state(connection) != state, change
