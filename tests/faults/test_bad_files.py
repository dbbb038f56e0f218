"""SQLite files that are damaged, full, read-only or locked."""

from __future__ import annotations

import os
import random
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from memoranda import ChangeSet, MemorandaError, MemoryStore, Write, open_store
from memoranda.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
)
from tests.faults.killing import fresh
from tests.faults.locks import locked
from tests.faults.test_bad_urls import explains

Opening = Callable[..., MemoryStore]
NOBODY = 65534
SPACE = ("ann",)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A closed store with 60 files of some size."""
    path = tmp_path / "memory.db"
    with open_store(f"sqlite:///{path}") as store:
        text = "\n".join(f"a line of text {number}" for number in range(100))
        store.commit(ChangeSet([Write(SPACE, f"/{n}.md", f"{n}\n{text}") for n in range(60)]))
    return path


@pytest.mark.parametrize("content", [b"just some text\n" * 400, bytes(8192), random.Random(1).randbytes(20_000), b"hi"])
def test_no_database_at_all(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(content)
    with pytest.raises(StoreCorruptError) as caught:
        open_store(f"sqlite:///{path}")
    explains(caught.value)
    assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["memory.db"]


def test_an_empty_file_is_a_fresh_database(tmp_path: Path) -> None:
    (tmp_path / "memory.db").touch()
    with open_store(f"sqlite:///{tmp_path / 'memory.db'}") as store:
        store.write(SPACE, "/a.md", "a")
        assert store.verify().ok


def exercise(url: str) -> list[str]:
    """Use a store in every way; returns what named errors came, and what verify found."""
    found: list[str] = []
    try:
        with open_store(url, timeout=2) as store:
            for call in (
                lambda: store.list_keys(SPACE, recursive=True),
                lambda: store.grep(SPACE, "line of text 7"),
                lambda: store.get(SPACE, "/7.md"),
                lambda: store.history(SPACE, "/7.md"),
                lambda: store.write(SPACE, "/7.md", "new"),
                lambda: found.extend(store.verify().problems),
            ):
                try:
                    call()
                except MemorandaError as error:
                    found.append(repr(error))
    except StoreError as error:
        found.append(repr(error))
    return found


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9])
def test_truncated(file: Path, keep: float) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * keep)])
    assert any("StoreCorruptError" in found for found in exercise(f"sqlite:///{file}"))


def test_damaged_pages_never_surprise(file: Path) -> None:
    """Whatever bytes are flipped: named errors or problems found by verify, and no other exception."""
    whole, chance, noticed = file.read_bytes(), random.Random(4), 0
    for _ in range(25):
        damaged = bytearray(whole)
        start = chance.randrange(100, len(damaged) - 600)
        damaged[start : start + 500] = chance.randbytes(500)
        for part in file.parent.glob("memory.db-*"):
            part.unlink()
        file.write_bytes(damaged)
        noticed += bool(exercise(f"sqlite:///{file}"))
    assert noticed >= 8  # the others hit pages that are free, or indexes that no answer needed


def test_full(tmp_path: Path, open_here: Opening) -> None:
    store = open_here(f"sqlite:///{tmp_path / 'memory.db'}")
    store.write(SPACE, "/a.md", "a")
    connection = cast("Any", store.engine)._writer
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 3}").fetchall()
    with pytest.raises(StoreFullError) as caught:
        store.commit(ChangeSet([Write(SPACE, f"/{n}.md", "x" * 3_000 + str(n)) for n in range(20)]))
    explains(caught.value)
    assert [entry.key for entry in store.list_keys(SPACE)] == ["/a.md"]
    connection.execute("PRAGMA max_page_count = 1000000").fetchall()
    store.write(SPACE, "/b.md", "b")
    assert store.verify().ok


def fill_up(url: str, limit: int, result: Any) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    done = 0
    with open_store(url) as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            while True:
                store.write(SPACE, f"/{done}.md", f"{random.random()}" * 50)
                done += 1
        except StoreError as error:
            result.send((done, repr(error), error.remedy))
        assert store.get(SPACE, "/0.md") is not None


def test_a_file_that_may_not_grow(tmp_path: Path, open_here: Opening) -> None:
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    reading, writing = fresh.Pipe(duplex=False)
    process = fresh.Process(target=fill_up, args=(url, 700_000, writing), daemon=True)
    process.start()
    assert reading.poll(20)
    done, error, remedy = reading.recv()
    process.join(20)
    assert done > 5 and remedy, error
    store = open_here(url)
    assert {entry.key for entry in store.list_keys(SPACE)} == {f"/{n}.md" for n in range(done)}
    assert store.verify().ok
    store.write(SPACE, "/after.md", "room again")


def try_as_nobody(url: str, result: Any) -> None:
    if os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    try:
        with open_store(url, timeout=1) as store:
            store.write(SPACE, "/b.md", "b")
    except BaseException as error:  # noqa: BLE001
        result.send((isinstance(error, StoreReadOnlyError | StoreUnavailableError), repr(error)))
    else:
        result.send((False, "it was written"))


@pytest.mark.parametrize("case", ["file", "folder", "both", "unreadable folder"])
def test_read_only(file: Path, case: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="memoranda-"))
    try:
        inner = folder / "inner"
        inner.mkdir()
        shutil.copy(file, inner / "memory.db")
        folder.chmod(0o755)
        modes = {"file": (0o444, 0o777), "folder": (0o666, 0o555), "both": (0o444, 0o555), "unreadable folder": (0, 0)}
        (inner / "memory.db").chmod(modes[case][0])
        inner.chmod(modes[case][1])
        before = file.read_bytes()
        reading, writing = fresh.Pipe(duplex=False)
        process = fresh.Process(target=try_as_nobody, args=(f"sqlite:///{inner / 'memory.db'}", writing), daemon=True)
        process.start()
        assert reading.poll(20)
        named, error = reading.recv()
        process.join(20)
        assert named, error
        inner.chmod(0o755)
        (inner / "memory.db").chmod(0o644)
        assert (inner / "memory.db").read_bytes() == before
    finally:
        shutil.rmtree(folder)


def test_locked_for_longer_than_the_timeout(store_url: str, open_here: Opening) -> None:
    store = open_here(store_url, timeout=0.4)
    store.write(SPACE, "/a.md", "a")
    with locked(store_url, SPACE):
        started = time.monotonic()
        with pytest.raises(StoreBusyError) as caught:
            store.append(SPACE, "/a.md", "b")
        assert 0.3 < time.monotonic() - started < 3
        explains(caught.value)
        # Readers do not care.
        assert store.get(SPACE, "/a.md") is not None and store.list_keys(SPACE)
    store.append(SPACE, "/a.md", "b")
    assert len(store.history(SPACE, "/a.md")) == 2


async def test_readers_pass_waiting_writers(store_url: str, open_here: Opening) -> None:
    """However many async writers wait for somebody else's lock, an async reader gets through."""
    import asyncio

    store = open_here(store_url, timeout=3)
    store.write(SPACE, "/a.md", "a")
    with locked(store_url, SPACE):
        writers = [asyncio.create_task(store.aappend(SPACE, "/a.md", str(n))) for n in range(9)]
        await asyncio.sleep(0.2)
        started = time.monotonic()
        assert await store.aget(SPACE, "/a.md") is not None
        waited = time.monotonic() - started
    await asyncio.gather(*writers)
    await store.aclose()
    assert waited < 1
