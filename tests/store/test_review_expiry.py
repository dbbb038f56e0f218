"""Expiry beside everything else that may happen at that moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from memoranda import ConflictError, MemoryStore
from memoranda.errors import ItemNotFoundError
from memoranda.store.effects import Transact
from memoranda.store.operations.reading import get, search
from tests.store.conftest import Clock, Namespace, settled

MINUTE = 60
Clocked = Callable[..., MemoryStore]


def read(store: MemoryStore, operation: Any, between: Callable[[], None]) -> Any:
    """Perform a read whose items are renewed afterwards, with something else happening before that."""
    rows = store.engine.transact(next(operation))
    between()
    renewal = cast("Transact", operation.send(rows))
    try:
        operation.send(store.engine.transact(renewal))
    except StopIteration as stop:
        return stop.value
    raise AssertionError("the read asked for more")


@pytest.mark.parametrize("way", ["get", "search"])
def test_a_slow_reader_does_not_make_a_lasting_item_expire(
    clocked: Clocked, clock: Clock, ns: Namespace, way: str
) -> None:
    store = clocked()
    store.put(ns, "k", {"n": 1}, ttl=1)
    if way == "get":
        operation: Any = get(store.context, ns, "k")
    else:
        operation = search(store.context, ns, query=None, filter=None, limit=10, offset=0, refresh=True)
    read(store, operation, lambda: store.put(ns, "k", {"n": 2}))
    clock.forward(2 * MINUTE)
    assert store.sweep_ttl() == 0
    assert store.get(ns, "k").value == {"n": 2}


def test_a_slow_reader_does_not_shorten_a_life(clocked: Clocked, clock: Clock, ns: Namespace) -> None:
    store = clocked()
    store.put(ns, "k", {"n": 1}, ttl=1)
    read(store, get(store.context, ns, "k"), lambda: store.put(ns, "k", {"n": 2}, ttl=60))
    clock.forward(2 * MINUTE)
    assert store.get(ns, "k", refresh_ttl=False).value == {"n": 2}


def test_what_is_past_its_time_does_not_come_back(clocked: Clocked, clock: Clock, ns: Namespace) -> None:
    store = clocked()
    store.put(ns, "k", {"n": 1}, ttl=1)

    def meanwhile() -> None:
        clock.forward(MINUTE)
        assert store.get(ns, "k") is None

    read(store, get(store.context, ns, "k"), meanwhile)
    assert store.get(ns, "k") is None


def test_a_folder_moves_without_what_is_past_its_time(clocked: Clocked, clock: Clock, ns: Namespace) -> None:
    store = clocked()
    store.write(ns, "/a/short.md", "x", ttl=1)
    store.write(ns, "/a/long.md", "x")
    clock.forward(MINUTE)
    assert [done.key for done in store.move(ns, "/a", "/b").revisions] == ["/b/long.md"]
    assert store.history(ns, "/a/short.md") == store.history(ns, "/b/short.md") == []
    assert store.verify().ok


def test_a_folder_of_nothing_else_is_no_folder(clocked: Clocked, clock: Clock, ns: Namespace) -> None:
    store = clocked()
    store.write(ns, "/a/short.md", "x", ttl=1)
    clock.forward(MINUTE)
    with pytest.raises(ItemNotFoundError):
        store.move(ns, "/a", "/b")
    assert store.delete_prefix(ns, "/a").revisions == ()


def test_the_feed_hides_what_is_past_its_time(clocked: Clocked, clock: Clock, ns: Namespace) -> None:
    store = clocked()
    store.write(ns, "/short.md", "x", ttl=1)
    store.write(ns, "/long.md", "x")
    assert [change.key for change in settled(store)] == ["/short.md", "/long.md"]
    clock.forward(MINUTE)
    assert [change.key for change in store.changes()] == ["/long.md"]
    assert [change.key for change in store.changes(namespace=ns)] == ["/long.md"]


def test_a_history_that_comes_back_on_itself_ends(clocked: Clocked, clock: Clock, ns: Namespace) -> None:
    store = clocked()
    store.write(ns, "/a.md", "x", ttl=10)
    clock.forward(5 * MINUTE)
    store.move(ns, "/a.md", "/b.md")
    clock.forward(7 * MINUTE)
    # What is left at /a.md is past its time, so this is a new item there.
    store.move(ns, "/b.md", "/a.md")
    entries = store.history(ns, "/a.md", follow=True, limit=50)
    assert [(entry.key, entry.revision) for entry in entries] == [("/a.md", 1), ("/b.md", 1)]


def test_a_history_does_not_go_on_with_what_came_later(clocked: Clocked, clock: Clock, ns: Namespace) -> None:
    store = clocked()
    store.write(ns, "/a.md", "x", ttl=10)
    clock.forward(5 * MINUTE)
    store.move(ns, "/a.md", "/b.md")
    clock.forward(7 * MINUTE)
    store.write(ns, "/a.md", "something else")
    entries = store.history(ns, "/b.md", follow=True)
    assert [(entry.key, entry.revision) for entry in entries] == [("/b.md", 1)]


def test_a_base_that_has_expired_is_a_conflict(clocked: Clocked, clock: Clock, ns: Namespace) -> None:
    store = clocked(refresh_on_read=False)
    store.write(ns, "/a.md", "one", ttl=1)
    base = store.get(ns, "/a.md").revision
    clock.forward(MINUTE)
    with pytest.raises(ConflictError) as caught:
        store.write(ns, "/a.md", "two", base=base)
    (conflict,) = caught.value.conflicts
    assert (conflict.reason, conflict.revision, conflict.yours) == ("deleted", 0, "two")


def test_a_namespace_whose_items_have_gone_is_not_counted(clocked: Clocked, clock: Clock, ns: Namespace) -> None:
    store = clocked()
    store.write(ns, "/a.md", "x", ttl=1)
    assert store.stats().namespaces == 1
    clock.forward(MINUTE)
    assert store.sweep_ttl() == 1
    assert store.stats().namespaces == 0


def test_moving_after_the_clock_was_set_back_is_no_damage(clocked: Clocked, clock: Clock, ns: Namespace) -> None:
    store = clocked()
    store.write(ns, "/a.md", "x")
    clock.forward(-10 * MINUTE)
    store.move(ns, "/a.md", "/b.md")
    assert store.verify().problems == ()
    item = store.get(ns, "/b.md")
    assert item.created_at <= item.updated_at


def test_an_earlier_state_was_created_when_the_item_was(clocked: Clocked, clock: Clock, ns: Namespace) -> None:
    store = clocked()
    store.write(ns, "/a.md", "x")
    clock.forward(MINUTE)
    store.move(ns, "/a.md", "/b.md")
    clock.forward(MINUTE)
    store.write(ns, "/b.md", "y")
    created = store.get(ns, "/b.md").created_at
    assert [store.get_at(ns, "/b.md", revision=number).created_at for number in (1, 2)] == [created, created]
