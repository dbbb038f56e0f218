"""A consolidator: its runs and its modes."""

from __future__ import annotations

from typing import Any

import pytest

from memoranda import Author, MemoryStore, open_store
from memoranda.backends import FilesystemBackend, StateBackend
from memoranda.consolidation import (
    Consolidator,
    InvalidConsolidatorError,
)
from memoranda.errors import InvalidScheduleError
from memoranda.store.namespaces import InvalidNamespaceError
from tests.consolidation.talking import ANN, consolidator, files_of, noting, say, text


def test_what_was_said_lands_with_the_cursor_and_the_run(store: MemoryStore) -> None:
    say(store, "I like green tea.", "I live in Kyoto.")
    report = consolidator(store).run(ANN)
    assert (report.status, report.turns, report.after, report.to, report.ok) == ("applied", 2, 0, 2, True)
    assert text(store) == "- I like green tea.\n- I live in Kyoto.\n"
    assert "+- I live in Kyoto." in report.diff
    (run,) = report.runs
    assert run == store.runs.get(report.run_id or "")
    (change,) = run.changes
    assert (change.key, change.revision, change.before, change.sources) == ("/facts.md", 2, 0, (1, 2))
    revision = store.history(ANN, "/facts.md")[0]
    assert revision.author == Author("consolidator:consolidation", run_id=run.id, reason="Noted 2 turns.")
    assert store.runs.cursor("consolidation", ANN) == 2
    assert store.verify().ok


def test_each_turn_is_read_once(store: MemoryStore) -> None:
    say(store, "one")
    tending = consolidator(store)
    assert [tending.run(ANN).status, tending.run(ANN).status] == ["applied", "nothing"]
    say(store, "two", first=2)
    assert tending.run(ANN).turns == 1
    assert text(store) == "- one\n- two\n"
    assert store.runs.covered("consolidation", ANN) == [(0, 1), (1, 2)]


def test_many_turns_are_read_in_several_runs(store: MemoryStore) -> None:
    say(store, *(f"fact {number}" for number in range(7)))
    report = consolidator(store, max_turns=3).run(ANN)
    assert [(run.after, run.to, run.turns) for run in report.runs] == [(0, 3, 3), (3, 6, 3), (6, 7, 1)]
    assert (report.status, report.turns, report.to) == ("applied", 7, 7)
    assert (text(store) or "").count("fact") == 7


def test_long_turns_are_read_by_their_bytes(store: MemoryStore) -> None:
    say(store, "é" * 60, "b" * 60, "c" * 500, "d")
    report = consolidator(store, max_bytes=150).run(ANN)
    assert [run.turns for run in report.runs] == [1, 1, 1, 1]  # 120 + 60 bytes are too many, and so is 500 alone
    report = consolidator(store, name="other", max_bytes=180).run(ANN)
    assert [run.turns for run in report.runs] == [2, 1, 1]


def test_two_consolidators_read_the_same_turns(store: MemoryStore) -> None:
    say(store, "one")
    assert consolidator(store).run(ANN).status == "applied"
    assert consolidator(store, noting("/other.md"), name="other").run(ANN).status == "applied"
    assert text(store) == text(store, "/other.md")


def test_a_run_that_changes_nothing_is_recorded(store: MemoryStore) -> None:
    say(store, "Hm.")
    report = consolidator(store, lambda task: "Small talk.").run(ANN)
    assert (report.status, report.runs[0].changes, report.runs[0].summary) == ("unchanged", (), "Small talk.")
    assert store.runs.cursor("consolidation", ANN) == 1


def test_a_run_that_writes_what_is_there_is_unchanged(store: MemoryStore) -> None:
    files_of(store).write("/facts.md", "same\n")
    say(store, "one")
    report = consolidator(store, lambda task: task.files.write("/facts.md", "same\n")).run(ANN)
    assert (report.status, len(store.history(ANN, "/facts.md"))) == ("unchanged", 1)


# --- modes ---------------------------------------------------------------------------------------------------------


def test_a_dry_run_shows_all_and_changes_nothing(store: MemoryStore) -> None:
    say(store, "one", "two", "three")
    tending = consolidator(store, max_turns=2)
    report = tending.run(ANN, dry_run=True)
    assert (report.status, report.turns, report.runs) == ("preview", 3, ())
    assert [line for line in report.diff.splitlines() if line.startswith("+-")] == ["+- one", "+- two", "+- three"]
    assert text(store) is None
    assert (store.runs.list(), store.jobs.list(), store.runs.cursor("consolidation", ANN)) == ([], [], 0)
    assert tending.run(ANN).turns == 3


def test_a_dry_run_tells_what_fails(store: MemoryStore) -> None:
    say(store, "one")
    report = consolidator(store, lambda task: 1 / 0).run(ANN, dry_run=True)
    assert (report.status, report.ok) == ("failed", False)
    assert "ZeroDivisionError" in (report.error or "")
    assert store.runs.list() == []


def test_a_proposed_run_waits_and_is_accepted(store: MemoryStore) -> None:
    say(store, "one")
    report = consolidator(store, mode="propose").run(ANN)
    assert (report.status, text(store), store.runs.cursor("consolidation", ANN)) == ("proposed", None, 1)
    proposal = store.get_proposal(report.proposal or "")
    assert (proposal.source, proposal.author.run_id) == ("consolidation", report.run_id)
    store.accept_proposal(proposal.id, author=Author("user:ann"))
    run = store.runs.get(report.run_id or "")
    assert (run.status, run.changes[0].revision, text(store)) == ("applied", 1, "- one\n")


def test_a_proposed_run_is_rejected_and_not_read_again(store: MemoryStore) -> None:
    say(store, "one")
    tending = consolidator(store)
    report = tending.run(ANN, mode="propose")
    store.reject_proposal(report.proposal or "", author=Author("user:ann"))
    assert store.runs.get(report.run_id or "").status == "rejected"
    assert (tending.run(ANN).status, text(store)) == ("nothing", None)


# --- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"mode": "maybe"}, "mode='maybe'"),
        ({"max_turns": 0}, "max_turns=0"),
        ({"attempts": -1}, "attempts=-1"),
        ({"timeout": 0}, "timeout=0"),
        ({"max_bytes": True}, "max_bytes=True"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], said: str) -> None:
    with open_store("memory://") as store, pytest.raises(InvalidConsolidatorError, match=said):
        consolidator(store, **settings)


def test_bad_input_says_what_to_do() -> None:
    with open_store("memory://") as store:
        with pytest.raises(InvalidScheduleError, match="Europe/Berlin"):
            consolidator(store, zone="Europe/Berln")
        with pytest.raises(InvalidConsolidatorError, match="from_agent"):
            Consolidator(3, store=store, target=files_of(store))
        with pytest.raises(InvalidConsolidatorError, match="open_store"):
            Consolidator(noting(), store=object(), target=files_of(store))  # type: ignore[arg-type]
        with pytest.raises(InvalidNamespaceError, match="tuple"):
            consolidator(store).run("ann")  # type: ignore[arg-type]


def test_a_target_that_lies_elsewhere_is_refused_at_once(tmp_path: Any) -> None:
    with open_store("memory://") as store:
        for target in (FilesystemBackend(str(tmp_path)), StateBackend()):
            with pytest.raises(InvalidConsolidatorError, match="store"):
                consolidator(store, target=target)
