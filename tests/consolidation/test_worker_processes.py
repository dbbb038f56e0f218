"""Workers in processes of their own: stopped and continued, and with a database that goes away under them."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest

from memoranda import MemoryStore, open_store
from memoranda.consolidation.task import Task
from memoranda.consolidation.worker import Worker
from tests.consolidation.dying import fresh
from tests.consolidation.worker_support import note, noting, said, say, until, working
from tests.faults.test_server_loss import pg_ctl
from tests.support.postgres import create_database, running_server

Opening = Callable[..., MemoryStore]


def work_slowly(url: str, began: Any, go_on: Any) -> None:
    """A worker that tells when it is at work, and waits for a word."""

    def work(task: Task) -> None:
        if not began.is_set():
            began.set()
            assert go_on.wait(20)
        note(task)

    with open_store(url) as store:
        Worker(store, [noting(store, work)], lease=0.5, poll=0.05).run()


def work_on(url: str) -> None:
    """A worker that works."""
    with open_store(url) as store:
        Worker(store, [noting(store, note)], poll=0.05).run()


@contextmanager
def process(target: Callable[..., None], *arguments: Any) -> Iterator[ForkServerProcess]:
    """A process that is ended with SIGTERM at the end of the block, and has ended well then."""
    started = fresh.Process(target=target, args=arguments, daemon=True)
    started.start()
    try:
        yield started
        started.terminate()
        started.join(20)
        assert started.exitcode == 0
    finally:
        started.kill()
        started.join(5)


def test_a_stopped_worker_loses_its_lease_and_lands_nothing(store: MemoryStore, store_url: str) -> None:
    began, go_on = fresh.Event(), fresh.Event()
    consolidator = noting(store, note)
    say(store, "ann", "one")
    consolidator.on_demand(("ann",))
    with process(work_slowly, store_url, began, go_on) as stopped:
        assert began.wait(20) and stopped.pid is not None
        os.kill(stopped.pid, signal.SIGSTOP)
        with working(Worker(store, [consolidator], poll=0.05)):
            until(lambda: said(store, "ann"))
        os.kill(stopped.pid, signal.SIGCONT)
        go_on.set()
        say(store, "bob", "two")
        consolidator.on_demand(("bob",))
        until(lambda: said(store, "bob"))  # it goes on with what comes
        say(store, "ann", "two")
        consolidator.on_demand(("ann",))
        until(lambda: len(said(store, "ann")) == 2)
    assert said(store, "ann") == ["one", "two"]
    assert store.runs.covered("noting", ("ann",)) == [(0, 1), (1, 2)]
    assert len(store.history(("ann",), "/said.md")) == 2


def test_a_pause_of_the_process_is_caught_up_once(store: MemoryStore, store_url: str) -> None:
    consolidator = noting(store, note)
    consolidator.schedule("* * * * * *")
    with process(work_on, store_url) as worker:
        say(store, "ann", "one")
        until(lambda: said(store, "ann"))
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGSTOP)
        say(store, "ann", "two")
        fired = [job.origin for job in store.jobs.list("noting", limit=None) if job.scope is None]
        time.sleep(2.5)
        os.kill(worker.pid, signal.SIGCONT)
        began = time.monotonic()
        until(lambda: len(said(store, "ann")) == 2)
        later = [job.origin for job in store.jobs.list("noting", limit=None) if job.scope is None]
    assert said(store, "ann") == ["one", "two"]
    # At least two due times were missed; the latest of them fired, and those that have come due since.
    since = 1 + int(time.monotonic() - began)
    assert 1 <= len(later) - len(fired) <= 1 + since and len(set(later)) == len(later)


@pytest.fixture
def own_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    """A server for one test only, which may therefore go away, and its folder."""
    monkeypatch.delenv("DATABASE_URL", raising=False)
    with tempfile.TemporaryDirectory(prefix="memoranda-server-") as folder:
        Path(folder).chmod(0o755)
        data = Path(folder) / "postgres"
        with running_server(data) as url:
            yield url, data


def test_a_database_that_goes_away_and_comes_back(own_server: tuple[str, Path], open_here: Opening) -> None:
    """While a run is at work, and while nothing is."""
    url, data = own_server
    store = open_here(create_database(url, "memory"), timeout=1)
    at_work, go_on = threading.Event(), threading.Event()

    def work(task: Task) -> None:
        at_work.set()
        assert go_on.wait(30)
        note(task)

    consolidator = noting(store, work)
    say(store, "ann", "one")
    consolidator.on_demand(("ann",))
    with working(Worker(store, [consolidator], lease=3, poll=0.05, pause=0.1)):
        assert at_work.wait(20)
        pg_ctl(data, "stop", "-m", "immediate")
        go_on.set()  # it finds nobody to land with
        time.sleep(1.5)
        pg_ctl(data, "start", "-o", f'-h "" -k {data}')
        until(lambda: _is_up(store))
        until(lambda: said(store, "ann"), 30)
        pg_ctl(data, "restart", "-m", "fast")
        until(lambda: _is_up(store))
        say(store, "bob", "two")
        consolidator.on_demand(("bob",))
        until(lambda: said(store, "bob"), 30)
    assert (said(store, "ann"), said(store, "bob")) == (["one"], ["two"])
    assert [run.status for run in store.runs.list("noting")] == ["applied", "applied"]


def _is_up(store: MemoryStore) -> bool:
    try:
        store.stats()
    except Exception:  # noqa: BLE001 - it is not
        return False
    return True
