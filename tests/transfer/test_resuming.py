"""An import that was interrupted leaves whole items only, and a second one completes it."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from memoranda import MemoryStore, open_store
from memoranda.transfer import BundleConflictError, export_bundle, import_bundle
from tests.transfer.support import digests, feed, fill

IMPORTING = """
import sys
from memoranda import open_store
from memoranda.transfer import import_bundle
with open_store(sys.argv[1]) as store:
    print("open", flush=True)
    import_bundle(store, sys.argv[2], on_existing="skip", progress=lambda done, total: print(done, flush=True))
"""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "many.mbundle"
    with open_store("memory://") as store:
        fill(store)
        for number in range(1_500):
            store.write(("many",), f"/{number % 40}/{number}.md", f"text {number}\n" * 20)
        for number in range(0, 1_500, 3):
            store.append(("many",), f"/{number % 40}/{number}.md", "more")
        export_bundle(store, path)
    return path


@pytest.fixture
def expected(bundle: Path) -> tuple[object, object]:
    with open_store("memory://") as store:
        import_bundle(store, bundle)
        return digests(store), feed(store, ("many",))


def test_killed_and_started_again(
    bundle: Path, expected: tuple[object, object], store_url: str, open_here: Callable[..., MemoryStore]
) -> None:
    chance = random.Random(3)
    killed = 0
    for _ in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", IMPORTING, store_url, str(bundle)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        wanted = chance.randrange(1_000, 1_560)  # past the check, which is half of the way
        for line in process.stdout:
            if int(line) >= wanted:
                break
        time.sleep(chance.uniform(0, 0.01))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        process.stdout.close()
        store = open_here(store_url)
        assert store.verify().ok  # whole items with whole histories, counted in their namespaces
    assert killed
    import_bundle(store, bundle, on_existing="skip")
    assert (digests(store), feed(store, ("many",))) == expected


def test_interrupted_at_every_transaction(bundle: Path, expected: tuple[object, object], store: MemoryStore) -> None:
    total = 0

    def interrupt(done: int, of: int | None) -> None:
        nonlocal total
        assert of is not None
        if done > of // 2 + total:
            total += 150
            raise KeyboardInterrupt

    items = 0
    for _ in range(100):
        try:
            import_bundle(store, bundle, on_existing="skip", progress=interrupt)
            break
        except KeyboardInterrupt:
            found = digests(store)
            assert sum(count for _, count, _ in found.values()) > items
            items = sum(count for _, count, _ in found.values())
    assert total > 300
    assert (digests(store), feed(store, ("many",))) == expected


def test_others_may_write_while_an_import_is_interrupted(bundle: Path, store: MemoryStore) -> None:
    def interrupt(done: int, of: int | None) -> None:
        if of is not None and done > of * 3 // 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_bundle(store, bundle, progress=interrupt)
    for number in range(50):
        store.write(("many",), f"/theirs/{number}.md", "written meanwhile")
    there = next(iter(store.list_keys(("many",), "/0", recursive=True)))
    store.append(("many",), there.key, "changed meanwhile")
    with pytest.raises(BundleConflictError):
        import_bundle(store, bundle)
    import_bundle(store, bundle, on_existing="skip")
    assert store.verify().ok
    positions = [change.position for change in store.changes(namespace=("many",), limit=100_000)]
    assert len(set(positions)) == len(positions) == digests(store)[("many",)][2]
    assert "changed meanwhile" in store.get(("many",), there.key).value["content"]


def test_places_that_others_took_are_not_taken_again(tmp_path: Path, store: MemoryStore) -> None:
    """An older and a newer bundle of one store, with local changes in between."""
    with open_store("memory://") as source:
        for number in range(10):
            source.write(("ann",), f"/{number}.md", "x")
        export_bundle(source, tmp_path / "1.mbundle")
        for number in range(10, 20):
            source.write(("ann",), f"/{number}.md", "x")
        export_bundle(source, tmp_path / "2.mbundle")
    import_bundle(store, tmp_path / "1.mbundle")
    for number in range(15):
        store.write(("ann",), f"/local/{number}.md", "x")
    assert import_bundle(store, tmp_path / "2.mbundle", on_existing="skip").items == 10
    assert store.verify().ok
    keys = [change.key for change in store.changes(namespace=("ann",))]
    assert [key for key in keys if "local" not in key] == [f"/{number}.md" for number in range(20)]


@pytest.mark.parametrize("forgotten", [1, 7, 9])
def test_what_was_forgotten_comes_back_where_it_was(tmp_path: Path, store: MemoryStore, forgotten: int) -> None:
    for number in range(10):
        store.put(("ann",), f"{number}", {"x": number})
    for number in range(10):
        store.put(("ann",), f"{number}", {"y": number}, ttl=1 if number < forgotten else None)
    export_bundle(store, tmp_path / "1.mbundle")
    before = digests(store), feed(store, ("ann",))
    now = store.context
    store.context = replace(now, clock=lambda: now.clock() + 120_000_000)
    assert store.sweep_ttl() == forgotten
    store.context = now
    assert len(feed(store, ("ann",))) == 20 - 2 * forgotten
    report = import_bundle(store, tmp_path / "1.mbundle", on_existing="skip")
    assert (report.items, report.revisions) == (forgotten, 2 * forgotten)
    assert (digests(store), feed(store, ("ann",))) == before


def test_two_imports_and_a_writer_at_once(
    bundle: Path, store: MemoryStore, store_url: str, open_here: Callable[..., MemoryStore]
) -> None:
    stores = [open_here(store_url) for _ in range(2)]
    with ThreadPoolExecutor() as pool:
        imports = [pool.submit(import_bundle, each, bundle, on_existing="skip") for each in stores]
        written = 0
        while not all(each.done() for each in imports):
            store.write(("many",), f"/theirs/{written}.md", "written meanwhile")
            written += 1
        reports = [each.result() for each in imports]
    with open_store("memory://") as other:
        expected = import_bundle(other, bundle).items
    assert expected <= sum(report.items for report in reports)
    assert store.verify().ok
    assert len(store.list_keys(("many",), "/theirs")) == written > 3
    assert sum(entry.items for entry in store.verify().namespaces) == expected + written
