"""What starts a worker's work: schedules, silence, and what happens in its own process."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from memoranda import MemoryStore
from memoranda.consolidation.worker import Worked, Worker
from tests.consolidation.worker_support import note, noting, said, say, until, working


def test_a_schedule_reaches_every_scope_with_something_new(store: MemoryStore) -> None:
    consolidator = noting(store, note)
    for who in ("ann", "bob"):
        say(store, who, "hello")
    consolidator.schedule("* * * * * *")
    with working(Worker(store, [consolidator])):
        until(lambda: said(store, "ann") and said(store, "bob"))
        say(store, "cid", "late")
        until(lambda: said(store, "cid"))
    assert all(len(said(store, who)) == 1 for who in ("ann", "bob", "cid"))


def test_what_was_missed_is_caught_up_once(store: MemoryStore) -> None:
    """No worker ran for several due times."""
    consolidator = noting(store, note)
    say(store, "ann", "hello")
    consolidator.schedule("* * * * * *")
    time.sleep(2.2)
    consolidator.schedule("0 0 1 1 *", name="rarely")
    due = store.schedules.get("noting").next_due
    assert due is not None and due < datetime.now(UTC) - timedelta(seconds=1)
    spread: list[Worked] = []
    store.schedules.fire(["noting"])
    store.schedules.remove("noting")
    Worker(store, [consolidator], report=spread.append).run(until_idle=True)
    assert [each.outcome for each in spread] == ["spread", "done"]
    assert said(store, "ann") == ["hello"]


def test_an_idle_scope_is_re_armed_by_each_message(store: MemoryStore) -> None:
    consolidator = noting(store, note)
    consolidator.after_idle(0.6 / 60)
    began = last = time.monotonic()
    longest = 0.0  # on a busy machine the test itself may be silent for too long
    with working(Worker(store, [consolidator], poll=0.05)):
        for number in range(5):
            say(store, "ann", str(number))
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
            time.sleep(0.2)
            assert said(store, "ann") == [] or max(longest, time.monotonic() - last) > 0.5
        until(lambda: len(said(store, "ann")) == 5)
    assert time.monotonic() - began >= 1.4
    assert said(store, "ann") == ["0", "1", "2", "3", "4"]
    assert len(store.runs.list("noting")) == 1 or longest > 0.5


def test_a_message_that_comes_between_firing_and_running_re_arms_too(store: MemoryStore) -> None:
    consolidator = noting(store, note)
    say(store, "ann", "one")
    consolidator.after_idle(0.2 / 60)
    until(lambda: store.schedules.fire(["noting"]))
    say(store, "ann", "two")
    reports: list[Worked] = []
    with working(Worker(store, [consolidator], poll=0.05, report=reports.append)):
        until(lambda: said(store, "ann"))
    assert [each.outcome for each in reports] == ["rearmed", "done"]
    assert said(store, "ann") == ["one", "two"]


def test_it_is_woken_in_its_own_process(store: MemoryStore) -> None:
    consolidator = noting(store, note)
    with working(Worker(store, [consolidator], poll=600)):
        time.sleep(0.2)
        say(store, "ann", "hello")
        began = time.monotonic()
        consolidator.on_demand(("ann",))
        until(lambda: said(store, "ann"))
        assert time.monotonic() - began < 2
        say(store, "bob", "hello")
        consolidator.schedule("* * * * * *")
        until(lambda: said(store, "bob"), 3)
