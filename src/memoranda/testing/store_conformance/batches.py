"""Many operations in one call."""

from __future__ import annotations

from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchOp,
)

from memoranda.testing.store_conformance.checks import Checks, Namespace, check, expect, value_of


def _mixed(at: Namespace) -> list[Op]:
    return [
        GetOp(at, "one"),
        PutOp(at, "three", {"n": 3}),
        SearchOp(at, limit=10),
        PutOp(at, "one", {"n": 10}),
        ListNamespacesOp((MatchCondition("prefix", at),)),
        GetOp(at, "missing"),
        GetOp(at, "two"),
    ]


def _check_mixed(results: list[Result]) -> None:
    first, put, found, again, namespaces, missing, last = results
    values: list[Any] = [getattr(first, "value", None), getattr(last, "value", None)]
    expect(values, [{"n": 1}, {"n": 2}], "The two gets, which come before the writes")
    expect((put, again, missing), (None, None, None), "Results of puts and of a missing item")
    expect({item.key for item in found or () if not isinstance(item, tuple)}, {"one", "two"}, "The search")  # type: ignore[union-attr]
    expect(len(list(namespaces or ())), 1, "The number of namespaces")  # type: ignore[arg-type]


class BatchChecks(Checks):
    """Checks of `batch` and `abatch`."""

    @check()
    def test_batch_keeps_the_order(self, store: BaseStore, at: Namespace) -> None:
        """Results of a batch come in the order of its operations."""
        for n in range(20):
            store.put(at, f"key-{n}", {"n": n})
        wanted = [(n * 7) % 20 for n in range(20)]
        results = store.batch([GetOp(at, f"key-{n}") for n in wanted])
        expect([getattr(item, "value", {}).get("n") for item in results], wanted, "The values")

    @check()
    def test_batch_mixed(self, store: BaseStore, at: Namespace) -> None:
        """A batch may mix get, put, search and list_namespaces; its reads see the state before its writes."""
        store.put(at, "one", {"n": 1})
        store.put(at, "two", {"n": 2})
        _check_mixed(store.batch(_mixed(at)))
        expect(value_of(store, at, "one"), {"n": 10}, "The item written by the batch")
        expect(value_of(store, at, "three"), {"n": 3}, "The item made by the batch")

    @check(needs="asynchronous")
    async def test_abatch_mixed(self, store: BaseStore, at: Namespace) -> None:
        """`abatch` does what `batch` does."""
        await store.abatch([PutOp(at, "one", {"n": 1}), PutOp(at, "two", {"n": 2})])
        _check_mixed(await store.abatch(_mixed(at)))
        item = await store.aget(at, "three")
        expect(getattr(item, "value", None), {"n": 3}, "The item made by the batch")

    @check()
    def test_last_put_wins(self, store: BaseStore, at: Namespace) -> None:
        """Of several puts of one key in a batch the last one counts."""
        store.batch([PutOp(at, "key", {"n": n}) for n in range(3)])
        expect(value_of(store, at, "key"), {"n": 2}, "The value")
        store.batch([PutOp(at, "key", {"n": 9}), PutOp(at, "key", None)])
        expect(store.get(at, "key"), None, "After a put and a delete")
        store.batch([PutOp(at, "key", None), PutOp(at, "key", {"n": 10})])
        expect(value_of(store, at, "key"), {"n": 10}, "After a delete and a put")

    @check()
    def test_put_of_none_deletes(self, store: BaseStore, at: Namespace) -> None:
        """`PutOp` with None deletes the item."""
        store.put(at, "key", {"n": 1})
        expect(store.batch([PutOp(at, "key", None)]), [None], "The result")
        expect(store.get(at, "key"), None, "The deleted item")

    @check()
    def test_batch_over_namespaces(self, store: BaseStore, at: Namespace) -> None:
        """One batch may read and write many namespaces."""
        store.batch([PutOp((*at, f"user-{n}"), "profile", {"n": n}) for n in range(10)])
        results = store.batch([GetOp((*at, f"user-{n}"), "profile") for n in reversed(range(10))])
        expect([getattr(item, "value", {}).get("n") for item in results], list(reversed(range(10))), "The values")

    @check()
    def test_same_get_twice(self, store: BaseStore, at: Namespace) -> None:
        """A batch may ask for one item twice, and for a missing one between."""
        store.put(at, "key", {"n": 1})
        results = store.batch([GetOp(at, "key"), GetOp(at, "missing"), GetOp(at, "key")])
        expect([getattr(item, "value", None) for item in results], [{"n": 1}, None, {"n": 1}], "The results")

    @check()
    def test_several_searches(self, store: BaseStore, at: Namespace) -> None:
        """Several searches in one batch keep their own prefixes, limits and filters."""
        store.batch([PutOp((*at, "a"), f"k{n}", {"n": n}) for n in range(5)])
        store.batch([PutOp((*at, "b"), f"k{n}", {"n": n}) for n in range(3)])
        results = store.batch([SearchOp((*at, "a"), limit=2), SearchOp((*at, "b")), SearchOp(at, {"n": 1}, limit=10)])
        expect([len(list(found or ())) for found in results], [2, 3, 2], "The numbers of items")  # type: ignore[arg-type]

    @check()
    def test_empty_batch(self, store: BaseStore, at: Namespace) -> None:
        """An empty batch gives an empty list."""
        expect(store.batch([]), [], "The result")
