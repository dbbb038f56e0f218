"""Namespaces, keys, values and change sets that make no sense: a named error, and nothing half written."""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import psycopg
import pytest

from memoranda import (
    Append,
    Author,
    ChangeSet,
    Conflict,
    ConflictError,
    Delete,
    Edit,
    MemorandaError,
    MemoryStore,
    Move,
    Restore,
    Write,
    errors,
)
from memoranda.errors import (
    InvalidChangeError,
    InvalidKeyError,
    InvalidPathError,
    InvalidValueError,
    ItemNotFoundError,
    RevisionNotFoundError,
    StoreFullError,
)
from memoranda.store.namespaces import InvalidNamespaceError

SPACE = ("ann",)


@pytest.fixture
def untouched(store: MemoryStore) -> Iterator[MemoryStore]:
    """A store that has to be afterwards as it was."""
    store.write(SPACE, "/a.md", "a")
    before = store.verify(), store.list_keys(SPACE, "")
    yield store
    assert (store.verify(), store.list_keys(SPACE, "")) == before
    assert store.list_namespaces() == [SPACE]


@pytest.mark.parametrize(
    "namespace",
    [
        (),
        [],
        "ann",
        None,
        7,
        ("",),
        ("a", ""),
        (None,),
        (1,),
        ("a\0",),
        ("\ud800",),
        ("x" * 2_001,),
        ("langgraph",),
        ({},),
    ],
)
def test_namespaces(untouched: MemoryStore, namespace: Any) -> None:
    for call in (
        lambda: untouched.put(namespace, "k", {}),
        lambda: untouched.write(namespace, "/a.md", "x"),
        lambda: untouched.commit(ChangeSet([Write(SPACE, "/b.md", "b"), Append(namespace, "/a.md", "x")])),
        lambda: untouched.move(SPACE, "/a.md", "/b.md", to_namespace=namespace if namespace is not None else ()),
    ):
        with pytest.raises(InvalidNamespaceError) as caught:
            call()
        assert caught.value.cause and caught.value.remedy


@pytest.mark.parametrize(
    "key", ["", "a\0b", "\ud800", "x" * 1_025, "é" * 600, "/../a", "/a/../../b", "/", "//", None, 7, b"a"]
)
def test_keys(untouched: MemoryStore, key: Any) -> None:
    for call in (
        lambda: untouched.write(SPACE, key, "x"),
        lambda: untouched.append(SPACE, key, "x"),
        lambda: untouched.edit(SPACE, key, "a", "b"),
        lambda: untouched.move(SPACE, "/a.md", key),
        lambda: untouched.commit(ChangeSet([Write(SPACE, "/b.md", "b"), Delete(SPACE, key)])),
    ):
        with pytest.raises((InvalidKeyError, InvalidPathError)) as caught:
            call()
        assert caught.value.cause and caught.value.remedy


def circular() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"in": value}
    return value


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        ["a"],
        {1: "a"},
        {"a": {2: 3}},
        {"a": math.nan},
        {"a": [math.inf]},
        {"a": 1 << 64},
        {"a": {1, 2}},
        {"a": b"bytes"},
        {"a": object()},
        {"a": datetime(2026, 1, 1)},
        {"a": "\ud800"},
        {"\ud800": "a"},
        {"content": "\ud800", "encoding": "utf-8"},
        circular(),
        deep(2_000),
        "\ud800",
    ],
    ids=lambda value: type(value).__name__,
)
def test_values(untouched: MemoryStore, value: Any) -> None:
    with pytest.raises(InvalidValueError) as caught:
        untouched.commit(ChangeSet([Write(SPACE, "/b.md", "b"), Write(SPACE, "/c.md", value)]))
    assert caught.value.cause and caught.value.remedy


@pytest.mark.parametrize("text", [None, 7, b"bytes", "\ud800"])
def test_texts(untouched: MemoryStore, text: Any) -> None:
    for call in (
        lambda: untouched.append(SPACE, "/a.md", text),
        lambda: untouched.append(SPACE, "/new.md", text),
        lambda: untouched.edit(SPACE, "/a.md", "a", text),
        lambda: untouched.edit(SPACE, "/a.md", text, "b"),
    ):
        with pytest.raises(MemorandaError):
            call()


@pytest.mark.parametrize("base", [-1, 99, "1", 1.5])
def test_bases(untouched: MemoryStore, base: Any) -> None:
    with pytest.raises(InvalidChangeError):
        untouched.write(SPACE, "/a.md", "b", base=base)


@pytest.mark.parametrize("ttl", [math.nan, math.inf, 1e300, "soon", -math.inf])
def test_times_to_live(untouched: MemoryStore, ttl: Any) -> None:
    with pytest.raises(MemorandaError):
        untouched.write(SPACE, "/a.md", "b", ttl=ttl)


@pytest.mark.parametrize("actor", ["a\0b", "\ud800", 7])
def test_authors(untouched: MemoryStore, actor: Any) -> None:
    with pytest.raises(InvalidChangeError):
        untouched.write(SPACE, "/a.md", "b", author=Author(actor))


@pytest.mark.parametrize(
    "changes",
    [
        [Move(SPACE, "/a.md", "/a.md")],
        [Move(SPACE, "/a.md", "//./a.md")],
        [Move(SPACE, "/a.md", "/a.md/below.md")],
        [Write(SPACE, "/b.md", "b"), "no change"],
        [Write(SPACE, "/b.md", "b"), None],
        [Write(SPACE, "/b.md", "b"), Write(SPACE, "/a.md", "c", base=50)],
    ],
)
def test_change_sets_that_make_no_sense(untouched: MemoryStore, changes: Any) -> None:
    with pytest.raises(InvalidChangeError) as caught:
        untouched.commit(ChangeSet(changes))
    assert caught.value.cause and caught.value.remedy


