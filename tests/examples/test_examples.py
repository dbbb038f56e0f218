"""Every example does what it says: checked in the store that it left, on each engine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from langchain_core.language_models import BaseChatModel

from memoranda import MemoryStore
from memoranda.testing.scripted import ScriptedChatModel, say
from tests.examples.support import FOLDER, NAMES, ROOT, made_by, run_example, text_in, tree

Run = Callable[[str], str]


@pytest.fixture
def run(store_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run an example on the store under test, and give what it printed."""

    def running(name: str) -> str:
        run_example(name, monkeypatch, "--store", store_url)
        return capsys.readouterr().out

    return running


def test_preferences(run: Run, store: MemoryStore) -> None:
    said = run("preferences")
    ann = ("ann@example.org",)
    assert tree(store) == {ann: ["/preferences.md"]}
    assert text_in(store, ann, "/preferences.md").endswith("- Metric units.\n- Vegetarian.\n")
    assert made_by(store, ann, "/preferences.md") == [
        ("write", "agent:assistant", "monday"),
        ("edit", "agent:assistant", "tuesday"),
    ]
    assert "memory written: /memories/preferences.md" in said and "revision 2: edit by agent:assistant" in said


def test_self_improving(run: Run, store: MemoryStore) -> None:
    run("self_improving")
    agent = ("reviewer",)
    assert tree(store) == {agent: ["/AGENTS.md"]}
    assert made_by(store, agent, "/AGENTS.md") == [
        ("write", "user:lead", None),
        ("edit", "agent:reviewer", "ann-1"),
        ("edit", "agent:reviewer", "ben-1"),
        ("restore", "user:lead", None),
    ]
    text = text_in(store, agent, "/AGENTS.md")
    assert "most severe first" in text and "Read the whole change" in text and "tests" not in text


def test_knowledge_base(run: Run, store: MemoryStore) -> None:
    run("knowledge_base")
    project = ("acme", "apollo")
    assert tree(store) == {project: ["/MEMORY.md", "/people.md", "/decisions/database.md"]}
    assert text_in(store, project, "/MEMORY.md") == (
        "# Apollo\n\n- people.md: who does what\n- decisions/database.md: which database\n"
    )
    assert [thread for _, _, thread in made_by(store, project, "/MEMORY.md")] == ["ann-1", "ben-1"]


def test_research(run: Run, store: MemoryStore) -> None:
    run("research")
    ann = ("ann", "heat-pumps")
    assert tree(store) == {ann: ["/noise.md", "/plan.md", "/report.md", "/storage.md"]}, "drafts stay in the thread"
    assert text_in(store, ann, "/plan.md") == "# Heat pumps\n\n- [x] storage\n- [x] noise\n- [x] report\n"
    threads = [thread for _, _, thread in made_by(store, ann, "/plan.md")]
    assert threads == ["day-1", "day-1", "day-2", "day-3"]


def test_organisation_policy(run: Run, store: MemoryStore) -> None:
    said = run("organisation_policy")
    acme = ("acme",)
    assert tree(store) == {acme: ["/compliance.md"]}
    assert text_in(store, acme, "/compliance.md") == "- Never disclose internal prices.\n"
    assert made_by(store, acme, "/compliance.md") == [("write", "user:legal", None)]
    assert said.count("read-only") >= 3


def test_approval(run: Run, store: MemoryStore) -> None:
    run("approval")
    agent = ("support",)
    assert tree(store) == {agent: ["/AGENTS.md"]}
    text = text_in(store, agent, "/AGENTS.md")
    assert "Refund up to 20 euros without asking." in text, "approved as it was"
    assert "Answer within one day." in text, "approved as the person changed it"
    assert "500" not in text, "rejected"
    assert {thread for _, actor, thread in made_by(store, agent, "/AGENTS.md") if actor == "agent:support"} == {
        "ann-1",
        "ben-1",
    }


def test_two_users(run: Run, store: MemoryStore) -> None:
    run("two_users")
    ann, ben = ("ann@example.org",), ("ben@example.org",)
    assert tree(store) == {ann: ["/profile.md"], ben: ["/profile.md"]}
    assert text_in(store, ann, "/profile.md") == "Ann has two cats.\n"
    assert text_in(store, ben, "/profile.md") == "Ben is allergic to cats.\n"
    assert len(made_by(store, ann, "/profile.md")) == 1


