"""Embedders that hang or end the thread, locks at a fork, and a reader that may not write."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

from memoranda import MemoryStore

ANN = ("ann",)
Opening = Callable[..., MemoryStore]


def _within(seconds: float, work: Callable[[], object]) -> bool:
    done = threading.Event()
    threading.Thread(target=lambda: (work(), done.set()), daemon=True).start()
    return done.wait(seconds)


def test_a_hanging_embedder_of_the_background_stops_no_search(store_url: str, open_here: Opening) -> None:
    let_go = threading.Event()

    def hang(texts: list[str]) -> list[list[float]]:
        let_go.wait(30)
        return [[1.0, 0.0] for _ in texts]

    store = open_here(store_url, index={"embed": hang})
    store.write(ANN, "/a.md", "zebra")
    time.sleep(0.2)
    try:
        assert _within(5, lambda: store.recall(ANN, "zebra"))
    finally:
        let_go.set()


def test_waiting_for_an_embedder_that_ends_its_thread(store_url: str, open_here: Opening) -> None:
    def leave(texts: list[str]) -> list[list[float]]:
        raise SystemExit(3)

    store = open_here(store_url, index={"embed": leave})
    store.write(ANN, "/a.md", "zebra")
    assert _within(5, lambda: store.wait_for_index(None))


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
