"""Moving items and folders."""

from __future__ import annotations

import pytest

from memoranda import ChangeSet, MemoryStore, Move
from memoranda.errors import ItemExistsError, ItemNotFoundError
from tests.store.conftest import Namespace


def keys(store: MemoryStore, ns: Namespace) -> list[str]:
    return [entry.key for entry in store.list_keys(ns, "")]


def text(store: MemoryStore, ns: Namespace, key: str) -> str:
    return store.get(ns, key).value["content"]


def test_move_a_file(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "text")
    created = shared.get(ns, "/a.md").created_at
    (done,) = shared.move(ns, "/a.md", "/b/c.md").revisions
    assert (done.key, done.revision, done.operation) == ("/b/c.md", 1, "move")
    assert keys(shared, ns) == ["/b/c.md"]
    assert text(shared, ns, "/b/c.md") == "text"
    assert shared.get(ns, "/b/c.md").created_at == created
    assert shared.verify(ns).ok


def test_move_a_folder(shared: MemoryStore, ns: Namespace) -> None:
    inside = ["/a/x", "/a/y/z", "/a/y/w", "/a/ä"]
    beside = ["/a-b/x", "/a.md", "/ab", "/A/x", "/a b/x"]
    for key in inside + beside:
        shared.write(ns, key, key)
    moved = shared.move(ns, "/a", "/moved/here").revisions
    assert {done.key for done in moved} == {"/moved/here" + key[2:] for key in inside}
    assert sorted(keys(shared, ns)) == sorted(beside + ["/moved/here" + key[2:] for key in inside])
    for key in inside:
        assert text(shared, ns, "/moved/here" + key[2:]) == key
    assert shared.verify(ns).ok


