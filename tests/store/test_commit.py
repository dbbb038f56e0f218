"""A change set lands as a whole or not at all."""

from __future__ import annotations

import pytest

from memoranda import (
    Append,
    Author,
    ChangeSet,
    Conflict,
    ConflictError,
    Delete,
    Edit,
    MemoryStore,
    Move,
    Restore,
    Write,
)
from memoranda.errors import (
    InvalidChangeError,
    InvalidKeyError,
    InvalidPathError,
    InvalidValueError,
    ItemExistsError,
    ItemNotFoundError,
    MemorandaError,
    RevisionNotFoundError,
)
from memoranda.store.namespaces import InvalidNamespaceError
from tests.store.conftest import Namespace


def state(store: MemoryStore, ns: Namespace) -> object:
    """Everything that a reader can see of a namespace and those below it."""
    items = [(item.namespace, item.key, item.value, item.revision) for item in store.search(ns, limit=1_000)]
    feed = [(change.key, change.revision, change.operation) for change in store.changes(namespace=ns)]
    digests = [head for head in store.verify(ns).namespaces if head.items]
    return items, feed, store.list_namespaces(prefix=ns), digests


def test_all_kinds_of_change_in_one_set(shared: MemoryStore, ns: Namespace) -> None:
    other = (*ns, "other")
    shared.write(ns, "/edited.md", "one two")
    shared.write(ns, "/gone.md", "x")
    shared.write(ns, "/from.md", "moved text")
    shared.write(ns, "/old.md", "first")
    shared.write(ns, "/old.md", "second")
    result = shared.commit(
        ChangeSet(
            [
                Write(ns, "/new.md", "new"),
                Edit(ns, "/edited.md", "two", "three"),
                Append(ns, "/log.md", "line"),
                Delete(ns, "/gone.md"),
                Move(ns, "/from.md", "/to.md", other),
                Restore(ns, "/old.md", 1),
                Write(other, "profile", {"n": 1}),
            ],
            Author("user:ann"),
        )
    )
    assert [(done.key, done.operation, done.revision) for done in result.revisions] == [
        ("/new.md", "write", 1),
        ("/edited.md", "edit", 2),
        ("/log.md", "append", 1),
        ("/gone.md", "delete", 2),
        ("/to.md", "move", 1),
        ("/old.md", "restore", 3),
        ("profile", "write", 1),
    ]
    texts = {item.key: item.value.get("content") for item in shared.search(ns, limit=50)}
    assert texts == {
        "/new.md": "new",
        "/edited.md": "one three",
        "/log.md": "line",
        "/to.md": "moved text",
        "/old.md": "first",
        "profile": None,
    }
    actors = [change.author.actor for change in shared.changes(namespace=ns)]
    assert actors == [None] * 5 + ["user:ann"] * 6
    assert shared.verify(ns).ok


def test_changes_apply_in_order_to_one_item(shared: MemoryStore, ns: Namespace) -> None:
    result = shared.commit(
        ChangeSet(
            [
                Write(ns, "/a.md", "one"),
                Edit(ns, "/a.md", "one", "two"),
                Append(ns, "/a.md", "three"),
                Delete(ns, "/a.md"),
                Write(ns, "/a.md", "four"),
            ]
        )
    )
    assert [done.revision for done in result.revisions] == [1, 2, 3, 4, 5]
    assert shared.get(ns, "/a.md").value["content"] == "four"
    assert shared.get_at(ns, "/a.md", revision=3).value["content"] == "two\nthree"
    assert shared.verify(ns).ok


