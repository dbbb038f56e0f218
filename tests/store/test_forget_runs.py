"""Forgetting what was to be done and what came of it, where the namespace stays as where it goes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoranda import Append, ChangeSet, MemoryStore, Run, RunChange, Write
from memoranda.errors import LeaseLostError
from memoranda.store.companions import accompanied
from memoranda.store.runs import RunRecord
from tests.store.jobs_support import say

ANN, BOB, TEAM = ("ann",), ("bob",), ("acme", "team")


def ran(store: MemoryStore, scope: tuple[str, ...], to: int, *changes: RunChange, propose: bool = False) -> Run:
    after = store.runs.cursor("tidy", scope)
    run = RunRecord(
        store.runs.new_id(),
        "tidy",
        scope,
        after,
        to,
        to - after,
        datetime.now(UTC),
        changes,
        summary="said x",
        error="y",
    )
    landing = ChangeSet([Append(change.namespace, change.key, "x") for change in changes])
    with accompanied(store.runs.record(run)):
        store.propose(landing) if propose else store.commit(landing)
    return store.runs.get(run.id)


def test_a_conversation_leaves_nothing_of_itself_in_the_runs_over_it(store: MemoryStore) -> None:
    say(store, *ANN, thread="gone", count=2)
    say(store, *ANN, thread="kept", count=2)
    change = RunChange(ANN, "/x.md", "append", sources=(1, 3), lines={"a": (2,), "b": (3,)})
    both = ran(store, ANN, 3, change)
    other = ran(store, ANN, 4, RunChange(ANN, "/x.md", "append", sources=(4,)))
    job = store.jobs.enqueue("tidy", ANN)
    assert job
    held = store.jobs.claim(["tidy"], worker="w")
    assert held and store.jobs.park(held, error="said y")

    receipt = store.forget(ANN, thread="gone")

    left = store.runs.get(both.id)
    assert (left.summary, left.error, left.after, left.to, left.status) == (None, None, 0, 3, "applied")
    (change,) = left.changes
    assert (change.sources, change.lines, change.revision) == ((3,), {"b": (3,)}, 1)
    assert store.runs.get(other.id) == other
    assert store.jobs.get(job.number).error is None
    assert (receipt.counts["cleared_runs"], receipt.counts["runs"]) == (1, 0)
    assert "1 cleared run" in str(receipt)
    assert "What 1 run of consolidators wrote into files from these turns stays" in str(receipt)
    assert store.runs.cursor("tidy", ANN) == 4, "nothing is read twice"
    assert store.verify().ok


def test_who_works_on_a_conversation_that_is_forgotten_begins_again(store: MemoryStore) -> None:
    say(store, *ANN, thread="gone")
    for scope in (ANN, BOB):
        store.jobs.enqueue("tidy", scope)
    job, other = store.jobs.claim(["tidy"], worker="w"), store.jobs.claim(["tidy"], worker="w")
    assert job and other and (job.scope, other.scope) == (ANN, BOB)
    run = RunRecord(store.runs.new_id(), "tidy", ANN, 0, 1, 1, datetime.now(UTC), summary="said x")

    store.forget(thread="gone")

    with pytest.raises(LeaseLostError), accompanied(store.runs.record(run, job)):
        store.write(ANN, "/x.md", "what was said")
    assert store.get(ANN, "/x.md") is None
    again = store.jobs.claim(["tidy"], worker="w")
    assert again and (again.number, again.attempts) == (job.number, 1)
    assert store.jobs.heartbeat(other)


def test_runs_over_others_say_nothing_of_a_namespace_that_is_gone(store: MemoryStore) -> None:
    say(store, *BOB, count=3)
    mine = ran(store, BOB, 1, RunChange(ANN, "/secret.md", "append", sources=(1,)), RunChange(BOB, "/b.md", "x"))
    waits = ran(store, BOB, 2, RunChange(ANN, "/wish.md", "append"), propose=True)
    other = ran(store, BOB, 3, RunChange(BOB, "/ann", "append"))
    assert waits.status == "proposed"

    receipt = store.forget(ANN)

    assert receipt.counts["runs"] == 0
    left = store.runs.get(mine.id)
    assert ([change.key for change in left.changes], left.summary) == (["/b.md"], None)
    settled = store.runs.get(waits.id)
    assert (settled.status, settled.changes, settled.summary) == ("rejected", (), None)
    assert store.runs.get(other.id) == other
    assert store.verify().ok


def test_who_undid_a_run_is_forgotten_too(store: MemoryStore) -> None:
    say(store, *BOB)
    run = ran(store, BOB, 1, RunChange(BOB, "/b.md", "append"))
    with accompanied(store.runs.undoing(run.id, by="user:ann")):
        store.delete(BOB, "/b.md")
    store.forget(subject="ann")
    assert store.runs.get(run.id).undone_by == ""


def test_what_is_forgotten_is_not_done_any_more(store: MemoryStore) -> None:
    say(store, *ANN)
    for scope in (ANN, (*ANN, "sub"), BOB, None):
        store.jobs.enqueue("tidy", scope)
    job = store.jobs.claim(["tidy"], worker="w")
    assert job and job.scope == ANN
    store.schedules.put("all", "tidy", cron="* * * * *")
    store.schedules.put("ann", "tidy", cron="* * * * *", prefix=ANN)
    store.schedules.put("below", "tidy", idle_minutes=5, prefix=(*ANN, "sub"))
    planned = store.forget(ANN, dry_run=True)
    assert [planned.counts[name] for name in ("jobs", "schedules")] == [1, 1]
    assert len(store.jobs.list()) == 4

    receipt = store.forget(ANN)

    assert (receipt.jobs, receipt.schedules) == (1, 1)
    assert "1 job\n" in str(receipt)
    assert not store.jobs.heartbeat(job)
    assert [schedule.name for schedule in store.schedules.list()] == ["all", "below"]
    assert [each.scope for each in store.jobs.list()] == [None, BOB, (*ANN, "sub")]
    assert store.runs.unread("tidy") == []
    receipt = store.forget((), below=True, confirm=True)
    assert (receipt.jobs, receipt.schedules) == (2, 1)
    assert [job.scope for job in store.jobs.list()] == [None]


def test_a_namespace_that_comes_again_is_read_from_its_first_turn(store: MemoryStore) -> None:
    say(store, *ANN, count=3)
    ran(store, ANN, 3, RunChange(ANN, "/x.md", "append"))
    assert store.forget(ANN).counts["runs"] == 1
    assert (store.runs.list(), store.runs.cursor("tidy", ANN)) == ([], 0)
    say(store, *ANN, count=2)
    ran(store, ANN, 2)
    store.write(TEAM, "/x.md", "y")
    assert store.commit(ChangeSet([Write(ANN, "/x.md", "z", base=0)])).revisions[0].revision == 1
    assert store.verify().ok