def test_move_a_folder_up_and_down(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a/b/c.md", "1")
    shared.move(ns, "/a/b", "/b")
    assert keys(shared, ns) == ["/b/c.md"]
    shared.move(ns, "/b", "/x/y/z")
    assert keys(shared, ns) == ["/x/y/z/c.md"]


def test_move_across_namespaces(shared: MemoryStore, ns: Namespace) -> None:
    other = (*ns, "other")
    shared.write(ns, "/a/x.md", "x")
    shared.write(ns, "/a/y.md", "y")
    shared.write((*ns, "a"), "/a/x.md", "not this one")
    moved = shared.move(ns, "/a", "/b", to_namespace=other).revisions
    assert {(done.namespace, done.key) for done in moved} == {(other, "/b/x.md"), (other, "/b/y.md")}
    assert keys(shared, ns) == []
    assert keys(shared, other) == ["/b/x.md", "/b/y.md"]
    assert keys(shared, (*ns, "a")) == ["/a/x.md"]
    shared.move(other, "/b/x.md", "/b/x.md", to_namespace=ns)
    assert keys(shared, ns) == ["/b/x.md"]
    assert shared.verify(ns).ok


def test_move_a_name_that_is_no_path(shared: MemoryStore, ns: Namespace) -> None:
    shared.put(ns, "profile", {"n": 1})
    shared.move(ns, "profile", "person")
    assert keys(shared, ns) == ["person"]


def test_move_onto_an_existing_file(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "a")
    shared.write(ns, "/b.md", "b")
    with pytest.raises(ItemExistsError, match=r"/b\.md"):
        shared.move(ns, "/a.md", "/b.md")
    assert (text(shared, ns, "/a.md"), text(shared, ns, "/b.md")) == ("a", "b")
    (done,) = shared.move(ns, "/a.md", "/b.md", overwrite=True).revisions
    assert done.revision == 2
    assert keys(shared, ns) == ["/b.md"]
    assert text(shared, ns, "/b.md") == "a"
    assert shared.get_at(ns, "/b.md", revision=1).value["content"] == "b"


def test_move_a_folder_onto_an_existing_file_moves_nothing(shared: MemoryStore, ns: Namespace) -> None:
    for key in ("/a/x", "/a/y", "/b/y"):
        shared.write(ns, key, key)
    with pytest.raises(ItemExistsError):
        shared.move(ns, "/a", "/b")
    assert keys(shared, ns) == ["/a/x", "/a/y", "/b/y"]
    shared.move(ns, "/a", "/b", overwrite=True)
    assert keys(shared, ns) == ["/b/x", "/b/y"]
    assert text(shared, ns, "/b/y") == "/a/y"


def test_move_onto_a_deleted_file(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "a")
    shared.write(ns, "/b.md", "b")
    shared.delete(ns, "/b.md")
    (done,) = shared.move(ns, "/a.md", "/b.md").revisions
    assert done.revision == 3


def test_move_what_is_not_there(shared: MemoryStore, ns: Namespace) -> None:
    for key in ("/a.md", "/folder", "name"):
        with pytest.raises(ItemNotFoundError):
            shared.move(ns, key, "/b.md")


def test_a_file_and_a_folder_of_one_name(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a", "file")
    shared.write(ns, "/a/x", "inside")
    shared.move(ns, "/a", "/b")
    assert text(shared, ns, "/b") == "file"
    # Whether what lies below moves along or stays, nothing is lost.
    assert {text(shared, ns, key) for key in keys(shared, ns)} == {"file", "inside"}


def test_history_follows_a_move(shared: MemoryStore, ns: Namespace) -> None:
    other = (*ns, "other")
    shared.write(ns, "/a.md", "one")
    shared.edit(ns, "/a.md", "one", "two")
    shared.move(ns, "/a.md", "/b.md")
    shared.edit(ns, "/b.md", "two", "three")
    shared.move(ns, "/b.md", "/c.md", to_namespace=other)
    here = shared.history(other, "/c.md")
    assert [(entry.key, entry.operation) for entry in here] == [("/c.md", "move")]
    assert here[0].origin == {"from": {"namespace": list(ns), "key": "/b.md", "revision": 2}}
    followed = shared.history(other, "/c.md", follow=True)
    assert [(entry.namespace, entry.key, entry.operation) for entry in followed] == [
        (other, "/c.md", "move"),
        (ns, "/b.md", "edit"),
        (ns, "/b.md", "move"),
        (ns, "/a.md", "edit"),
        (ns, "/a.md", "write"),
    ]
    assert shared.history(other, "/c.md", follow=True, limit=3) == followed[:3]
    gone = shared.history(ns, "/a.md")
    assert [entry.operation for entry in gone] == ["move", "edit", "write"]
    assert gone[0].origin == {"to": {"namespace": list(ns), "key": "/b.md"}}


def test_history_follows_moves_in_a_circle(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one")
    shared.move(ns, "/a.md", "/b.md")
    shared.move(ns, "/b.md", "/a.md")
    shared.edit(ns, "/a.md", "one", "two")
    followed = [(entry.key, entry.operation) for entry in shared.history(ns, "/a.md", follow=True)]
    assert followed == [("/a.md", "edit"), ("/a.md", "move"), ("/b.md", "move"), ("/a.md", "write")]


def test_swap_in_one_change_set(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "a")
    shared.write(ns, "/b.md", "b")
    shared.commit(ChangeSet([Move(ns, "/a.md", "/t.md"), Move(ns, "/b.md", "/a.md"), Move(ns, "/t.md", "/b.md")]))
    assert (text(shared, ns, "/a.md"), text(shared, ns, "/b.md")) == ("b", "a")
    assert keys(shared, ns) == ["/a.md", "/b.md"]
    assert shared.verify(ns).ok


async def test_async_move(shared: MemoryStore, ns: Namespace) -> None:
    await shared.awrite(ns, "/a/x", "x")
    await shared.amove(ns, "/a", "/b")
    assert [entry.key for entry in await shared.alist_keys(ns, recursive=True)] == ["/b/x"]