BAD = [
    pytest.param(lambda ns: Edit(ns, "/missing.md", "a", "b"), ItemNotFoundError, id="edit-missing"),
    pytest.param(lambda ns: Edit(ns, "/a.md", "not there", "b"), ConflictError, id="text-not-found"),
    pytest.param(lambda ns: Edit(ns, "/a.md", "a", "b"), ConflictError, id="text-not-unique"),
    pytest.param(lambda ns: Edit(ns, "/a.md", "", "b"), ConflictError, id="edit-empty"),
    pytest.param(lambda ns: Delete(ns, "/missing.md", missing_ok=False), ItemNotFoundError, id="delete-missing"),
    pytest.param(lambda ns: Delete(ns, "/a.md", base=1), ConflictError, id="delete-changed"),
    pytest.param(lambda ns: Write(ns, "/a.md", "other", base=1), ConflictError, id="overlap"),
    pytest.param(lambda ns: Write(ns, "/a.md", "other", base=0), MemorandaError, id="exists"),
    pytest.param(lambda ns: Write(ns, "/a.md", "other", base=99), InvalidChangeError, id="newer-base"),
    pytest.param(lambda ns: Move(ns, "/a.md", "/b.md"), ItemExistsError, id="move-onto"),
    pytest.param(lambda ns: Move(ns, "/missing", "/c"), ItemNotFoundError, id="move-missing"),
    pytest.param(lambda ns: Move(ns, "/a.md", "/a.md"), InvalidChangeError, id="move-onto-itself"),
    pytest.param(lambda ns: Move(ns, "/a.md", "/a.md/b"), InvalidChangeError, id="move-into-itself"),
    pytest.param(lambda ns: Restore(ns, "/a.md", 99), RevisionNotFoundError, id="restore-unknown"),
    pytest.param(lambda ns: Restore(ns, "/missing.md", 1), ItemNotFoundError, id="restore-missing"),
    pytest.param(lambda ns: Append(ns, "json", "x"), ConflictError, id="append-json"),
    pytest.param(lambda ns: Write(ns, "/../a", "x"), InvalidPathError, id="bad-path"),
    pytest.param(lambda ns: Write(ns, "", "x"), InvalidKeyError, id="bad-key"),
    pytest.param(lambda ns: Write((*ns, ""), "/a", "x"), InvalidNamespaceError, id="bad-namespace"),
    pytest.param(lambda ns: Write(ns, "/a", {"n": float("nan")}), InvalidValueError, id="bad-value"),
    pytest.param(lambda ns: Write(ns, "/a", "\ud800"), InvalidValueError, id="bad-text"),
    pytest.param(lambda ns: Edit(ns, "/a.md", "aa", "\ud800"), MemorandaError, id="bad-edit-text"),
    pytest.param(lambda ns: Append(ns, "/a.md", "\ud800"), MemorandaError, id="bad-append-text"),
    pytest.param(lambda ns: "nonsense", InvalidChangeError, id="no-change"),
]


@pytest.mark.parametrize(("bad", "error"), BAD)
@pytest.mark.parametrize("place", ["first", "last"])
def test_one_bad_change_leaves_nothing(shared: MemoryStore, ns: Namespace, bad, error, place: str) -> None:
    shared.write(ns, "/a.md", "first")
    shared.write(ns, "/a.md", "aa and aaa")
    shared.write(ns, "/b.md", "b")
    shared.put(ns, "json", {"n": 1})
    before = state(shared, ns)
    good = [
        Write(ns, "/new.md", "new"),
        Write((*ns, "made"), "/new.md", "new"),
        Edit(ns, "/b.md", "b", "B"),
        Delete(ns, "json") if not isinstance(bad(ns), Append) else Append(ns, "/b.md", "more"),
        Append((*ns, "made", "deeper"), "/log.md", "line"),
    ]
    changes = [bad(ns), *good] if place == "first" else [*good, bad(ns)]
    with pytest.raises(error):
        shared.commit(ChangeSet(changes))
    assert state(shared, ns) == before
    shared.commit(ChangeSet(good))
    assert shared.get((*ns, "made"), "/new.md").value["content"] == "new"
    assert shared.verify(ns).ok


def test_conflicts_are_returned_all_at_once(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "text")
    result = shared.commit(
        ChangeSet(
            [
                Write(ns, "/fine.md", "x"),
                Edit(ns, "/a.md", "nothing", "x"),
                Edit(ns, "/missing.md", "a", "b"),
            ]
        ),
        on_conflict="return",
    )
    assert result.revisions == ()
    assert [(conflict.index, conflict.reason) for conflict in result.conflicts] == [
        (1, "text_not_found"),
        (2, "missing"),
    ]
    first = result.conflicts[0]
    assert isinstance(first, Conflict)
    assert (first.theirs, first.revision, first.key, first.namespace) == ("text", 1, "/a.md", ns)
    assert shared.get(ns, "/fine.md") is None


def test_a_refused_set_leaves_no_empty_namespace(shared: MemoryStore, ns: Namespace) -> None:
    with pytest.raises(ItemNotFoundError):
        shared.commit(ChangeSet([Write(ns, "/a.md", "x"), Edit(ns, "/missing.md", "y", "z")]))
    assert shared.verify(ns).namespaces == ()


def test_an_empty_set_changes_nothing(shared: MemoryStore, ns: Namespace) -> None:
    assert shared.commit(ChangeSet([])).revisions == ()
    assert shared.list_namespaces(prefix=ns) == []


async def test_async_commit_is_the_same(shared: MemoryStore, ns: Namespace) -> None:
    with pytest.raises(ConflictError):
        await shared.acommit(ChangeSet([Write(ns, "/a.md", "x"), Edit(ns, "/a.md", "y", "z")]))
    assert await shared.aget(ns, "/a.md") is None
    result = await shared.acommit(ChangeSet([Write(ns, "/a.md", "x"), Append(ns, "/a.md", "y")]))
    assert [done.revision for done in result.revisions] == [1, 2]
    assert (await shared.averify(ns)).ok
