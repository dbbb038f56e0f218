"""Listings and searches over files that are rewritten all the while: no file is missed and none comes twice."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event

import pytest

from memoranda import ChangeSet, MemoryStore, Write, open_store
from tests.faults.killing import fresh
from tests.support.scale import sized

Opening = Callable[..., MemoryStore]
FILES = 1_000
RUNS = sized(50, quick=15)
SPACE = ("ann",)
KEYS = [f"/folder-{number % 7}/file {number:04}.md" for number in range(FILES)]


def rewrite_forever(url: str, started: Event, stop: Event) -> None:
    """Give random files other text, longer or shorter, and make and delete files of its own beside them."""
    chance = random.Random(1)
    with open_store(url) as store:
        number = 0
        while not stop.is_set():
            number += 1
            store.write(SPACE, chance.choice(KEYS), f"needle {number}\n" * chance.randrange(1, 30))
            passing = f"/folder-{number % 7}/passing {chance.randrange(40)}.md"
            if number % 2:
                store.write(SPACE, passing, "nothing")
            else:
                store.delete(SPACE, passing)
            started.set()


@contextmanager
def rewriting(url: str) -> Iterator[None]:
    started, stop = fresh.Event(), fresh.Event()
    process = fresh.Process(target=rewrite_forever, args=(url, started, stop), daemon=True)
    process.start()
    try:
        assert started.wait(20)
        yield
        assert process.is_alive()
    finally:
        stop.set()
        process.join(20)


@pytest.fixture
def filled(store_url: str, open_here: Opening) -> MemoryStore:
    store = open_here(store_url)
    store.commit(ChangeSet([Write(SPACE, key, "needle at first") for key in KEYS]))
    return store


def test_everything_once(filled: MemoryStore, store_url: str) -> None:
    revisions = set[int]()
    with rewriting(store_url):
        for run in range(RUNS * 20):
            if run >= RUNS and len(revisions) > 1:
                break
            whole = [entry.key for entry in filled.list_keys(SPACE, recursive=True)]
            check(whole, "a whole listing")
            check(paged(filled, 100 + run), "a paged listing")
            found = [match.key for match in filled.grep(SPACE, "needle").matches]
            check(list(dict.fromkeys(found)), "grep")
            folder = [entry.key for entry in filled.list_keys(SPACE, "/folder-3")]
            check(folder, "one folder", [key for key in KEYS if key.startswith("/folder-3/")])
            revisions.add(max(entry.revision for entry in filled.list_keys(SPACE, "/folder-0")))
    # Files really were rewritten meanwhile.
    assert len(revisions) > 1
    assert filled.verify().ok


def check(found: list[str], what: str, wanted: list[str] = KEYS) -> None:
    assert len(found) == len(set(found)), f"{what} holds a file twice"
    missing = set(wanted) - set(found)
    assert not missing, f"{what} misses {sorted(missing)[:3]}"
    others = [key for key in found if "passing" not in key]
    assert len(others) == len(wanted), f"{what} holds what was never written"


def paged(store: MemoryStore, limit: int) -> list[str]:
    keys: list[str] = []
    after: str | None = None
    while page := store.list_keys(SPACE, recursive=True, limit=limit, after=after):
        keys += [entry.key for entry in page]
        after = page[-1].key
    return keys
