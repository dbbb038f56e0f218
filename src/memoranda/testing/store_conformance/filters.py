"""Filters: equality, comparison, nesting, lists and missing fields."""

from __future__ import annotations

from typing import Any

from langgraph.store.base import BaseStore, PutOp

from memoranda.testing.store_conformance.checks import (
    Checks,
    Namespace,
    check,
    expect,
    expect_refused,
)

_ITEMS: dict[str, dict[str, Any]] = {
    "red": {"color": "red", "size": 9, "price": 1.5, "tags": ["a", "b"], "ok": True, "day": "2024-01-09"},
    "green": {"color": "green", "size": 10, "price": 20.25, "tags": ["a"], "ok": False, "day": "2024-01-10"},
    "blue": {"color": "blue", "size": 100, "price": -3, "tags": [], "ok": True, "day": "2023-12-31"},
    "deep": {"color": {"name": "red", "rgb": {"r": 255, "g": 0}}, "size": 1, "price": 1, "day": "2020-02-29"},
}
_INCOMPLETE: dict[str, dict[str, Any]] = {"bare": {"other": 1, "note": None}}


def _fill(store: BaseStore, at: Namespace) -> None:
    store.batch([PutOp(at, key, value) for key, value in _ITEMS.items()])


def _fill_more(store: BaseStore, at: Namespace) -> None:
    store.batch([PutOp(at, key, value) for key, value in (_ITEMS | _INCOMPLETE).items()])


def _found(store: BaseStore, at: Namespace, condition: dict[str, Any]) -> set[str]:
    return {item.key for item in store.search(at, filter=condition, limit=50)}


def _check(store: BaseStore, at: Namespace, *cases: tuple[dict[str, Any], set[str]]) -> None:
    _fill(store, at)
    _check_found(store, at, *cases)


def _check_found(store: BaseStore, at: Namespace, *cases: tuple[dict[str, Any], set[str]]) -> None:
    for condition, wanted in cases:
        expect(_found(store, at, condition), wanted, f"With {condition}")


