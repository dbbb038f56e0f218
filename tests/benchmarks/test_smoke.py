"""The benchmarks run, find what they must find, and leave nothing behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from benchmarks.concurrency.crew import Tally
from benchmarks.concurrency.edits import FILES, Edits, Success, lost, prepare
from benchmarks.concurrency.rivals import Ours
from benchmarks.store.operations import PLAN
from benchmarks.support.measure import Budget, Trial, WrongAnswerError, quantile, race
from benchmarks.support.report import Target

from memoranda import MemoryStore
from tests.conftest import ENGINES
from tests.support.scale import FULL

ROOT = Path(__file__).parents[2]


def run(name: str, tmp_path: Path, *options: str) -> dict[str, Any]:
    """Run a benchmark in its own process and read its JSON."""
    figures, folder = tmp_path / "figures.json", tmp_path / "work"
    command = [sys.executable, "-m", name, "--quick", "--json", str(figures), "--folder", str(folder), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    assert "Targets" in done.stdout
    assert list(folder.iterdir()) == []
    return json.loads(figures.read_text())


# The whole of it runs the same code on both.
on_engines = pytest.mark.parametrize("engine", ENGINES if FULL else ("postgres",), indirect=True)


@pytest.fixture
def server(engine: str, request: pytest.FixtureRequest) -> list[str]:
    """The options that choose the engine under test."""
    if engine == "sqlite":
        return ["--engines", "sqlite"]
    return ["--engines", "postgres", "--postgres-url", request.getfixturevalue("postgres_server")]


@on_engines
def test_store_times_every_operation_of_every_contender(engine: str, server: list[str], tmp_path: Path) -> None:
    found = run("benchmarks.store", tmp_path, *server, "--million")
    measured = found["results"][f"{engine}/60"]
    assert set(measured) == set(PLAN)
    peer = {"sqlite": "SqliteStore", "postgres": "PostgresStore"}[engine]
    names = ("Memoranda", peer, f"Deep Agents / {peer}", "Deep Agents / Memoranda", "InMemoryStore")
    for name in names:
        assert 1 <= measured["put, create"][name]["count"] <= 3  # fewer where the time is used up
        assert measured["put, create"][name]["p50_ms"] > 0
    assert set(found["results"][f"million/{engine}"]) == set(PLAN)
    assert found["results"][f"history/{engine}"]["get_at_1_p50_ms"] > 0
    assert found["machine"]["cores"] == os.cpu_count()
    assert {target["met"] for target in found["targets"]} <= {True, False}


@on_engines
def test_concurrent_edits_lose_nothing(engine: str, server: list[str], tmp_path: Path) -> None:
    rows = run("benchmarks.concurrency", tmp_path, *server, "--parts", "edits")["results"][f"edits/{engine}"]
    ours = rows.pop("Memoranda")
    assert ours["lost"] == 0
    assert ours["errors"] == {}
    assert ours["ok"] + ours["conflicts"] == 80
    for peer in rows.values():
        assert peer["ok"] > 0


@on_engines
def test_traffic_fails_nowhere(engine: str, server: list[str], tmp_path: Path) -> None:
    found = run("benchmarks.concurrency", tmp_path, *server, "--parts", "writes,reads", "--no-peers")
    assert found["results"][f"writes/{engine}"]["Memoranda, one namespace"]["ok"] > 0
    assert found["results"][f"reads/{engine}"]["readers beside an open write/read"]["ok"] > 0
    assert [target["value"] for target in found["targets"] if "fail" in target["what"]] == [0, 0]


@on_engines
def test_turns_are_timed_beside_deep_agents(engine: str, server: list[str], tmp_path: Path) -> None:
    found = run("benchmarks.turn", tmp_path, *server)["results"][engine]
    for name in ("Memoranda", "Memoranda, guarded", "Deep Agents / Memoranda", "Deep Agents / InMemoryStore"):
        assert {by_name[name]["count"] for by_name in found["turns"].values()} <= {1, 2, 3}
        assert set(found["overhead"]["later turn"][name]) == {"p50_ms", "p95_ms"}


def test_interrupting_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    command = [sys.executable, "-m", "benchmarks.concurrency", "--engines", "sqlite", "--folder", str(folder)]
    process = subprocess.Popen(
        command, cwd=ROOT, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + 60
        while not list(folder.glob("*/edits.db")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(1.0)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: to the whole group
        _, errors = process.communicate(timeout=30)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
    assert process.returncode == 130
    assert "interrupted" in errors
    assert list(folder.iterdir()) == []
    deadline = time.monotonic() + 10
    with pytest.raises(ProcessLookupError):  # nobody of the group is left, in a moment
        while time.monotonic() < deadline:
            os.killpg(process.pid, 0)
            time.sleep(0.05)


def test_unknown_choices_are_refused() -> None:
    command = [sys.executable, "-m", "benchmarks.store", "--engines", "oracle"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "'oracle' is no list of sqlite, postgres" in done.stderr


class TestLosses:
    """What was lost is noticed, whichever kind it is."""

    def test_nothing_is_lost_when_all_is_there(self, store: MemoryStore) -> None:
        rival, tally = Ours(store), Tally()
        prepare(rival, 2)
        for worker in range(2):
            Edits(40)(rival, worker, tally, lambda: False)
        assert tally.counts == {"ok": 80}
        assert {success.kind for success in tally.evidence} == {"own edit", "append", "shared edit"}
        assert lost(rival, tally.evidence) == {}

    @pytest.mark.parametrize("kind", ["own edit", "append"])
    def test_a_file_set_back_loses_its_last_change(self, store: MemoryStore, kind: str) -> None:
        rival, tally = Ours(store), Tally()
        prepare(rival, 1)
        Edits(40)(rival, 0, tally, lambda: False)
        last = [success for success in tally.evidence if success.kind == kind][-1]
        rival.write(last.key, re.sub(rf" {last.token}\b", "", rival.read(last.key)))
        assert lost(rival, tally.evidence) == {kind: 1}

    def test_two_shared_edits_of_one_state_cannot_both_be_there(self, store: MemoryStore) -> None:
        rival = Ours(store)
        prepare(rival, 1)
        rival.edit(FILES[0], "shared: start;", "shared: b;")
        successes = [Success("shared edit", FILES[0], token, "start") for token in ("a", "b")]
        assert lost(rival, successes) == {"shared edit": 1}


def test_quantiles_are_values_that_were_measured() -> None:
    assert quantile([3.0, 1.0, 2.0, 4.0], 0.5) == 2.0
    assert quantile([3.0, 1.0, 2.0, 4.0], 0.95) == 4.0
    assert not Target("nothing measured", quantile([], 0.5), 1.0, "ms").met


def test_a_race_times_the_call_alone_and_stops_in_time() -> None:
    calls: list[int] = []

    def slow(sample: int) -> None:
        calls.append(sample)
        time.sleep(0.02)

    def prepare_slowly(sample: int) -> int:
        time.sleep(0.03)
        return sample

    samples = race([Trial("slow", prepare_slowly, slow), Trial("fast", int, int)], Budget(samples=50, seconds=0.1))
    assert len(samples["fast"].seconds) == 50
    assert 3 <= len(samples["slow"].seconds) <= 5
    assert samples["slow"].quantile(0.5) < 0.03
    assert calls[0] == 0  # the warm-up


def test_what_uses_up_the_budget_is_called_once() -> None:
    samples = race([Trial("slow", int, lambda _: time.sleep(0.02))], Budget(samples=50, seconds=0.01))
    assert samples["slow"].summary()["count"] == 1


def test_a_wrong_answer_ends_a_race_or_is_counted() -> None:
    def check(_: int, found: int) -> None:
        if found != 1:
            raise WrongAnswerError("wrong")

    with pytest.raises(WrongAnswerError):
        race([Trial("ours", int, lambda _: 2, check)], Budget(samples=3))
    samples = race([Trial("theirs", int, lambda _: 2, check, forgiven=True)], Budget(samples=3))
    assert samples["theirs"].summary()["wrong"] == 3
