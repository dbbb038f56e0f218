"""Time to live."""

from __future__ import annotations

from typing import Any, cast

from langgraph.store.base import BaseStore, PutOp, TTLConfig

from memoranda.testing.store_conformance.checks import Checks, Namespace, check, expect


def _explicit(minutes: float) -> TTLConfig:
    return TTLConfig(refresh_on_read=False, omit_expired=True)


def _default(minutes: float) -> TTLConfig:
    return TTLConfig(default_ttl=minutes, refresh_on_read=False, omit_expired=True)


def _renewed(minutes: float) -> TTLConfig:
    return TTLConfig(default_ttl=minutes, refresh_on_read=True, omit_expired=True)


class ExpiryChecks(Checks):
    """Checks of expiry. Where a store hides expired items only when told to, it is told to."""

    @check(needs="ttl", ttl=_explicit)
    async def test_expired_is_hidden(self, store: BaseStore, at: Namespace) -> None:
        """An expired item is gone from `get`, `search` and `list_namespaces`, swept or not."""
        minutes = self.short_ttl / 60
        store.put((*at, "short"), "key", {"n": 1}, ttl=minutes)
        store.put((*at, "long"), "key", {"n": 2}, ttl=60)
        store.put((*at, "never"), "key", {"n": 3}, ttl=None)
        store.batch([PutOp((*at, "batch"), "key", {"n": 4}, ttl=minutes)])
        expect(len(store.search(at)), 4, "The number of items before")
        await self.pause(self.short_ttl * 1.3)
        expect(store.get((*at, "short"), "key"), None, "The expired item")
        expect(sorted(item.value["n"] for item in store.search(at)), [2, 3], "The items left")
        listed = [tuple(namespace)[1:] for namespace in store.list_namespaces(prefix=at)]
        expect(sorted(listed), [("long",), ("never",)], "The namespaces left")

    @check(needs="ttl", ttl=_default)
    async def test_default_ttl(self, store: BaseStore, at: Namespace) -> None:
        """The store's default applies where `put` says nothing; `ttl=None` and a longer one override it."""
        store.put(at, "default", {"n": 1})
        store.put(at, "never", {"n": 2}, ttl=None)
        store.put(at, "long", {"n": 3}, ttl=60)
        await self.pause(self.short_ttl * 1.3)
        expect(sorted(item.key for item in store.search(at)), ["long", "never"], "The items left")

    @check(needs="ttl", ttl=_renewed)
    async def test_reading_renews(self, store: BaseStore, at: Namespace) -> None:
        """Reading restarts the time, by `get` and by `search`, where the store is configured so."""
        store.put(at, "get", {"n": 1})
        store.put(at, "alone", {"n": 1})
        store.put((*at, "searched"), "search", {"n": 1})
        for _ in range(3):
            await self.pause(self.short_ttl * 0.5)
            store.get(at, "get")
            store.search((*at, "searched"))
        expect(store.get(at, "get") is not None, True, "The item that was read is still there")
        expect(len(store.search((*at, "searched"))), 1, "The number of items left that were found")
        expect(store.get(at, "alone"), None, "The item that nobody read")

    @check(needs="ttl", ttl=_default)
    async def test_renewing_when_asked(self, store: BaseStore, at: Namespace) -> None:
        """`refresh_ttl=True` restarts the time where reading alone does not."""
        for key in ("renewed", "read"):
            store.put(at, key, {"n": 1})
        for _ in range(3):
            await self.pause(self.short_ttl * 0.5)
            store.get(at, "renewed", refresh_ttl=True)
            store.get(at, "read")
        found = [key for key in ("renewed", "read") if store.get(at, key) is not None]
        expect(found, ["renewed"], "The items left")

    @check(needs="ttl", ttl=_renewed)
    async def test_reading_without_renewing(self, store: BaseStore, at: Namespace) -> None:
        """`refresh_ttl=False` reads without restarting the time."""
        store.put(at, "key", {"n": 1})
        for _ in range(3):
            await self.pause(self.short_ttl * 0.45)
            store.get(at, "key", refresh_ttl=False)
            store.search(at, refresh_ttl=False)
        expect(store.get(at, "key", refresh_ttl=False), None, "The expired item")

    @check(needs="ttl", ttl=_explicit)
    async def test_put_sets_the_time_anew(self, store: BaseStore, at: Namespace) -> None:
        """A second `put` counts from anew; without a time to live it takes the old one away."""
        minutes = self.short_ttl / 60
        for key in ("renewed", "lifted", "left"):
            store.put(at, key, {"n": 1}, ttl=minutes)
        await self.pause(self.short_ttl * 0.6)
        store.put(at, "renewed", {"n": 2}, ttl=minutes)
        store.put(at, "lifted", {"n": 2})
        await self.pause(self.short_ttl * 0.6)
        expect(sorted(item.key for item in store.search(at)), ["lifted", "renewed"], "The items left")

    @check(needs="ttl", ttl=_explicit)
    async def test_put_after_expiry(self, store: BaseStore, at: Namespace) -> None:
        """A key that expired can be put again and is then a new item, swept or not."""
        store.put(at, "key", {"n": 1}, ttl=self.short_ttl / 60)
        first = store.get(at, "key")
        await self.pause(self.short_ttl * 1.3)
        store.put(at, "key", {"n": 2})
        second = store.get(at, "key")
        assert first is not None and second is not None
        expect(second.value, {"n": 2}, "The value")
        expect(second.created_at > first.created_at, True, "created_at is that of the new item")

    @check(needs="ttl", ttl=_explicit)
    async def test_sweeping(self, store: BaseStore, at: Namespace) -> None:
        """`sweep_ttl` removes what has expired and says how much."""
        sweep = cast("Any", getattr(store, "sweep_ttl", None))
        expect(callable(sweep), True, "sweep_ttl() exists")
        sweep()
        for n in range(5):
            store.put(at, f"key-{n}", {"n": n}, ttl=self.short_ttl / 60)
        store.put(at, "kept", {"n": 9})
        # A database's own clock may count whole seconds.
        await self.pause(self.short_ttl * 1.1 + 1)
        expect(sweep() >= 5, True, "At least five items were swept")
        expect([item.key for item in store.search(at)], ["kept"], "The items left")
