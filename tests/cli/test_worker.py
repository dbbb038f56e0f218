"""The worker as a program: what it says, how it ends, and what it answers to bad input."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memoranda import MemoryStore
from memoranda.store.turns import Turn
from memoranda.store.urls import redacted
from tests.cli.conftest import Run, RunJson
from tests.cli.support import PROGRAM, environment

APP = """\
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from memoranda.backends import StoreBackend
from memoranda.consolidation import Consolidator

HERE = Path(__file__).parent


def wait():
    (HERE / "began").touch()
    while not (HERE / "go on").exists():
        time.sleep(0.01)


def note(task):
    if task.turns[0].text == "bad":
        raise RuntimeError("the model is down")
    if task.turns[0].text == "slow":
        # As LangGraph runs tools: the end of the process waits for such threads.
        ThreadPoolExecutor(1).submit(wait).result()
    task.files.append("/said.md", "".join(turn.text + "\\n" for turn in task.turns))


def make(store, name="consolidation", attempts=1):
    target = lambda of: StoreBackend(namespace=of.scope, store=store)
    return Consolidator(note, store=store, target=target, name=name, attempts=attempts)


def patient(store):
    return make(store, attempts=3)


def several(store):
    return [make(store, name) for name in ("one", "two")]
"""


@pytest.fixture
def app(tmp_path: Path) -> Iterator[str]:
    file = tmp_path / "working_app.py"
    file.write_text(APP)
    path = list(sys.path)
    yield f"{file}:make"
    sys.path[:] = path
    sys.modules.pop("working_app", None)


@pytest.fixture
def store(store_url: str, open_here: Callable[..., MemoryStore]) -> MemoryStore:
    return open_here(store_url)


def say(store: MemoryStore, who: str, *texts: str, queue: str | None = "consolidation") -> None:
    before = len(store.turns((who,), limit=None))
    store.record_turns((who,), "t", [Turn(f"{who}-{before + n}", "user", text) for n, text in enumerate(texts)])
    if queue is not None:
        store.jobs.enqueue(queue, (who,))


def said(store: MemoryStore, who: str) -> str:
    item = store.get((who,), "/said.md")
    return "" if item is None else item.value["content"]


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.01)


@contextmanager
def started(url: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """The worker in a process of its own."""
    command = [PROGRAM, "worker", *map(str, arguments)]
    with subprocess.Popen(
        command, env=environment(MEMORANDA_STORE=url), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_until_idle(run: Run, run_json: RunJson, store: MemoryStore, app: str) -> None:
    say(store, "ann", "tea", "milk")
    say(store, "bob", "tea")
    done = run("worker", "--with", app, "--until-idle")
    lines = sorted(line.split(maxsplit=2)[2] for line in done.stdout.splitlines())
    ann, bob = sorted(store.runs.list(), key=lambda each: each.scope)
    assert lines == [f"ann  applied  {ann.id}  2 turns, 1 change", f"bob  applied  {bob.id}  1 turn, 1 change"]
    assert done.stderr.endswith("Done: 2 jobs.\n") and said(store, "ann") == "tea\nmilk\n"
    assert run("worker", "--with", app, "--until-idle").stdout == ""


def test_json_has_a_line_for_each_job(run: Run, store: MemoryStore, app: str) -> None:
    for who in ("ann", "bob"):
        say(store, who, "tea", queue=None)
    run("consolidate", "schedule", "* * * * * *", MEMORANDA_NAMESPACE="")
    wait_for(lambda: store.schedules.fire(["consolidation"]))
    store.schedules.remove("consolidation")
    shapes = [json.loads(line) for line in run("worker", "--with", app, "--until-idle", "--json").stdout.splitlines()]
    assert [each["outcome"] for each in shapes] == ["spread", "done", "done"]
    assert sorted(each["job"]["namespace"] for each in shapes[1:]) == [["ann"], ["bob"]]
    assert {each["report"]["status"] for each in shapes[1:]} == {"applied"}


def test_what_it_does_not_do_is_told(run: Run, store: MemoryStore, app: str) -> None:
    say(store, "ann", "tea", queue="other")
    store.schedules.put("o", "other", cron="0 0 * * *")
    store.schedules.put("mine", "consolidation", cron="0 0 * * *")
    said = run("worker", "--with", app, "--until-idle").stderr
    assert "this one does not do the consolidator other: schedule o and 1 waiting job.\n" in said and "mine" not in said


def test_what_fired_is_named(run: Run, store: MemoryStore, app: str) -> None:
    store.schedules.put("hourly", "consolidation", cron="* * * * * *")
    wait_for(lambda: store.schedules.fire(["consolidation"]))
    store.schedules.remove("hourly")
    assert "  schedule hourly fired\n" in run("worker", "--with", app, "--until-idle").stdout


def test_what_failed_is_told(run: Run, store: MemoryStore, app: str) -> None:
    say(store, "ann", "bad")
    say(store, "bob", "tea")
    done = run("worker", "--with", app, "--until-idle", code=1)
    (parked,) = store.runs.list(status="parked")
    assert f"ann  parked  {parked.id}  1 turn  RuntimeError: the model is down\n" in done.stdout
    assert "bob  applied" in done.stdout and done.stderr == "Done: 1 job, 1 parked.\n"
    say(store, "ann", "bad")
    done = run("worker", "--with", app.replace(":make", ":patient"), "--until-idle", code=1)
    assert "ann  failed: RuntimeError: the model is down; again at 20" in done.stdout
    assert done.stderr == "Done: 0 jobs, 1 attempt failed.\n"
    assert "unread turn" in run("consolidate", "status").stdout


def test_several_consolidators(run: Run, store: MemoryStore, app: str) -> None:
    say(store, "ann", "tea", queue="one")
    say(store, "bob", "tea", queue="two")
    say(store, "cid", "tea", queue="consolidation")
    file = app.rpartition(":")[0]
    run("worker", "--with", f"{file}:several", "--with", app, "--until-idle")
    assert all(said(store, who) == "tea\n" for who in ("ann", "bob", "cid"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_what_runs_come_to_its_end(
    store: MemoryStore, store_url: str, app: str, tmp_path: Path, number: signal.Signals
) -> None:
    say(store, "ann", "slow")
    say(store, "bob", "tea")
    with started(store_url, "--with", app, "--concurrency", 1, "--poll", 0.1) as process:
        wait_for((tmp_path / "began").exists)
        process.send_signal(number)
        time.sleep(0.2)
        assert process.poll() is None
        (tmp_path / "go on").touch()
        out, err = process.communicate(timeout=20)
    assert process.returncode == (0 if number == signal.SIGTERM else 130), err
    assert err.splitlines()[0].endswith(f"does the jobs of consolidation in {redacted(store_url)}. Ctrl-C ends it.")
    assert "Waiting for 1 run; Ctrl-C again gives it back.\n" in err
    assert "ann  applied" in out and "bob" not in out
    assert "Done: 1 job.\n" in err
    assert ("Nothing is lost: the next worker goes on where this one was." in err) is (number == signal.SIGINT)
    assert said(store, "ann") == "slow\n" and said(store, "bob") == ""
    assert [job.scope for job in store.jobs.list(state="waiting")] == [("bob",)]


def test_the_second_signal_ends_at_once_and_loses_nothing(
    run: Run, store: MemoryStore, store_url: str, app: str, tmp_path: Path
) -> None:
    say(store, "ann", "slow")
    with started(store_url, "--with", app) as process:
        wait_for((tmp_path / "began").exists)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130 and time.monotonic() - began < 3
    assert "1 job given back" in err
    (job,) = store.jobs.list()
    assert (job.state, job.attempts) == ("waiting", 0) and said(store, "ann") == ""
    (tmp_path / "go on").touch()
    run("worker", "--with", app, "--until-idle")
    assert said(store, "ann") == "slow\n"


def test_killed_it_loses_nothing(run: Run, store: MemoryStore, store_url: str, app: str, tmp_path: Path) -> None:
    say(store, "ann", "slow")
    with started(store_url, "--with", app, "--lease", 1) as process:
        wait_for((tmp_path / "began").exists)
        process.kill()
        process.wait(20)
    (tmp_path / "go on").touch()
    wait_for(lambda: run("worker", "--with", app, "--until-idle").stdout)
    assert said(store, "ann") == "slow\n" and len(store.runs.list()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "No consolidator was named"),
        (("--with", "{app}", "--model", "x"), "--with and --model"),
        (("--with", "{app}", "--with", "{app}"), "have one name"),
        (("--with", "{app}", "--concurrency", "0"), "greater than or equal to 1"),
        (("--with", "{app}", "--lease", "0.1"), "greater than or equal to 1"),
        (("--with", "{app}", "-n", "ann"), "-n says nothing to it"),
        (("--with", "no_such:thing"), "There is no module no_such"),
        (("--with", "{app}x"), "has no makex"),
    ],
)
def test_what_makes_no_sense(
    run_json: RunJson, store: MemoryStore, app: str, arguments: tuple[str, ...], said: str
) -> None:
    error = run_json("worker", *(each.format(app=app) for each in arguments), "--until-idle", code=2)
    assert said in error["cause"] and error["remedy"], error


def test_no_store(anywhere: Run, tmp_path: Path, app: str) -> None:
    url = f"sqlite:///{tmp_path / 'no.db'}"
    said = anywhere("worker", "--with", app, "--store", url, "--until-idle", code=5).stderr
    assert "There is no store" in said
