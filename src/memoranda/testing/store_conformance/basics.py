"""One item at a time: put, get, delete, their times, and what is refused."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from langgraph.store.base import BaseStore, Item

from memoranda.testing.store_conformance.checks import (
    Checks,
    Namespace,
    check,
    expect,
    expect_refused,
    value_of,
)

_CLOCKS_APART = timedelta(minutes=5)
"""The database may run on another machine."""


def _found(item: Item | None) -> Item:
    if item is None:
        raise AssertionError("An item that was put is not found")
    return item


class BasicChecks(Checks):
    """Checks of single operations."""

    @check()
    def test_get_returns_what_was_put(self, store: BaseStore, at: Namespace) -> None:
        """`get` returns the value, key and namespace that were put."""
        store.put(at, "profile", {"name": "Ann"})
        item = _found(store.get(at, "profile"))
        expect((item.value, item.key), ({"name": "Ann"}, "profile"), "The item")
        expect(tuple(item.namespace), at, "Its namespace")

    @check()
    def test_missing_is_none(self, store: BaseStore, at: Namespace) -> None:
        """`get` returns None for a missing key and for a missing namespace."""
        store.put(at, "here", {"n": 1})
        expect(store.get(at, "elsewhere"), None, "A missing key")
        expect(store.get((*at, "deeper"), "here"), None, "A missing namespace")

    @check()
    def test_put_replaces_the_whole_value(self, store: BaseStore, at: Namespace) -> None:
        """A second `put` replaces the value; fields are not merged."""
        store.put(at, "profile", {"name": "Ann", "tea": "green"})
        store.put(at, "profile", {"name": "Anna"})
        expect(value_of(store, at, "profile"), {"name": "Anna"}, "The value after the second put")
        expect(len(store.search(at)), 1, "The number of items")

    @check()
    def test_delete(self, store: BaseStore, at: Namespace) -> None:
        """`delete` removes one item from `get` and `search`, and no other."""
        store.put(at, "one", {"n": 1})
        store.put(at, "two", {"n": 2})
        store.delete(at, "one")
        expect(store.get(at, "one"), None, "The deleted item")
        expect([item.key for item in store.search(at)], ["two"], "The items left")

    @check()
    def test_delete_missing(self, store: BaseStore, at: Namespace) -> None:
        """Deleting what is not there is no error."""
        store.delete(at, "never")
        store.put(at, "once", {"n": 1})
        store.delete(at, "once")
        store.delete(at, "once")
        expect(store.get(at, "once"), None, "The deleted item")

    @check()
    def test_put_after_delete(self, store: BaseStore, at: Namespace) -> None:
        """A deleted key can be put again."""
        store.put(at, "again", {"n": 1})
        store.delete(at, "again")
        store.put(at, "again", {"n": 2})
        expect(value_of(store, at, "again"), {"n": 2}, "The value")

    @check()
    def test_same_key_in_two_namespaces(self, store: BaseStore, at: Namespace) -> None:
        """One key in two namespaces names two items."""
        store.put((*at, "ann"), "profile", {"name": "Ann"})
        store.put((*at, "bob"), "profile", {"name": "Bob"})
        store.delete((*at, "bob"), "profile")
        expect(value_of(store, (*at, "ann"), "profile"), {"name": "Ann"}, "The other item")

    @check()
    def test_times_are_aware(self, store: BaseStore, at: Namespace) -> None:
        """`created_at` and `updated_at` are aware datetimes of about now."""
        store.put(at, "profile", {"n": 1})
        item = _found(store.get(at, "profile"))
        for name, time in (("created_at", item.created_at), ("updated_at", item.updated_at)):
            expect(time.tzinfo is not None, True, f"{name} has a zone")
            expect(abs(datetime.now(UTC) - time) < _CLOCKS_APART, True, f"{name} is about now")

    @check()
    async def test_created_at_is_kept(self, store: BaseStore, at: Namespace) -> None:
        """A second `put` keeps `created_at`."""
        store.put(at, "profile", {"n": 1})
        before = _found(store.get(at, "profile")).created_at
        await asyncio.sleep(1.1)
        store.put(at, "profile", {"n": 2})
        after = _found(store.get(at, "profile")).created_at
        expect(after == before, True, "created_at is the same after a second put")

    @check()
    async def test_updated_at_advances(self, store: BaseStore, at: Namespace) -> None:
        """A second `put` within the same second advances `updated_at`."""
        store.put(at, "profile", {"n": 1})
        before = _found(store.get(at, "profile")).updated_at
        await asyncio.sleep(0.02)
        store.put(at, "profile", {"n": 2})
        after = _found(store.get(at, "profile")).updated_at
        expect(after > before, True, "updated_at is later after a second put")

    @check()
    def test_values_are_copies(self, store: BaseStore, at: Namespace) -> None:
        """Changing a value that was put, or that was read, does not change the store."""
        value: dict[str, Any] = {"list": [1]}
        store.put(at, "profile", value)
        value["list"].append(2)
        expect(value_of(store, at, "profile"), {"list": [1]}, "After changing what was put")
        value_of(store, at, "profile")["list"].append(3)
        expect(value_of(store, at, "profile"), {"list": [1]}, "After changing what was read")

    @check()
    def test_index_is_accepted(self, store: BaseStore, at: Namespace) -> None:
        """`index=False` and `index=[…]` are accepted, with or without a search index."""
        store.put(at, "plain", {"text": "tea"}, index=False)
        store.put(at, "fields", {"text": "tea"}, index=["text"])
        expect(len(store.search(at)), 2, "The number of items")

    @check()
    def test_empty_namespace_is_refused(self, store: BaseStore, at: Namespace) -> None:
        """`put` refuses the empty namespace and one with an empty label."""
        expect_refused(lambda: store.put((), "key", {"n": 1}), "The empty namespace")
        expect_refused(lambda: store.put((*at, ""), "key", {"n": 1}), "An empty label")

    @check()
    def test_label_of_another_type_is_refused(self, store: BaseStore, at: Namespace) -> None:
        """`put` refuses a label that is no string."""
        labels: Any = (*at, 7)
        expect_refused(lambda: store.put(labels, "key", {"n": 1}), "The label 7")

    @check()
    def test_reserved_root_is_refused(self, store: BaseStore, at: Namespace) -> None:
        """`put` refuses the root label `langgraph`."""
        expect_refused(lambda: store.put(("langgraph", *at), "key", {"n": 1}), "The root label 'langgraph'")

    @check(needs="dotted_labels")
    def test_labels_with_a_dot(self, store: BaseStore, at: Namespace) -> None:
        """A label may hold a `.`, and `("a.b",)` is not `("a", "b")`."""
        store.put((*at, "ann@example.com"), "profile", {"n": 1})
        store.put((*at, "a.b"), "profile", {"n": 2})
        store.put((*at, "a", "b"), "profile", {"n": 3})
        expect(value_of(store, (*at, "ann@example.com"), "profile"), {"n": 1}, "The item")
        expect([item.value for item in store.search((*at, "a.b"))], [{"n": 2}], "Below the dotted label")
        expect([item.value for item in store.search((*at, "a"))], [{"n": 3}], "Below the plain label")

    @check(needs="asynchronous")
    async def test_async_put_get_delete(self, store: BaseStore, at: Namespace) -> None:
        """`aput`, `aget` and `adelete` do what their blocking twins do."""
        await store.aput(at, "profile", {"name": "Ann"})
        item = _found(await store.aget(at, "profile"))
        expect((item.value, item.key, tuple(item.namespace)), ({"name": "Ann"}, "profile", at), "The item")
        await store.aput(at, "profile", {"name": "Anna"})
        expect(_found(await store.aget(at, "profile")).value, {"name": "Anna"}, "The second value")
        await store.adelete(at, "profile")
        await store.adelete(at, "profile")
        expect(await store.aget(at, "profile"), None, "The deleted item")

    @check(needs="asynchronous")
    async def test_async_at_once(self, store: BaseStore, at: Namespace) -> None:
        """Fifty `aput` and `aget` at once all arrive."""
        await asyncio.gather(*(store.aput(at, f"key-{n}", {"n": n}) for n in range(50)))
        items = await asyncio.gather(*(store.aget(at, f"key-{n}") for n in range(50)))
        expect([_found(item).value["n"] for item in items], list(range(50)), "The values")
