"""History in pages, reads of the past, and differences."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import Author, MemoryStore
from memoranda.errors import InvalidValueError, ItemNotFoundError, RevisionNotFoundError
from tests.store.conftest import Clock, Namespace, fresh


def test_history_in_pages(shared: MemoryStore, ns: Namespace) -> None:
    for number in range(150):
        shared.write(ns, "/a.md", f"text {number}")
    whole = shared.history(ns, "/a.md")
    assert [entry.revision for entry in whole] == list(range(150, 0, -1))
    assert [entry.position for entry in whole] == list(range(150, 0, -1))
    paged = []
    before = None
    while page := shared.history(ns, "/a.md", limit=40, before=before):
        assert len(page) <= 40
        paged += page
        before = page[-1].revision
    assert paged == whole
    assert shared.history(ns, "/a.md", limit=0) == []
    assert shared.history(ns, "/a.md", before=1) == []


def test_history_says_who_when_and_why(shared: MemoryStore, ns: Namespace) -> None:
    author = Author("user:ann", "thread", "run", "call", "asked to remember")
    before = datetime.now(UTC)
    shared.write(ns, "/a.md", "one\n", author=author)
    (entry,) = shared.history(ns, "/a.md")
    assert entry.author == author
    assert before - timedelta(seconds=1) <= entry.at <= datetime.now(UTC)
    assert (entry.namespace, entry.key, entry.revision, entry.operation) == (ns, "/a.md", 1, "write")
    assert (entry.size, len(entry.digest)) == (4, 64)


def test_history_of_what_never_was(shared: MemoryStore, ns: Namespace) -> None:
    assert shared.history(ns, "/a.md") == []
    assert shared.history((*ns, "nowhere"), "name", follow=True) == []


@settings(max_examples=15, deadline=None)
@given(
    versions=st.lists(
        st.one_of(
            st.none(),
            st.lists(st.sampled_from(["a\n", "b\n", "c\n", "longer line\n"]), max_size=12).map("".join),
            st.binary(max_size=40),
            st.dictionaries(st.sampled_from("abc"), st.integers(0, 3), max_size=3),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_every_revision_comes_back(shared: MemoryStore, versions: list) -> None:
    """Text, bytes, JSON and deletions in any order; the last keyframe lies anywhere."""
    ns = fresh()
    kept: list = []
    for version in versions:
        if version is None:
            shared.delete(ns, "/key")
            if kept and kept[-1] is not None:
                kept.append(None)
        else:
            shared.write(ns, "/key", version)
            kept.append(shared.get(ns, "/key").value)
    for revision, value in enumerate(kept, 1):
        if value is None:
            with pytest.raises(RevisionNotFoundError):
                shared.get_at(ns, "/key", revision=revision)
        else:
            assert shared.get_at(ns, "/key", revision=revision).value == value
    assert shared.verify(ns).ok


def test_get_at_across_keyframes(shared: MemoryStore, ns: Namespace) -> None:
    lines = [f"line {number}\n" for number in range(30)]
    for number in range(140):
        lines[number % 30] = f"line {number % 30} at {number}\n"
        shared.write(ns, "/a.md", "".join(lines))
    lines = [f"line {number}\n" for number in range(30)]
    for number in range(140):
        lines[number % 30] = f"line {number % 30} at {number}\n"
        if number % 9 == 0 or 60 < number < 67 or 125 < number < 131:
            assert shared.get_at(ns, "/a.md", revision=number + 1).value["content"] == "".join(lines)


def test_get_at_a_time(clocked: Callable[..., MemoryStore], clock: Clock, ns: Namespace) -> None:
    store = clocked()
    start = datetime.fromtimestamp(clock.now / 1_000_000, UTC)
    for word in ("one", "two"):
        store.write(ns, "/a.md", word)
        clock.forward(10)
    store.delete(ns, "/a.md")
    clock.forward(10)
    store.write(ns, "/a.md", "three")

    def at(seconds: float) -> str:
        return store.get_at(ns, "/a.md", at=start + timedelta(seconds=seconds)).value["content"]

    with pytest.raises(RevisionNotFoundError):
        at(-0.000001)
    assert (at(0), at(9.999999), at(10), at(19.999999), at(30), at(1e6)) == (
        "one",
        "one",
        "two",
        "two",
        "three",
        "three",
    )
    for seconds in (20, 29.9):
        with pytest.raises(RevisionNotFoundError):
            at(seconds)
    item = store.get_at(ns, "/a.md", at=start + timedelta(seconds=15))
    assert (item.revision, item.created_at, item.updated_at) == (2, start, start + timedelta(seconds=10))
    item = store.get_at(ns, "/a.md", revision=4)
    assert item.created_at == item.updated_at == start + timedelta(seconds=30)
    naive = (start + timedelta(seconds=15)).replace(tzinfo=None)
    east = (start + timedelta(seconds=15)).astimezone(timezone(timedelta(hours=9)))
    for moment in (naive, east):
        assert store.get_at(ns, "/a.md", at=moment).value["content"] == "two"


def test_a_clock_set_back_keeps_the_order(clocked: Callable[..., MemoryStore], clock: Clock, ns: Namespace) -> None:
    store = clocked()
    store.write(ns, "/a.md", "one")
    clock.forward(-3_600)
    store.write(ns, "/a.md", "two")
    second, first = store.history(ns, "/a.md")
    assert second.at >= first.at
    assert store.get_at(ns, "/a.md", at=first.at).value["content"] == "two"
    assert store.get(ns, "/a.md").updated_at >= store.get(ns, "/a.md").created_at


def test_get_at_wants_one_of_two(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one")
    with pytest.raises(InvalidValueError):
        shared.get_at(ns, "/a.md")
    with pytest.raises(InvalidValueError):
        shared.get_at(ns, "/a.md", revision=1, at=datetime.now(UTC))
    with pytest.raises(ItemNotFoundError):
        shared.get_at(ns, "/b.md", revision=1)
    for revision in (0, -1, 2, 10**12):
        with pytest.raises(RevisionNotFoundError):
            shared.get_at(ns, "/a.md", revision=revision)


def test_diff(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one\ntwo\nthree\n")
    shared.edit(ns, "/a.md", "two", "2")
    shared.edit(ns, "/a.md", "three", "3")
    latest = shared.diff(ns, "/a.md")
    assert "-three\n" in latest and "+3\n" in latest and "-two" not in latest
    assert latest.startswith("--- /a.md (revision 2)\n+++ /a.md (revision 3)\n")
    whole = shared.diff(ns, "/a.md", 1, 3)
    assert "-two\n" in whole and "-three\n" in whole
    assert shared.diff(ns, "/a.md", 3, 1).count("+two\n") == 1
    first = shared.diff(ns, "/a.md", after=1)
    assert first.splitlines()[3:] == ["+one", "+two", "+three"]
    assert shared.diff(ns, "/a.md", 2, 2) == ""
    with pytest.raises(RevisionNotFoundError):
        shared.diff(ns, "/a.md", 1, 9)
    with pytest.raises(RevisionNotFoundError):
        shared.diff(ns, "/a.md", -1, 2)
    with pytest.raises(ItemNotFoundError):
        shared.diff(ns, "/b.md")


def test_diff_of_a_deletion_and_of_other_kinds(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one\n")
    shared.delete(ns, "/a.md")
    assert "-one\n" in shared.diff(ns, "/a.md")
    shared.put(ns, "json", {"a": 1, "b": 2})
    shared.put(ns, "json", {"a": 1, "b": 3})
    assert '-  "b": 2\n' in shared.diff(ns, "json") and '"a"' not in shared.diff(ns, "json").replace(' "a": 1', "")
    shared.write(ns, "/a.bin", b"\xff\x01")
    shared.write(ns, "/a.bin", b"\xff\x02")
    assert shared.diff(ns, "/a.bin").startswith("Binary ")
    assert shared.diff(ns, "/a.bin", 1, 1) == ""


async def test_async_history(shared: MemoryStore, ns: Namespace) -> None:
    await shared.awrite(ns, "/a.md", "one\n")
    await shared.awrite(ns, "/a.md", "two\n")
    assert [entry.revision for entry in await shared.ahistory(ns, "/a.md", limit=1)] == [2]
    assert (await shared.aget_at(ns, "/a.md", revision=1)).value["content"] == "one\n"
    assert "+two\n" in await shared.adiff(ns, "/a.md")
