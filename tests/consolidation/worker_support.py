"""Somebody who talks, a consolidator that notes what is said, and a worker in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from memoranda import MemoryStore
from memoranda.backends import StoreBackend
from memoranda.consolidation.consolidator import Consolidator
from memoranda.consolidation.task import Task
from memoranda.consolidation.worker import Worker
from memoranda.store.turns import Turn

SECONDS = 20


def say(store: MemoryStore, who: str, *texts: str) -> None:
    """Somebody says something."""
    before = len(store.turns((who,), limit=None))
    turns = [Turn(f"{who}{before + number}", "user", text) for number, text in enumerate(texts)]
    store.record_turns((who,), "t", turns)


def noting(store: MemoryStore, work: Callable[[Task], Any], **settings: Any) -> Consolidator:
    """A consolidator that keeps its files beside what was said."""
    return Consolidator(
        work, store=store, target=lambda of: StoreBackend(namespace=of.scope, store=store), name="noting", **settings
    )


def note(task: Task) -> None:
    """Append what was said."""
    task.files.append("/said.md", "".join(f"{turn.text}\n" for turn in task.turns))


def said(store: MemoryStore, who: str) -> list[str]:
    """What was noted."""
    item = store.get((who,), "/said.md")
    return [] if item is None else item.value["content"].split()


def until(condition: Callable[[], Any], seconds: float = SECONDS) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.005)


@contextmanager
def working(worker: Worker, **how: Any) -> Iterator[Worker]:
    """A worker in a thread of its own, ended at the end of the block."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            worker.run(**how)
        except BaseException as error:  # noqa: BLE001 - raised in the test
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield worker
    finally:
        worker.stop()
        thread.join(SECONDS)
        assert not thread.is_alive(), "the worker did not end"
    assert failed == []
