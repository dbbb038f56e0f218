"""Schedules: each due time once, missed ones made up for once, idle ones started again by what is said."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest

from memoranda import MemoryStore
from memoranda.errors import InvalidScheduleError, InvalidValueError, ScheduleNotFoundError
from tests.store.jobs_support import Clock, read_all, say, timed, waiting


@pytest.fixture
def work(store: MemoryStore) -> tuple[MemoryStore, Clock]:
    return timed(store)


def test_each_due_time_makes_one_job(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    made = store.schedules.put("six", "tidy", cron=" 0  */6 * * * ", prefix=("acme",), payload={"mode": "apply"})
    assert (made.line, made.kind, made.next_due) == ("0 */6 * * *", "cron", clock.now + timedelta(hours=6))
    assert store.schedules.fire(["tidy"]) == 0
    assert store.jobs.next_due(["tidy"]) == clock.now + timedelta(hours=6)
    for _ in range(2):
        due = clock.wait(hours=6)
        assert store.schedules.fire(["other"]) == 0
        assert [store.schedules.fire(["tidy"]), store.schedules.fire(["tidy"])] == [1, 0]
        assert store.schedules.get("six").last_due == due
    first, second = waiting(store)
    assert first.scope is None
    assert first.payload == {"kind": "fan_out", "mode": "apply", "schedule": "six", "prefix": ["acme"]}
    assert first.origin.endswith("@2026-05-04T18:00:00+00:00")
    assert second.origin.endswith("@2026-05-05T00:00:00+00:00")


def test_what_was_missed_is_made_up_for_once(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    store.schedules.put("hourly", "tidy", cron="0 * * * *")
    clock.wait(days=40, minutes=20)
    assert [store.schedules.fire(["tidy"]), store.schedules.fire(["tidy"])] == [1, 0]
    (job,) = waiting(store)
    assert job.origin.endswith("@2026-06-13T12:00:00+00:00"), "the latest"
    assert store.schedules.get("hourly").next_due == datetime(2026, 6, 13, 13, tzinfo=UTC)


def test_the_same_settings_again_change_nothing(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    put: Callable[..., Any] = lambda **how: store.schedules.put(  # noqa: E731
        "s",
        "tidy",
        **{"cron": "0 * * * *", "zone": "Europe/Berlin", "prefix": ("a",), "payload": {"b": 1, "a": 2}} | how,
    )
    first = put()
    clock.wait(hours=3)
    assert put() == first, "what was missed while nobody worked is still to come"
    assert put(payload={"a": 2, "b": 1}) == first
    assert store.schedules.fire(["tidy"]) == 1
    store.schedules.pause("s")
    assert put().paused
    changed = put(cron="30 * * * *")
    assert (changed.line, changed.paused, changed.next_due) == (
        "30 * * * *",
        False,
        clock.now + timedelta(minutes=30),
    )
    assert changed.created_at == first.created_at


@pytest.mark.parametrize(
    "change", [{"zone": "Asia/Tokyo"}, {"prefix": ("x",)}, {"payload": {"x": 1}}, {"queue": "tidy"}]
)
def test_a_changed_schedule_does_not_fire_a_due_time_again(
    work: tuple[MemoryStore, Clock], change: dict[str, Any]
) -> None:
    store, clock = work
    store.schedules.put("s", "tidy", cron="0 * * * *")
    clock.wait(hours=1)
    assert store.schedules.fire(["tidy"]) == 1
    store.schedules.put("s", **{"queue": "tidy", "cron": "0 * * * *", **change})
    assert store.schedules.fire(["tidy"]) == 0
    clock.wait(minutes=59)
    assert store.schedules.fire(["tidy"]) == 0
    clock.wait(minutes=1)
    assert store.schedules.fire(["tidy"]) == 1
    assert len(waiting(store)) == 2


def test_changing_it_before_it_fired_makes_its_time_anew(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    store.schedules.put("s", "tidy", cron="0 13 * * *")
    clock.wait(hours=2)
    store.schedules.put("s", "tidy", cron="0 18 * * *")
    assert store.schedules.fire(["tidy"]) == 0
    clock.wait(hours=4)
    assert store.schedules.fire(["tidy"]) == 1


def test_a_pause_is_not_made_up_for(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    store.schedules.put("s", "tidy", cron="0 * * * *")
    paused = store.schedules.pause("s")
    assert (paused.paused, paused.next_due) == (True, None)
    assert store.schedules.pause("s") == paused
    clock.wait(hours=5, minutes=10)
    assert store.schedules.fire(["tidy"]) == 0
    assert store.jobs.next_due(["tidy"]) is None
    resumed = store.schedules.resume("s")
    assert resumed.next_due == clock.now + timedelta(minutes=50)
    assert store.schedules.resume("s") == resumed
    assert store.schedules.fire(["tidy"]) == 0
    clock.wait(minutes=50)
    assert store.schedules.fire(["tidy"]) == 1


def test_a_removed_one_fires_no_more_and_may_come_again(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    store.schedules.put("s", "tidy", cron="0 * * * *")
    clock.wait(hours=1)
    store.schedules.fire(["tidy"])
    store.schedules.remove("s")
    assert store.schedules.list() == []
    store.schedules.put("s", "tidy", cron="0 * * * *")
    assert store.schedules.fire(["tidy"]) == 0
    assert len(waiting(store)) == 1
    for call in (store.schedules.remove, store.schedules.get, store.schedules.pause, store.schedules.resume):
        for name in ("nobody", "a\0b"):
            with pytest.raises(ScheduleNotFoundError, match="There is no schedule"):
                call(name)


def test_clocks_that_are_changed_leave_no_day_out_and_none_twice(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    for start in (datetime(2026, 3, 27, 22, tzinfo=UTC), datetime(2026, 10, 23, 22, tzinfo=UTC)):
        clock.now = start
        store.schedules.put("night", "tidy", cron="30 2 * * *", zone="Europe/Berlin", payload={"start": str(start)})
        fired = []
        for _ in range(4 * 24 * 4):
            now = clock.wait(minutes=15)
            fired += [now] * store.schedules.fire(["tidy"])
        assert len({moment.astimezone(UTC).date() for moment in fired}) == len(fired) == 4


def test_a_zone_that_is_not_known_here_keeps_no_other_from_being_fired(
    work: tuple[MemoryStore, Clock], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store, clock = work
    store.schedules.put("b", "tidy", cron="0 13 * * *")

    def zone(name: str) -> ZoneInfo:
        if name == "Europe/Berlin":
            raise ZoneInfoNotFoundError(name)
        return ZoneInfo(name)

    store.schedules.put("a", "tidy", cron="30 14 * * *", zone="Europe/Berlin")
    clock.wait(hours=1)
    with monkeypatch.context() as patched:
        patched.setattr("memoranda.store.due_times.ZoneInfo", zone)
        assert store.schedules.fire(["tidy"]) == 1
    assert "'Europe/Berlin' is not known on this machine. Install the package tzdata there." in caplog.text
    assert store.schedules.fire(["tidy"]) == 1, "where it is known"


def test_a_fan_out_makes_a_job_for_each_unread_scope(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    for name in "abcdefg":
        say(store, "acme", name)
    say(store, "other", "x")
    read_all(store, "acme", "c")
    store.schedules.put("hourly", "tidy", cron="0 * * * *", prefix=("acme",), payload={"mode": "apply"})
    clock.wait(hours=1)
    assert store.schedules.fire(["tidy"]) == 1
    job = store.jobs.claim(["tidy"], worker="w")
    assert job and job.payload["kind"] == "fan_out"
    assert store.jobs.fan_out(job, page=2) == 6
    assert store.jobs.get(job.number).state == "done"
    jobs = waiting(store)
    assert [each.scope for each in jobs] == [("acme", name) for name in "abdefg"]
    assert {each.origin for each in jobs} == {job.origin}
    assert jobs[0].payload == {"kind": "scope", "schedule": "hourly", "mode": "apply"}


def test_a_fan_out_that_was_taken_over_makes_nothing_twice(
    work: tuple[MemoryStore, Clock], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, clock = work
    for name in "abcde":
        say(store, name)
    store.schedules.put("hourly", "tidy", cron="0 * * * *")
    clock.wait(hours=1)
    store.schedules.fire(["tidy"])
    job = store.jobs.claim(["tidy"], worker="w")
    assert job

    from memoranda.store.operations import unread

    queue = unread._queue

    def stopped(context: Any, job: Any, scopes: list[str], *more: Any) -> Any:
        if "c\x01" in scopes:
            raise KeyboardInterrupt
        return queue(context, job, scopes, *more)

    with monkeypatch.context() as patched:
        patched.setattr(unread, "_queue", stopped)
        with pytest.raises(KeyboardInterrupt):
            store.jobs.fan_out(job, page=2)
    assert len(waiting(store)) == 2
    clock.wait(minutes=2)
    done = store.jobs.claim(["tidy"], worker="w", number=waiting(store)[0].number)
    assert done and store.jobs.finish(done)
    again = store.jobs.claim(["tidy"], worker="other", number=job.number)
    assert again and again.attempts == 2
    with pytest.raises(Exception, match="not this worker's any more"):
        store.jobs.fan_out(job, page=2)
    assert asyncio.run(store.jobs.afan_out(again, page=2)) == 3
    assert sorted(each.scope or () for each in store.jobs.list() if each.scope) == [(name,) for name in "abcde"]


def test_a_later_fan_out_looks_at_what_was_talked_in_since(work: tuple[MemoryStore, Clock]) -> None:
    store, clock = work
    say(store, "old")
    store.schedules.put("often", "tidy", cron="*/20 * * * *")

    def scopes() -> list[str]:
        store.schedules.fire(["tidy"])
        job = store.jobs.claim(["tidy"], worker="w")
        assert job and job.scope is None
        store.jobs.fan_out(job)
        found = []
        while job := store.jobs.claim(["tidy"], worker="w"):
            found.append("/".join(job.scope or ()))
            store.jobs.finish(job)
        return sorted(found)

    clock.wait(minutes=20)
    assert scopes() == ["old"]
    say(store, "new")
    clock.wait(minutes=20)
    assert scopes() == ["new"], "old failed, and comes again later"
    clock.wait(minutes=20)
    assert scopes() == []
    clock.wait(minutes=20)
    assert scopes() == ["new", "old"], "once an hour"


def test_a_job_that_is_none_of_a_schedule_is_not_spread(store: MemoryStore) -> None:
    store.jobs.enqueue("tidy", ("ann",))
    job = store.jobs.claim(["tidy"], worker="w")
    assert job and not store.jobs.is_rearmed(job)
    with pytest.raises(InvalidValueError, match="not to be spread"):
        store.jobs.fan_out(job)


def test_listing_and_customers(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    one, other = open_here(store_url, tenant="one"), open_here(store_url, tenant="other")
    for name, queue in [("b", "q"), ("a", "q"), ("c", "p")]:
        one.schedules.put(name, queue, cron="* * * * *")
    assert [schedule.name for schedule in one.schedules.list()] == ["a", "b", "c"]
    assert [schedule.name for schedule in one.schedules.list("q")] == ["a", "b"]
    assert other.schedules.list() == []
    assert other.schedules.put("a", "q", idle_minutes=1).kind == "idle"
    say(one, "ann")
    late, clock = timed(other)
    clock.now = datetime.now(UTC) + timedelta(hours=1)
    assert late.schedules.fire(["q", "p"]) == 0

    async def same() -> list[str]:
        await one.schedules.aput("d", "q", idle_minutes=2)
        await one.schedules.apause("d")
        await one.schedules.aresume("d")
        await one.schedules.aremove("a")
        await one.schedules.afire(["q"])
        return [(await one.schedules.aget("d")).name, *(each.name for each in await one.schedules.alist("q"))]

    assert asyncio.run(same()) == ["d", "b", "d"]


NONSENSE: list[tuple[str, dict[str, Any]]] = [
    ("has no time", {}),
    ("two kinds of times", {"cron": "* * * * *", "idle_minutes": 1}),
    ("The hour of the cron line", {"cron": "0 25 * * *"}),
    ("no time zone 'Berlin'", {"cron": "* * * * *", "zone": "Berlin"}),
    ("no number of minutes", {"idle_minutes": 0}),
    ("no number of minutes", {"idle_minutes": -1}),
    ("no number of minutes", {"idle_minutes": float("nan")}),
    ("no number of minutes", {"idle_minutes": "5"}),
    ("no number of minutes", {"idle_minutes": True}),
    ("is no name of a schedule", {"name": "", "cron": "* * * * *"}),
    ("is no name of a schedule", {"name": "x" * 256, "cron": "* * * * *"}),
    ("is no name", {"queue": "", "cron": "* * * * *"}),
    ("empty label", {"cron": "* * * * *", "prefix": ("",)}),
    ("no JSON object", {"cron": "* * * * *", "payload": {"x": object()}}),
]


@pytest.mark.parametrize(("said", "how"), NONSENSE, ids=range(len(NONSENSE)))
def test_nonsense_is_refused_with_what_to_do(
    said: str, how: dict[str, Any], open_here: Callable[..., MemoryStore]
) -> None:
    store = open_here("memory://")
    with pytest.raises((InvalidScheduleError, ValueError), match=said) as caught:
        given: dict[str, Any] = {"name": "s", "queue": "q"}
        store.schedules.put(**given | how)
    assert getattr(caught.value, "remedy", "")
    assert store.schedules.list() == []
