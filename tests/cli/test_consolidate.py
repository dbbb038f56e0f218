"""consolidate run, status, runs, show, retry and undo."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memoranda import Author, MemoryStore
from memoranda.store.turns import Turn
from memoranda.testing.scripted import ScriptedChatModel, call
from tests.cli.conftest import Run, RunJson
from tests.cli.support import PROGRAM, environment

APP = """\
from memoranda.backends import StoreBackend
from memoranda.consolidation import Consolidator


def note(task):
    for turn in task.turns:
        if turn.text == "bad":
            raise RuntimeError("the model is down")
        if turn.text == "missing":
            return task.files.read("/no.md")
        if turn.text == "slow":
            import time
            print("working", flush=True)
            time.sleep(60)
        with task.because(turn.message_id):
            task.files.append("/said.md", turn.text + "\\n")
    return "noted what was said"


def make(store):
    target = lambda of: StoreBackend(namespace=of.scope, store=store)
    return Consolidator(note, store=store, target=target, attempts=1)


def several(store):
    target = StoreBackend(namespace=("x",), store=store)
    return [Consolidator(note, store=store, target=target, name=name) for name in "ab"]


def elsewhere():
    from memoranda import open_store
    return make(open_store("memory://"))


def reads_turns(store):
    return store.turns_of


def forgets(store):
    pass
"""


@pytest.fixture
def app(tmp_path: Path) -> Iterator[str]:
    file = tmp_path / "consolidating_app.py"
    file.write_text(APP)
    path = list(sys.path)
    yield f"{file}:make"
    sys.path[:] = path
    sys.modules.pop("consolidating_app", None)


@pytest.fixture
def store(store_url: str, open_here: Callable[..., MemoryStore]) -> MemoryStore:
    return open_here(store_url)


def say(store: MemoryStore, who: str, *texts: str) -> None:
    before = len(store.turns((who,), limit=None))
    store.record_turns((who,), "t", [Turn(f"{who}-{before + n}", "user", text) for n, text in enumerate(texts)])


def test_run_one(run: Run, run_json: RunJson, store: MemoryStore, app: str) -> None:
    say(store, "ann", "tea", "milk")
    done = run("consolidate", "run", "ann", "--with", app).stdout
    (found,) = store.runs.list()
    assert done == f"ann  applied  {found.id}  2 turns, 1 change  noted what was said\n"
    assert run("cat", "/said.md").stdout == "tea\nmilk\n"
    assert run("consolidate", "run", "--with", app).stdout == "ann  nothing new\n"
    say(store, "ann", "sugar")
    (report,) = run_json("consolidate", "run", "--with", app)["reports"]
    assert (report["status"], report["after"], report["to"], report["namespace"]) == ("applied", 2, 3, ["ann"])
    assert report["runs"][0]["changes"][0]["sources"] == [3]


def test_run_all(run: Run, run_json: RunJson, store: MemoryStore, app: str) -> None:
    for who in ("ann", "bob", "cid"):
        say(store, who, "tea")
    every: dict[str, Any] = {"MEMORANDA_NAMESPACE": ""}
    assert run("consolidate", "run", "--all", "-n", "bob", "--with", app).stdout.startswith("bob  applied")
    lines = run("consolidate", "run", "--all", "--with", app, **every).stdout.splitlines()
    assert sorted(line.split()[0] for line in lines) == ["ann", "cid"]
    assert "Nothing new was said." in run("consolidate", "run", "--all", "--with", app, **every).stderr
    assert run_json("consolidate", "run", "--all", "--with", app, **every) == {"reports": []}


def test_a_run_that_fails(run: Run, run_json: RunJson, store: MemoryStore, app: str) -> None:
    say(store, "ann", "bad")
    say(store, "bob", "tea")
    done = run("consolidate", "run", "--all", "--with", app, MEMORANDA_NAMESPACE="", code=1)
    (parked,) = store.runs.list(status="parked")
    ann, bob = sorted(done.stdout.splitlines())
    assert ann == f"ann  parked  {parked.id}  1 turn  RuntimeError: the model is down"
    assert bob.startswith("bob  applied")
    assert f"`memoranda consolidate show {parked.id}` shows what failed." in done.stderr
    shown = run("consolidate", "show", parked.id)
    assert "Failed: RuntimeError: the model is down" in shown.stdout
    assert f"`memoranda consolidate retry {parked.id} --with" in shown.stderr
    assert "1 run parked" in run("consolidate", "status", MEMORANDA_NAMESPACE="").stdout
    say(store, "ann", "milk")
    assert run("consolidate", "run", "ann", "--with", app).stdout.startswith("ann  applied")
    assert run("consolidate", "retry", parked.id, "--with", app, code=1).stdout.startswith("ann  parked")
    file = Path(app.rpartition(":")[0])
    file.write_text(APP.replace('"bad"', '"worse"'))
    sys.modules.pop("consolidating_app")
    assert run("consolidate", "retry", parked.id, "--with", app).stdout.startswith(f"ann  applied  {parked.id}")
    assert run("cat", "/said.md").stdout == "milk\nbad\n"
    error = run_json("consolidate", "retry", parked.id, "--with", app, code=4)
    assert error["error"] == "RunSettledError" and error["remedy"]


def test_a_result_that_failed_is_told_in_sentences(run: Run, store: MemoryStore, app: str) -> None:
    say(store, "ann", "missing")
    said = run("consolidate", "run", "ann", "--with", app, code=1).stdout
    assert "last change failed: " in said and said.endswith(". Mend it.\n")


def test_the_ready_made_agent(run: Run, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--model` keeps the files of the namespace whose conversations it reads."""
    say(store, "ann", "I like tea")
    asked: list[str] = []

    def init_chat_model(name: str, **settings: Any) -> ScriptedChatModel:
        asked.append(name)
        wrote = call("write_file", path="/likes.md", content="- tea\n", turns=["t1"])
        return ScriptedChatModel(script=[wrote, call("finish", summary="Ann likes tea.")])

    monkeypatch.setattr("langchain.chat_models.init_chat_model", init_chat_model)
    done = run("consolidate", "run", "--model", "anthropic:any", "--zone", "Europe/Paris").stdout
    assert done.startswith("ann  applied") and done.endswith("Ann likes tea.\n") and asked == ["anthropic:any"]
    assert run("cat", "/likes.md").stdout == "- tea\n"
    say(store, "ann", "And milk")
    store.jobs.enqueue("consolidation", ("ann",))
    assert "ann  unchanged" in run("worker", "--model", "anthropic:any", "--until-idle").stdout  # it says the same


