"""Runs: recorded with what came of them, the cursor and the end of the job, each range once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoranda import (
    Append,
    Author,
    ChangeSet,
    ConflictError,
    Delete,
    Job,
    MemoryStore,
    Move,
    RunChange,
    Write,
)
from memoranda.errors import InvalidValueError, LeaseLostError, RunNotFoundError, RunSettledError
from memoranda.store.companions import accompanied
from memoranda.store.effects import query, transact
from memoranda.store.runs import RunRecord
from tests.store.jobs_support import say, timed

ANN = ("ann",)
NOTES = Write(ANN, "/notes.md", "Likes tea.")
BEGAN = datetime(2026, 5, 4, 12, tzinfo=UTC)


def noted(store: MemoryStore, after: int = 0, to: int = 2, **how: Any) -> RunRecord:
    return RunRecord(how.pop("id", None) or store.runs.new_id(), "tidy", ANN, after, to, to - after, BEGAN, **how)


def job_of(store: MemoryStore) -> Job:
    store.jobs.enqueue("tidy", ANN)
    job = store.jobs.claim(["tidy"], worker="w")
    assert job is not None
    return job


def land(store: MemoryStore, run: RunRecord, *changes: Any, job: Job | None = None) -> None:
    with accompanied(store.runs.record(run, job)) as companion:
        store.commit(ChangeSet(changes, Author("consolidator:tidy", run_id=run.id)))
    assert companion.taken


def test_a_run_is_recorded_with_what_came_of_it(store: MemoryStore) -> None:
    job = job_of(store)
    store.write(ANN, "/old.md", "x")
    store.write(ANN, "/was.md", "x")
    store.write(ANN, "/log.md", "1")
    store.delete(ANN, "/log.md")
    told = (
        RunChange(ANN, "/notes.md", "write", sources=(1, 2), lines={"digest": (2,)}),
        RunChange(ANN, "/old.md", "move", to="/new.md", sources=(1,)),
        RunChange(ANN, "/was.md", "delete"),
    )
    run = noted(store, changes=told, model="m", tokens_in=7, tokens_out=3, attempts=2, summary="käse\0")
    land(
        store, run, NOTES, Move(ANN, "/old.md", "/new.md"), Delete(ANN, "/was.md"), Append(ANN, "/log.md", "2"), job=job
    )
    found = store.runs.get(run.id)
    assert found.changes == (
        RunChange(ANN, "/notes.md", "write", 1, 0, None, (1, 2), {"digest": (2,)}),
        RunChange(ANN, "/old.md", "move", 1, 1, "/new.md", (1,)),
        RunChange(ANN, "/was.md", "delete", 2, 1),
        RunChange(ANN, "/log.md", "append", 3, 0),
    ), "what it did not name is there too"
    assert (found.status, found.turns, found.model, found.tokens_in, found.tokens_out, found.attempts) == (
        "applied", 2, "m", 7, 3, 2,
    )  # fmt: skip
    assert (found.started_at, found.summary, found.job, found.proposal) == (BEGAN, "käse", job.number, None)
    assert store.jobs.get(job.number).state == "done"
    assert (store.runs.cursor("tidy", ANN), store.runs.covered("tidy", ANN)) == (2, [(0, 2)])
    assert store.history(ANN, "/notes.md")[0].author.run_id == run.id


def test_a_run_without_changes_is_recorded_too(store: MemoryStore) -> None:
    run = noted(store, 0, 1)
    land(store, run)
    land(store, noted(store, 1, 3))
    assert [each.status for each in store.runs.list("tidy", ANN)] == ["unchanged", "unchanged"]
    assert store.runs.covered("tidy", ANN) == [(0, 1), (1, 3)]


def test_no_range_is_recorded_twice(store: MemoryStore) -> None:
    land(store, noted(store), NOTES)
    for after, to in [(0, 2), (0, 3), (1, 3), (5, 6)]:
        with pytest.raises(ConflictError) as caught:
            land(store, noted(store, after, to), Write(ANN, "/twice.md", "x"))
        assert caught.value.conflicts[0].reason == "cursor"
    assert store.get(ANN, "/twice.md") is None
    assert len(store.runs.list()) == 1
    assert store.verify().ok


def test_an_id_is_taken_once(store: MemoryStore) -> None:
    land(store, noted(store, id="r-aaaaaa"))
    with pytest.raises(RunSettledError, match="recorded already"):
        land(store, noted(store, 2, 3, id="r-aaaaaa"), NOTES)
    assert (store.get(ANN, "/notes.md"), store.runs.cursor("tidy", ANN)) == (None, 2)


def test_who_has_lost_the_lease_lands_nothing(store: MemoryStore) -> None:
    timed_store, clock = timed(store)
    job = job_of(timed_store)
    clock.wait(minutes=2)
    assert timed_store.jobs.claim(["tidy"], worker="other")
    run = noted(store)
    for landing in (
        lambda: land(store, run, NOTES, job=job),
        lambda: store.runs.park(run, job),
    ):
        with pytest.raises(LeaseLostError, match="not this worker's any more"):
            landing()
    with accompanied(store.runs.record(run, job)), pytest.raises(LeaseLostError):
        store.propose(ChangeSet([NOTES]))
    assert (store.get(ANN, "/notes.md"), store.proposals(), store.runs.list()) == (None, [], [])
    assert store.runs.cursor("tidy", ANN) == 0


def proposed(store: MemoryStore) -> tuple[RunRecord, str]:
    run = noted(store, changes=(RunChange(ANN, "/notes.md", "write", sources=(1,)),))
    with accompanied(store.runs.record(run)):
        proposal = store.propose(ChangeSet([NOTES]))
    found = store.runs.get(run.id)
    assert (found.status, found.proposal, found.changes[0].revision) == ("proposed", proposal.id, 0)
    assert store.runs.cursor("tidy", ANN) == 2
    return run, proposal.id


def test_accepting_a_proposal_settles_its_run(store: MemoryStore) -> None:
    store.write(ANN, "/other.md", "x")
    run, proposal = proposed(store)
    store.accept_proposal(proposal)
    found = store.runs.get(run.id)
    assert (found.status, found.changes) == (
        "applied",
        (RunChange(ANN, "/notes.md", "write", 1, 0, sources=(1,)),),
    )


def test_accepting_with_other_changes_settles_its_run_with_those(store: MemoryStore) -> None:
    run, proposal = proposed(store)
    store.accept_proposal(proposal, changes=[Append(ANN, "/notes.md", "Likes coffee.")])
    (change,) = store.runs.get(run.id).changes
    assert (change.operation, change.revision, change.sources) == ("append", 1, (1,))


def test_rejecting_a_proposal_settles_its_run(store: MemoryStore) -> None:
    run, proposal = proposed(store)
    store.reject_proposal(proposal)
    found = store.runs.get(run.id)
    assert (found.status, found.changes[0].revision) == ("rejected", 0)
    assert store.runs.cursor("tidy", ANN) == 2, "a rejection does not rewind"
    with pytest.raises(RunSettledError, match="it is rejected"):
        undo(store, run.id)


def test_a_proposal_that_is_not_accepted_leaves_its_run_waiting(store: MemoryStore) -> None:
    run, proposal = proposed(store)
    store.write(ANN, "/notes.md", "Likes coffee.")
    with pytest.raises(ConflictError):
        store.accept_proposal(proposal)
    assert store.runs.get(run.id).status == "proposed"


def undo(store: MemoryStore, id: str, *changes: Any) -> None:
    with accompanied(store.runs.undoing(id, by="user:ann")):
        store.commit(ChangeSet(changes))


def test_a_run_is_undone_once(store: MemoryStore) -> None:
    run = noted(store)
    land(store, run, NOTES)
    undo(store, run.id, Delete(ANN, "/notes.md"))
    found = store.runs.get(run.id)
    assert (found.status, found.undone_by, len(found.changes)) == ("undone", "user:ann", 1)
    with pytest.raises(RunSettledError, match="it is undone by user:ann") as caught:
        undo(store, run.id, Write(ANN, "/again.md", "x"))
    assert caught.value.remedy
    assert store.get(ANN, "/again.md") is None
    with pytest.raises(RunNotFoundError):
        undo(store, "r-nobody")


def test_a_parked_range_does_not_stop_what_follows_and_is_made_again(store: MemoryStore) -> None:
    job = job_of(store)
    run = noted(store, attempts=3, error="no JSON\0", tokens_in=5)
    parked = store.runs.park(run, job)
    assert (parked.status, parked.error, parked.job) == ("parked", "no JSON", job.number)
    assert (store.jobs.get(job.number).state, store.jobs.get(job.number).error) == ("parked", "no JSON")
    land(store, noted(store, 2, 4), NOTES)
    assert (
        store.runs.park(noted(store, id=run.id, attempts=2, error="again", tokens_in=5), job_of(store)).error == "again"
    )
    assert store.jobs.get(job.number).state == "done", "the run has another job by now"

    again = noted(store, id=run.id, tokens_in=1, changes=(RunChange(ANN, "/more.md", "write", sources=(1,)),))
    with accompanied(store.runs.rerecord(again, job_of(store))):
        store.commit(ChangeSet([Write(ANN, "/more.md", "x")]))
    found = store.runs.get(run.id)
    assert (found.status, found.error, found.attempts, found.tokens_in) == ("applied", None, 6, 11)
    assert (found.changes[0].revision, found.changes[0].sources) == (1, (1,))
    assert (store.runs.cursor("tidy", ANN), store.runs.covered("tidy", ANN)) == (4, [(0, 2), (2, 4)])
    assert store.jobs.list("tidy", state="parked") == []
    with pytest.raises(RunSettledError, match="not parked any more"), accompanied(store.runs.rerecord(again)):
        store.commit(ChangeSet([Write(ANN, "/twice.md", "x")]))
    with pytest.raises(RunSettledError):
        store.runs.park(again)
    assert store.get(ANN, "/twice.md") is None
    assert store.verify().ok


def test_parking_behind_a_cursor_that_has_moved_parks_nothing(store: MemoryStore) -> None:
    land(store, noted(store))
    job = job_of(store)
    with pytest.raises(ConflictError):
        store.runs.park(noted(store, error="x"), job)
    assert store.jobs.get(job.number).state == "running"
    assert [run.status for run in store.runs.list()] == ["unchanged"]


def test_listing_and_reading(store: MemoryStore) -> None:
    run = noted(store)
    land(store, run)
    store.runs.park(noted(store, 2, 3, error="x"))
    with accompanied(store.runs.record(RunRecord(store.runs.new_id(), "other", ("bob",), 0, 1, 1, BEGAN))):
        store.commit(ChangeSet())
    shown = {
        "all": store.runs.list(),
        "tidy": store.runs.list("tidy"),
        "bob": store.runs.list(scope=("bob",)),
        "parked": store.runs.list(status="parked"),
        "one": store.runs.list("tidy", ANN, limit=1),
        "none": store.runs.list("tidy", ("bob",)),
    }
    assert {name: [(each.consumer, each.after) for each in found] for name, found in shown.items()} == {
        "all": [("other", 0), ("tidy", 2), ("tidy", 0)],
        "tidy": [("tidy", 2), ("tidy", 0)],
        "bob": [("other", 0)],
        "parked": [("tidy", 2)],
        "one": [("tidy", 2)],
        "none": [],
    }
    assert (store.runs.cursor("tidy", ("bob",)), store.runs.covered("tidy", ("bob",))) == (0, [])
    for id in ("r-nobody", "", "a\0b"):
        with pytest.raises(RunNotFoundError, match="There is no run"):
            store.runs.get(id)
    with pytest.raises(InvalidValueError, match="no status of a run"):
        store.runs.list(status="running")

    async def same() -> list[object]:
        return [
            (await store.runs.aget(run.id)).id,
            len(await store.runs.alist()),
            await store.runs.acursor("tidy", ANN),
            await store.runs.acovered("tidy", ANN),
        ]

    assert asyncio.run(same()) == [run.id, 3, 3, [(0, 2), (2, 3)]]


def test_what_is_unread(store: MemoryStore) -> None:
    for scope in [("acme", "bob"), ("acme", "ann"), ("acme",), ("acme2",), ("zoe",)]:
        say(store, *scope, count=2)
    store.write(("acme", "files"), "/x.md", "no turns")
    seen = store.runs.unread("tidy")
    assert [(each.namespace, each.position, each.turns) for each in seen] == [
        (("acme",), 0, 2),
        (("acme", "ann"), 0, 2),
        (("acme", "bob"), 0, 2),
        (("acme2",), 0, 2),
        (("zoe",), 0, 2),
    ]
    assert all(timedelta(0) <= datetime.now(UTC) - each.turned_at < timedelta(minutes=1) for each in seen)
    assert [each.namespace for each in store.runs.unread("tidy", ("acme",), limit=2)] == [("acme",), ("acme", "ann")]
    assert [each.namespace for each in store.runs.unread("tidy", ("acme",), ("acme", "ann"))] == [("acme", "bob")]
    for scope, to in [(("acme", "bob"), 1), (("zoe",), 2)]:
        with accompanied(store.runs.record(RunRecord(store.runs.new_id(), "tidy", scope, 0, to, to, BEGAN))):
            store.commit(ChangeSet())
    assert [(each.namespace, each.position) for each in store.runs.unread("tidy", after=("acme", "ann"))] == [
        (("acme", "bob"), 1),
        (("acme2",), 0),
    ]
    assert len(store.runs.unread("other", limit=None)) == 5
    assert asyncio.run(store.runs.aunread("tidy", ("zoe",))) == []


def test_what_is_forgotten_is_not_unread(store: MemoryStore) -> None:
    timed_store, clock = timed(store)
    store = timed_store
    for name in ("ann", "bob"):
        say(store, name, count=2)
        say(store, name, thread="gone", count=1)
    with accompanied(store.runs.record(RunRecord(store.runs.new_id(), "tidy", ANN, 0, 2, 2, BEGAN))):
        store.commit(ChangeSet())
    for name in ("ann", "bob"):
        store.forget((name,), thread="gone", vacuum=False)
    assert [each.namespace for each in store.runs.unread("tidy")] == [("bob",)]
    store.schedules.put("quiet", "tidy", idle_minutes=1)
    store.schedules.put("cron", "tidy", cron="* * * * *")
    clock.wait(minutes=1)
    assert store.schedules.fire(["tidy"]) == 2
    job = next(each for each in store.jobs.list() if each.scope is None)
    job = store.jobs.claim(["tidy"], worker="w", number=job.number)
    assert job and store.jobs.fan_out(job) == 0, "the one that was made of the silence does it as well"
    assert {each.scope for each in store.jobs.list("tidy", state="waiting")} == {("bob",)}


def break_store(store: MemoryStore, statement: str, **params: object) -> None:
    store.engine.run(transact("write", lambda: query(statement, **params)))


def test_verifying_finds_a_gap_and_a_range_that_is_covered_twice(store: MemoryStore) -> None:
    say(store, "ann", count=5)
    for after, to in [(0, 2), (2, 3), (3, 5)]:
        land(store, noted(store, after, to))
    assert store.verify().ok
    runs = store.runs.list()
    place = {"tenant": "", "consumer": "tidy", "labels": "ann\x01"}
    break_store(store, "move_cursor", **place, expected=5, lease=None, position=4, moved_at=0)
    assert store.verify().problems == (f"{ANN}: the runs of tidy go up to 5, but its cursor stands at 4.",)
    break_store(store, "move_cursor", **place, expected=4, lease=None, position=5, moved_at=0)
    row = {**place, "high": "ann\x01\x01", "low": "ann\x01", "terminator": "\x01", "label": "", "limit": 1}
    break_store(store, "forget_runs", **row)
    (problem,) = store.verify().problems
    assert problem.startswith(f"{ANN}: no run of tidy covers the turns behind 0 up to 2.")
    assert len(runs) == 3


def test_a_run_is_told_as_it_will_be_read(store: MemoryStore) -> None:
    texts: dict[str, Any] = {
        "model": "scripted-1",
        "summary": "Was told.\0",
        "tokens_in": 3,
        "tokens_out": 2,
        "attempts": 2,
    }
    recording = store.runs.record(noted(store, **texts), job_of(store))
    with accompanied(recording):
        store.commit(ChangeSet((NOTES,)))
    assert recording.run is not None and recording.run == store.runs.get(recording.run.id)
    recording = store.runs.record(noted(store, 2, 3))
    with accompanied(recording):
        store.propose(ChangeSet((Append(ANN, "/notes.md", "More."),)))
    assert recording.run is not None and recording.run == store.runs.get(recording.run.id)
    assert recording.run.status == "proposed"


def test_the_id_of_a_parked_run_is_no_way_to_another_range(store: MemoryStore) -> None:
    parked = store.runs.park(noted(store, error="first"))
    with pytest.raises(RunSettledError, match="another range"):
        store.runs.park(noted(store, 2, 3, id=parked.id, error="second"))
    with pytest.raises(RunSettledError), accompanied(store.runs.rerecord(noted(store, 2, 3, id=parked.id))):
        store.commit(ChangeSet((NOTES,)))
    assert store.runs.get(parked.id) == parked and store.runs.cursor("tidy", ANN) == 2
