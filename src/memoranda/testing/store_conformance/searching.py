"""`search` without a query: prefixes, pages and exact scopes."""

from __future__ import annotations

from langgraph.store.base import BaseStore, PutOp

from memoranda.testing.store_conformance.checks import (
    Checks,
    Namespace,
    check,
    expect,
    places,
    value_of,
)

_APART: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("a label that begins another", "acme", ("acme-corp", "acme corp", "acmecorp", "acme2")),
    ("an underscore, LIKE's any character", "john_doe", ("john-doe", "johnXdoe", "john__doe")),
    ("a percent sign, LIKE's anything", "100%", ("100", "1000", "100 percent")),
    ("a lone percent sign", "%", ("anything", "%%")),
    ("a backslash, LIKE's escape", "a\\b", ("ab", "a\\\\b", "a%b")),
    ("a star, GLOB's anything", "no*", ("note", "no", "no**")),
    ("a question mark, GLOB's any character", "wh?", ("who", "wh", "wh??")),
    ("brackets, GLOB's character class", "[ab]", ("a", "b", "[ab")),
    ("quotes", 'O\'Brien "x"', ("OBrien x", "O''Brien \"x\"")),
    ("a colon and a slash", "a:b/c", ("a", "a:b", "a:b/c/d")),
    ("upper and lower case", "Ann", ("ann", "ANN")),
    ("Chinese and emoji", "记忆🙂", ("记", "记忆", "记忆🙂🙂")),
    ("a composed character", "caf\u00e9", ("cafe\u0301", "cafe")),
    ("a decomposed character", "cafe\u0301", ("caf\u00e9", "cafe")),
    ("leading and trailing space", " a ", ("a", " a", "a ")),
    ("200 characters", "x" * 200, ("x" * 199, "x" * 201)),
)


