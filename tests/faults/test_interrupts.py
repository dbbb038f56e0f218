"""Exceptions and Ctrl-C in the middle of a transaction leave nothing half done and nobody stuck."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from memoranda import MemoryStore
from memoranda.errors import StoreBusyError, StoreClosedError
from memoranda.store.effects import Batch, Body, Sql, Transact
from memoranda.store.engines.sqlite.locking import FairLock

Opening = Callable[..., MemoryStore]
NEW = {"tenant": "", "labels": "half\x01", "digest": bytes(32)}


def failing_body(error: BaseException) -> Body[Any]:
    """Makes a namespace, sees that it is there, and fails."""
    yield Batch([Sql("create_namespace", NEW)])
    (rows,) = yield Batch([Sql("lock_namespace", {"tenant": "", "labels": "half\x01"})])
    assert rows
    raise error


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt(), SystemExit(1), GeneratorExit()])
def test_body_that_fails(store_url: str, open_here: Opening, error: BaseException) -> None:
    store, other = open_here(store_url, timeout=2), open_here(store_url, timeout=2)
    for _ in range(20):  # more often than there are connections
        with pytest.raises(type(error)):
            store.engine.transact(Transact("write", lambda: failing_body(error)))
    assert store.stats().namespaces == 0
    store.write(("ann",), "/a.md", "from the same store")
    other.write(("ann",), "/b.md", "from another")
    assert store.verify().ok


def test_reading_body_that_fails(store_url: str, open_here: Opening) -> None:
    store = open_here(store_url, timeout=2)
    store.write(("ann",), "/a.md", "a")

    def body() -> Body[Any]:
        yield Batch([Sql("totals", {"tenant": ""})])
        raise KeyboardInterrupt

    for _ in range(40):
        with pytest.raises(KeyboardInterrupt):
            store.engine.transact(Transact("snapshot", body))
    assert store.get(("ann",), "/a.md") is not None
    store.write(("ann",), "/a.md", "b")


async def test_async_body_that_fails(store_url: str, open_here: Opening) -> None:
    store = open_here(store_url, timeout=2)
    for _ in range(20):
        with pytest.raises(RuntimeError):
            await store.engine.atransact(Transact("write", lambda: failing_body(RuntimeError("no"))))
    await store.awrite(("ann",), "/a.md", "still alive")
    assert (await store.astats()).namespaces == 1
    await store.aclose()


# Ctrl-C may strike in a callback of the garbage collector, Hypothesis's for one, where Python can only report it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_at_random_moments(store_url: str, open_here: Opening) -> None:
    """A signal lands anywhere: while waiting, between two statements, in the commit."""
    store = open_here(store_url, timeout=5)
    chance = random.Random(3)
    done = 0

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(150):
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.000_1, 0.006))
                for _ in range(100):  # an interrupt in a destructor is swallowed by Python
                    store.append(("ann",), "/log.md", f"{done + 1}")
                    done += 1
            except KeyboardInterrupt:
                pass
            except RuntimeError as error:
                # Inside the `with` of the standard library's Condition, an interrupt comes out as this.
                said = ("release unlocked lock", "cannot release un-acquired lock")
                if str(error) not in said or not isinstance(error.__context__, KeyboardInterrupt):
                    raise
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    started = time.monotonic()
    store.append(("ann",), "/log.md", "end")
    assert time.monotonic() - started < 1
    item = store.get(("ann",), "/log.md")
    assert item is not None
    landed = item.value["content"].split("\n")
    # An interrupted append may have landed, and the next one then repeats its number; none is missing.
    assert set(map(int, landed[:-1])) >= set(range(1, done + 1))
    assert len(store.history(("ann",), "/log.md", limit=100_000)) == len(landed)
    assert store.verify().ok


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_while_queueing_for_the_lock() -> None:
    """Whoever gives up its place in the queue is not handed the lock later, to keep it for ever."""
    lock = FairLock()
    holding, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        with lock.turn(1):
            holding.set()
            let_go.wait(5)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    holding.wait(5)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt), lock.turn(5):
            pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    let_go.set()
    holder.join(5)
    with lock.turn(1):
        pass


def test_the_queue_is_fair_and_has_a_deadline() -> None:
    lock = FairLock()
    order: list[int] = []
    with lock.turn(1):
        with pytest.raises(StoreBusyError), lock.turn(0.01):
            pass
        threads = [threading.Thread(target=_note, args=(lock, number, order), daemon=True) for number in range(5)]
        for thread in threads:
            thread.start()
            time.sleep(0.02)
    for thread in threads:
        thread.join(5)
    assert order == list(range(5))


def _note(lock: FairLock, number: int, order: list[int]) -> None:
    with lock.turn(5):
        order.append(number)


def test_closed_in_the_middle(store_url: str, open_here: Opening) -> None:
    """Threads write while the store is closed: each call returns rightly or says that the store is closed."""
    store = open_here(store_url, timeout=5)
    written: list[str] = []
    wrong: list[BaseException] = []
    started = threading.Barrier(9)

    def work(name: int) -> None:
        started.wait()
        for number in range(10_000):
            try:
                store.write(("ann",), f"/{name}-{number}.md", "x")
                store.list_keys(("ann",))
            except StoreClosedError:
                return
            except BaseException as error:  # noqa: BLE001
                wrong.append(error)
                return
            written.append(f"/{name}-{number}.md")

    threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in range(8)]
    for thread in threads:
        thread.start()
    started.wait()
    time.sleep(0.2)
    store.close()
    store.close()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    assert wrong == []
    with pytest.raises(StoreClosedError):
        store.get(("ann",), "/0-0.md")
    again = open_here(store_url)
    assert {entry.key for entry in again.list_keys(("ann",))} >= set(written)
    assert again.verify().ok


async def test_closed_in_the_middle_of_tasks(store_url: str, open_here: Opening) -> None:
    import asyncio

    store = open_here(store_url, timeout=5)

    async def work(name: int) -> int:
        for number in range(10_000):
            try:
                await store.awrite(("ann",), f"/{name}-{number}.md", "x")
            except StoreClosedError:
                return number
        return 0

    tasks = [asyncio.create_task(work(name)) for name in range(20)]
    await asyncio.sleep(0.2)
    await store.aclose()
    counts = await asyncio.wait_for(asyncio.gather(*tasks), 10)
    again = open_here(store_url)
    assert len(again.list_keys(("ann",))) >= sum(counts)
    assert again.verify().ok
