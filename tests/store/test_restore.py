"""Deleting keeps the history; restoring makes a new revision of an old value."""

from __future__ import annotations

import pytest

from memoranda import ConflictError, MemoryStore
from memoranda.errors import InvalidPathError, ItemNotFoundError, RevisionNotFoundError
from tests.store.conftest import Namespace


def keys(store: MemoryStore, ns: Namespace) -> list[str]:
    return [entry.key for entry in store.list_keys(ns, "")]


def test_restore_an_earlier_revision(shared: MemoryStore, ns: Namespace) -> None:
    for word in ("one", "two", "three"):
        shared.write(ns, "/a.md", word)
    done = shared.restore(ns, "/a.md", 1)
    assert (done.revision, done.operation) == (4, "restore")
    assert shared.get(ns, "/a.md").value == shared.get_at(ns, "/a.md", revision=1).value
    assert shared.history(ns, "/a.md")[0].origin == {"restored": 1}
    assert shared.get_at(ns, "/a.md", revision=3).value["content"] == "three"
    assert shared.verify(ns).ok


def test_restore_every_kind_of_value(shared: MemoryStore, ns: Namespace) -> None:
    values = [
        {"content": "text", "encoding": "utf-8"},
        {"n": 1},
        {"content": "AAEC/w==", "encoding": "base64"},
        {"content": ["a", ""], "created_at": "x", "modified_at": "y"},
        {},
    ]
    for value in values:
        shared.put(ns, "key", value)
    for revision, value in enumerate(values, 1):
        shared.restore(ns, "key", revision)
        assert shared.get(ns, "key").value == value
    assert shared.verify(ns).ok


def test_restore_a_deleted_item(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one")
    shared.delete(ns, "/a.md")
    assert shared.get(ns, "/a.md") is None
    assert shared.restore(ns, "/a.md", 1).revision == 3
    assert shared.get(ns, "/a.md").value["content"] == "one"
    assert keys(shared, ns) == ["/a.md"]


def test_restore_what_cannot_be(shared: MemoryStore, ns: Namespace) -> None:
    with pytest.raises(ItemNotFoundError):
        shared.restore(ns, "/never.md", 1)
    shared.write(ns, "/a.md", "one")
    shared.delete(ns, "/a.md")
    for revision in (0, -1, 3, 99):
        with pytest.raises(RevisionNotFoundError):
            shared.restore(ns, "/a.md", revision)
    with pytest.raises(ConflictError):
        shared.restore(ns, "/a.md", 2)


def test_delete_is_a_revision(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one")
    shared.delete(ns, "/a.md")
    shared.delete(ns, "/a.md")
    assert [(entry.revision, entry.operation, entry.size) for entry in shared.history(ns, "/a.md")] == [
        (2, "delete", 0),
        (1, "write", 3),
    ]
    assert shared.list_namespaces(prefix=ns) == []
    assert shared.get_at(ns, "/a.md", revision=1).value["content"] == "one"


def test_delete_prefix_takes_the_folder_and_no_neighbour(shared: MemoryStore, ns: Namespace) -> None:
    inside = ["/a", "/a/x", "/a/y/z", "/a/%", "/a/\u4e2d"]
    beside = ["/a-b", "/a.b", "/a b/x", "/ab/x", "/A/x", "/b/a/x", "a", "a/x"]
    for key in inside + beside:
        shared.put(ns, key, {"content": key, "encoding": "utf-8"})
    shared.write((*ns, "deeper"), "/a/x", "not this one")
    deleted = shared.delete_prefix(ns, "/a").revisions
    assert {done.key for done in deleted} == set(inside)
    assert {done.operation for done in deleted} == {"delete"}
    assert sorted(keys(shared, ns)) == sorted(beside)
    assert keys(shared, (*ns, "deeper")) == ["/a/x"]
    assert shared.get_at(ns, "/a/x", revision=1).value["content"] == "/a/x"
    assert shared.delete_prefix(ns, "/a").revisions == ()
    assert shared.verify(ns).ok


def test_delete_prefix_of_the_root_spares_names(shared: MemoryStore, ns: Namespace) -> None:
    for key in ("/a", "/b/c", "name", "name/with/slash"):
        shared.put(ns, key, {"n": 1})
    shared.delete_prefix(ns, "/")
    assert sorted(keys(shared, ns)) == ["name", "name/with/slash"]


@pytest.mark.parametrize("path", ["/_", "/%", "/*", "/[ab]", "/a\\b", "/x'y"])
def test_delete_prefix_takes_wildcards_as_letters(shared: MemoryStore, ns: Namespace, path: str) -> None:
    shared.write(ns, path + "/inside", "x")
    for key in ("/a/x", "/b", "/ab/x", "/a/b2/x"):
        shared.write(ns, key, "x")
    assert len(shared.delete_prefix(ns, path).revisions) == 1
    assert len(keys(shared, ns)) == 4


def test_delete_prefix_refuses_to_climb(shared: MemoryStore, ns: Namespace) -> None:
    with pytest.raises(InvalidPathError):
        shared.delete_prefix(ns, "/a/../..")


def test_delete_prefix_of_many(shared: MemoryStore, ns: Namespace) -> None:
    from langgraph.store.base import PutOp

    shared.batch([PutOp(ns, f"/d/{n % 10}/{n}", {"n": n}) for n in range(600)])
    assert len(shared.delete_prefix(ns, "/d").revisions) == 600
    assert keys(shared, ns) == []


async def test_async_restore_and_delete_prefix(shared: MemoryStore, ns: Namespace) -> None:
    await shared.awrite(ns, "/a/b.md", "one")
    assert len((await shared.adelete_prefix(ns, "/a")).revisions) == 1
    assert (await shared.arestore(ns, "/a/b.md", 1)).revision == 3
