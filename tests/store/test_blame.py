"""Every line knows the revision that wrote it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import Author, MemoryStore
from memoranda.errors import InvalidValueError, ItemNotFoundError, RevisionNotFoundError
from tests.store.conftest import Namespace, fresh


def blamed(store: MemoryStore, ns: Namespace, revision: int | None = None) -> list[tuple[str, int]]:
    return [(line.text, line.revision.revision) for line in store.blame(ns, "/a.md", revision=revision)]


@settings(max_examples=15, deadline=None)
@given(edits=st.lists(st.tuples(st.integers(0, 15), st.integers(0, 3), st.integers(0, 3)), max_size=25))
def test_blame_against_the_naive_way(shared: MemoryStore, edits: list[tuple[int, int, int]]) -> None:
    """Each line names the revision that made it, so that the text itself says what is right."""
    ns = fresh()
    lines = [f"1 {number}" for number in range(8)]
    texts = [lines]
    shared.write(ns, "/a.md", "".join(line + "\n" for line in lines))
    for at, removed, added in edits:
        revision = len(texts) + 1
        lines = list(lines)
        at = min(at, len(lines))
        lines[at : at + removed] = [f"{revision} {number}" for number in range(added)]
        if lines == texts[-1]:
            continue
        texts.append(lines)
        assert shared.write(ns, "/a.md", "".join(line + "\n" for line in lines)).revision == revision
    for revision in {1, len(texts) // 2 or 1, len(texts)}:
        expected = [(line, int(line.split()[0])) for line in texts[revision - 1]]
        assert blamed(shared, ns, revision) == expected
    assert blamed(shared, ns) == blamed(shared, ns, len(texts))


def test_an_append_is_not_blamed_for_the_line_before_it(shared: MemoryStore, ns: Namespace) -> None:
    shared.append(ns, "/a.md", "one", author=Author("user:ann"))
    shared.append(ns, "/a.md", "two", author=Author("user:bob"))
    shared.append(ns, "/a.md", "three\n", author=Author("user:cy"))
    found = [(line.text, line.revision.author.actor) for line in shared.blame(ns, "/a.md")]
    assert found == [("one", "user:ann"), ("two", "user:bob"), ("three", "user:cy")]


def test_blame_carries_author_and_number(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one\r\ntwo\nlast", author=Author("user:ann"))
    shared.edit(ns, "/a.md", "two", "2", author=Author("user:bob", reason="shorter"))
    lines = shared.blame(ns, "/a.md")
    assert [(line.number, line.text, line.revision.author.actor) for line in lines] == [
        (1, "one", "user:ann"),
        (2, "2", "user:bob"),
        (3, "last", "user:ann"),
    ]
    assert lines[1].revision.author.reason == "shorter"
    assert lines[1].revision.operation == "edit"


def test_blame_across_keyframes(shared: MemoryStore, ns: Namespace) -> None:
    for number in range(1, 141):
        shared.append(ns, "/a.md", f"line {number}")
    # A line that gets its end with the next append is still its own writer's: text is what counts for `append`.
    expected = blamed(shared, ns)
    assert [text for text, _ in expected] == [f"line {number}" for number in range(1, 141)]
    assert all(revision in (number, number + 1) for number, (_, revision) in enumerate(expected, 1))
    shared.write(ns, "/b.md", "".join(f"fact {n:03}\n" for n in range(100)))
    for n in range(100):
        shared.edit(ns, "/b.md", f"fact {n:03}\n", f"better fact {n:03}\n")
    assert [line.revision.revision for line in shared.blame(ns, "/b.md")] == list(range(2, 102))


def test_blame_of_a_restored_text(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one\ntwo\n")
    shared.write(ns, "/a.md", "one\n2\n")
    shared.restore(ns, "/a.md", 1)
    assert blamed(shared, ns) == [("one", 1), ("two", 3)]


def test_blame_starts_anew_after_a_deletion(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one\n")
    shared.delete(ns, "/a.md")
    shared.write(ns, "/a.md", "one\n")
    assert blamed(shared, ns) == [("one", 3)]
    assert blamed(shared, ns, 1) == [("one", 1)]
    with pytest.raises(RevisionNotFoundError):
        blamed(shared, ns, 2)


def test_blame_of_json(shared: MemoryStore, ns: Namespace) -> None:
    shared.put(ns, "profile", {"name": "Ann", "tea": "green"})
    shared.put(ns, "profile", {"name": "Ann", "tea": "black"})
    assert [line.revision.revision for line in shared.blame(ns, "profile")] == [1, 1, 2, 1]


def test_blame_of_an_empty_file(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one\n")
    shared.write(ns, "/a.md", "")
    assert blamed(shared, ns) == []


def test_blame_of_what_has_no_lines(shared: MemoryStore, ns: Namespace) -> None:
    with pytest.raises(ItemNotFoundError):
        shared.blame(ns, "/missing.md")
    shared.write(ns, "/a.bin", b"\xff\x00")
    with pytest.raises(InvalidValueError, match="binary"):
        shared.blame(ns, "/a.bin")
    shared.write(ns, "/a.bin", "text now\n")
    assert [line.revision.revision for line in shared.blame(ns, "/a.bin")] == [2]
    shared.delete(ns, "/a.bin")
    with pytest.raises(ItemNotFoundError):
        shared.blame(ns, "/a.bin")


async def test_async_blame(shared: MemoryStore, ns: Namespace) -> None:
    await shared.awrite(ns, "/a.md", "one\n")
    assert [line.text for line in await shared.ablame(ns, "/a.md")] == ["one"]


def test_lines_keep_their_revision_across_moves_and_returns(store: MemoryStore) -> None:
    ann, bob = Author("ann"), Author("bob")
    store.write(("a",), "/old.md", "one\ntwo\n", author=ann)
    store.move(("a",), "/old.md", "/new.md", author=bob)
    store.edit(("a",), "/new.md", "two", "TWO", author=bob)
    store.delete(("a",), "/new.md")
    store.restore(("a",), "/new.md", 2, author=bob)
    store.move(("a",), "/new.md", "/far.md", to_namespace=("b",), author=bob)
    lines = store.blame(("b",), "/far.md")
    assert [(line.text, line.revision.author.actor, line.revision.key) for line in lines] == [
        ("one", "ann", "/old.md"),
        ("TWO", "bob", "/new.md"),
    ]


def test_blame_ends_where_another_text_took_the_place(store: MemoryStore) -> None:
    store.write(("a",), "/old.md", "one\n", author=Author("ann"), ttl=0.002)
    store.move(("a",), "/old.md", "/new.md", author=Author("bob"))
    time.sleep(0.2)
    store.write(("a",), "/old.md", "other\n", author=Author("carl"))
    store.write(("a",), "/new.md", "one\n", author=Author("dora"))
    assert {line.revision.author.actor for line in store.blame(("a",), "/new.md")} <= {"bob", "dora"}
