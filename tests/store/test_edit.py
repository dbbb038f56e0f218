"""Edits and appends work on the text as it is now."""

from __future__ import annotations

import pytest

from memoranda import Author, ConflictError, MemoryStore
from memoranda.errors import ItemNotFoundError
from tests.store.conftest import Namespace


def reason(caught: pytest.ExceptionInfo[ConflictError]) -> str:
    (conflict,) = caught.value.conflicts
    return conflict.reason


def text(store: MemoryStore, ns: Namespace, key: str = "/a.md") -> str:
    return store.get(ns, key).value["content"]


def test_edit_replaces_the_only_place(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "likes green tea")
    done = shared.edit(ns, "/a.md", "green", "black")
    assert (done.revision, done.operation, done.occurrences) == (2, "edit", 1)
    assert text(shared, ns) == "likes black tea"


def test_edits_of_different_places_both_land(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one\ntwo\n")
    shared.edit(ns, "/a.md", "one", "ONE")
    shared.edit(ns, "/a.md", "two", "TWO")
    assert text(shared, ns) == "ONE\nTWO\n"


def test_edit_of_two_places_needs_replace_all(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "tea tea")
    with pytest.raises(ConflictError) as caught:
        shared.edit(ns, "/a.md", "tea", "coffee")
    assert reason(caught) == "text_not_unique"
    assert caught.value.conflicts[0].theirs == "tea tea"
    assert shared.edit(ns, "/a.md", "tea", "coffee", replace_all=True).occurrences == 2
    assert text(shared, ns) == "coffee coffee"


def test_edit_of_a_text_that_is_gone(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "tea")
    with pytest.raises(ConflictError) as caught:
        shared.edit(ns, "/a.md", "coffee", "water")
    assert reason(caught) == "text_not_found"
    assert caught.value.conflicts[0].yours == "water"
    assert "/a.md" in str(caught.value)
    assert len(shared.history(ns, "/a.md")) == 1


def test_edit_of_a_missing_or_deleted_item(shared: MemoryStore, ns: Namespace) -> None:
    with pytest.raises(ItemNotFoundError, match=r"/a\.md"):
        shared.edit(ns, "/a.md", "a", "b")
    assert shared.list_namespaces(prefix=ns) == []
    shared.write(ns, "/a.md", "a")
    shared.delete(ns, "/a.md")
    with pytest.raises(ItemNotFoundError):
        shared.edit(ns, "/a.md", "a", "b")


def test_edit_keeps_the_file_value(shared: MemoryStore, ns: Namespace) -> None:
    value = {
        "content": "tea",
        "encoding": "utf-8",
        "created_at": "2024-01-01T00:00:00+00:00",
        "modified_at": "2024-01-01T00:00:00+00:00",
        "extra": [1],
    }
    shared.put(ns, "/a.md", value)
    shared.edit(ns, "/a.md", "tea", "coffee")
    after = shared.get(ns, "/a.md").value
    assert after.pop("modified_at") > value["modified_at"]
    assert after == {**{k: v for k, v in value.items() if k != "modified_at"}, "content": "coffee"}


def test_edit_of_an_old_file(shared: MemoryStore, ns: Namespace) -> None:
    old = {"content": ["one", "two"], "created_at": "2024-01-01", "modified_at": "2024-01-01"}
    shared.put(ns, "/a.md", old)
    assert shared.get(ns, "/a.md").value == old
    shared.edit(ns, "/a.md", "one\ntwo", "one\n2")
    content = shared.get(ns, "/a.md").value["content"]
    assert content in ("one\n2", ["one", "2"])


def test_edit_of_a_json_item_works_on_its_pretty_text(shared: MemoryStore, ns: Namespace) -> None:
    shared.put(ns, "profile", {"name": "Ann", "age": 30})
    shared.edit(ns, "profile", '"age": 30', '"age": 31')
    assert shared.get(ns, "profile").value == {"name": "Ann", "age": 31}
    for new in ('"age": ', '"age": 31, "age"'):
        with pytest.raises(ConflictError) as caught:
            shared.edit(ns, "profile", '"age": 31', new)
        assert reason(caught) == "not_editable"
    with pytest.raises(ConflictError):
        shared.edit(ns, "profile", '{\n  "age": 31,\n  "name": "Ann"\n}', "[1]")
    assert shared.get(ns, "profile").value == {"name": "Ann", "age": 31}


def test_edit_of_a_binary_file_is_refused(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.png", b"\x89PNG\xff\x00")
    with pytest.raises(ConflictError) as caught:
        shared.edit(ns, "/a.png", "PNG", "GIF")
    assert reason(caught) == "not_editable"
    with pytest.raises(ConflictError) as caught:
        shared.append(ns, "/a.png", "more")
    assert reason(caught) == "not_editable"
    assert shared.get(ns, "/a.png").value["encoding"] == "base64"


def test_edit_with_nothing_to_find(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "tea")
    with pytest.raises(ConflictError) as caught:
        shared.edit(ns, "/a.md", "", "x")
    assert reason(caught) == "not_editable"


def test_edit_is_byte_exact(shared: MemoryStore, ns: Namespace) -> None:
    content = "one\r\ntwo\u2028three\x0bfour\tcafe\u0301 🙂\n"
    shared.write(ns, "/a.md", content)
    shared.edit(ns, "/a.md", "two", "2")
    assert text(shared, ns) == content.replace("two", "2")
    shared.edit(ns, "/a.md", "cafe\u0301", "caf\u00e9")
    assert text(shared, ns) == content.replace("two", "2").replace("cafe\u0301", "caf\u00e9")


def test_append_adds_a_line(shared: MemoryStore, ns: Namespace) -> None:
    assert shared.append(ns, "/log.md", "one").revision == 1
    shared.append(ns, "/log.md", "two\n")
    shared.append(ns, "/log.md", "three")
    assert text(shared, ns, "/log.md") == "one\ntwo\nthree"
    assert [entry.operation for entry in shared.history(ns, "/log.md")] == ["append"] * 3


def test_append_to_an_empty_and_to_a_deleted_file(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "")
    shared.append(ns, "/a.md", "x")
    assert text(shared, ns) == "x"
    shared.delete(ns, "/a.md")
    shared.append(ns, "/a.md", "y")
    assert text(shared, ns) == "y"


def test_append_to_json_is_refused(shared: MemoryStore, ns: Namespace) -> None:
    shared.put(ns, "profile", {"n": 1})
    with pytest.raises(ConflictError) as caught:
        shared.append(ns, "profile", "x")
    assert reason(caught) == "not_editable"


async def test_async_edit_and_append(shared: MemoryStore, ns: Namespace) -> None:
    await shared.aappend(ns, "/a.md", "one", author=Author("user:ann"))
    await shared.aedit(ns, "/a.md", "one", "two", author=Author("user:bob"))
    with pytest.raises(ConflictError):
        await shared.aedit(ns, "/a.md", "one", "two")
    assert [entry.author.actor for entry in await shared.ahistory(ns, "/a.md")] == ["user:bob", "user:ann"]