def test_agent_and_user(run: Run, store: MemoryStore) -> None:
    run("agent_and_user")
    assert tree(store) == {("planner",): ["/AGENTS.md"], ("planner", "ann"): ["/profile.md"]}
    assert "Ann" not in text_in(store, ("planner",), "/AGENTS.md")
    assert text_in(store, ("planner", "ann"), "/profile.md") == "Ann lives in Lisbon.\n"


def test_several_agents(run: Run, store: MemoryStore) -> None:
    run("several_agents")
    assert tree(store) == {("ann",): ["/profile.md"], ("coach", "ann"): ["/notes.md"], ("tutor", "ann"): ["/notes.md"]}
    assert made_by(store, ("coach", "ann"), "/notes.md") == [("write", "agent:coach", "coach-1")]
    assert made_by(store, ("tutor", "ann"), "/notes.md") == [("write", "agent:tutor", "tutor-1")]


def test_short_term(run: Run, store: MemoryStore) -> None:
    said = run("short_term")
    assert tree(store) == {(name,): ["/profile.md"] for name in ("ann", "ben", "cyd")}
    for name in ("ann", "ben", "cyd"):
        assert text_in(store, (name,), "/profile.md") == f"{name.title()} plays the cello.\n"
        assert len(made_by(store, (name,), "/profile.md")) == 1
    assert said.count("the one about the cello: False") == 3


def test_past_conversations(run: Run, store: MemoryStore) -> None:
    said = run("past_conversations")
    assert tree(store) == {}, "what was said is no file"
    assert {thread.thread_id for thread in store.threads(("ann",))} == {"monday", "friday"}
    assert [turn.role for turn in store.turns(("ann",), "friday")] == ["user", "assistant", "tool", "assistant"]
    assert [thread.thread_id for thread in store.threads(("ben",))] == ["bens"]
    assert "monday, assistant: The timeout is in the proxy" in said and said.count("the upload goes through") == 2


def test_custom_state(run: Run, store: MemoryStore) -> None:
    said = run("custom_state")
    assert tree(store) == {("ann",): ["/orders.md"]}
    assert text_in(store, ("ann",), "/orders.md") == "- tea, oats\n"
    assert made_by(store, ("ann",), "/orders.md") == [("append", "agent:shop", "monday")]
    (entry,) = store.history(("ann",), "/orders.md")
    assert entry.author.tool_call_id
    assert "cart of this conversation: tea, oats" in said and "cart of this conversation: (empty)" in said


def test_every_example_is_tested() -> None:
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert set(NAMES) <= tested


def test_every_example_is_listed() -> None:
    page = (FOLDER / "README.md").read_text("utf-8")
    assert not [path.name for path in FOLDER.glob("[!_]*.py") if f"`{path.name}`" not in page]


@pytest.mark.parametrize("name", NAMES)
def test_a_model_may_do_as_it_likes(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `--model` there is no script: an example comes to its end whatever the model does."""

    def talkative(model: str) -> BaseChatModel:
        assert model == "test:talkative"
        return ScriptedChatModel(script=[say("Let us talk about the weather.")])

    monkeypatch.syspath_prepend(str(FOLDER))
    import _shared  # pyright: ignore[reportMissingImports] - beside the examples

    monkeypatch.setattr(_shared, "chat_model", talkative)
    run_example(name, monkeypatch, "--model", "test:talkative")
    said = capsys.readouterr().out
    assert "model test:talkative" in said and "scripted" not in said.partition("\n\n")[0]
    assert "talk about the weather" in said


def test_on_the_command_line(store_url: str, store: MemoryStore) -> None:
    done = subprocess.run(
        [sys.executable, "examples/preferences.py", "--store", store_url], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "model: scripted" in done.stdout
    assert tree(store) == {("ann@example.org",): ["/preferences.md"]}


def test_an_unknown_model_is_told() -> None:
    done = subprocess.run(
        [sys.executable, "examples/preferences.py", "--model", "nobody:nothing"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "nobody:nothing" in done.stdout and "Traceback" not in done.stderr
