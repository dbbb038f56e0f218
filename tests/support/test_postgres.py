"""However the tests end, no server of theirs stays behind."""

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
        with psycopg.connect(url) as connection:  # somebody who is connected does not hold it up
            assert (folder / "postmaster.pid").exists()
            holder.send_signal(end)
            holder.wait(timeout=30)
            until = time.monotonic() + 30
            while folder.exists() and time.monotonic() < until:
                time.sleep(0.1)
            assert not folder.exists()
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
    folder.parent.rmdir()
