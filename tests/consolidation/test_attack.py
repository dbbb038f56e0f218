"""What others do while a consolidator works: none of it may break what a run promises."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from memoranda import MemoryStore, open_store
from memoranda.backends import CompositeBackend, GuardedBackend, WriteEvent
from memoranda.consolidation import InvalidConsolidatorError, Task, UndoConflictError, sources_of
from tests.consolidation.talking import ANN, consolidator, files_of, say, text


def test_a_hook_that_writes_a_note_does_not_take_the_record_along(store: MemoryStore) -> None:
    say(store, "Tea.")

    def audit(event: WriteEvent) -> None:
        store.put(("audit",), event.path, {"who": "ann"})

    tending = consolidator(store, target=GuardedBackend(files_of(store), hooks=[audit]))
    report = tending.run(ANN)
    (run,) = store.runs.list()
    assert report.status == "applied"
    assert [(change.namespace, change.key, change.revision) for change in run.changes] == [(ANN, "/facts.md", 1)]
    assert tending.undo(run.id).status == "undone"
    assert (text(store), store.get(("audit",), "/facts.md") is None) == (None, False)


def test_a_note_of_a_hook_that_refuses_records_nothing(store: MemoryStore) -> None:
    say(store, "Tea.")

    def refusing(event: WriteEvent) -> None:
        store.put(("audit",), event.path, {"who": "ann"})
        raise RuntimeError("no")

    report = consolidator(store, target=GuardedBackend(files_of(store), hooks=[refusing])).run(ANN)
    assert (report.status, text(store)) == ("parked", None)


def test_what_a_consolidator_records_itself_does_not_keep_a_run_going(store: MemoryStore) -> None:
    say(store, "Tea.")
    times: list[int] = []

    def talking(task: Task) -> None:
        times.append(len(task.turns))
        if len(times) < 10:
            say(store, "I have thought about it.", thread=f"own-{len(times)}")

    assert consolidator(store, talking).run(ANN).status == "unchanged"
    assert times == [1]
    assert store.runs.unread("consolidation")[0].position == 1


@pytest.mark.parametrize(
    "setting",
    [
        {"max_turns": 2.5},
        {"max_bytes": float("inf")},
        {"attempts": 1.5},
        {"conflict_attempts": 1.5},
        {"limit_steps": 2.5},
        {"timeout": float("inf")},
        {"timeout": float("nan")},
        {"timeout": 0},
        {"timeout": True},
    ],
)
def test_a_number_that_would_fail_in_every_run_is_refused_at_once(setting: dict[str, Any]) -> None:
    with open_store("memory://") as store, pytest.raises(InvalidConsolidatorError, match="makes no sense"):
        consolidator(store, **setting)


def test_a_consolidator_that_runs_out_of_an_iterator_fails_and_is_not_waited_for(store: MemoryStore) -> None:
    say(store, "Tea.")

    def exhausted(task: Task) -> str:
        return next(iter([]))

    tending = consolidator(store, exhausted, attempts=1, timeout=5)
    report = asyncio.run(tending.arun(ANN))
    assert (report.status, report.seconds < 4) == ("parked", True)
    assert "StopIteration" in (report.error or "")


def test_undoing_says_that_a_file_was_renamed_since(store: MemoryStore) -> None:
    say(store, "Tea.")
    tending = consolidator(store)
    (run,) = tending.run(ANN).runs
    files_of(store).move("/facts.md", "/tastes.md")
    with pytest.raises(UndoConflictError, match=r"/facts\.md"):
        tending.undo(run.id)
    assert store.runs.get(run.id).status == "applied"
    files_of(store).move("/tastes.md", "/facts.md")
    assert tending.undo(run.id).status == "undone"
    assert (text(store), text(store, "/tastes.md")) == (None, None)


def test_a_tenant_whose_name_begins_with_anothers_is_outside(store: MemoryStore) -> None:
    acme, other = (
        MemoryStore(store.engine, replace(store.context, tenant=tenant), url=store.url)
        for tenant in ("acme", "acme|ann")
    )
    say(acme, "Tea.")
    target = CompositeBackend(files_of(acme), {"/other/": files_of(other, ("bob",))})

    def leaking(task: Task) -> None:
        task.files.write("/other/facts.md", "Tea.")

    report = consolidator(acme, leaking, target=target).run(ANN)
    assert (report.status, text(other, "/facts.md", ("bob",))) == ("parked", None)


@pytest.mark.parametrize("scope", [("a|/x",), ("a", "|/b"), ("a b", "x|/facts.md|"), ("a\x01|/facts.md",)])
def test_labels_that_look_like_paths_keep_their_sources(store: MemoryStore, scope: tuple[str, ...]) -> None:
    say(store, "Tea.", scope=scope)
    (run,) = consolidator(store, target=files_of(store, scope)).run(scope).runs
    assert [(one.namespace, one.key, one.revision) for one in run.changes] == [(scope, "/facts.md", 1)]
    assert [turn.text for turn in sources_of(store, scope, "/facts.md", line=1)] == ["Tea."]


def test_many_staged_files_are_not_looked_through_again_for_each(store: MemoryStore) -> None:
    say(store, "Tea.")

    def work(task: Task) -> None:
        for number in range(300):
            task.files.write(f"/{number}.md", "Tea.\n")
        task.files.move("/7.md", "/seven.md")

    report = consolidator(store, work).run(ANN)
    assert report.status == "applied"
    assert len(report.runs[0].changes) == 300
    assert [turn.text for turn in sources_of(store, ANN, "/seven.md", line=1)] == ["Tea."]


def test_what_is_retried_after_later_conversations_is_said_to_be_late(store: MemoryStore) -> None:
    say(store, "I live in Rome.")
    texts: list[str] = []

    def work(task: Task) -> None:
        texts.append(task.text)
        if len(texts) == 1:
            raise ValueError("once")

    tending = consolidator(store, work, attempts=1)
    (parked,) = tending.run(ANN).runs
    say(store, "I live in Oslo.", first=2)
    tending.run(ANN)
    tending.retry(parked.id)
    assert ["This comes late" in said for said in texts] == [False, False, True]
    assert "Rome" in texts[2]
