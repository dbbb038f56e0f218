"""The benchmark of consolidation runs, and counts what it says it counts."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from benchmarks.concurrency import crew
from benchmarks.consolidation import conversations, idle, peers, runs
from benchmarks.consolidation.__main__ import main
from benchmarks.consolidation.metering import Meter
from benchmarks.consolidation.schedules import Clock, Scene
from benchmarks.consolidation.stations import Memory, Shift, station
from benchmarks.support.measure import WrongAnswerError

from memoranda import MemoryStore, Turn
from memoranda.backends import StoreBackend
from memoranda.consolidation import Consolidator
from tests.benchmarks.test_smoke import on_engines, server
from tests.support.scale import FULL

__all__ = ["server"]  # a fixture


# Each of the others starts processes, which takes seconds; what they measure is tested below.
PARTS = ("runs", "idle", "schedules", "peers") if FULL else ("schedules", "peers")


@on_engines
def test_every_part_runs(
    engine: str, server: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures, folder = tmp_path / "figures.json", tmp_path / "work"
    given = ["--quick", "--parts", ",".join(PARTS), "--workers", "1", "--works", "function", *server]
    monkeypatch.setattr("sys.argv", ["benchmarks", *given, "--json", str(figures), "--folder", str(folder)])
    assert main() == 0
    assert "Targets" in capsys.readouterr().out
    assert list(folder.iterdir()) == []
    results: dict[str, Any] = json.loads(figures.read_text())["results"]
    assert set(results) == {f"{part}/{engine}" for part in PARTS}
    for row in results.get(f"runs/{engine}", {}).values():
        assert row["runs"] == 12
        assert row["per_second"] > 0
    assert {row["jobs"] for row in results[f"schedules/{engine}"]} == {0, 4, 40}
    assert len(results[f"peers/{engine}"]["3 earlier conversations"]) == 4


def test_an_agent_with_a_scripted_model_is_measured(store: MemoryStore, store_url: str) -> None:
    conversations.fill(store, 3, 4, lambda _: None)
    for number in range(3):
        store.jobs.enqueue("bench", conversations.scope_of(number))
    done = crew.run(
        partial(station, store_url, "agent", "bench"),
        {"worker": (Shift(2), 1)},
        processes=0,
        seconds=None,
        progress=lambda _: None,
    )
    runs.check(store, "bench", 3, 4, done)
    assert len(done.all_seconds()) == 3
    (evidence,) = done.evidence
    assert evidence["runs"] == 3
    assert evidence["work"] > 0
    assert len(evidence["memory"]) == 4
    assert evidence["store"].statements >= evidence["store"].trips >= evidence["store"].transactions > 0
    assert "Fact 9" in store.get((*conversations.scope_of(2), "bench"), "/memory.md").value["content"]  # type: ignore[union-attr]


def test_an_idle_worker_asks_little(store: MemoryStore, store_url: str) -> None:
    store.schedules.put("idle", "idle", cron="0 0 1 1 *")
    found = idle.idling(store_url, 0.3, settling=0.2)
    assert found["seconds"] == pytest.approx(0.3, abs=0.2)
    assert found["statements"] < 10 * 60 / 0.3


def test_turns_that_were_not_read_are_noticed(store: MemoryStore) -> None:
    conversations.fill(store, 2, 2, lambda _: None)
    files = StoreBackend(namespace=("notes",), store=store)
    Consolidator(lambda task: task.files.write("/n.md", "n"), store=store, target=files, name="bench").run(
        conversations.scope_of(0)
    )
    done = crew.Tally()
    done.counts["applied"] = 1
    with pytest.raises(WrongAnswerError, match="left"):
        runs.check(store, "bench", 2, 2, done)


def test_statements_are_counted_for_whoever_asks(store: MemoryStore) -> None:
    meter = Meter(store)
    with meter.account() as outer:
        store.get(("ann",), "a")
        with meter.account() as inner:
            store.record_turns(("ann",), "t", [Turn("m1", "user", "I like green tea.")])
    store.get(("ann",), "a")
    assert inner.transactions == 1
    assert 1 < inner.trips <= inner.statements
    assert (outer.transactions, outer.statements) == (2, inner.statements + 1)
    assert (meter.total.transactions, meter.total.statements) == (3, inner.statements + 2)
    assert 0 < inner.seconds < outer.seconds < meter.total.seconds


def test_a_schedule_that_makes_too_few_jobs_is_noticed(store: MemoryStore) -> None:
    conversations.fill(store, 3, 1, lambda _: None)
    scene = Scene(store, Clock(), Meter(store), 3)
    store.schedules.put("cron", "cron", cron="* * * * *")
    with pytest.raises(WrongAnswerError, match="made 0 jobs"):
        scene.fire("cron", 3)  # a minute too early


def test_memory_is_told_at_each_quarter(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = iter(range(1, 5_000))
    monkeypatch.setattr("benchmarks.consolidation.stations.resident", lambda: float(next(sizes)))
    memory = Memory()
    for _ in range(1_000):
        memory.look()
    quarters = memory.quarters()
    assert quarters == sorted(quarters)
    assert len(set(quarters)) == 4
    assert len(memory.samples) < 410


@pytest.mark.parametrize("kind", ["ours", "window", "filtered"])
def test_every_contender_notes_what_is_new_once(store: MemoryStore, kind: str) -> None:
    made: Any = peers.Ours("x", store) if kind == "ours" else peers.Window("x", store, filtered=kind == "filtered")
    for thread in range(3):
        made.talk(0, thread, conversations.turns_of(0, 2, 2 * thread))
    made.settle(range(1))
    for thread in (3, 4):
        said = conversations.turns_of(0, 2, 2 * thread)
        made.talk(0, thread, said)
        made.due(0)
        made.run(0)
        assert [made.document(0).count(turn.text) for turn in said] == [1, 1]
    assert made.document(0).count("\n") == 4
