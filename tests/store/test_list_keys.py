"""Listing a folder, or everything below it, whole and in pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langgraph.store.base import PutOp

from memoranda import MemoryStore
from memoranda.errors import InvalidPathError, InvalidValueError
from tests.store.conftest import Namespace, fresh

SEGMENTS = ["a", "a-b", "a.b", "a b", "a b c", "a!", "a0", "ab", "A", "b", "ä", "\u4e2d", "🙂", "a\x01", "%", "_"]
paths = st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
names = st.sampled_from(["name", "a", "a-b", "x/y", "x/y/z", "x", "~", "!"])


def fill(store: MemoryStore, keys: Iterable[str]) -> Namespace:
    ns = fresh()
    store.batch([PutOp(ns, key, {"content": key, "encoding": "utf-8"}) for key in keys])
    # Neighbours that must never show.
    store.batch([PutOp((*ns, "a"), "/a/below", {"n": 1}), PutOp((ns[0] + "x",), "/a/beside", {"n": 1})])
    return ns


def parent(key: str) -> str:
    cut = key.rfind("/")
    return key[:cut] or "/" if cut >= 0 else ""


def in_folder(keys: set[str], folder: str) -> list[str]:
    """What `list_keys` should give for a folder."""
    prefix = folder if folder == "/" else folder + "/"
    below = [key[len(prefix) :] for key in keys if key.startswith(prefix)]
    files = {prefix + rest for rest in below if "/" not in rest}
    folders = {prefix + rest.split("/")[0] + "/" for rest in below if "/" in rest}
    return sorted(files | folders)


def below(keys: set[str], folder: str) -> list[str]:
    prefix = folder if folder == "/" else folder + "/" if folder else ""
    return sorted((key for key in keys if key.startswith(prefix)), key=lambda key: (key[: key.rfind("/") + 1], key))


def listed(store: MemoryStore, ns: Namespace, folder: str, **given: object) -> list[str]:
    return [entry.key for entry in store.list_keys(ns, folder, **given)]  # type: ignore[arg-type]


def paged(store: MemoryStore, ns: Namespace, folder: str, limit: int, recursive: bool = False) -> list[str]:
    found: list[str] = []
    after: str | None = None
    while page := listed(store, ns, folder, limit=limit, after=after, recursive=recursive):
        assert len(page) <= limit
        found += page
        after = page[-1]
        assert len(found) < 10_000, "the pages never end"
    return found


@settings(max_examples=30, deadline=None)
@given(keys=st.sets(paths, max_size=25))
@example(keys={"/a/x", "/a-b"})
@example(keys={"/a/x", "/a b/x", "/a b c/x", "/b/x"})
@example(keys={"/a/x", "/a!/x", "/a b/x", "/a-b/x", "/a.b/x", "/a/b/x", "/b"})
def test_folders_against_the_naive_way(shared: MemoryStore, keys: set[str]) -> None:
    ns = fill(shared, keys)
    for folder in {"/", "/a", "/a-b", "/nowhere", *(parent(key) for key in list(keys)[:4])}:
        assert listed(shared, ns, folder) == in_folder(keys, folder)
        assert listed(shared, ns, folder, recursive=True) == below(keys, folder)


@settings(max_examples=30, deadline=None)
@given(keys=st.sets(paths, max_size=14), limit=st.integers(1, 4))
@example(keys={"/a/x", "/a-b"}, limit=1)
@example(keys={"/a/x", "/a b/x", "/a b c/x"}, limit=1)
@example(keys={"/a/x", "/a!/x", "/a b/x", "/a-b/x", "/b/x"}, limit=1)
@example(keys={"/a/x", "/a", "/a-b", "/a-b/x", "/a.b", "/a b", "/a0"}, limit=2)
def test_pages_of_a_folder_are_the_whole(shared: MemoryStore, keys: set[str], limit: int) -> None:
    ns = fill(shared, keys)
    for folder in ("/", "/a"):
        assert paged(shared, ns, folder, limit) == in_folder(keys, folder)


@settings(max_examples=20, deadline=None)
@given(keys=st.sets(st.one_of(paths, names), max_size=14), limit=st.integers(1, 4))
def test_recursive_pages_are_the_whole(shared: MemoryStore, keys: set[str], limit: int) -> None:
    ns = fill(shared, keys)
    assert listed(shared, ns, "") == below(keys, "")
    assert paged(shared, ns, "", limit) == below(keys, "")
    for folder in ("/", "/a"):
        assert paged(shared, ns, folder, limit, recursive=True) == below(keys, folder)


def test_after_a_key_that_is_not_there(shared: MemoryStore) -> None:
    """A page goes on where the last one ended, even if that file was deleted meanwhile."""
    keys = {"/a", "/c", "/c/x", "/e/x", "/g"}
    ns = fill(shared, keys)
    assert listed(shared, ns, "/", after="/b") == ["/c", "/c/", "/e/", "/g"]
    assert listed(shared, ns, "/", after="/d/") == ["/e/", "/g"]
    assert listed(shared, ns, "/", after="/zzz") == []
    assert listed(shared, ns, "/", recursive=True, after="/b") == ["/c", "/g", "/c/x", "/e/x"]


def test_entries_say_what_they_are(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "cafe\u0301")
    shared.write(ns, "/a.md", "tea")
    shared.write(ns, "/b/c.md", "x")
    folder, file = sorted(shared.list_keys(ns), key=lambda entry: not entry.is_folder)
    item = shared.get(ns, "/a.md")
    assert (file.key, file.is_folder, file.size, file.revision) == ("/a.md", False, 3, 2)
    assert (file.created_at, file.updated_at) == (item.created_at, item.updated_at)
    assert (folder.key, folder.is_folder, folder.size, folder.created_at) == ("/b/", True, 0, None)


def test_deleted_and_expired_are_not_listed(clocked: Callable[..., MemoryStore], clock, ns: Namespace) -> None:
    store = clocked()
    for key in ("/kept", "/gone", "/folder/gone", "/short", "/brief/short"):
        store.write(ns, key, "x", ttl=1 if "short" in key else None)
    store.delete(ns, "/gone")
    store.delete(ns, "/folder/gone")
    clock.forward(61)
    assert listed(store, ns, "/") == ["/kept"]
    assert listed(store, ns, "") == ["/kept"]


def test_folder_names_are_made_canonical(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/caf\u00e9/a.md", "x")
    for folder in ("/caf\u00e9", "/caf\u00e9/", "//cafe\u0301/./", "cafe\u0301"):
        assert listed(shared, ns, folder) == ["/caf\u00e9/a.md"]
    with pytest.raises(InvalidPathError):
        listed(shared, ns, "/a/..")


def test_limits(shared: MemoryStore) -> None:
    ns = fill(shared, {"/a", "/b", "/c/x"})
    assert listed(shared, ns, "/", limit=0) == []
    assert listed(shared, ns, "/", limit=100) == ["/a", "/b", "/c/"]
    with pytest.raises(InvalidValueError):
        listed(shared, ns, "/", limit=-1)


def test_more_than_one_page_of_the_database(shared: MemoryStore) -> None:
    keys = {f"/d{n % 7}/f{n}" for n in range(2_100)}
    ns = fill(shared, keys)
    assert listed(shared, ns, "/", recursive=True) == below(keys, "/")
    assert listed(shared, ns, "/d3") == in_folder(keys, "/d3")
    assert listed(shared, ns, "/") == [f"/d{n}/" for n in range(7)]
    assert paged(shared, ns, "/", 900, recursive=True) == below(keys, "/")


async def test_async_listing(shared: MemoryStore) -> None:
    ns = fill(shared, {"/a", "/b/c"})
    assert [entry.key for entry in await shared.alist_keys(ns)] == ["/a", "/b/"]
    assert [entry.key for entry in await shared.alist_keys(ns, "", limit=1)] == ["/a"]
