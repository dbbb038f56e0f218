"""The four scenarios of the memory guide, end to end: what is to be remembered is, and what is to be gone is gone."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Callable

import pytest
from langchain_core.language_models import BaseChatModel

from memoranda import MemoryStore
from memoranda.consolidation import sources_of
from memoranda.knowledge import Collection
from memoranda.testing.scripted import ScriptedChatModel, say
from tests.examples.support import FOLDER, ROOT, made_by, text_in

MEMORY = FOLDER / "memory"
NAMES = sorted(path.stem for path in MEMORY.glob("[!_]*.py"))
Run = Callable[[str], str]

ANN = ("ann@example.org",)
APOLLO = ("acme", "apollo")


def run_scenario(name: str, monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    """Run one as `python examples/memory/<name>.py` does, without a process for it."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.syspath_prepend(str(MEMORY))
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *options])
    monkeypatch.setenv("COLUMNS", "200")
    runpy.run_path(str(MEMORY / f"{name}.py"), run_name="__main__")


@pytest.fixture
def run(store_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run an example on the store under test, and give what it printed."""

    def running(name: str) -> str:
        run_scenario(name, monkeypatch, "--store", store_url)
        return capsys.readouterr().out

    return running


def revisions(store: MemoryStore, namespace: tuple[str, ...], key: str) -> list[str]:
    """Every text that a file had, the first one first."""
    history = reversed(store.history(namespace, key))
    return [store.get_at(namespace, key, revision=made.revision).value["content"] for made in history]


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("- ")]


# --- a person's preferences ---------------------------------------------------------------------------------


def test_preferences(run: Run, store: MemoryStore) -> None:
    run("preferences")
    check_what_is_remembered(store)
    check_history(store)
    check_what_was_saved_at_once(store)
    check_sources(store)
    check_ranges(store)


def check_what_is_remembered(store: MemoryStore) -> None:
    assert sorted(lines(text_in(store, ANN, "/preferences.md"))) == [
        "- Answers about code: long answers, with examples",
        "- Answers: short",
        "- Diet: fish, but no meat, since 2026-04-01",
        "- Drinks: coffee, one in the morning",
        "- Home: Bedok",
    ]


def check_history(store: MemoryStore) -> None:
    texts = revisions(store, ANN, "/preferences.md")
    drinks = [line for text in texts for line in lines(text) if line.startswith("- Drinks:")]
    assert list(dict.fromkeys(drinks)) == [
        "- Drinks: coffee, black",
        "- Drinks: tea",
        "- Drinks: coffee, one in the morning",
    ]
    assert all(sum(line.startswith("- Drinks:") for line in lines(text)) == 1 for text in texts), "never two at once"
    everything = "\n".join(texts)
    # 00:30 on the 5th in Singapore is the 4th in UTC: "yesterday" is the 4th there, and would be the 3rd here.
    assert "- Diet: vegetarian since 2026-03-04\n" in everything
    assert "- Dentist: on 2026-03-12\n" in everything and "- Move: to Bedok on 2026-03-27\n" in everything
    assert "yesterday" not in everything and "next" not in everything
    assert "champagne" not in everything, "orders in a mail are followed by nobody"
    assert {actor for _, actor, _ in made_by(store, ANN, "/preferences.md")} == {"consolidator:consolidation"}


def check_what_was_saved_at_once(store: MemoryStore) -> None:
    schema = {"properties": {"about": {"type": "string"}, "text": {"type": "string"}}}
    facts = Collection(schema, store, (*ANN, "facts"), identity=["about"])
    current = {memory.value["about"]: memory for memory in facts.all()}
    assert {about: memory.value["text"] for about, memory in current.items()} == {
        "Drinks": "coffee, one in the morning",
        "Home": "Bedok",
    }
    drinks = facts.history(current["Drinks"].id)
    assert [memory.value["text"] for memory in drinks] == ["coffee, black", "tea", "coffee, one in the morning"]
    assert [memory.is_current for memory in drinks] == [False, False, True]


def check_sources(store: MemoryStore) -> None:
    text = text_in(store, ANN, "/preferences.md").splitlines()
    for start, said in (
        ("- Drinks", "I drink coffee again, one in the morning"),
        ("- Answers:", "please keep answers short"),
        ("- Home", "I live in Bedok now"),
        ("- Diet", "I eat fish again"),
    ):
        (number,) = (number for number, line in enumerate(text, 1) if line.startswith(start))
        (turn,) = sources_of(store, ANN, "/preferences.md", line=number)
        assert said in turn.text


def check_ranges(store: MemoryStore) -> None:
    found = sorted(store.runs.list(scope=ANN), key=lambda one: one.after)
    assert [(one.after, one.to) for one in found] == [(position, position + 2) for position in range(0, 20, 2)]
    assert [one.status for one in found].count("unchanged") == 2, "the mail with orders, and the weather"
    assert {one.status for one in found} == {"applied", "unchanged"}


# --- an agent's instructions --------------------------------------------------------------------------------


def test_agents_md(run: Run, store: MemoryStore) -> None:
    said = run("agents_md")
    agent = ("writer",)
    text = text_in(store, agent, "/AGENTS.md")
    assert "- Friendly, and in short sentences." in text, "a person accepted it"
    assert "- Never invent a figure." in text, "a section that has to stay"
    assert "Praise" not in text, "a reader's wish, which was rejected"
    assert "3 April 2026" not in text and "3 April 2026" in revisions(store, agent, "/AGENTS.md")[2], "taken back"
    assert [operation for operation, _, _ in made_by(store, agent, "/AGENTS.md")] == ["write"] * 3 + ["restore"]
    assert {proposal.status: proposal.decided_by for proposal in store.proposals(agent, status=None)} == {
        "accepted": "user:editor",
        "rejected": "user:editor",
    }
    assert "of untrusted origin" in said
    assert "holds the instructions as they are now: True" in said


# --- what a project knows -----------------------------------------------------------------------------------


def test_project_knowledge(run: Run, store: MemoryStore) -> None:
    run("project_knowledge")
    decisions = [lines(text) for text in revisions(store, APOLLO, "/memories/decisions.md")]
    assert decisions == [
        ["- database: SQLite, since there is one machine"],
        ["- database: PostgreSQL, since there are three machines now"],
    ]
    assert sorted(lines(text_in(store, APOLLO, "/memories/owners.md"))) == ["- dashboard: Ann", "- importer: Ben"]
    assert sorted(lines(text_in(store, APOLLO, "/memories/status.md"))) == [
        "- importer: done",
        "- search: broken, dates before 1970 fail",
    ]
    check_that_every_note_was_folded_once(store)


def check_that_every_note_was_folded_once(store: MemoryStore) -> None:
    agents = ("planner", "builder", "tester")
    noted = [text_in(store, APOLLO, f"/memories/events/{agent}.md") for agent in agents]
    assert [len(lines(text)) for text in noted] == [5, 3, 1]
    assert all(text.rstrip().splitlines()[-1].startswith("<!-- folded ") for text in noted)
    statuses = [one.status for one in store.runs.list()]
    assert statuses.count("applied") == 3, "what was noted during the first run was folded by the second"


# --- research notes -----------------------------------------------------------------------------------------


def test_research_notes(run: Run, store: MemoryStore) -> None:
    run("research_notes")
    project = ("ann", "heat-pumps")
    assert lines(text_in(store, project, "/overview.md")) == [
        "- noise: 38 dB at 1 m. (datasheet 2026)",
        "- price: 9,400 euros. (datasheet 2026)",
        "- tank: A buffer tank of 300 l. (datasheet 2024)",
    ]
    findings = Collection({"type": "object"}, store, (*project, "findings"))
    assert len(findings.all()) == 3
    texts = revisions(store, project, "/overview.md")
    assert len(texts) == 3 and "forum" in texts[0] and "forum" not in texts[1]
    assert "41 dB" in texts[1] and "41 dB" not in texts[2]


def test_on_the_command_line(store_url: str, store: MemoryStore) -> None:
    command = [sys.executable, "examples/memory/project_knowledge.py", "--store", store_url]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "model: scripted" in done.stdout
    check_that_every_note_was_folded_once(store)


# --- all of them --------------------------------------------------------------------------------------------


def test_every_scenario_is_tested_and_listed() -> None:
    assert {name.removeprefix("test_") for name in globals()} >= set(NAMES)
    page = (FOLDER / "README.md").read_text("utf-8")
    assert not [name for name in NAMES if f"`memory/{name}.py`" not in page]


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
    run_scenario(name, monkeypatch, "--model", "test:talkative")
    said = capsys.readouterr().out
    assert "model test:talkative" in said and "scripted" not in said.partition("\n\n")[0]
