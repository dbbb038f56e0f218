"""Several processes record the same conversation at once: each message is there once, in its place."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from memoranda import MemoryStore

PROCESSES = 2


def test_processes_record_one_conversation_once(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    store = open_here(store_url)
    program = Path(__file__).with_name("recording_process.py")
    running = [subprocess.Popen([sys.executable, program, store_url, str(number)]) for number in range(PROCESSES)]
    assert [process.wait(60) for process in running] == [0] * PROCESSES
    assert [turn.message_id for turn in store.turns(("ann",), "shared")] == [f"m{place}" for place in range(1, 26)]
    assert [turn.position for turn in store.turns(("ann",))] == [*range(1, 25 * (PROCESSES + 1) + 1)]
    assert {thread.thread_id: thread.turns for thread in store.threads(("ann",))} == {
        "shared": 25,
        **{f"own {number}": 25 for number in range(PROCESSES)},
    }
    found = store.search_episodes(("ann",), "message 17", k=3, neighbours=0)
    assert sorted(hit.turn.text for episode in found for hit in episode.hits) == ["message 17"] * 3
