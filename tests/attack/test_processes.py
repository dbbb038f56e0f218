"""Embedders that hang or end the thread, locks at a fork, and a reader that may not write."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from memoranda import MemoryStore
from memoranda.forking import ForkSafeLock
from memoranda.store import embedder_in_use
from tests.store.embedding_support import HashedWords

ANN = ("ann",)
Opening = Callable[..., MemoryStore]


def _within(seconds: float, work: Callable[[], object]) -> bool:
    done = threading.Event()
    threading.Thread(target=lambda: (work(), done.set()), daemon=True).start()
    return done.wait(seconds)


class Hanging(HashedWords):
    """An embedder that does not answer to some calls until it is let go.

    Args:
        hangs: The name of the method that hangs.
    """

    def __init__(self, hangs: str = "") -> None:
        super().__init__()
        self.hangs = hangs
        self.entered, self.let_go = threading.Event(), threading.Event()

    def _hang(self, where: str) -> None:
        if self.hangs == where:
            self.entered.set()
            self.let_go.wait(30)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self._hang("embed_documents")
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        self._hang("embed_query")
        return super().embed_query(text)


def test_a_hanging_embedder_of_the_background_stops_no_search(
    store_url: str, open_here: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedder_in_use, "FIRST_PATIENCE", 0.2)
    words = Hanging("embed_documents")
    store = open_here(store_url, index={"embed": words})
    store.write(ANN, "/a.md", "zebra")
    assert words.entered.wait(10)
    try:
        began = time.monotonic()
        for _ in range(4):
            found = store.recall(ANN, "zebra")
            assert [hit.key for hit in found] == ["/a.md"]
            assert "is not ready yet, so only words were searched" in found.notices[0]
        # They wait for one embedder once, not each of them.
        assert time.monotonic() - began < 3
    finally:
        words.let_go.set()
    assert store.wait_for_index(20)
    assert store.recall(ANN, "zebra").notices == ()


def test_an_embedder_that_hangs_when_it_is_asked_stops_no_search(
    store_url: str, open_here: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = Hanging()
    store = open_here(store_url, index={"embed": words})
    store.write(ANN, "/a.md", "green tea")
    assert store.wait_for_index(20)
    monkeypatch.setattr(embedder_in_use, "QUERY_PATIENCE", 0.1)
    monkeypatch.setattr(embedder_in_use, "pause_after", lambda failures: 0.0)
    words.hangs = "embed_query"
    try:
        threads = threading.active_count()
        for _ in range(12):
            found = store.recall(ANN, "tea")
            assert [hit.key for hit in found] == ["/a.md"]
            assert "failed (TimeoutError: " in found.notices[0]
        assert threading.active_count() - threads <= 9
    finally:
        words.hangs = ""
        words.let_go.set()
    monkeypatch.setattr(embedder_in_use, "QUERY_PATIENCE", 10.0)
    until = time.monotonic() + 10
    while not (found := store.recall(ANN, "beverage")).hits and time.monotonic() < until:
        time.sleep(0.01)
    assert [hit.key for hit in found] == ["/a.md"]


@pytest.mark.parametrize("raised", [SystemExit(3), GeneratorExit(), KeyboardInterrupt(), BaseException("of its own")])
def test_waiting_for_an_embedder_that_ends_its_thread(
    store_url: str, open_here: Opening, raised: BaseException
) -> None:
    ready: list[bool] = []
    words = HashedWords()

    def leave(texts: list[str]) -> list[list[float]]:
        if not ready or any("zebra" in text for text in texts):
            raise raised
        return words.embed_documents(texts)

    store = open_here(store_url, index={"embed": leave})
    assert _within(5, lambda: store.wait_for_index(None))
    ready.append(True)
    assert store.wait_for_index(20)
    store.write(ANN, "/a.md", "zebra")
    assert _within(5, lambda: store.wait_for_index(None))
    found = store.recall(ANN, "zebra")
    assert [hit.key for hit in found] == ["/a.md"]
    assert type(raised).__name__ in found.notices[0]


def _stale(store: MemoryStore, url: str) -> None:
    """Let the index be unattended, so that whoever uses it would like to say so."""
    statement = "UPDATE indexes SET lease_until = 1"
    if url.startswith("sqlite"):
        _sqlite(store, statement)
    else:
        with psycopg.connect(url, options="-c search_path=memoranda", autocommit=True) as server:
            server.execute(statement)


def _sqlite(store: MemoryStore, statement: str) -> None:
    engine: Any = store.engine
    engine._writer.execute(statement).fetchall()


@contextmanager
def _reading(url: str, open_here: Opening, way: str, index: Any) -> Iterator[MemoryStore]:
    """A store that may only read."""
    if url.startswith("sqlite"):
        store = open_here(url, index=index)
        store.stats()
        _sqlite(store, "PRAGMA query_only = 1")
        yield store
        return
    with psycopg.connect(url, autocommit=True) as server:
        server.execute("DROP ROLE IF EXISTS memoranda_looking")
        server.execute("CREATE ROLE memoranda_looking LOGIN PASSWORD 's3cret'")
        rights = "SELECT" if way == "role" else "ALL"
        server.execute("GRANT USAGE ON SCHEMA memoranda TO memoranda_looking")
        server.execute(f"GRANT {rights} ON ALL TABLES IN SCHEMA memoranda TO memoranda_looking")
        if way == "database":
            server.execute("ALTER ROLE memoranda_looking SET default_transaction_read_only = on")
    try:
        reader = url.replace("://postgres:@", "://postgres@").replace("://postgres@", "://memoranda_looking:s3cret@")
        store = open_here(reader, index=index)
        yield store
        store.close()
    finally:
        with psycopg.connect(url, autocommit=True) as server:
            server.execute("DROP OWNED BY memoranda_looking")
            server.execute("DROP ROLE memoranda_looking")


@pytest.mark.parametrize("way", ["role", "database"])
def test_who_may_only_read_searches_by_meaning(store_url: str, open_here: Opening, way: str) -> None:
    store = open_here(store_url, index={"embed": HashedWords()})
    store.write(ANN, "/a.md", "green tea")
    assert store.wait_for_index(20)
    _stale(store, store_url)
    store.close()
    with _reading(store_url, open_here, way, {"embed": HashedWords()}) as reader:
        found = reader.recall(ANN, "beverage")
        assert [hit.key for hit in found] == ["/a.md"]
        assert found.notices == ()
        assert reader.wait_for_index(10)


def test_who_may_only_read_searches_by_words_where_there_is_no_index(store_url: str, open_here: Opening) -> None:
    with open_here(store_url) as store:
        store.write(ANN, "/a.md", "green tea")
    with _reading(store_url, open_here, "role", {"embed": HashedWords()}) as reader:
        assert not reader.wait_for_index(10)
        found = reader.recall(ANN, "tea")
        assert [hit.key for hit in found] == ["/a.md"]
        assert "this store cannot be written" in found.notices[0]


def test_an_index_that_another_process_dropped_is_told_of(
    store_url: str, open_here: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedder_in_use, "LOOK_AGAIN", 0.0)
    store = open_here(store_url, index={"embed": HashedWords()})
    store.write(ANN, "/a.md", "green tea")
    assert store.wait_for_index(20)
    other = open_here(store_url, index={"embed": HashedWords(salt="other")})
    other.reindex()
    found = store.recall(ANN, "tea")
    assert "was dropped for another embedder's" in found.notices[0]
    # And back again, by another process too.
    open_here(store_url, index={"embed": HashedWords()}).reindex()
    assert [hit.key for hit in store.recall(ANN, "beverage")] == ["/a.md"]


def test_a_lock_in_a_forked_child() -> None:
    mine, others = ForkSafeLock(), ForkSafeLock()
    held, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        with others:
            held.set()
            let_go.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(10)
    with mine:
        child = os.fork()
        if child == 0:
            # What the forking thread held is its own to let go of; what another held nobody would.
            os._exit(0 if mine.locked() and not mine.acquire(blocking=False) and others.acquire(timeout=1) else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert others.locked() and not others.acquire(timeout=0.01)
    let_go.set()
    holder.join()
    assert others.acquire(blocking=False)


def test_a_fork_while_another_thread_looks_into_the_index(store: MemoryStore) -> None:
    store.write(ANN, "/a.md", "zebra")
    store.recall(ANN, "zebra")
    held, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        with store.context.blocks._lock:
            held.set()
            let_go.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, 3)
        os._exit(0 if store.recall(ANN, "zebra").hits else 1)
    _, status = os.waitpid(child, 0)
    let_go.set()
    holder.join()
    assert status == 0