def test_dry_run(run: Run, run_json: RunJson, store: MemoryStore, app: str) -> None:
    say(store, "ann", "tea")
    done = run("consolidate", "run", "--with", app, "--dry-run").stdout
    assert done.startswith("ann  not applied") and "+tea" in done
    (report,) = run_json("consolidate", "run", "--with", app, "--dry-run")["reports"]
    assert report["status"] == "preview" and "+tea" in report["diff"] and report["runs"] == []
    assert store.get(("ann",), "/said.md") is None and store.runs.list() == []


def test_propose_and_accept(run: Run, store: MemoryStore, app: str) -> None:
    say(store, "ann", "tea")
    done = run("consolidate", "run", "--with", app, "--propose").stdout
    (found,) = store.runs.list()
    assert found.status == "proposed" and found.proposal and found.proposal in done
    shown = run("consolidate", "show", found.id)
    assert f"Proposal: {found.proposal}" in shown.stdout and "+tea" in shown.stdout
    assert f"`memoranda proposals accept {found.proposal}` lets it land." in shown.stderr
    assert "1 proposal to review" in run("consolidate", "status").stdout
    run("proposals", "accept", found.proposal)
    assert run("consolidate", "show", found.id).stdout.startswith(f"{found.id} is applied\n")
    say(store, "ann", "milk")
    run("consolidate", "run", "--with", app, "--propose")
    (other,) = store.runs.list(status="proposed")
    assert f"{other.id} is taken back" in run("consolidate", "undo", other.id).stdout
    assert store.runs.get(other.id).status == "rejected" and run("cat", "/said.md").stdout == "tea\n"