def test_change_sets_that_contradict_themselves(untouched: MemoryStore) -> None:
    for error, *changes in (
        (ItemNotFoundError, Delete(SPACE, "/a.md"), Edit(SPACE, "/a.md", "a", "b")),
        (ItemNotFoundError, Move(SPACE, "/a.md", "/b.md"), Move(SPACE, "/a.md", "/c.md")),
        (ItemNotFoundError, Write(("new",), "/b.md", "b"), Delete(SPACE, "/none.md", missing_ok=False)),
        (ItemNotFoundError, Move(SPACE, "/none.md", "/b.md", ("new",))),
        (ConflictError, Write(SPACE, "/b.md", "b"), Edit(SPACE, "/b.md", "missing", "x")),
        (RevisionNotFoundError, Write(SPACE, "/b.md", "b"), Restore(SPACE, "/a.md", 9)),
    ):
        with pytest.raises(error):
            untouched.commit(ChangeSet(changes))
    assert untouched.stats().namespaces == 1


def test_an_empty_change_set(untouched: MemoryStore) -> None:
    assert untouched.commit(ChangeSet()).revisions == ()


def test_several_changes_of_one_key(store: MemoryStore) -> None:
    store.commit(
        ChangeSet([Write(SPACE, "/a.md", "one"), Write(SPACE, "/a.md", "two"), Append(SPACE, "/a.md", "three")])
    )
    store.commit(ChangeSet([Delete(SPACE, "/a.md"), Write(SPACE, "/a.md", "new"), Move(SPACE, "/a.md", "/b.md")]))
    assert [entry.key for entry in store.list_keys(SPACE)] == ["/b.md"]
    operations = [entry.operation for entry in reversed(store.history(SPACE, "/a.md"))]
    assert operations == ["write", "write", "append", "delete", "write", "move"]
    assert store.verify().ok


def test_a_folder_moved_after_changes_in_the_same_set(store: MemoryStore) -> None:
    """Changes apply in their order: what was written into the folder moves along, what was deleted does not."""
    store.commit(ChangeSet([Write(SPACE, "/old/stays.md", "s"), Write(SPACE, "/old/goes.md", "g")]))
    store.commit(
        ChangeSet([Write(SPACE, "/old/new.md", "n"), Delete(SPACE, "/old/goes.md"), Move(SPACE, "/old", "/there")])
    )
    assert [entry.key for entry in store.list_keys(SPACE, recursive=True)] == ["/there/new.md", "/there/stays.md"]
    assert store.history(SPACE, "/there/goes.md") == []
    assert store.verify().ok


def test_many_changes_in_one_set(store: MemoryStore) -> None:
    started = time.monotonic()
    result = store.commit(ChangeSet([Write(SPACE, f"/{n // 100}/{n}.md", f"text {n}") for n in range(10_000)]))
    assert len(result.revisions) == 10_000 and time.monotonic() - started < 30
    assert len(store.list_keys(SPACE, recursive=True)) == 10_000
    with pytest.raises(ConflictError):
        store.commit(
            ChangeSet([*(Delete(SPACE, f"/0/{n}.md") for n in range(100)), Edit(SPACE, "/1/100.md", "no", "x")])
        )
    assert len(store.list_keys(SPACE, recursive=True)) == 10_000


def test_a_value_of_100_megabytes(store: MemoryStore) -> None:
    big = ("0123456789abcde\n" * 64) * 102_400
    store.write(SPACE, "/big.md", big)
    item = store.get(SPACE, "/big.md")
    assert item is not None and item.value["content"] == big


def test_nesting_that_just_fits(store: MemoryStore) -> None:
    store.put(SPACE, "deep", deep(200))
    item = store.get(SPACE, "deep")
    assert item is not None and item.value == deep(200)


def test_a_full_disk(postgres_url: str, open_here: Any) -> None:
    """The server says that its disk is full in the middle of a commit."""
    store = open_here(postgres_url)
    store.write(SPACE, "/a.md", "a")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION memoranda.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " IF NEW.revision > 1 THEN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END IF;"
            " RETURN NEW; END $$"
        )
        connection.execute(
            "CREATE TRIGGER full_disk BEFORE INSERT ON memoranda.revisions"
            " FOR EACH ROW EXECUTE FUNCTION memoranda.full_disk()"
        )
    for changes in ([Append(SPACE, "/a.md", "b")], [Write(SPACE, "/new.md", "n"), Append(SPACE, "/a.md", "b")]):
        with pytest.raises(StoreFullError) as caught:
            store.commit(ChangeSet(changes))
        assert caught.value.remedy
    assert [entry.key for entry in store.list_keys(SPACE)] == ["/a.md"]
    assert store.verify().ok


def test_errors_travel_between_processes() -> None:
    conflict = Conflict(0, SPACE, "/a.md", "overlap", "They overlap.")
    found = [error for error in vars(errors).values() if isinstance(error, type) and issubclass(error, MemorandaError)]
    for error in [*(kind("Cause.", "Remedy.") for kind in found), ConflictError([conflict])]:
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error) and str(copy) == str(error)
        assert getattr(copy, "conflicts", None) == getattr(error, "conflicts", None)
