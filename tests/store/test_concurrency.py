"""One store object serves many threads and event loops; once closed it says so."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from memoranda import ChangeSet, ConflictError, MemoryStore, Write, open_store
from memoranda.errors import StoreClosedError
from tests.store.conftest import Namespace


def run_all(*calls: Callable[[], object]) -> None:
    """Run calls on a thread each; raises what one of them raised."""
    errors: list[BaseException] = []

    def guarded(call: Callable[[], object]) -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]


def test_threads_lose_no_append_and_no_edit(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/edited.md", "".join(f"<{n}>\n" for n in range(8)))

    def work(number: int) -> None:
        for step in range(12):
            shared.append(ns, "/log.md", f"{number}-{step}")
            shared.edit(ns, "/edited.md", f"<{number}>\n", f"{number}-{step}\n<{number}>\n")

    run_all(*(lambda number=number: work(number) for number in range(8)))
    lines = shared.get(ns, "/log.md").value["content"].split("\n")
    assert sorted(lines) == sorted(f"{n}-{s}" for n in range(8) for s in range(12))
    for number in range(8):
        mine = [line for line in lines if line.startswith(f"{number}-")]
        assert mine == [f"{number}-{step}" for step in range(12)]
    edited = shared.get(ns, "/edited.md").value["content"]
    assert all(f"{n}-{s}\n" in edited for n in range(8) for s in range(12))
    assert [entry.revision for entry in shared.history(ns, "/log.md")] == list(range(96, 0, -1))
    assert shared.verify(ns).ok


def test_threads_that_write_with_a_base_lose_nothing(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "count", {"n": 0})

    def count() -> None:
        for _ in range(10):
            while True:
                item = shared.get(ns, "count")
                try:
                    shared.write(ns, "count", {"n": item.value["n"] + 1}, base=item.revision)
                    break
                except ConflictError:
                    continue

    run_all(*[count] * 4)
    # Two that count from the same number write the same value, which merges; every one of the rest is refused.
    assert shared.verify(ns).ok
    assert shared.get(ns, "count").revision == 41


def test_threads_create_one_namespace_and_one_file(shared: MemoryStore, ns: Namespace) -> None:
    barrier = threading.Barrier(8)
    made: list[int] = []

    def create(number: int) -> None:
        for step in range(5):
            barrier.wait(20)
            try:
                done = shared.write((*ns, str(step)), "/a.md", f"by {number}", base=0)
                made.append(step)
                assert done.revision == 1
            except Exception as error:  # noqa: BLE001 - whichever named error says that it exists
                assert "revision" in str(error) or "exists" in str(error), error

    run_all(*(lambda number=number: create(number) for number in range(8)))
    assert sorted(made) == list(range(5))
    assert shared.verify(ns).ok


def test_change_sets_over_many_namespaces_do_not_block_each_other(shared: MemoryStore, ns: Namespace) -> None:
    labels = [(*ns, label) for label in "abcd"]

    def work(number: int) -> None:
        order = labels if number % 2 else labels[::-1]
        for step in range(8):
            shared.commit(ChangeSet([Write(label, f"/{number}-{step}.md", "x") for label in order]))

    run_all(*(lambda number=number: work(number) for number in range(6)))
    for label in labels:
        assert len(shared.list_keys(label)) == 48
    assert shared.verify(ns).ok


def test_readers_always_see_whole_change_sets(shared: MemoryStore, ns: Namespace) -> None:
    done = threading.Event()
    shared.commit(ChangeSet([Write((*ns, label), "x", {"n": 0}) for label in "ab"]))

    def write() -> None:
        try:
            for number in range(1, 60):
                shared.commit(ChangeSet([Write((*ns, label), "x", {"n": number}) for label in "ab"]))
        finally:
            done.set()

    def read() -> None:
        last = 0
        while not done.is_set():
            first, second = (item.value["n"] for item in shared.search(ns))
            assert first == second >= last
            last = first

    run_all(write, read, read)


def test_several_event_loops_and_threads_on_one_store(shared: MemoryStore, ns: Namespace) -> None:
    async def work(number: int) -> None:
        await asyncio.gather(*(shared.aappend(ns, "/log.md", f"{number}-{step}") for step in range(10)))
        assert await shared.aget(ns, "/log.md") is not None

    def blocking() -> None:
        for step in range(10):
            shared.append(ns, "/log.md", f"b-{step}")

    for _ in range(2):  # a second round on new loops, once those of the first are gone
        run_all(*(lambda number=number: asyncio.run(work(number)) for number in range(3)), blocking)
    lines = shared.get(ns, "/log.md").value["content"].split("\n")
    assert len(lines) == 80 and len(set(lines)) == 40
    assert shared.verify(ns).ok


async def test_the_event_loop_is_never_blocked(shared: MemoryStore, ns: Namespace) -> None:
    """While a change set waits for its turn, the loop goes on."""
    if shared.engine.name == "memory":
        shared.put(ns, "x", {"n": 1})
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.001)

    ticking = asyncio.create_task(tick())
    await shared.acommit(ChangeSet([Write(ns, f"/{n}.md", "x" * 2_000) for n in range(400)]))
    ticking.cancel()
    assert ticks >= 3


def test_a_closed_store_says_so(store_url: str) -> None:
    store = open_store(store_url)
    store.write(("a",), "/a.md", "x")
    store.close()
    store.close()
    for call in (
        lambda: store.get(("a",), "/a.md"),
        lambda: store.put(("a",), "k", {"n": 1}),
        lambda: store.search(("a",)),
        lambda: store.list_keys(("a",)),
        lambda: store.write(("a",), "/a.md", "y"),
        lambda: store.changes(),
        lambda: store.verify(),
        lambda: store.sweep_ttl(),
        lambda: store.stats(),
        lambda: store.setup(),
        lambda: store.schema(),
        lambda: asyncio.run(store.aget(("a",), "/a.md")),
        lambda: asyncio.run(store.awrite(("a",), "/a.md", "y")),
    ):
        with pytest.raises(StoreClosedError):
            call()
    with open_store(store_url) as again:
        assert again.get(("a",), "/a.md").value["content"] == "x"


async def test_closing_from_an_event_loop(store_url: str) -> None:
    async with open_store(store_url) as store:
        await store.awrite(("a",), "/a.md", "x")
        store.get(("a",), "/a.md")
    await store.aclose()
    with pytest.raises(StoreClosedError):
        await store.aget(("a",), "/a.md")
    with pytest.raises(StoreClosedError):
        store.get(("a",), "/a.md")


def test_memory_is_each_store_its_own() -> None:
    with open_store("memory://") as one, open_store("memory://") as two:
        one.put(("a",), "k", {"n": 1})
        assert two.get(("a",), "k") is None
        assert one.stats().engine == "memory"