def test_show_and_runs(run: Run, run_json: RunJson, store: MemoryStore, app: str) -> None:
    say(store, "ann", "I like tea")
    say(store, "bob", "milk")
    run("consolidate", "run", "--all", "--with", app, MEMORANDA_NAMESPACE="")
    (found,) = store.runs.list(scope=("ann",))
    text = run("consolidate", "show", found.id, "--turns").stdout
    for said in (
        f"{found.id} is applied",
        "By consolidation at ",
        "Read ann: turn 1",
        "Because: noted what was said",
        "ann:/said.md r1  from #1",
        "+I like tea",
        "#1  user: I like tea",
    ):
        assert said in text
    shape = run_json("consolidate", "show", found.id, "--turns")
    assert shape["id"] == found.id and "+I like tea" in shape["diff"] and len(shape["read"]) == 1
    assert "read" not in run_json("consolidate", "show", found.id)
    assert len(run("consolidate", "runs").stdout.splitlines()) == 1
    everything = run("consolidate", "runs", MEMORANDA_NAMESPACE="").stdout.splitlines()
    assert len(everything) == 2 and all("1 turn" in line and "applied" in line for line in everything)
    assert run_json("consolidate", "runs")["runs"][0]["id"] == found.id
    assert "No parked runs of ann." in run("consolidate", "runs", "--status", "parked").stderr
    run("consolidate", "runs", "--status", "open", code=2)


def test_hard_text_leaves_a_terminal_alone(run: Run, store: MemoryStore, app: str) -> None:
    hard = "ann\x1b[2J"
    store.record_turns((hard,), hard, [Turn(hard, "user", f"tea{hard}")])
    store.schedules.put(hard, "consolidation", cron="0 0 * * *", prefix=(hard,))
    every: dict[str, Any] = {"MEMORANDA_NAMESPACE": ""}
    outputs = [run("consolidate", "status", **every).stdout, run("consolidate", "schedule", **every).stdout]
    outputs.append(run("consolidate", "run", "--all", "--with", app, **every).stdout)
    (found,) = store.runs.list()
    outputs += [run("consolidate", "runs", **every).stdout]
    shown = run("consolidate", "show", found.id, "--turns").stdout
    outputs.append(shown.replace(f"+tea{hard}", ""))  # a file's text goes to a pipe as it is
    outputs.append(run("consolidate", "undo", found.id).stdout)
    assert all("\\x1b[2J" in text and "\x1b" not in text for text in outputs), outputs


def test_blame_says_what_a_line_came_from(run: Run, run_json: RunJson, store: MemoryStore, app: str) -> None:
    store.write(("ann",), "/said.md", "# Said\n")
    for text in ("I like tea", "I like milk"):
        say(store, "ann", text)
        run("consolidate", "run", "--with", app)
    heading, tea, tea_turn, milk, milk_turn = run("blame", "/said.md", "--turns").stdout.splitlines()
    assert heading.endswith("# Said") and tea.endswith("I like tea") and milk.endswith("I like milk")
    assert tea_turn.strip().startswith("from t  20") and tea_turn.endswith("Z  #1  user: I like tea")
    assert milk_turn.endswith("Z  #2  user: I like milk")
    lines = run_json("blame", "/said.md", "--turns")["lines"]
    assert [[turn["text"] for turn in line["turns"]] for line in lines] == [[], ["I like tea"], ["I like milk"]]
    assert "turns" not in run_json("blame", "/said.md")["lines"][0]
    run("blame", "/said.md", "--turns", "-r", 1, code=2)


def test_status(run: Run, run_json: RunJson, store: MemoryStore, app: str) -> None:
    assert "All that was said" in run("consolidate", "status").stdout
    say(store, "ann", "tea", "milk")
    store.jobs.enqueue("consolidation", ("ann",))
    (line,) = run("consolidate", "status").stdout.splitlines()
    assert line.split() == ["ann", "2", "unread", "turns", "never", "read", "waits", "for", "a", "worker"]
    (shape,) = run_json("consolidate", "status", MEMORANDA_NAMESPACE="")["namespaces"]
    assert (shape["namespace"], shape["unread"], shape["waiting"]) == (["ann"], 2, 1)
    assert "is read by other" not in run("consolidate", "status", "--consolidator", "other").stdout
    run("consolidate", "run", "ann", "--with", app)
    assert run_json("consolidate", "status")["namespaces"][0]["unread"] == 0


