"""Many ask for a scope and many do it, in processes of their own, and nothing that was said is left unread."""

from __future__ import annotations

import time

from memoranda import MemoryStore
from tests.store.jobs_support import process

SCOPE = ("ann",)
SAID = 40

ASKING = """
import sys
from memoranda import Turn, open_store
with open_store(sys.argv[1]) as store:
    for number in range(int(sys.argv[3])):
        store.record_turns(("ann",), sys.argv[2], [Turn(str(number), "user", "x")])
        store.jobs.enqueue("tidy", ("ann",), merge=True)
"""

DOING = """
import random, sys, time
from datetime import UTC, datetime
from memoranda import ChangeSet, CursorMove, open_store
with open_store(sys.argv[1]) as store:
    print("ready", flush=True)
    while True:
        job = store.jobs.claim(["tidy"], worker=sys.argv[2])
        if job is None:
            time.sleep(0.001)
            continue
        if random.random() < 0.3:
            store.jobs.retry(job, error="no", at=datetime.now(UTC), merge=True)
            continue
        at = store.runs.cursor("tidy", ("ann",))
        turns = store.turns(("ann",), None, after=at, limit=500)
        if turns:
            store.commit(ChangeSet(advance=[CursorMove("tidy", ("ann",), at, turns[-1].position)]))
        store.jobs.finish(job)
"""


def test_nothing_is_left_unread(store: MemoryStore, store_url: str) -> None:
    doing = [process(DOING, store_url, f"w{number}") for number in range(2)]
    try:
        for one in doing:
            assert one.stdout is not None and one.stdout.readline() == "ready\n"
        asking = [process(ASKING, store_url, f"t{number}", str(SAID)) for number in range(2)]
        assert [one.wait(60) for one in asking] == [0, 0]
        deadline = time.monotonic() + 20
        while store.jobs.list("tidy", state="waiting") or store.jobs.list("tidy", state="running"):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert [one.poll() for one in doing] == [None, None]
    finally:
        for one in doing:
            one.kill()
            one.wait()
    assert store.runs.unread("tidy") == []
    assert len(store.turns(SCOPE, None, limit=None)) == 2 * SAID
    assert store.runs.cursor("tidy", SCOPE) == 2 * SAID
