"""What has outlived its time is hidden at once, and gone with its history once swept."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from langgraph.store.base import PutOp

from memoranda import MemoryStore, open_store
from memoranda.errors import ItemNotFoundError
from tests.store.conftest import Clock, Namespace

MINUTE = 60


def hidden(store: MemoryStore, ns: Namespace, key: str) -> bool:
    """Whether no read of any kind finds the item."""
    views = [
        store.get(ns, key) is None,
        store.search(ns) == [],
        store.search(ns, filter={"content": "x"}) == [],
        store.list_keys(ns) == [],
        store.list_keys(ns, "") == [],
        store.glob(ns, "**") == [],
        store.grep(ns, "x").matches == (),
        store.grep(ns, "x", key).matches == (),
        store.history(ns, key) == [],
    ]
    assert len(set(views)) == 1, views
    return views[0]


def test_hidden_from_every_read_at_the_minute(clocked: Callable[..., MemoryStore], clock: Clock, ns: Namespace) -> None:
    store = clocked(refresh_on_read=False)
    store.write(ns, "/a.md", "x", ttl=1)
    clock.forward(MINUTE - 0.001)
    assert not hidden(store, ns, "/a.md")
    clock.forward(0.001)
    assert hidden(store, ns, "/a.md")
    with pytest.raises(ItemNotFoundError):
        store.get_at(ns, "/a.md", revision=1)
    with pytest.raises(ItemNotFoundError):
        store.edit(ns, "/a.md", "x", "y")


def test_an_expired_item_makes_no_namespace(clocked: Callable[..., MemoryStore], clock: Clock, ns: Namespace) -> None:
    store = clocked()
    store.write(ns, "/a.md", "x", ttl=1)
    clock.forward(MINUTE)
    assert store.list_namespaces(prefix=ns) == []


def test_written_again_it_is_a_new_item(clocked: Callable[..., MemoryStore], clock: Clock, ns: Namespace) -> None:
    store = clocked()
    store.write(ns, "/a.md", "old", ttl=1)
    store.write(ns, "/a.md", "older", ttl=1)
    clock.forward(MINUTE + 1)
    done = store.write(ns, "/a.md", "new", base=0)
    assert done.revision == 1
    assert [entry.operation for entry in store.history(ns, "/a.md")] == ["write"]
    item = store.get(ns, "/a.md")
    assert item.created_at == item.updated_at
    assert [change.revision for change in store.changes(namespace=ns)] == [1]
    assert store.verify(ns).ok
    clock.forward(MINUTE * 1_000)
    assert store.get(ns, "/a.md") is not None


def test_sweeping_removes_the_history(clocked: Callable[..., MemoryStore], clock: Clock, ns: Namespace) -> None:
    store = clocked()
    store.sweep_ttl()
    store.write(ns, "/short.md", "secret", ttl=1)
    store.edit(ns, "/short.md", "secret", "secrets")
    store.write(ns, "/long.md", "x", ttl=10)
    store.write(ns, "/never.md", "x")
    clock.forward(MINUTE)
    assert store.sweep_ttl() == 1
    assert store.sweep_ttl() == 0
    assert [change.key for change in store.changes(namespace=ns)] == ["/long.md", "/never.md"]
    assert {head.items for head in store.verify(ns).namespaces} == {2}
    assert store.verify(ns).ok
    clock.forward(MINUTE * 10)
    assert store.sweep_ttl() == 1
    store.delete(ns, "/never.md")
    assert store.verify(ns).ok


def test_sweeping_many(clocked: Callable[..., MemoryStore], clock: Clock, ns: Namespace) -> None:
    store = clocked()
    store.sweep_ttl()
    store.batch([PutOp((*ns, str(n % 5)), f"key-{n}", {"n": n}, ttl=1) for n in range(450)])
    store.put(ns, "kept", {"n": 0})
    clock.forward(MINUTE * 2)
    assert store.sweep_ttl() == 450
    assert [item.key for item in store.search(ns, limit=1_000)] == ["kept"]
    assert store.verify(ns).ok


def test_a_deleted_item_is_swept_in_its_time(clocked: Callable[..., MemoryStore], clock: Clock, ns: Namespace) -> None:
    store = clocked()
    store.sweep_ttl()
    store.write(ns, "/a.md", "secret", ttl=1)
    store.delete(ns, "/a.md")
    assert len(store.history(ns, "/a.md")) == 2
    clock.forward(MINUTE)
    assert store.sweep_ttl() == 1
    assert store.changes(namespace=ns) == []


def test_defaults_and_overrides(clocked: Callable[..., MemoryStore], clock: Clock, ns: Namespace) -> None:
    store = clocked(default_ttl=1, refresh_on_read=False)
    store.put(ns, "put", {"n": 1})
    store.write(ns, "/write", "x")
    store.append(ns, "/append", "x")
    store.put(ns, "never", {"n": 1}, ttl=None)
    store.put(ns, "long", {"n": 1}, ttl=2)
    store.write(ns, "/long", "x", ttl=2)
    clock.forward(MINUTE)
    assert {item.key for item in store.search(ns)} == {"never", "long", "/long"}
    clock.forward(MINUTE)
    assert {item.key for item in store.search(ns)} == {"never"}


def test_edit_append_and_move_keep_the_time(clocked: Callable[..., MemoryStore], clock: Clock, ns: Namespace) -> None:
    store = clocked()
    for key in ("/edited", "/appended", "/moved"):
        store.write(ns, key, "x", ttl=1)
    store.edit(ns, "/edited", "x", "y")
    store.append(ns, "/appended", "y")
    store.move(ns, "/moved", "/there")
    clock.forward(MINUTE)
    assert store.search(ns) == []


def test_reading_renews_when_configured(clocked: Callable[..., MemoryStore], clock: Clock, ns: Namespace) -> None:
    store = clocked(refresh_on_read=True)
    for key in ("got", "left"):
        store.put(ns, key, {"n": 1}, ttl=1)
    store.put((*ns, "deep"), "found", {"n": 1}, ttl=1)
    for _ in range(3):
        clock.forward(40)
        store.get(ns, "got")
        store.search((*ns, "deep"))
    assert {item.key for item in store.search(ns, refresh_ttl=False)} == {"got", "found"}
    revision = store.get(ns, "got", refresh_ttl=False).revision
    assert revision == 1
    for _ in range(2):
        clock.forward(40)
        store.get(ns, "got", refresh_ttl=False)
    assert store.get(ns, "got") is None
    assert store.verify(ns).ok


def test_asked_for_renewal_overrides_the_setting(
    clocked: Callable[..., MemoryStore], clock: Clock, ns: Namespace
) -> None:
    store = clocked(refresh_on_read=False)
    store.put(ns, "a", {"n": 1}, ttl=1)
    store.put(ns, "b", {"n": 1}, ttl=1)
    clock.forward(40)
    store.get(ns, "a", refresh_ttl=True)
    store.get(ns, "b")
    clock.forward(40)
    assert [item.key for item in store.search(ns)] == ["a"]


def test_put_without_a_time_takes_it_away(clocked: Callable[..., MemoryStore], clock: Clock, ns: Namespace) -> None:
    store = clocked()
    store.put(ns, "a", {"n": 1}, ttl=1)
    store.put(ns, "a", {"n": 2})
    clock.forward(MINUTE * 5)
    assert store.get(ns, "a").value == {"n": 2}


@pytest.mark.parametrize("ttl", [float("nan"), float("inf"), -1.0, 1e300, "soon"])
def test_odd_times_are_refused_or_kept(shared: MemoryStore, ns: Namespace, ttl) -> None:
    """Never a bare error of Python or of the database, and nothing half written."""
    from memoranda.errors import MemorandaError

    try:
        shared.put(ns, "a", {"n": 1}, ttl=ttl)
    except MemorandaError:
        assert shared.search(ns) == []


def test_the_sweeper_sweeps_and_stops(store_url: str) -> None:
    with open_store(store_url) as store:
        store.put(("a",), "key", {"n": 1}, ttl=0.001)
        store.start_ttl_sweeper(0.002)
        store.start_ttl_sweeper(0.002)
        deadline = time.monotonic() + 10
        while store.changes() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert store.changes() == []
        assert store.stop_ttl_sweeper(5)
        assert store.stop_ttl_sweeper()
        # It can be started again.
        store.start_ttl_sweeper(0.002)
    assert store.stop_ttl_sweeper(0)


def test_the_settings_of_langgraph_are_taken(store_url: str) -> None:
    with open_store(store_url, ttl={"default_ttl": 5, "refresh_on_read": False}) as store:
        assert (store.context.default_ttl, store.context.refresh_on_read) == (5, False)
        assert store.supports_ttl and store.ttl_config == {"default_ttl": 5, "refresh_on_read": False}
        late = MemoryStore(
            store.engine, replace(store.context, clock=lambda: time.time_ns() // 1_000 + 301_000_000), url=store.url
        )
        store.put(("a",), "key", {"n": 1})
        assert store.get(("a",), "key") is not None
        assert late.get(("a",), "key") is None
