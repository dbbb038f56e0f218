"""Workers are killed at every moment, and each turn is read once, and what came of it lands once."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from memoranda import MemoryStore
from memoranda.consolidation.worker import Worker
from tests.consolidation.dying import COMMITTED, MOMENTS, Crowd, Doom, Folding, Talk, check, consolidator, dies_at
from tests.support.scale import sized

Opening = Callable[..., MemoryStore]
KILLS = sized(200, quick=10)


@pytest.mark.timeout(sized(1_200, quick=120))
def test_each_turn_once_whatever_dies(store_url: str, open_here: Opening) -> None:
    store = open_here(store_url)
    talk = Talk(store, scopes=sized(12, quick=6), seed=5)
    crowd = Crowd(store_url, workers=3, seed=7)
    try:
        while crowd.killed < KILLS:
            crowd.tend()
            talk.go_on()
    finally:
        crowd.end()
    for schedule in store.schedules.list():
        store.schedules.remove(schedule.name)
    # What the dead have left is done by whoever comes next, once their leases have run out.
    folding = consolidator(store, Folding(Doom(), 0, None))
    for scope in talk.said:
        folding.on_demand(scope)
    deadline = time.monotonic() + 60
    while store.runs.unread(folding.name) or store.jobs.list(folding.name, state="running"):
        Worker(store, [folding], poll=0.25, pause=0.05).run(until_idle=True, signals=False)
        assert time.monotonic() < deadline
        time.sleep(0.1)
    runs = check(store, talk.said)
    turns = sum(map(len, talk.said.values()))
    print(f"{crowd.killed} kills {crowd.deaths}: {turns} turns in {runs} runs")
    assert runs > KILLS / 2
    assert KILLS < 100 or all(crowd.deaths[moment] > 10 for moment in MOMENTS), crowd.deaths


def test_killed_at_every_statement_of_the_landing(store_url: str, open_here: Opening) -> None:
    """One worker after the other dies one statement later, until one has nothing more to say."""
    store = open_here(store_url)
    talk = Talk(store, scopes=1, seed=1)
    folding = consolidator(store, Folding(Doom(), 0, None))
    step, deaths, landed = sized(1, quick=6), 0, 0
    numbers = [*range(1, 60, step)]
    if store.engine.name == "sqlite":  # PostgreSQL has statements behind its commit
        numbers = [COMMITTED, COMMITTED, *numbers]
    for number in numbers:
        talk.say()
        folding.on_demand(talk.scope)
        before = store.runs.cursor(folding.name, talk.scope)
        is_dead = dies_at(store_url, number)
        deaths += is_dead
        landed += is_dead and store.runs.cursor(folding.name, talk.scope) > before
        while (due := store.jobs.next_due([folding.name])) is not None:  # what the dead one has left
            time.sleep(max((due - datetime.now(UTC)).total_seconds(), 0))
            Worker(store, [folding], poll=0.05).run(until_idle=True, signals=False)
        if not is_dead:
            break
    check(store, talk.said)
    print(f"{deaths} deaths, {landed} of them behind the commit")
    assert deaths >= 3 and landed < deaths and (step > 1 or landed), (deaths, landed)