class FilterChecks(Checks):
    """Checks of `search(filter=…)`."""

    @check()
    def test_filter_equal(self, store: BaseStore, at: Namespace) -> None:
        """A plain value asks for equality."""
        _check(store, at, ({"color": "red"}, {"red"}), ({"size": 10}, {"green"}), ({"color": "violet"}, set()))

    @check()
    def test_filter_several_fields(self, store: BaseStore, at: Namespace) -> None:
        """Several fields must all hold."""
        _check(store, at, ({"ok": True, "size": 9}, {"red"}), ({"ok": True, "color": "green"}, set()))

    @check()
    def test_filter_eq_ne(self, store: BaseStore, at: Namespace) -> None:
        """`$eq` and `$ne` compare for equality."""
        _check(store, at, ({"size": {"$eq": 9}}, {"red"}))
        expect(_found(store, at, {"size": {"$ne": 9}}) >= {"green", "blue", "deep"}, True, "$ne finds the others")
        expect("red" in _found(store, at, {"size": {"$ne": 9}}), False, "$ne finds the equal one")

    @check()
    def test_filter_compares_numbers(self, store: BaseStore, at: Namespace) -> None:
        """`$gt`, `$gte`, `$lt` and `$lte` compare numbers as numbers: 9 is less than 10 and 100."""
        _check(
            store,
            at,
            ({"size": {"$gt": 9}}, {"green", "blue"}),
            ({"size": {"$gte": 10}}, {"green", "blue"}),
            ({"size": {"$lt": 10}}, {"red", "deep"}),
            ({"size": {"$lte": 10}}, {"red", "green", "deep"}),
        )

    @check()
    def test_filter_compares_fractions(self, store: BaseStore, at: Namespace) -> None:
        """Fractions and negative numbers compare as numbers too."""
        _check(
            store,
            at,
            ({"price": {"$gt": 1.25}}, {"red", "green"}),
            ({"price": {"$lt": 0}}, {"blue"}),
            ({"price": {"$gte": 20.25}}, {"green"}),
        )

    @check()
    def test_filter_range(self, store: BaseStore, at: Namespace) -> None:
        """Two operators on one field make a range."""
        _check(store, at, ({"size": {"$gt": 1, "$lt": 100}}, {"red", "green"}))

    @check()
    def test_filter_compares_strings(self, store: BaseStore, at: Namespace) -> None:
        """Strings compare as strings, so ISO dates work."""
        _check(
            store,
            at,
            ({"day": {"$gte": "2024-01-01"}}, {"red", "green"}),
            ({"day": {"$lt": "2024-01-10", "$gt": "2023-12-31"}}, {"red"}),
        )

    @check()
    def test_filter_nested(self, store: BaseStore, at: Namespace) -> None:
        """A nested object matches field by field; fields it does not name do not matter."""
        _check(
            store,
            at,
            ({"color": {"name": "red"}}, {"deep"}),
            ({"color": {"rgb": {"r": 255}}}, {"deep"}),
            ({"color": {"rgb": {"r": 0}}}, set()),
        )

    @check()
    def test_filter_operator_in_nested(self, store: BaseStore, at: Namespace) -> None:
        """Operators work inside a nested object."""
        _check(store, at, ({"color": {"rgb": {"r": {"$gt": 200}}}}, {"deep"}))

    @check()
    def test_filter_list(self, store: BaseStore, at: Namespace) -> None:
        """A list matches the same list, element by element, and no longer one."""
        _check(
            store,
            at,
            ({"tags": ["a"]}, {"green"}),
            ({"tags": ["a", "b"]}, {"red"}),
            ({"tags": ["b", "a"]}, set()),
            ({"tags": []}, {"blue"}),
        )

    @check()
    def test_filter_booleans(self, store: BaseStore, at: Namespace) -> None:
        """Booleans match booleans."""
        _check(store, at, ({"ok": True}, {"red", "blue"}), ({"ok": False}, {"green"}))

    @check()
    def test_filter_true_is_not_one(self, store: BaseStore, at: Namespace) -> None:
        """`True` is not 1, as in JSON."""
        store.put(at, "number", {"ok": 1})
        _check(store, at, ({"ok": 1}, {"number"}), ({"ok": True}, {"red", "blue"}))

    @check()
    def test_filter_missing_field(self, store: BaseStore, at: Namespace) -> None:
        """An item without the field is not equal to anything."""
        _fill_more(store, at)
        _check_found(store, at, ({"nowhere": 1}, set()), ({"size": 9}, {"red"}))

    @check()
    def test_filter_missing_field_has_no_order(self, store: BaseStore, at: Namespace) -> None:
        """An item without the field is neither greater nor less."""
        _fill_more(store, at)
        _check_found(store, at, ({"nowhere": {"$gt": 0}}, set()), ({"size": {"$lte": 9}}, {"red", "deep"}))

    @check()
    def test_filter_missing_field_differs(self, store: BaseStore, at: Namespace) -> None:
        """`$ne` holds for an item without the field."""
        _fill_more(store, at)
        _check_found(store, at, ({"size": {"$ne": 9}}, {"green", "blue", "deep", "bare"}))

    @check()
    def test_filter_null(self, store: BaseStore, at: Namespace) -> None:
        """A field that is null is found by None."""
        _fill_more(store, at)
        expect("bare" in _found(store, at, {"note": None}), True, "The item with a null is found")

    @check()
    def test_filter_in_pages(self, store: BaseStore, at: Namespace) -> None:
        """`limit` and `offset` count the items that match."""
        store.batch([PutOp(at, f"key-{n:02}", {"n": n, "third": n % 3}) for n in range(30)])
        pages = [store.search(at, filter={"third": 0}, limit=4, offset=offset) for offset in (0, 4, 8)]
        expect([len(page) for page in pages], [4, 4, 2], "The sizes of the pages")
        found = sorted(item.value["n"] for page in pages for item in page)
        expect(found, list(range(0, 30, 3)), "The items of all pages")

    @check()
    def test_filter_odd_field_names(self, store: BaseStore, at: Namespace) -> None:
        """Field names and values may hold quotes, dots, spaces, percent signs and any script."""
        names = ["a.b", "it's", 'say "x"', "100%", "the name", "名前", "$.x", "a[0]", "--", "ключ"]
        for number, name in enumerate(names):
            store.put(at, f"key-{number}", {name: f"value of {name}"})
        for number, name in enumerate(names):
            expect(_found(store, at, {name: f"value of {name}"}), {f"key-{number}"}, f"By the field {name!r}")

    @check()
    def test_filter_unknown_operator_is_refused(self, store: BaseStore, at: Namespace) -> None:
        """An operator that nobody knows is refused instead of ignored."""
        _fill(store, at)
        expect_refused(lambda: store.search(at, filter={"size": {"$almost": 9}}), "The operator '$almost'")
