"""A consolidator tends files that were put into the store by hand, with nothing but their content."""

from __future__ import annotations

import pytest

from memoranda import MemoryStore, Turn
from memoranda.backends import StoreBackend
from memoranda.consolidation import Consolidator, Task

ANN = ("ann",)
KEY = "/AGENTS.md"


@pytest.fixture
def files(store: MemoryStore) -> StoreBackend:
    store.put(ANN, KEY, {"content": '- Drinks "coffee".\n- Lives in Rome.\n'})
    store.record_turns(ANN, "t1", [Turn("m1", "user", "I live in Lisbon.")])
    return StoreBackend(namespace=ANN, store=store)


def _text(store: MemoryStore) -> str:
    item = store.get(ANN, KEY)
    assert item is not None
    return item.value["content"]


def tend(task: Task) -> None:
    assert task.files.edit(KEY, "- Lives in Rome.\n", "- Lives in Lisbon.\n").error is None
    assert task.files.append(KEY, "- Likes trains.\n").error is None


def test_what_is_changed_lands_at_once(store: MemoryStore, files: StoreBackend) -> None:
    tending = Consolidator(tend, store=store, target=files)
    assert "Lisbon" in tending.run(ANN, dry_run=True).diff
    report = tending.run(ANN)
    assert (report.status, report.attempts) == ("applied", 1)
    assert _text(store) == '- Drinks "coffee".\n- Lives in Lisbon.\n- Likes trains.\n'


def test_a_proposal_of_it_can_be_accepted(store: MemoryStore, files: StoreBackend) -> None:
    assert Consolidator(tend, store=store, target=files, mode="propose").run(ANN).status == "proposed"
    (proposal,) = store.proposals()
    store.accept_proposal(proposal.id)
    assert "Lisbon" in _text(store) and "trains" in _text(store)


def test_what_cannot_be_edited_is_parked_at_once(store: MemoryStore, files: StoreBackend) -> None:
    """Doing it again would change nothing of that."""
    calls: list[str] = []

    def late(task: Task) -> None:
        calls.append(task.run_id)
        task.files.edit(KEY, "Rome", "Lisbon")
        store.write(ANN, KEY, b"\xff\x00")

    report = Consolidator(late, store=store, target=files).run(ANN)
    assert (report.status, len(calls)) == ("parked", 1)
    assert "binary file" in (report.error or "")
