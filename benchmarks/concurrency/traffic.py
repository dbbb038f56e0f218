"""Writers on distinct files, and readers beside them: how long each waits."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.concurrency.crew import Tally
from benchmarks.concurrency.rivals import NAMESPACE, Ours, Rival
from benchmarks.support.texts import FOLDERS, RARE, folder_of, key_of, text_of


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes new files of 2 KB, one after the other.

    Args:
        changes: How many at most.
        pause: Mean seconds between two.
        apart: Whether every writer has a namespace of its own, as every user of an assistant has.
    """

    changes: int
    pause: float = 0.0
    apart: bool = False

    def __call__(self, rival: Rival, worker: int, tally: Tally, is_over: Callable[[], bool]) -> None:
        chance = random.Random(worker)
        namespace = ("acme", f"user-{worker}", "notes") if self.apart else NAMESPACE
        for number in range(self.changes):
            if is_over():
                return
            text = text_of(worker * 100_003 + number)
            start = time.perf_counter()
            try:
                rival.write(f"/written/by-{worker}/note-{number}.md", text, namespace)
            except Exception as error:  # noqa: BLE001 - errors are what is counted here
                tally.counts[f"error: {(str(error).splitlines() or [repr(error)])[0][:80]}"] += 1
            else:
                tally.took("write", time.perf_counter() - start)
                tally.counts["ok"] += 1
            if self.pause:
                time.sleep(chance.uniform(0, 2 * self.pause))


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads, lists and searches as an agent does: something, then a pause.

    Args:
        files: How many there are to choose from.
        pause: Mean seconds between two.
    """

    files: int
    pause: float

    def __call__(self, rival: Ours, worker: int, tally: Tally, is_over: Callable[[], bool]) -> None:
        chance = random.Random(worker)
        store: Any = rival.store
        time.sleep(chance.uniform(0, 2 * self.pause))
        while not is_over():
            number = chance.randrange(self.files)
            choice = chance.random()
            start = time.perf_counter()
            try:
                if choice < 0.6:
                    kind, found = "get", store.get(NAMESPACE, key_of(number))
                elif choice < 0.8:
                    kind, found = "ls", store.list_keys(NAMESPACE, folder_of(chance.randrange(FOLDERS)))
                else:
                    kind, found = "grep", store.grep(NAMESPACE, RARE, folder_of(0)).matches
            except Exception as error:  # noqa: BLE001 - errors are what is counted here
                tally.counts[f"error: {(str(error).splitlines() or [repr(error)])[0][:80]}"] += 1
            else:
                tally.took(kind, time.perf_counter() - start)
                tally.counts["ok" if found else "error: nothing found"] += 1
            time.sleep(chance.uniform(0, 2 * self.pause))
