"""Cursors move with the changes, by compare-and-swap."""

from __future__ import annotations

import threading

import pytest

from memoranda import ChangeSet, ConflictError, CursorMove, Edit, MemoryStore, Write
from memoranda.errors import ItemNotFoundError
from tests.store.conftest import Namespace, run_sql


def move(store: MemoryStore, ns: Namespace, expect: int, to: int, lease: str | None = None, **given: object):
    return store.commit(ChangeSet(advance=[CursorMove("reader", ns, expect, to, lease)], **given))  # type: ignore[arg-type]


def test_a_cursor_moves_once_from_each_place(shared: MemoryStore, ns: Namespace) -> None:
    move(shared, ns, 0, 5)
    for expect in (0, 4, 6):
        with pytest.raises(ConflictError) as caught:
            move(shared, ns, expect, 9)
        (conflict,) = caught.value.conflicts
        assert (conflict.reason, conflict.index) == ("cursor", -1)
        assert "stands at 5" in conflict.message
    move(shared, ns, 5, 9)
    move(shared, ns, 9, 3)
    move(shared, ns, 3, 3)


def test_an_unknown_cursor_stands_at_zero(shared: MemoryStore, ns: Namespace) -> None:
    with pytest.raises(ConflictError, match="stands at 0"):
        move(shared, ns, 7, 9)
    move(shared, ns, 0, 9)


def test_cursors_of_others_are_others(shared: MemoryStore, ns: Namespace) -> None:
    for consumer, scope in (("a", ns), ("b", ns), ("a", (*ns, "x")), ("a%", ns)):
        shared.commit(ChangeSet(advance=[CursorMove(consumer, scope, 0, 1)]))


def test_changes_and_cursor_land_together(shared: MemoryStore, ns: Namespace) -> None:
    move(shared, ns, 0, 5, changes=[Write(ns, "/a.md", "one")])
    assert shared.get(ns, "/a.md").revision == 1
    with pytest.raises(ConflictError):
        move(shared, ns, 0, 6, changes=[Write(ns, "/a.md", "two"), Write(ns, "/b.md", "x")])
    assert shared.get(ns, "/a.md").value["content"] == "one"
    assert shared.get(ns, "/b.md") is None
    with pytest.raises(ItemNotFoundError):
        move(shared, ns, 5, 6, changes=[Edit(ns, "/missing.md", "a", "b")])
    move(shared, ns, 5, 6, changes=[Write(ns, "/a.md", "two")])


def test_two_cursors_move_together_or_not(shared: MemoryStore, ns: Namespace) -> None:
    first, second = CursorMove("one", ns, 0, 1), CursorMove("two", ns, 3, 4)
    with pytest.raises(ConflictError):
        shared.commit(ChangeSet(advance=[first, second]))
    shared.commit(ChangeSet(advance=[first]))


def test_a_lease_of_another_refuses(durable: MemoryStore, durable_url: str, ns: Namespace) -> None:
    move(durable, ns, 0, 5)
    taken = run_sql(durable_url, "UPDATE cursors SET lease = ? WHERE labels = ?", "worker-1", ns[0] + "\x01")
    assert taken == 1
    for lease in (None, "worker-2"):
        with pytest.raises(ConflictError, match="lease"):
            move(durable, ns, 5, 6, lease)
    move(durable, ns, 5, 6, "worker-1")
    with pytest.raises(ConflictError, match="stands at 6"):
        move(durable, ns, 5, 6, "worker-1")


def test_of_many_racers_one_wins_each_step(shared: MemoryStore, ns: Namespace) -> None:
    won: list[int] = []
    barrier = threading.Barrier(6)

    def race(number: int) -> None:
        for step in range(5):
            barrier.wait(20)
            try:
                move(shared, ns, step, step + 1, changes=[Write(ns, f"/{step}.md", str(number))])
                won.append(step)
            except ConflictError:
                pass

    threads = [threading.Thread(target=race, args=(number,), daemon=True) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(won) == list(range(5))
    assert [item.revision for item in shared.search(ns)] == [1] * 5


async def test_async_cursor(shared: MemoryStore, ns: Namespace) -> None:
    await shared.acommit(ChangeSet([Write(ns, "/a.md", "x")], advance=[CursorMove("reader", ns, 0, 5)]))
    with pytest.raises(ConflictError):
        await shared.acommit(ChangeSet(advance=[CursorMove("reader", ns, 0, 5)]))
