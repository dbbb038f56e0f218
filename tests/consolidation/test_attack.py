"""What others do while a consolidator works: none of it may break what a run promises."""

from __future__ import annotations

from memoranda import MemoryStore
from memoranda.backends import GuardedBackend, WriteEvent
from memoranda.consolidation import Task
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