def test_undo(run: Run, run_json: RunJson, store: MemoryStore, app: str) -> None:
    say(store, "ann", "tea")
    run("consolidate", "run", "--with", app)
    say(store, "ann", "milk")
    run("consolidate", "run", "--with", app)
    second, first = store.runs.list()
    assert run("consolidate", "undo", second.id, "--actor", "user:ann", "--reason", "wrong").stdout == (
        f"{second.id} is taken back.\n  append ann:/said.md r2  from #2\n"
    )
    assert run("cat", "/said.md").stdout == "tea\n"
    undone = store.history(("ann",), "/said.md")[0]
    assert undone.author == Author("user:ann", reason="wrong")
    error = run_json("consolidate", "undo", second.id, code=4)
    assert error["error"] == "RunSettledError" and second.id in error["cause"] and error["remedy"]
    store.edit(("ann",), "/said.md", "tea", "green tea")
    error = run_json("consolidate", "undo", first.id, code=4)
    assert error["error"] == "UndoConflictError" and "/said.md" in error["cause"] and error["remedy"]
    assert run("cat", "/said.md").stdout == "green tea\n"


@pytest.mark.parametrize("command", ["show", "undo", "retry"])
def test_an_unknown_run(run: Run, run_json: RunJson, store: MemoryStore, app: str, command: str) -> None:
    say(store, "ann", "tea")
    run("consolidate", "run", "--with", app)
    (found,) = store.runs.list()
    given = ["--with", app] if command == "retry" else []
    near = found.id[:-1] + ("2" if found.id[-1] != "2" else "3")
    error = run_json("consolidate", command, near, *given, code=3)
    assert error["error"] == "RunNotFoundError" and f"Did you mean {found.id}?" in error["remedy"]
    far = run_json("consolidate", command, "nothing", *given, code=3)
    assert "`memoranda consolidate runs" in far["remedy"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "ann"), "No consolidator was named"),
        (("run", "ann", "--with", "{app}", "--model", "x"), "--with and --model"),
        (("run", "ann", "--with", "{app}", "--all"), "SCOPE and --all"),
        (("run", "ann", "--with", "{app}", "--dry-run", "--propose"), "--dry-run and --propose"),
        (("run", "ann", "--with", "{app}", "--zone", "UTC"), "--zone says nothing"),
        (("run", "a//b", "--with", "{app}"), "empty label"),
        (("run", "ann", "--with", "nothing"), "no name after a colon"),
        (("run", "ann", "--with", "no_such_app:x"), "There is no module no_such_app"),
        (("run", "ann", "--with", "{file}:mak"), "has no mak"),
        (("run", "ann", "--with", "{file}:APP"), "has no APP"),
        (("run", "ann", "--with", "{file}:Consolidator"), "is a class, and no Consolidator"),
        (("run", "ann", "--with", "{file}:several"), "several consolidators: a, b"),
        (("run", "ann", "--with", "{file}:elsewhere"), "works on memory://"),
        (("run", "ann", "--with", "{file}:note"), "is a function of a task"),
        (("run", "ann", "--with", "{file}:reads_turns"), "has no attribute 'turns_of'"),
        (("run", "ann", "--with", "{file}:forgets"), "returns None, and no Consolidator"),
        (("run", "ann", "--model", "no-such-model"), "no-such-model"),
        (("run", "ann", "--model", "anthropic:x", "--zone", "Mars/Olympus"), "Mars/Olympus"),
    ],
)
def test_what_makes_no_sense(
    run: Run, run_json: RunJson, store: MemoryStore, app: str, arguments: tuple[str, ...], said: str
) -> None:
    say(store, "ann", "tea")
    given = [each.format(app=app, file=app.rpartition(":")[0]) for each in arguments]
    error = run_json("consolidate", *given, code=2)
    assert said in error["cause"] and error["remedy"], error
    name = arguments[-1].rpartition(":")[2]
    assert (f"Wrap it: Consolidator({name}, " in error["remedy"]) is (name in ("note", "reads_turns", "forgets"))
    assert store.runs.list() == []


def test_where_nothing_was_ever_said(run: Run, run_json: RunJson, store: MemoryStore, app: str) -> None:
    every: dict[str, Any] = {"MEMORANDA_NAMESPACE": ""}
    error = run_json("consolidate", "run", "ann", "--with", app, code=3)
    assert "No conversation was ever recorded" in error["cause"] and "--store" in error["remedy"]
    assert "was ever recorded" in run_json("consolidate", "run", "--all", "--with", app, code=3, **every)["cause"]
    store.record_turns(("acme", "zed"), "t", [Turn("z", "user", "tea")])
    say(store, "ben", "tea")
    error = run_json("consolidate", "run", "benn", "--with", app, code=3)
    assert error["cause"] == "No conversation was ever recorded in benn." and error["remedy"] == "Did you mean ben?"
    assert run_json("consolidate", "run", "--all", "-n", "benn", "--with", app, code=3)["remedy"] == "Did you mean ben?"
    error = run_json("consolidate", "run", "acme", "--with", app, "--dry-run", code=3)
    assert "acme/zed: --all -n acme" in error["remedy"]
    run("consolidate", "run", "ben", "--with", app)
    assert run("consolidate", "run", "ben", "--with", app).stdout == "ben  nothing new\n"


