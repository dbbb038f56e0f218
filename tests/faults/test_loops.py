"""Many event loops on one store, and tasks that are cancelled in the middle of a write."""

from __future__ import annotations

import asyncio
import gc
import random
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress

import psycopg
import pytest

from memoranda import MemoryStore
from tests.faults.locks import locked

Opening = Callable[..., MemoryStore]


def backends(url: str) -> int:
    """How many of the store's connections PostgreSQL holds open, other than idle in a pool that is gone."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'memoranda'"
        ).fetchone()
    assert row is not None
    return row[0]


def open_transactions(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name = 'memoranda' AND state LIKE 'idle in transaction%'"
        ).fetchone()
    assert row is not None
    return row[0]


def test_one_loop_after_another(store_url: str, open_here: Opening) -> None:
    store = open_here(store_url, timeout=5)

    async def work(number: int) -> None:
        await asyncio.gather(*(store.aappend(("ann",), f"/{part}.md", str(number)) for part in range(4)))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(25):
            asyncio.run(work(number))
        gc.collect()
    assert [str(warning.message) for warning in caught] == []
    for part in range(4):
        item = store.get(("ann",), f"/{part}.md")
        assert item is not None and item.value["content"] == "\n".join(map(str, range(25)))
    if store_url.startswith("postgres"):
        # The connections of loops that are gone go with the next use of another.
        assert backends(store_url) <= 15


def test_loops_in_threads(store_url: str, open_here: Opening) -> None:
    store = open_here(store_url, timeout=10)
    wrong: list[BaseException] = []

    async def work(thread: int, turn: int) -> None:
        await asyncio.gather(*(store.aappend(("ann",), "/shared.md", f"{thread}-{turn}-{n}") for n in range(5)))

    def run(thread: int) -> None:
        try:
            for turn in range(6):
                asyncio.run(work(thread, turn))
        except BaseException as error:  # noqa: BLE001
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(thread,), daemon=True) for thread in range(6)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        gc.collect()
    assert wrong == []
    assert [str(warning.message) for warning in caught] == []
    item = store.get(("ann",), "/shared.md")
    assert item is not None
    wanted = sorted(f"{t}-{turn}-{n}" for t in range(6) for turn in range(6) for n in range(5))
    assert sorted(item.value["content"].split("\n")) == wanted
    assert store.verify().ok


async def test_cancelled_writes(store_url: str, open_here: Opening) -> None:
    """Each append is cut off after a random moment; a cancelled one has landed whole or not at all."""
    store = open_here(store_url, timeout=5)
    chance = random.Random(5)
    acknowledged: list[str] = []
    cancelled = 0

    async def work(name: int) -> None:
        nonlocal cancelled
        for number in range(25):
            line = f"{name}-{number}"
            try:
                # Now and then time enough for a busy machine too.
                patience = chance.uniform(0.000_1, 0.03) if chance.random() < 0.9 else 2.0
                await asyncio.wait_for(store.aappend(("ann",), "/shared.md", line), patience)
            except TimeoutError:
                cancelled += 1
            else:
                acknowledged.append(line)

    await asyncio.wait_for(asyncio.gather(*(work(name) for name in range(12))), 60)
    assert cancelled > 10 and acknowledged
    if store_url.startswith("postgres"):
        await asyncio.sleep(0.1)
        assert open_transactions(store_url) == 0
    # Nothing is stuck: writers get through at once, more of them than any pool has connections.
    started = time.monotonic()
    await asyncio.wait_for(asyncio.gather(*(store.awrite(("ann",), f"/{n}.md", "x") for n in range(30))), 10)
    assert time.monotonic() - started < 5
    item = await store.aget(("ann",), "/shared.md")
    assert item is not None
    lines = item.value["content"].split("\n")
    assert len(lines) == len(set(lines)) and set(lines) >= set(acknowledged)
    assert (await store.averify()).ok
    await store.aclose()


async def test_cancelled_while_another_holds_the_lock(store_url: str, open_here: Opening) -> None:
    """Cancelling a writer that waits ends the wait at once, with the cancellation and nothing else."""
    store = open_here(store_url, timeout=10)
    store.write(("ann",), "/a.md", "a")
    with locked(store_url, ("ann",)):
        tasks = [asyncio.create_task(store.aappend(("ann",), "/a.md", str(n))) for n in range(6)]
        await asyncio.sleep(0.2)
        for task in tasks:
            task.cancel()
        started = time.monotonic()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert time.monotonic() - started < 2
        assert {type(outcome) for outcome in outcomes} == {asyncio.CancelledError}
    await asyncio.wait_for(store.aappend(("ann",), "/a.md", "end"), 10)
    await store.aclose()


async def test_store_left_open_in_a_loop_that_ends(store_url: str, open_here: Opening) -> None:
    """Using one store from a second loop, in a thread, does not disturb the first."""
    store = open_here(store_url, timeout=5)
    await store.awrite(("ann",), "/a.md", "a")

    def other() -> None:
        asyncio.run(store.aappend(("ann",), "/a.md", "b"))

    for _ in range(5):
        await asyncio.to_thread(other)
        await store.aappend(("ann",), "/a.md", "c")
    item = await store.aget(("ann",), "/a.md")
    assert item is not None and item.value["content"] == "\n".join(["a"] + ["b", "c"] * 5)
    await store.aclose()


@pytest.mark.filterwarnings("error")
def test_closing_from_another_loop(store_url: str, open_here: Opening) -> None:
    store = open_here(store_url, timeout=5)
    asyncio.run(store.awrite(("ann",), "/a.md", "a"))
    with suppress(RuntimeError):
        asyncio.run(store.aclose())
    gc.collect()
