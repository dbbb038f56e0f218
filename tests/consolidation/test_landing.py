"""The end of a run, with what others write and forget meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from memoranda import Author, MemoryStore
from memoranda.backends import (
    CompositeBackend,
    StoreBackend,
    by_org,
    by_user,
)
from memoranda.consolidation import InvalidConsolidatorError, Task, undo
from memoranda.store.changes import ChangeSet, CursorMove
from tests.consolidation.talking import ANN, consolidator, files_of, noting, say, text
from tests.support.scale import sized

FACTS = "# Facts\n- lives in Berlin\n- drinks coffee\n"


def rewriting(old: str, new: str, meanwhile: Callable[[int], Any] = lambda run: None) -> Callable[[Task], None]:
    """A consolidator that reads the whole file, takes its time, and writes the whole file."""
    runs: list[str] = []

    def work(task: Task) -> None:
        runs.append(task.run_id)
        data = task.files.read("/facts.md").file_data
        assert data is not None
        meanwhile(len(runs))
        result = task.files.write("/facts.md", data["content"].replace(old, new))
        assert result.error is None, result.error

    return work


# --- what others write meanwhile -----------------------------------------------------------------------------------


def test_an_append_made_during_a_run_survives(store: MemoryStore) -> None:
    store.write(ANN, "/facts.md", FACTS)
    say(store, "I drink tea now.")
    runs: list[int] = []

    def meanwhile(run: int) -> None:
        runs.append(run)
        store.append(ANN, "/facts.md", "- has a dog\n")

    report = consolidator(store, rewriting("coffee", "tea", meanwhile)).run(ANN)
    assert (report.status, runs) == ("applied", [1])
    assert text(store) == "# Facts\n- lives in Berlin\n- drinks tea\n- has a dog\n"


def test_edits_of_other_lines_are_merged(store: MemoryStore) -> None:
    store.write(ANN, "/facts.md", FACTS)
    say(store, "I drink tea now.")

    def meanwhile(run: int) -> None:
        store.edit(ANN, "/facts.md", "Facts", "What is known", author=Author("user:ann"))

    assert consolidator(store, rewriting("coffee", "tea", meanwhile)).run(ANN).status == "applied"
    assert text(store) == "# What is known\n- lives in Berlin\n- drinks tea\n"


def test_a_conflicting_edit_makes_the_run_repeat(store: MemoryStore) -> None:
    store.write(ANN, "/facts.md", FACTS)
    say(store, "Tea.")
    runs: list[int] = []

    def meanwhile(run: int) -> None:
        runs.append(run)
        if run == 1:
            store.edit(ANN, "/facts.md", "drinks coffee", "drinks strong coffee")

    report = consolidator(store, rewriting("coffee", "tea", meanwhile)).run(ANN)
    assert (report.status, runs, len(report.runs)) == ("applied", [1, 2], 1)
    assert text(store) == "# Facts\n- lives in Berlin\n- drinks strong tea\n"


def test_conflicts_without_end_make_a_proposal_and_never_overwrite(store: MemoryStore) -> None:
    store.write(ANN, "/facts.md", FACTS)
    say(store, "Tea.")
    runs: list[int] = []

    def meanwhile(run: int) -> None:
        runs.append(run)
        store.edit(ANN, "/facts.md", "drinks", "drinks very")

    tending = consolidator(store, rewriting("coffee", "tea", meanwhile), conflict_attempts=2)
    report = tending.run(ANN)
    assert (report.status, runs, tending.run(ANN).status) == ("proposed", [1, 2, 3], "nothing")
    assert text(store) == "# Facts\n- lives in Berlin\n- drinks very very very coffee\n"
    assert store.runs.cursor("consolidation", ANN) == 1


def test_a_file_that_was_deleted_meanwhile_is_not_brought_back(store: MemoryStore) -> None:
    store.write(ANN, "/facts.md", FACTS)
    say(store, "Tea.")

    def meanwhile(run: int) -> None:
        if run == 1:
            store.delete(ANN, "/facts.md")

    def work(task: Task) -> None:
        data = task.files.read("/facts.md").file_data
        meanwhile(0 if data is None else 1)
        if data is not None:
            task.files.write("/facts.md", data["content"].replace("coffee", "tea"))

    assert consolidator(store, work).run(ANN).status == "unchanged"
    assert text(store) is None


def test_nothing_is_lost_between_many_writers_and_consolidators(store: MemoryStore) -> None:
    writers, lines = 3, sized(40, quick=8)
    for turn in range(lines):
        say(store, f"said {turn}", first=turn + 1)

    def work(task: Task) -> None:
        data = task.files.read("/facts.md").file_data
        before = "" if data is None else data["content"]
        noted = "".join(f"- {turn.text}\n" for turn in task.turns)
        task.files.write("/facts.md", f"{noted}{before}" if len(task.turns[0].text) % 2 else f"{before}{noted}")

    def writing(writer: int) -> None:
        for line in range(lines):
            store.append(ANN, "/facts.md", f"- by {writer}: {line}\n")

    def consolidating(report: list[str]) -> None:
        tending = consolidator(store, work, max_turns=1, conflict_attempts=20)
        while (found := tending.run(ANN)).status != "nothing":
            report.append(found.status)

    reports: list[str] = []
    threads = [threading.Thread(target=writing, args=(writer,)) for writer in range(writers)]
    threads += [threading.Thread(target=consolidating, args=(reports,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for proposal in store.proposals():  # what was overtaken more often than a run is repeated
        store.accept_proposal(proposal.id)
    expected = [f"- said {turn}" for turn in range(lines)]
    expected += [f"- by {writer}: {line}" for writer in range(writers) for line in range(lines)]
    assert sorted((text(store) or "").splitlines()) == sorted(expected)
    assert store.runs.covered("consolidation", ANN) == [(turn, turn + 1) for turn in range(lines)]
    assert set(reports) <= {"applied", "busy", "proposed"}


def test_new_turns_during_a_run_wait_for_the_next(store: MemoryStore) -> None:
    say(store, "one")

    def work(task: Task) -> None:
        if len(task.turns) == 1 and task.turns[0].text == "one":
            say(store, "two", first=2)
        noting()(task)

    tending = consolidator(store, work)
    reports = [tending.run(ANN), tending.run(ANN)]
    assert [(run.after, run.to) for report in reports for run in report.runs] == [(0, 1), (1, 2)]
    assert text(store) == "- one\n- two\n"


def test_a_cursor_that_was_moved_by_another_lets_nothing_land(store: MemoryStore) -> None:
    say(store, "one", "two")
    moves = [CursorMove("consolidation", ANN, 0, 1)]

    def work(task: Task) -> None:
        noting()(task)
        if moves:
            store.commit(ChangeSet(advance=[moves.pop()]))

    tending = consolidator(store, work)
    tending.on_demand(ANN)
    job = store.jobs.claim(["consolidation"], worker="w")
    assert job is not None
    report = tending.step(job)
    assert (report.status, report.ok, text(store), store.runs.list()) == ("lost", False, None, [])
    assert store.jobs.get(job.number).state == "waiting"
    say(store, "three", first=3)
    moves.append(CursorMove("consolidation", ANN, 1, 2))
    assert (tending.run(ANN).status, text(store)) == ("applied", "- three\n")


# --- forgetting meanwhile ------------------------------------------------------------------------------------------


def test_nothing_comes_back_of_a_scope_that_is_forgotten_during_a_run(store: MemoryStore) -> None:
    say(store, "My secret.")

    def work(task: Task) -> None:
        noting()(task)
        store.forget(scope=ANN)

    tending = consolidator(store, work)
    assert tending.run(ANN).status == "lost"
    assert (text(store), store.runs.list(), store.turns(ANN), tending.run(ANN).status) == (None, [], [], "nothing")


def test_nothing_comes_back_of_a_conversation_that_is_forgotten_during_a_run(store: MemoryStore) -> None:
    say(store, "My secret.", thread="gone")
    say(store, "I like tea.", thread="kept")
    runs: list[int] = []

    def work(task: Task) -> None:
        runs.append(len(task.turns))
        noting()(task)
        if len(runs) == 1:
            store.forget(thread="gone")

    assert consolidator(store, work).run(ANN).status == "applied"
    assert (runs, text(store)) == ([2, 1], "- I like tea.\n")


# --- several files at once -----------------------------------------------------------------------------------------


def test_several_routes_of_one_store_land_together_or_not_at_all(store: MemoryStore) -> None:
    say(store, "one", org="acme")
    target = CompositeBackend(
        StoreBackend(namespace=by_user, store=store),
        {"/shared/": StoreBackend(namespace=by_org(read_only=False), store=store)},
    )
    store.write(("acme",), "/all.md", "old\n")

    def work(task: Task) -> None:
        data = task.files.read("/shared/all.md").file_data
        assert data is not None
        task.files.write("/own.md", "mine")
        if data["content"] == "old\n":
            store.write(("acme",), "/all.md", "theirs\n")
            task.files.write("/shared/all.md", "mine\n")
        else:
            task.files.append("/shared/all.md", "and mine\n")
            task.files.move("/own.md", "/moved.md")

    report = consolidator(store, work, target=target).run(ANN)
    assert report.status == "applied"
    assert (text(store, "/own.md"), text(store, "/moved.md")) == (None, "mine")
    assert text(store, "/all.md", ("acme",)) == "theirs\nand mine\n"
    assert {(change.namespace, change.key) for change in report.runs[0].changes} == {
        (("acme",), "/all.md"),
        (ANN, "/moved.md"),
    }


def test_a_target_may_open_the_same_store_once_more(
    store: MemoryStore, store_url: str, open_here: Callable[..., MemoryStore]
) -> None:
    say(store, "one", "two")
    tending = consolidator(store, target=files_of(open_here(store_url)), max_turns=1)
    report = tending.run(ANN)
    assert ([run.status for run in report.runs], text(store)) == (["applied"] * 2, "- one\n- two\n")
    assert store.runs.covered("consolidation", ANN) == [(0, 1), (1, 2)]


def test_another_tenant_of_the_same_database_is_outside(
    store: MemoryStore, store_url: str, open_here: Callable[..., MemoryStore]
) -> None:
    other = open_here(store_url, tenant="other")
    with pytest.raises(InvalidConsolidatorError, match="lies in the store"):
        consolidator(store, target=files_of(other))


@pytest.mark.parametrize("mode", ["apply", "propose"])
def test_a_file_that_is_edited_and_moved_is_one_change(store: MemoryStore, mode: Any) -> None:
    store.write(ANN, "/old.md", "one\n")
    say(store, "two")

    def work(task: Task) -> None:
        task.files.append("/old.md", "two\n")
        task.files.move("/old.md", "/new.md")

    report = consolidator(store, work).run(ANN, mode=mode)
    if report.proposal is not None:
        store.accept_proposal(report.proposal)
    (change,) = store.runs.get(report.run_id or "").changes
    assert (change.key, change.to, change.operation, change.before, change.revision) == (
        "/old.md",
        "/new.md",
        "move",
        1,
        1,
    )
    undo(store, report.run_id or "")
    assert (text(store, "/old.md"), text(store, "/new.md")) == ("one\n", None)