def test_one_that_another_works_on(run: Run, store: MemoryStore, app: str) -> None:
    say(store, "ann", "tea")
    job = store.jobs.enqueue("consolidation", ("ann",))
    assert job is not None
    held = store.jobs.claim(["consolidation"], worker="another", lease=60)
    assert held is not None and held.lease_until is not None
    said = run("consolidate", "run", "ann", "--with", app, code=1).stdout
    until = f"{held.lease_until:%Y-%m-%d %H:%M:%S}Z"
    assert said.startswith(f"ann  busy  Another is at work on this scope; its lease holds until {until}")
    assert said.count("nother") == 1


def test_status_looks_at_leases_and_at_all_consolidators(
    run: Run, run_json: RunJson, store: MemoryStore, app: str
) -> None:
    say(store, "ann", "tea")
    store.jobs.enqueue("consolidation", ("ann",))
    assert store.jobs.claim(["consolidation"], worker="killed", lease=0.2) is not None
    assert "runs now" in run("consolidate", "status").stdout
    time.sleep(0.25)
    assert "runs now" not in run("consolidate", "status").stdout
    assert "waits for a worker" in run("consolidate", "status").stdout
    store.jobs.enqueue("other", ("bob",))
    found = run_json("consolidate", "status", MEMORANDA_NAMESPACE="")
    assert found["consolidators"] == ["consolidation", "other"]
    assert [(one["consolidator"], *one["namespace"]) for one in found["namespaces"]] == [
        ("consolidation", "ann"),
        ("other", "ann"),
        ("other", "bob"),
    ]
    lines = run("consolidate", "status", MEMORANDA_NAMESPACE="").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["consolidation", "ann"], ["other", "ann"], ["other", "bob"]]
    own = run_json("consolidate", "status", "--with", app, MEMORANDA_NAMESPACE="")
    assert own["consolidators"] == ["consolidation"] and len(own["namespaces"]) == 1
    run("consolidate", "status", "--with", app, "--consolidator", "other", code=2)


def test_a_consolidator_that_opens_the_store_itself(
    anywhere: Run, run: Run, store: MemoryStore, store_url: str, app: str
) -> None:
    file = Path(app.rpartition(":")[0])
    file.write_text(f"{APP}\nfrom memoranda import open_store\nconsolidator = make(open_store({store_url!r}))\n")
    own = f"{file}:consolidator"
    say(store, "ann", "tea")
    assert run("consolidate", "run", "--with", own).stdout.startswith("ann  applied")
    sys.modules.pop("consolidating_app")
    say(store, "ann", "milk")  # without --store the command works on the consolidator's
    assert anywhere("consolidate", "run", "ann", "--with", own).stdout.startswith("ann  applied")
    assert run("cat", "/said.md").stdout == "tea\nmilk\n"


@pytest.mark.parametrize(
    ("every", "number"),
    [(False, signal.SIGINT), (False, signal.SIGTERM), (True, signal.SIGINT), (True, signal.SIGTERM)],
)
def test_ctrl_c(store: MemoryStore, store_url: str, app: str, every: bool, number: signal.Signals) -> None:
    """What runs gives its job back, and nothing of it lands."""
    say(store, "ann", "slow")
    command = [PROGRAM, "consolidate", "run", *(["--all"] if every else ["ann"]), "--with", app]
    with subprocess.Popen(
        command, env=environment(MEMORANDA_STORE=store_url), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "working\n"
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, said = process.communicate(timeout=20)
    assert process.returncode == 130 and time.monotonic() - began < 5
    assert "Stopped. What was consolidated stays; run it again" in said, said
    assert said.startswith("Giving back what runs" if every else "Stopped."), said
    assert store.runs.list() == []
    assert store.jobs.list(state="running") == []
