"""A scope is exact: no call ever shows, or touches, a row of another namespace."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import PutOp

from memoranda import MemoryStore
from tests.store.conftest import Namespace, fresh

HARD = [
    "acme",
    "acme-corp",
    "acme.corp",
    "acme corp",
    "Acme",
    "john_doe",
    "john-doe",
    "johnXdoe",
    "%",
    "%%",
    "_",
    ".",
    "..",
    ":",
    "\\",
    "\\\\",
    "\\%",
    "*",
    "**",
    "?",
    "[",
    "[a]",
    "a",
    "b",
    "ab",
    "'",
    "''",
    '"',
    "`",
    ";--",
    "/",
    "a/b",
    "🙂",
    "👩‍👩‍👧",
    "记忆",
    "记",
    "caf\u00e9",
    "cafe\u0301",
    "\x01",
    "\x02",
    "\x01\x02",
    "\x02\x02",
    "\x02\x03",
    "a\x01",
    "a\x01b",
    "a\x02b",
    "\x03",
    " ",
    "\n",
    "\u200b",
    "\ufeff",
    "\U0010ffff",
    "x" * 200,
    "x" * 199 + "y",
    "{}",
    "$1",
    "NULL",
    "0",
    "00",
]
labels = st.one_of(
    st.sampled_from(HARD),
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=6),
)
scopes = st.lists(labels, min_size=1, max_size=3).map(tuple)


def fill(store: MemoryStore, namespaces: Iterable[Namespace], root: Namespace) -> dict[Namespace, str]:
    """Give every namespace the same keys, each with a text that names its owner."""
    owners = {(*root, *namespace): f"owner {number}" for number, namespace in enumerate(sorted(namespaces))}
    store.batch(
        [
            PutOp(namespace, key, {"content": f"{owner}\n", "encoding": "utf-8", "owner": owner})
            for namespace, owner in owners.items()
            for key in ("/notes/a.md", "name")
        ]
    )
    return owners


def starts(namespace: Namespace, prefix: Namespace) -> bool:
    """LangGraph's rule: label by label, where a star stands for any one label."""
    return len(prefix) <= len(namespace) and all(w in ("*", h) for w, h in zip(prefix, namespace, strict=False))


@settings(max_examples=25, deadline=None)
@given(namespaces=st.sets(scopes, min_size=2, max_size=7))
def test_no_read_shows_a_foreign_row(shared: MemoryStore, namespaces: set[Namespace]) -> None:
    root = fresh()
    owners = fill(shared, namespaces, root)
    everywhere = sorted(owners)
    assert shared.list_namespaces(prefix=root) == everywhere
    for namespace, owner in owners.items():
        assert shared.get(namespace, "name").value["owner"] == owner
        found = shared.search(namespace, limit=100)
        below = [other for other in everywhere if other[: len(namespace)] == namespace]
        assert [item.namespace for item in found] == [other for other in below for _ in range(2)]
        assert all(owners[item.namespace] == item.value["owner"] for item in found)
        assert shared.search(namespace, filter={"owner": owner})[0].namespace == namespace
        assert [entry.key for entry in shared.list_keys(namespace, "")] == ["name", "/notes/a.md"]
        assert [entry.key for entry in shared.list_keys(namespace)] == ["/notes/"]
        assert [entry.key for entry in shared.glob(namespace, "**/*.md")] == ["/notes/a.md"]
        assert {match.text for match in shared.grep(namespace, "owner", "").matches} == {owner}
        assert {change.namespace for change in shared.changes(namespace=namespace)} == {namespace}
        assert len(shared.changes(namespace=namespace)) == 2
        assert [entry.namespace for entry in shared.history(namespace, "name")] == [namespace]
        assert [head.namespace for head in shared.verify(namespace).namespaces] == below
        wild = [other for other in everywhere if starts(other, namespace)]
        assert shared.list_namespaces(prefix=namespace) == wild
        for length in range(1, len(namespace)):
            suffix = namespace[-length:]
            ending = [other for other in everywhere if starts(other[::-1], suffix[::-1])]
            assert shared.list_namespaces(prefix=root, suffix=suffix) == ending
    for depth in (1, 2, 3):
        cut = sorted({namespace[:depth] for namespace in everywhere})
        assert shared.list_namespaces(prefix=root, max_depth=depth) == cut


@settings(max_examples=20, deadline=None)
@given(namespaces=st.sets(scopes, min_size=2, max_size=5), data=st.data())
def test_no_change_touches_a_foreign_row(shared: MemoryStore, namespaces: set[Namespace], data: st.DataObject) -> None:
    root = fresh()
    owners = fill(shared, namespaces, root)
    chosen = data.draw(st.sampled_from(sorted(owners)), label="chosen")
    before = {head.namespace: head.digest for head in shared.verify(root).namespaces}
    shared.edit(chosen, "/notes/a.md", "owner", "changed")
    shared.move(chosen, "/notes", "/moved")
    shared.delete_prefix(chosen, "/")
    shared.delete(chosen, "name")
    assert [namespace for namespace in sorted(owners) if namespace != chosen] == shared.list_namespaces(prefix=root)
    report = shared.verify(root)
    assert report.ok
    after = {head.namespace: head.digest for head in report.namespaces}
    assert {namespace for namespace in after if after[namespace] != before.get(namespace)} == {chosen}


def test_all_hard_labels_side_by_side(shared: MemoryStore) -> None:
    root = fresh()
    owners = fill(shared, {(label,) for label in HARD}, root)
    assert len(owners) == len(HARD)
    for namespace, owner in owners.items():
        assert {item.value["owner"] for item in shared.search(namespace, limit=1_000)} == {owner}
        if namespace[-1] != "*":
            assert shared.list_namespaces(prefix=namespace) == [namespace]
            assert shared.list_namespaces(prefix=root, suffix=namespace[-1:]) == [namespace]
    assert len(shared.list_namespaces(prefix=(*root, "*"), limit=1_000)) == len(HARD)
    assert shared.list_namespaces(prefix=root, limit=1_000) == sorted(owners)


def test_the_last_character_of_all_is_inside_every_range(shared: MemoryStore) -> None:
    last, mark = "\U0010ffff", fresh()[0]
    namespace = (last, mark)
    for key in ("/a.md", "name", f"{last}/x", f"/{last}/x", f"{last}{last}/x", last):
        shared.put(namespace, key, {"mark": mark})
    assert len(shared.search((), filter={"mark": mark})) == 6
    assert len(shared.search((last,), filter={"mark": mark})) == 6
    assert namespace in shared.list_namespaces(prefix=("*", mark))
    assert namespace in shared.list_namespaces(suffix=(mark,))
    assert len(shared.list_keys(namespace, "")) == 6
    assert len(shared.grep(namespace, mark, "").matches) == 6
    assert namespace in [head.namespace for head in shared.verify().namespaces]
    assert [entry.key for entry in shared.list_keys(namespace)] == ["/a.md", f"/{last}/"]


async def test_the_async_face_is_as_exact(shared: MemoryStore) -> None:
    root = fresh()
    owners = fill(shared, {("acme",), ("acme-corp",), ("acme", "deep"), ("%",), ("_",)}, root)
    for namespace, owner in owners.items():
        found = await shared.asearch(namespace)
        assert all(item.namespace[: len(namespace)] == namespace for item in found)
        assert {match.text for match in (await shared.agrep(namespace, "owner", "")).matches} == {owner}
        assert len(await shared.alist_keys(namespace, "")) == 2
