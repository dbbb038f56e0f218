"""The event log: agents note at the end of files, and what they note is folded once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoranda import Author, MemoryStore, open_store
from memoranda.backends import CompositeBackend, StoreBackend, by_user
from memoranda.consolidation import Consolidator, EventLog, InvalidConsolidatorError, Task, undo
from memoranda.files.path import canonical_path
from tests.consolidation.talking import ANN, consolidator, files_of, say, text

LOG = "/memories/events/march.md"


def folding(task: Task) -> None:
    """Fold what was noted into facts, a line each."""
    for event in task.events:
        for line in event.text.splitlines():
            task.files.append("/memories/facts.md", f"- {line}\n")


def folder(store: MemoryStore, work: Any = folding, **settings: Any) -> Consolidator:
    settings.setdefault("sources", EventLog())
    return consolidator(store, work, **settings)


def noted(store: MemoryStore, line: str, path: str = LOG) -> None:
    store.append(ANN, path, line, author=Author("agent:helper"))


def test_what_was_noted_is_folded_once_and_marked(store: MemoryStore) -> None:
    noted(store, "Prefers trains.")
    noted(store, "Has a dog.")
    tending = folder(store)
    report = tending.run(ANN)
    assert (report.status, tending.name) == ("applied", "events")
    assert text(store, "/memories/facts.md") == "- Prefers trains.\n- Has a dog.\n"
    assert text(store, LOG) == f"Prefers trains.\nHas a dog.\n<!-- folded {report.run_id} -->"
    assert tending.run(ANN).status == "nothing"
    noted(store, "Moved to Kyoto.")
    report = tending.run(ANN)
    assert text(store, "/memories/facts.md") == "- Prefers trains.\n- Has a dog.\n- Moved to Kyoto.\n"
    assert (text(store, LOG) or "").endswith(f"Moved to Kyoto.\n<!-- folded {report.run_id} -->")
    assert [run.turns for run in store.runs.list()] == [0, 0]
    assert store.verify().ok


def test_a_task_says_who_noted_what_and_when(store: MemoryStore) -> None:
    noted(store, "Prefers trains.")
    store.append(ANN, LOG, "Has a dog.\nAnd a cat.", author=Author("agent:other"))
    tasks: list[Task] = []
    folder(store, tasks.append).run(ANN)
    first, second = tasks[0].events
    assert (first.actor, first.text, second.actor) == ("agent:helper", "Prefers trains.\n", "agent:other")
    assert second.text == "Has a dog.\nAnd a cat."
    assert first.at is not None and abs(datetime.now(UTC) - first.at) < timedelta(minutes=1)
    assert f"Noted in {LOG}" in tasks[0].text
    assert "    Has a dog.\n    And a cat." in tasks[0].text
    assert f"{first.at:%Y-%m-%d}" in tasks[0].text


def test_what_agents_note_meanwhile_waits_for_the_next_run(store: MemoryStore) -> None:
    noted(store, "one")
    late = ["two", "three"]

    def work(task: Task) -> None:
        if late:
            noted(store, late.pop(0))
        folding(task)

    report = folder(store, work).run(ANN)
    assert [run.status for run in report.runs] == ["applied"] * 3
    assert text(store, "/memories/facts.md") == "- one\n- two\n- three\n"
    marks = [f"<!-- folded {run.id} -->" for run in report.runs]
    expected = "\n".join(f"{line}\n{mark}" for line, mark in zip(["one", "two", "three"], marks, strict=True))
    assert text(store, LOG) == expected


def test_the_same_line_noted_twice_is_two_events(store: MemoryStore) -> None:
    noted(store, "again")
    noted(store, "again")
    tending = folder(store)
    assert tending.run(ANN).status == "applied"
    noted(store, "again")
    assert tending.run(ANN).status == "applied"
    assert text(store, "/memories/facts.md") == "- again\n" * 3


def test_the_same_line_noted_meanwhile_makes_the_run_repeat(store: MemoryStore) -> None:
    noted(store, "again")
    runs: list[int] = []

    def work(task: Task) -> None:
        runs.append(1)
        if len(runs) == 1:
            noted(store, "again")
        folding(task)

    assert folder(store, work).run(ANN).ok
    assert text(store, "/memories/facts.md") == "- again\n- again\n"
    assert (text(store, LOG) or "").count("again") == 2


def test_several_files_are_folded_together(store: MemoryStore) -> None:
    noted(store, "b", "/memories/events/b.md")
    noted(store, "a", "/memories/events/2026/a.md")
    report = folder(store).run(ANN)
    assert text(store, "/memories/facts.md") == "- a\n- b\n"
    assert {change.key for change in report.runs[0].changes} == {
        "/memories/facts.md",
        "/memories/events/b.md",
        "/memories/events/2026/a.md",
    }


def test_a_long_log_is_folded_in_several_runs(store: MemoryStore) -> None:
    for number in range(10):
        noted(store, f"event {number} {'x' * 40}")
    report = folder(store, max_bytes=160).run(ANN)
    assert len(report.runs) == 4
    facts = text(store, "/memories/facts.md") or ""
    assert [f"event {number}" in facts for number in range(10)] == [True] * 10
    assert len(facts.splitlines()) == 10


def test_a_run_that_fails_leaves_the_log_as_it_is(store: MemoryStore) -> None:
    noted(store, "one")
    works = False

    def work(task: Task) -> None:
        if not works:
            raise OSError("away")
        folding(task)

    tending = folder(store, work, attempts=1)
    parked = tending.run(ANN)
    assert (parked.status, text(store, LOG)) == ("parked", "one")
    works = True
    assert tending.run(ANN).status == "applied"  # events are not lost with a parked range
    assert text(store, "/memories/facts.md") == "- one\n"
    assert tending.retry(parked.run_id or "").status == "unchanged"


def test_a_dry_run_folds_nothing(store: MemoryStore) -> None:
    noted(store, "one")
    tending = folder(store)
    report = tending.run(ANN, dry_run=True)
    assert report.status == "preview"
    assert "+- one" in report.diff
    assert text(store, LOG) == "one"
    assert tending.run(ANN).status == "applied"


def test_undoing_takes_the_marks_back(store: MemoryStore) -> None:
    noted(store, "one")
    tending = folder(store)
    report = tending.run(ANN)
    noted(store, "two")
    undo(store, report.run_id or "")
    assert text(store, LOG) == "one\ntwo"
    assert tending.run(ANN).status == "applied"
    assert text(store, "/memories/facts.md") == "- one\n- two\n"


def test_old_files_that_are_folded_go(store: MemoryStore) -> None:
    noted(store, "old", "/memories/events/old.md")
    tending = folder(store, sources=EventLog(keep_days=0))
    tending.run(ANN)
    noted(store, "new", "/memories/events/new.md")
    tending.run(ANN)
    assert (text(store, "/memories/events/old.md"), text(store, "/memories/facts.md")) == (None, "- old\n- new\n")
    assert text(store, "/memories/events/new.md") is not None


def test_a_consolidator_may_clear_the_log_itself(store: MemoryStore) -> None:
    noted(store, "one")

    def work(task: Task) -> None:
        folding(task)
        task.files.delete(LOG)

    assert folder(store, work).run(ANN).status == "applied"
    assert (text(store, LOG), text(store, "/memories/facts.md")) == (None, "- one\n")


def test_events_and_turns_are_read_together(store: MemoryStore) -> None:
    noted(store, "noted")
    tasks: list[Task] = []
    tending = folder(store, tasks.append, sources=EventLog(turns=True))
    assert (tending.run(ANN).status, tending.name) == ("nothing", "consolidation")  # events wait for a turn
    say(store, "said")
    assert tending.run(ANN).turns == 1
    assert [turn.text for turn in tasks[0].turns] == ["said"]
    assert [event.text for event in tasks[0].events] == ["noted"]


@pytest.mark.parametrize("turns", [False, True])
def test_events_that_wait_for_a_reviewer_are_not_read_again(store: MemoryStore, turns: bool) -> None:
    noted(store, "one")
    say(store, "said")
    tending = folder(store, sources=EventLog(turns=turns), mode="propose")
    report = tending.run(ANN)
    assert (report.status, len(report.runs)) == ("proposed", 1)
    noted(store, "two")
    say(store, "more", first=2)
    tending.run(ANN)
    (proposal,) = store.proposals()
    store.accept_proposal(proposal.id)
    assert text(store, LOG) == f"one\n<!-- folded {report.run_id} -->\ntwo"
    say(store, "and more", first=3)
    assert folder(store, sources=EventLog(turns=turns)).run(ANN).status == "applied"
    assert text(store, "/memories/facts.md") == "- one\n- two\n"


def test_a_name_of_its_own_has_a_cursor_of_its_own(store: MemoryStore) -> None:
    say(store, "one", "two")
    assert [report.status for report in folder(store, name="mine").run_all()] == ["unchanged"]
    assert folder(store, name="mine").run_all() == []
    assert store.runs.cursor("mine", ANN) == 2


def test_a_turn_wakes_a_log_whose_turns_are_not_read(store: MemoryStore) -> None:
    tending = folder(store)
    say(store, "one", "two")
    noted(store, "noted")
    assert [report.status for report in tending.run_all()] == ["applied"]
    assert store.runs.cursor("events", ANN) == 2
    assert tending.run_all() == []
    say(store, "three", first=3)  # and nothing noted
    assert [report.status for report in tending.run_all()] == ["unchanged"]
    assert tending.run(ANN).status == "nothing"


def test_a_step_folds_and_ends(store: MemoryStore) -> None:
    noted(store, "one")
    tending = folder(store)
    tending.on_demand(ANN)
    steps: list[str] = []
    while (job := store.jobs.claim(["events"], worker="w")) is not None:
        steps.append(tending.step(job).status)
    assert steps == ["applied", "nothing"]


def test_a_log_behind_a_route_of_the_user(store: MemoryStore) -> None:
    say(store, "hello")
    store.append(ANN, "/events/a.md", "noted")
    target = CompositeBackend(
        StoreBackend(namespace=("scratch",), store=store), {"/memories/": StoreBackend(namespace=by_user, store=store)}
    )
    report = folder(store, sources=EventLog(turns=True), target=target).run(ANN)
    assert (report.status, text(store, "/facts.md")) == ("applied", "- noted\n")
    assert (text(store, "/events/a.md") or "").startswith("noted\n<!-- folded")


@pytest.mark.parametrize("folder", ["", "../up", 3])
def test_a_folder_that_is_no_path_is_refused(folder: Any) -> None:
    with pytest.raises(InvalidConsolidatorError, match="no path"):
        EventLog(folder)


def test_a_folder_is_canonical() -> None:
    assert EventLog("memories//events/").folder == canonical_path("/memories/events")
    with open_store("memory://") as store:
        assert folder(store, sources=EventLog("/memories/events")).run(ANN).status == "nothing"
        assert files_of(store).ls("/").entries == []
