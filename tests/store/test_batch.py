"""Many operations in one call, and filters."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from memoranda import Author, MemoryStore, acting_as
from memoranda.errors import InvalidKeyError, InvalidValueError
from memoranda.store.namespaces import InvalidNamespaceError
from tests.store.conftest import Namespace, fresh


def test_reads_see_the_state_before(shared: MemoryStore, ns: Namespace) -> None:
    shared.put(ns, "a", {"n": 1})
    results = shared.batch(
        [
            PutOp(ns, "a", {"n": 2}),
            GetOp(ns, "a"),
            PutOp(ns, "b", {"n": 3}),
            SearchOp(ns),
            ListNamespacesOp((MatchCondition("prefix", ns),)),
            PutOp((*ns, "new"), "c", {"n": 4}),
            GetOp(ns, "b"),
        ]
    )
    assert results[0] is results[2] is results[5] is None
    assert results[1].value == {"n": 1}
    assert [item.value for item in results[3]] == [{"n": 1}]
    assert results[4] == [ns]
    assert results[6] is None
    assert {item.key: item.value["n"] for item in shared.search(ns)} == {"a": 2, "b": 3, "c": 4}


def test_only_the_last_put_of_a_key_makes_a_revision(shared: MemoryStore, ns: Namespace) -> None:
    with acting_as(Author("user:ann")):
        shared.batch([PutOp(ns, "a", {"n": n}) for n in range(5)])
    (entry,) = shared.history(ns, "a")
    assert entry.author.actor == "user:ann"
    assert shared.get(ns, "a").value == {"n": 4}
    shared.batch([PutOp(ns, "a", {"n": 9}), PutOp(ns, "a", None)])
    assert shared.get(ns, "a") is None
    shared.batch([PutOp(ns, "never", None)])
    assert shared.history(ns, "never") == []


def test_one_bad_write_leaves_nothing(shared: MemoryStore, ns: Namespace) -> None:
    for bad, error in (
        (PutOp(ns, "", {"n": 1}), InvalidKeyError),
        (PutOp((), "a", {"n": 1}), InvalidNamespaceError),
        (PutOp(ns, "a", {"n": float("nan")}), InvalidValueError),
        (PutOp(("langgraph",), "a", {"n": 1}), InvalidNamespaceError),
    ):
        with pytest.raises(error):
            shared.batch([PutOp(ns, "good", {"n": 1}), bad, PutOp((*ns, "more"), "good", {"n": 1})])
    assert shared.list_namespaces(prefix=ns) == []


def test_a_generator_of_operations(shared: MemoryStore, ns: Namespace) -> None:
    assert shared.batch(PutOp(ns, str(n), {"n": n}) for n in range(3)) == [None] * 3
    assert shared.batch([]) == []


def test_a_large_batch(shared: MemoryStore, ns: Namespace) -> None:
    shared.batch([PutOp((*ns, str(n % 20)), str(n), {"n": n}) for n in range(1_500)])
    results = shared.batch([GetOp((*ns, str(n % 20)), str(n)) for n in range(0, 1_500, 7)])
    assert [item.value["n"] for item in results] == list(range(0, 1_500, 7))
    assert len(shared.list_namespaces(prefix=ns)) == 20


async def test_abatch_is_the_same(shared: MemoryStore, ns: Namespace) -> None:
    await shared.abatch([PutOp(ns, "a", {"n": 1})])
    results = await shared.abatch([GetOp(ns, "a"), PutOp(ns, "a", {"n": 2}), SearchOp(ns)])
    assert results[0].value == {"n": 1} and results[1] is None and len(results[2]) == 1
    many = await asyncio.gather(*(shared.abatch([PutOp(ns, f"k{n}", {"n": n}), GetOp(ns, "a")]) for n in range(20)))
    assert all(item.value == {"n": 2} for _, item in many)
    assert len(await shared.asearch(ns, limit=50)) == 21


def test_search_keeps_its_order_while_items_are_rewritten(shared: MemoryStore, ns: Namespace) -> None:
    for n in range(20):
        shared.put(ns, f"key-{n}", {"n": n})
    first = shared.search(ns, limit=10)
    for n in (15, 3, 7):
        shared.put(ns, f"key-{n}", {"n": n, "again": True})
    second = shared.search(ns, limit=10, offset=10)
    assert [item.value["n"] for item in [*first, *second]] == list(range(20))


@settings(max_examples=15, deadline=None)
@given(
    values=st.lists(
        st.fixed_dictionaries({}, optional={"n": st.integers(0, 4), "t": st.sampled_from("ab")}), max_size=20
    ),
    condition=st.fixed_dictionaries(
        {},
        optional={
            "n": st.one_of(st.integers(0, 4), st.fixed_dictionaries({"$gte": st.integers(0, 4)})),
            "t": st.sampled_from("ab"),
        },
    ),
    limit=st.integers(1, 5),
)
def test_filtered_pages_are_the_whole(shared: MemoryStore, values: list[dict], condition: dict, limit: int) -> None:
    ns = fresh()
    shared.batch([PutOp((*ns, str(n % 3)), str(n), value | {"id": n}) for n, value in enumerate(values)])

    def holds(value: dict) -> bool:
        for name, wanted in condition.items():
            if isinstance(wanted, dict):
                if name not in value or value[name] < wanted["$gte"]:
                    return False
            elif value.get(name) != wanted:
                return False
        return True

    expected = sorted(((n % 3, n) for n, value in enumerate(values) if holds(value)))
    found: list[int] = []
    while page := shared.search(ns, filter=condition, limit=limit, offset=len(found)):
        found += [item.value["id"] for item in page]
    assert found == [n for _, n in expected]


def test_a_filter_looks_beyond_a_page_of_the_database(shared: MemoryStore, ns: Namespace) -> None:
    shared.batch([PutOp(ns, str(n), {"n": n, "rare": n % 400 == 399}) for n in range(1_250)])
    assert [item.value["n"] for item in shared.search(ns, filter={"rare": True})] == [399, 799, 1199]
    assert [item.value["n"] for item in shared.search(ns, filter={"rare": True}, limit=1, offset=2)] == [1199]
    assert [item.value["n"] for item in shared.search(ns, filter={"n": {"$gte": 1_245}})] == list(range(1_245, 1_250))


def test_odd_limits(shared: MemoryStore, ns: Namespace) -> None:
    shared.put(ns, "a", {"n": 1})
    for window in ({"limit": 0}, {"limit": -1}, {"offset": 10}):
        assert shared.search(ns, **window) == []
        assert shared.list_namespaces(prefix=ns, **window) == []
    assert len(shared.search(ns, limit=10**9)) == 1
    assert len(shared.search(ns, offset=-5)) == 1
    assert shared.list_namespaces(prefix=ns, max_depth=0) in ([], [()])
