"""Workers are killed at every moment, and each turn is read once, and what came of it lands once."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from memoranda import MemoryStore
from memoranda.consolidation.worker import Worker
from tests.consolidation.dying import MOMENTS, Crowd, Doom, Folding, Talk, check, consolidator
from tests.support.scale import sized

Opening = Callable[..., MemoryStore]
KILLS = sized(200, quick=14)


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
    deadline = time.monotonic() + 30
    while store.runs.unread(folding.name) or store.jobs.list(folding.name, state="running"):
        Worker(store, [folding], poll=0.25, pause=0.05).run(until_idle=True, signals=False)
        assert time.monotonic() < deadline
        time.sleep(0.1)
    runs = check(store, talk.said)
    turns = sum(map(len, talk.said.values()))
    print(f"{crowd.killed} kills {crowd.deaths}: {turns} turns in {runs} runs")
    assert runs > KILLS / 2
    assert KILLS < 100 or all(crowd.deaths[moment] > 10 for moment in MOMENTS), crowd.deaths
