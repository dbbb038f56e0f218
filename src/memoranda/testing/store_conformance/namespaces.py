"""`list_namespaces`: prefixes, suffixes, wildcards, depth and pages."""

from __future__ import annotations

from langgraph.store.base import BaseStore

from memoranda.testing.store_conformance.checks import Checks, Namespace, check, expect

_PATHS: tuple[Namespace, ...] = (
    ("a", "b", "c"),
    ("a", "b", "d", "e"),
    ("a", "b", "d", "i"),
    ("a", "b", "f"),
    ("a", "c", "f"),
    ("b", "a", "f"),
    ("users", "ann", "notes"),
    ("users", "bob", "notes"),
    ("users", "bob", "facts"),
)


def _fill(store: BaseStore, at: Namespace) -> None:
    for path in _PATHS:
        store.put((*at, *path), "item", {"n": 1})


def _below(at: Namespace, found: list[Namespace]) -> list[Namespace]:
    """What was found, less the labels that make it this check's own."""
    foreign = [namespace for namespace in found if tuple(namespace)[:1] != at]
    expect(foreign, [], "Namespaces of others")
    return [tuple(namespace)[1:] for namespace in found]


class NamespaceChecks(Checks):
    """Checks of `list_namespaces`."""

    @check()
    def test_namespaces_by_prefix(self, store: BaseStore, at: Namespace) -> None:
        """`prefix` keeps the namespaces that start with it, the prefix itself included."""
        _fill(store, at)
        store.put((*at, "a", "b"), "item", {"n": 1})
        found = _below(at, store.list_namespaces(prefix=(*at, "a", "b")))
        wanted = {("a", "b"), *(path for path in _PATHS if path[:2] == ("a", "b"))}
        expect(set(found), wanted, "Below the prefix")
        expect(len(found), len(wanted), "The number of results")

    @check()
    def test_namespaces_by_suffix(self, store: BaseStore, at: Namespace) -> None:
        """`suffix` keeps the namespaces that end with it."""
        _fill(store, at)
        found = _below(at, store.list_namespaces(prefix=at, suffix=("f",)))
        expect(set(found), {path for path in _PATHS if path[-1] == "f"}, "With the suffix f")
        found = _below(at, store.list_namespaces(prefix=at, suffix=("d", "i")))
        expect(found, [("a", "b", "d", "i")], "With a suffix of two labels")

    @check()
    def test_namespaces_by_both(self, store: BaseStore, at: Namespace) -> None:
        """`prefix` and `suffix` together must both hold."""
        _fill(store, at)
        found = _below(at, store.list_namespaces(prefix=(*at, "a"), suffix=("f",)))
        expect(set(found), {("a", "b", "f"), ("a", "c", "f")}, "With both")

    @check()
    def test_wildcard_in_prefix(self, store: BaseStore, at: Namespace) -> None:
        """`*` in a prefix stands for exactly one label, whichever."""
        _fill(store, at)
        found = _below(at, store.list_namespaces(prefix=(*at, "users", "*", "notes")))
        expect(set(found), {("users", "ann", "notes"), ("users", "bob", "notes")}, "With a wildcard within")
        found = _below(at, store.list_namespaces(prefix=(*at, "a", "*", "*", "*")))
        expect(set(found), {("a", "b", "d", "e"), ("a", "b", "d", "i")}, "With three wildcards at the end")

    @check()
    def test_wildcard_in_suffix(self, store: BaseStore, at: Namespace) -> None:
        """`*` in a suffix stands for exactly one label, whichever."""
        _fill(store, at)
        found = _below(at, store.list_namespaces(prefix=at, suffix=("b", "*")))
        expect(set(found), {("a", "b", "c"), ("a", "b", "f")}, "With a wildcard at the end")
        found = _below(at, store.list_namespaces(prefix=at, suffix=("*", "notes")))
        expect(set(found), {("users", "ann", "notes"), ("users", "bob", "notes")}, "With one in front")

    @check()
    def test_max_depth(self, store: BaseStore, at: Namespace) -> None:
        """`max_depth` cuts namespaces short and gives each result once."""
        _fill(store, at)
        found = _below(at, store.list_namespaces(prefix=(*at, "a", "b"), max_depth=4))
        expect(sorted(found), [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")], "Cut at depth 4")
        found = _below(at, store.list_namespaces(prefix=at, max_depth=2))
        expect(sorted(found), [("a",), ("b",), ("users",)], "Cut at depth 2")

    @check()
    def test_max_depth_with_suffix(self, store: BaseStore, at: Namespace) -> None:
        """A suffix is matched against the whole namespace, before `max_depth` cuts it."""
        _fill(store, at)
        found = _below(at, store.list_namespaces(prefix=at, suffix=("notes",), max_depth=2))
        expect(found, [("users",)], "Cut at depth 2")

    @check()
    def test_namespaces_in_pages(self, store: BaseStore, at: Namespace) -> None:
        """`limit` and `offset` page through all of them, each once."""
        _fill(store, at)
        pages = [store.list_namespaces(prefix=at, limit=4, offset=offset) for offset in (0, 4, 8, 12)]
        expect([len(page) for page in pages], [4, 4, 1, 0], "The sizes of the pages")
        together = [namespace for page in pages for namespace in _below(at, page)]
        expect(sorted(together), sorted(_PATHS), "All pages together")

    @check()
    def test_depth_in_pages(self, store: BaseStore, at: Namespace) -> None:
        """Pages count results after `max_depth` has cut them."""
        _fill(store, at)
        pages = [store.list_namespaces(prefix=at, max_depth=2, limit=2, offset=n) for n in (0, 2)]
        found = [namespace for page in pages for namespace in _below(at, page)]
        expect(sorted(found), [("a",), ("b",), ("users",)], "Both pages together")

    @check()
    def test_namespaces_are_sorted(self, store: BaseStore, at: Namespace) -> None:
        """Namespaces come sorted by label."""
        labels = ["b", "a-b", "a"]
        for label in labels:
            store.put((*at, label), "item", {"n": 1})
            store.put((*at, label, "deep"), "item", {"n": 1})
        wanted = sorted([(label,) for label in labels] + [(label, "deep") for label in labels])
        expect(_below(at, store.list_namespaces(prefix=at)), wanted, "The order")

    @check()
    def test_emptied_namespace_is_gone(self, store: BaseStore, at: Namespace) -> None:
        """A namespace whose last item is deleted, or that was only read, is not listed."""
        store.put((*at, "kept"), "item", {"n": 1})
        store.put((*at, "emptied"), "item", {"n": 1})
        store.delete((*at, "emptied"), "item")
        store.get((*at, "read"), "item")
        expect(_below(at, store.list_namespaces(prefix=at)), [("kept",)], "What is listed")

    @check()
    def test_no_match(self, store: BaseStore, at: Namespace) -> None:
        """A prefix or suffix that fits nothing gives an empty list; so does one longer than the namespace."""
        store.put((*at, "a"), "item", {"n": 1})
        expect(store.list_namespaces(prefix=(*at, "x")), [], "An unknown prefix")
        expect(store.list_namespaces(prefix=at, suffix=("x",)), [], "An unknown suffix")
        expect(store.list_namespaces(prefix=(*at, "a", "a")), [], "A prefix that is too long")
        expect(store.list_namespaces(prefix=at, suffix=("a", *at, "a")), [], "A suffix that is too long")

    @check()
    def test_all_namespaces(self, store: BaseStore, at: Namespace) -> None:
        """Without conditions all namespaces are listed."""
        _fill(store, at)
        found: list[Namespace] = []
        while page := store.list_namespaces(limit=500, offset=len(found)):
            found += page
        mine = [tuple(namespace)[1:] for namespace in found if tuple(namespace)[:1] == at]
        expect(sorted(mine), sorted(_PATHS), "The namespaces of this check among all")

    @check(needs="asynchronous")
    async def test_async_namespaces(self, store: BaseStore, at: Namespace) -> None:
        """`alist_namespaces` does what `list_namespaces` does."""
        for path in _PATHS:
            await store.aput((*at, *path), "item", {"n": 1})
        found = _below(at, await store.alist_namespaces(prefix=(*at, "a"), suffix=("f",)))
        expect(set(found), {("a", "b", "f"), ("a", "c", "f")}, "With both")
        found = _below(at, await store.alist_namespaces(prefix=at, max_depth=2, limit=2))
        expect(len(found), 2, "The number of results within the limit")
