"""What agents note in event logs is folded by schedules too, where nobody says anything."""

from __future__ import annotations

from datetime import UTC, datetime
from threading import Event

import pytest

from memoranda import MemoryStore, Turn
from memoranda.backends import StoreBackend, by_user
from memoranda.consolidation import Consolidator, EventLog, InvalidConsolidatorError, ScopeOf, Task
from memoranda.consolidation.doing import JobDoer
from tests.store.jobs_support import Clock, timed

TEAMS = [("a",), ("b",)]


def fold(task: Task) -> None:
    for event in task.events:
        task.files.append("/knowledge.md", f"- {event.text.strip()}")


def each_its_own(store: MemoryStore, **more: object) -> Consolidator:
    def target(who: ScopeOf) -> StoreBackend:
        return StoreBackend(namespace=who.scope, store=store)

    return Consolidator(fold, store=store, target=target, sources=EventLog("/events/"), **more)  # type: ignore[arg-type]


def note(store: MemoryStore, team: tuple[str, ...], text: str) -> None:
    StoreBackend(namespace=team, store=store).append("/events/march.md", text)


def known(store: MemoryStore, team: tuple[str, ...]) -> str | None:
    item = store.get(team, "/knowledge.md")
    return None if item is None else item.value["content"]


def work(store: MemoryStore, consolidator: Consolidator) -> int:
    """Do what is due; how many jobs did something."""
    doer = JobDoer(store, {consolidator.name: consolidator}, lease=60, pause=60, ended=Event())
    store.schedules.fire([consolidator.name])
    done = 0
    while (job := store.jobs.claim([consolidator.name], worker="w1")) is not None:
        report = doer.do(job).report
        done += report is not None and report.status == "applied"
    return done


@pytest.fixture
def now(store: MemoryStore) -> tuple[MemoryStore, Clock]:
    timing, clock = timed(store)
    clock.now = datetime.now(UTC)
    return timing, clock


def test_a_fixed_target_is_its_one_scope(store: MemoryStore) -> None:
    target = StoreBackend(namespace=("team",), store=store)
    folding = Consolidator(fold, store=store, target=target, sources=EventLog("/events/"))
    note(store, ("team",), "The build takes 40 minutes.")
    store.record_turns(("other",), "t", [Turn("1", "user", "x")])
    assert [(report.scope, report.status) for report in folding.run_all()] == [(("team",), "applied")]
    assert known(store, ("team",)) == "- The build takes 40 minutes."
    assert folding.run_all() == []
    assert folding.status() == []


def test_a_cron_line(now: tuple[MemoryStore, Clock]) -> None:
    store, clock = now
    folding = each_its_own(store, scopes=TEAMS)
    folding.schedule("* * * * *")
    for number in range(2):
        for team in TEAMS:
            note(store, team, f"{team[0]}{number}")
        clock.wait(minutes=1)
        assert work(store, folding) == 2
    assert [known(store, team) for team in TEAMS] == ["- a0\n- a1", "- b0\n- b1"]


def test_silence_in_a_log(now: tuple[MemoryStore, Clock]) -> None:
    store, clock = now
    folding = each_its_own(store, scopes=TEAMS)
    folding.after_idle(30)
    note(store, ("a",), "one")
    for number in range(3):
        clock.wait(minutes=20)
        assert work(store, folding) == 0
        note(store, ("a",), f"more {number}")
    clock.wait(minutes=31)
    assert work(store, folding) == 1
    assert (known(store, ("a",)) or "").splitlines()[-1].endswith("more 2")
    clock.wait(minutes=31)
    assert work(store, folding) == 0
    jobs = len(store.jobs.list(folding.name))
    for _ in range(3):
        clock.wait(minutes=31)
        assert work(store, folding) == 0
    assert len(store.jobs.list(folding.name)) == jobs, "where nothing is noted, nothing is done"


def test_where_nobody_knows_the_scopes_it_says_so(store: MemoryStore) -> None:
    by_users = Consolidator(
        fold, store=store, target=StoreBackend(namespace=by_user, store=store), sources=EventLog("/events/")
    )
    for one in (each_its_own(store), by_users):
        for tried in (lambda: one.schedule("* * * * *"), lambda: one.after_idle(5), one.run_all):  # noqa: B023
            with pytest.raises(InvalidConsolidatorError, match="scopes="):
                tried()
    assert store.schedules.list() == []