class SearchChecks(Checks):
    """Checks of `search`."""

    @check()
    def test_search_is_by_prefix(self, store: BaseStore, at: Namespace) -> None:
        """`search` finds the items of the namespace and of all below it, and no others."""
        store.put(at, "top", {"n": 0})
        store.put((*at, "a"), "one", {"n": 1})
        store.put((*at, "a", "b"), "two", {"n": 2})
        store.put((*at, "c"), "three", {"n": 3})
        expect(
            places(store.search((*at, "a"))),
            {((*at, "a"), "one"), ((*at, "a", "b"), "two")},
            "Below the prefix",
        )
        expect(len(store.search(at)), 4, "The number of items in all")
        expect(store.search((*at, "b")), [], "Below a label that is only deeper down")

    @check()
    def test_search_items_are_complete(self, store: BaseStore, at: Namespace) -> None:
        """A found item has its value, key, namespace and times, and no score without a query."""
        store.put(at, "profile", {"name": "Ann"})
        (found,), item = store.search(at), store.get(at, "profile")
        assert item is not None
        expect((found.value, found.key), ({"name": "Ann"}, "profile"), "The item")
        expect(tuple(found.namespace), at, "Its namespace")
        expect((found.created_at, found.updated_at), (item.created_at, item.updated_at), "Its times")
        expect(found.score, None, "Its score")

    @check()
    def test_search_default_limit(self, store: BaseStore, at: Namespace) -> None:
        """Without a limit at most ten items come back."""
        store.batch([PutOp(at, f"key-{n:02}", {"n": n}) for n in range(15)])
        expect(len(store.search(at)), 10, "The number of items")

    @check()
    def test_search_in_pages(self, store: BaseStore, at: Namespace) -> None:
        """`limit` and `offset` page through 250 items, each exactly once."""
        store.batch([PutOp((*at, f"ns-{n % 7}"), f"key-{n}", {"n": n}) for n in range(250)])
        found: list[int] = []
        for offset in range(0, 280, 40):
            found += [item.value["n"] for item in store.search(at, limit=40, offset=offset)]
        expect(len(found), 250, "The number of items in all pages")
        expect(len(set(found)) == 250, True, "No item is in two pages while another is in none")

    @check()
    def test_search_beyond_the_end(self, store: BaseStore, at: Namespace) -> None:
        """An offset beyond the end gives nothing; a limit beyond the end gives what there is."""
        store.put(at, "key", {"n": 1})
        expect(store.search(at, offset=5), [], "Beyond the end")
        expect(len(store.search(at, limit=1_000)), 1, "With a large limit")

    @check()
    def test_empty_prefix(self, store: BaseStore, at: Namespace) -> None:
        """`search(())` spans every namespace."""
        store.put((*at, "a"), "one", {"mark": at[0]})
        store.put((*at, "b", "c"), "two", {"mark": at[0]})
        found = store.search((), filter={"mark": at[0]})
        expect(places(found), {((*at, "a"), "one"), ((*at, "b", "c"), "two")}, "The items of this check")

    @check(needs="asynchronous")
    async def test_async_search(self, store: BaseStore, at: Namespace) -> None:
        """`asearch` does what `search` does, filter and pages included."""
        await store.abatch([PutOp(at, f"key-{n}", {"n": n, "even": n % 2 == 0}) for n in range(12)])
        found = await store.asearch(at, filter={"even": True}, limit=4, offset=1)
        expect(len(found), 4, "The number of items")
        expect(all(item.value["even"] for item in found), True, "The filter holds")

    @check()
    def test_labels_are_whole(self, store: BaseStore, at: Namespace) -> None:
        """`search` matches whole labels, whatever characters they hold."""
        for what, label, others in _APART:
            base = (*at, f"case {what}")
            for other in (label, *others):
                store.put((*base, other, "deep"), "key", {"label": other})
            found = [item.value["label"] for item in store.search((*base, label), limit=50)]
            expect(found, [label], f"With {what}")

    @check()
    def test_listed_labels_are_whole(self, store: BaseStore, at: Namespace) -> None:
        """`list_namespaces` matches whole labels in prefix and suffix."""
        for what, label, others in _APART:
            base = (*at, f"case {what}")
            for other in (label, *others):
                store.put((*base, other), "key", {"n": 1})
            found = store.list_namespaces(prefix=(*base, label))
            expect([tuple(namespace)[2:] for namespace in found], [(label,)], f"By prefix, with {what}")
            found = store.list_namespaces(prefix=base, suffix=(label,))
            expect([tuple(namespace)[2:] for namespace in found], [(label,)], f"By suffix, with {what}")

    @check()
    def test_labels_do_not_run_together(self, store: BaseStore, at: Namespace) -> None:
        """`("a", "b")` is neither `("ab",)` nor `("a", "b", "c")` nor any other way to cut the same text."""
        paths: list[Namespace] = [("a", "b"), ("ab",), ("a:b",), ("a/b",), ("a|b",), ("a,b",), ("a", "b", "c")]
        for path in paths:
            store.put((*at, *path), "key", {"path": list(path)})
        for path in paths:
            expect(value_of(store, (*at, *path), "key"), {"path": list(path)}, f"The item of {path}")
        found = store.search((*at, "a", "b"), limit=50)
        expect(
            places(found),
            {((*at, "a", "b"), "key"), ((*at, "a", "b", "c"), "key")},
            'Below ("a", "b")',
        )

    @check()
    def test_control_characters_in_labels(self, store: BaseStore, at: Namespace) -> None:
        """A label with odd characters is refused, or kept apart from its neighbours exactly."""
        labels = ["a", "a\x01", "a\x01b", "a\x02", "\x01", "\x02", "a\x1f", "a\nb", "a\tb", "a\x7f", "a\x00b", "a\x00"]
        kept: list[str] = []
        for label in labels:
            try:
                store.put((*at, label), "key", {"label": label.encode().hex()})
            except Exception:  # noqa: BLE001 - any refusal will do
                continue
            kept.append(label)
        for label in kept:
            found = [item.value["label"] for item in store.search((*at, label), limit=50)]
            expect(found, [label.encode().hex()], f"Below {label!r}")
        listed = {tuple(namespace) for namespace in store.list_namespaces(prefix=at)}
        expect(listed, {(*at, label) for label in kept}, "The namespaces listed")
