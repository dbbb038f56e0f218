"""Keys of `put` are opaque; paths of file operations are canonical. One file has one name."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import ChangeSet, Delete, MemoryStore, Move, Write
from memoranda.errors import InvalidKeyError, InvalidPathError, MemorandaError
from tests.store.conftest import Namespace, fresh

NFC, NFD = "/caf\u00e9/\uac00.md", "/cafe\u0301/\u1100\u1161.md"
SAME = [NFC, NFD, "//cafe\u0301/./\uac00.md", "/caf\u00e9//\u1100\u1161.md/", "\\caf\u00e9\\\uac00.md"]


@pytest.mark.parametrize("written", SAME)
def test_every_spelling_of_a_path_is_one_file(shared: MemoryStore, ns: Namespace, written: str) -> None:
    assert shared.write(ns, written, "one").key == NFC
    for revision, spelling in enumerate(SAME, 2):
        assert shared.append(ns, spelling, "more").revision == revision
        assert shared.history(ns, spelling)[0].revision == revision
        assert shared.get_at(ns, spelling, revision=1).key == NFC
    assert [entry.key for entry in shared.list_keys(ns, "")] == [NFC]
    assert shared.get(ns, NFC).value["content"].startswith("one")
    shared.edit(ns, SAME[2], "one", "two")
    assert shared.diff(ns, NFD, 6, 7)
    assert len(shared.blame(ns, SAME[3])) == 6
    shared.restore(ns, SAME[4], 1)
    assert shared.get(ns, NFC).value["content"] == "one"
    assert shared.delete_prefix(ns, "cafe\u0301").revisions


def test_every_spelling_in_a_change_set_is_one_file(shared: MemoryStore, ns: Namespace) -> None:
    shared.commit(ChangeSet([Write(ns, "/a/./b.md", "one"), Write(ns, "//a/b.md", "two")]))
    assert [entry.revision for entry in shared.history(ns, "/a/b.md")] == [2, 1]
    shared.commit(ChangeSet([Move(ns, "/a//b.md", "/x/./" + "e\u0301"), Delete(ns, "/nothing/")]))
    assert [entry.key for entry in shared.list_keys(ns, "")] == ["/x/\u00e9"]


def test_put_and_get_are_byte_exact(shared: MemoryStore, ns: Namespace) -> None:
    keys = [*SAME, "/a/b.md", "//a/./b.md", "/a/../b.md", "/", "..", "caf\u00e9", "cafe\u0301", "a/b", "A/b"]
    for number, key in enumerate(keys):
        shared.put(ns, key, {"n": number})
    for number, key in enumerate(keys):
        assert shared.get(ns, key).value == {"n": number}
    assert {item.key for item in shared.search(ns, limit=100)} == set(keys)
    shared.delete(ns, "//a/./b.md")
    assert shared.get(ns, "/a/b.md") is not None and shared.get(ns, "//a/./b.md") is None
    assert shared.verify(ns).ok


def test_a_file_written_is_got_under_its_canonical_key(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, NFD, "text")
    assert shared.get(ns, NFC).value["content"] == "text"
    assert shared.get(ns, NFD) is None


def test_names_that_are_no_paths(shared: MemoryStore, ns: Namespace) -> None:
    """`write` and the rest reach what `put` stored under a plain name, as it is."""
    for key in ("profile", "a//b", "x/../y", "cafe\u0301", "a\\b"):
        shared.put(ns, key, {"n": 1})
        assert shared.write(ns, key, {"n": 2}).key == key
        assert len(shared.history(ns, key)) == 2
    assert len(shared.search(ns, limit=100)) == 5


@pytest.mark.parametrize("key", ["/..", "/a/../..", "/a/..", "/", "//", "/.", "\\..\\a"])
def test_paths_that_climb_or_name_nothing(shared: MemoryStore, ns: Namespace, key: str) -> None:
    for call in (
        lambda: shared.write(ns, key, "x"),
        lambda: shared.edit(ns, key, "a", "b"),
        lambda: shared.append(ns, key, "x"),
        lambda: shared.move(ns, key, "/b"),
        lambda: shared.move(ns, "/b", key),
        lambda: shared.restore(ns, key, 1),
        lambda: shared.history(ns, key),
        lambda: shared.get_at(ns, key, revision=1),
        lambda: shared.diff(ns, key),
        lambda: shared.blame(ns, key),
    ):
        with pytest.raises(InvalidPathError):
            call()


@pytest.mark.parametrize(
    "key", ["", "a\x00b", "\x00", "\ud800", "/a\udfff", "k" * 1_025, "/" + "ä" * 600, 7, None, b"x"]
)
def test_keys_that_no_engine_can_keep(shared: MemoryStore, ns: Namespace, key) -> None:
    calls = [
        lambda: shared.write(ns, key, "x"),
        lambda: shared.history(ns, key),
        lambda: shared.edit(ns, key, "a", "b"),
    ]
    if isinstance(key, str):
        calls += [lambda: shared.put(ns, key, {"n": 1}), lambda: shared.get(ns, key), lambda: shared.delete(ns, key)]
    for call in calls:
        with pytest.raises((InvalidKeyError, InvalidPathError)) as caught:
            call()
        assert caught.value.cause.endswith(".") and caught.value.remedy.endswith(".")
    assert shared.list_namespaces(prefix=ns) == []


def test_the_longest_key_and_namespace(shared: MemoryStore, ns: Namespace) -> None:
    longest = (*ns, "\u4e2d" * 600)
    for key in ("k" * 1_024, "/" + "f" * 500 + "/" + "g" * 522, "\u4e2d" * 341):
        shared.put(longest, key, {"n": 1})
        assert shared.get(longest, key).value == {"n": 1}
    assert len(shared.search(longest)) == 3
    assert len(shared.list_keys(longest, "")) == 3


keys = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=20)


@settings(max_examples=15, deadline=None)
@given(written=st.lists(keys, min_size=1, max_size=12, unique=True))
def test_any_text_is_a_key(shared: MemoryStore, written: list[str]) -> None:
    ns = fresh()
    for number, key in enumerate(written):
        shared.put(ns, key, {"n": number})
    assert [(item.key, item.value["n"]) for item in shared.search(ns, limit=50)] == [
        (key, number) for number, key in enumerate(written)
    ]
    assert {entry.key for entry in shared.list_keys(ns, "")} == set(written)
    for number, key in enumerate(written):
        assert shared.get(ns, key).value == {"n": number}
        shared.delete(ns, key)
    assert shared.search(ns) == []


@settings(max_examples=15, deadline=None)
@given(path=keys)
def test_any_path_is_reached_again_or_refused(shared: MemoryStore, path: str) -> None:
    ns = fresh()
    path = "/" + path
    try:
        key = shared.write(ns, path, "text").key
    except MemorandaError:
        assert shared.list_keys(ns, "") == []
        return
    assert shared.get(ns, key).value["content"] == "text"
    assert shared.write(ns, key, "again").revision == 2
    assert shared.write(ns, path, "again").revision == 3
    assert [entry.key for entry in shared.list_keys(ns, recursive=True)] == [key]
