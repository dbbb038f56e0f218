"""Recall below a path: what lies elsewhere gives no hits, and lends nothing to those there are."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoranda import ChangeSet, MemoryStore, Write
from memoranda.errors import InvalidPathError, InvalidValueError
from memoranda.store.turns import Turn

ANN = ("ann",)


def keys(store: MemoryStore, query: str, scope: tuple[str, ...] = ANN, **options: object) -> list[str]:
    return sorted(hit.key for hit in store.recall(scope, query, k=100, **options))  # type: ignore[arg-type]


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    paths = ["/a.md", "/notes", "/notes/b.md", "/notes/deep/.c.md", "/notes2/d.md", "/Notes/e.md", "/notes/x%_y.md"]
    store.commit(ChangeSet([Write(ANN, path, "a marmot in the garden") for path in paths]))
    store.put(ANN, "fact", {"text": "marmots whistle"})
    store.put(ANN, "notes/fact", {"text": "marmots whistle"})
    store.put(ANN, "/notes/document", {"text": "marmots whistle"})
    store.write(("ann", "work"), "/notes/f.md", "a marmot at work")
    store.write(("anna",), "/notes/g.md", "a marmot of another")
    store.record_turns(ANN, "t1", [Turn("m1", "user", "I saw a marmot.")])
    return store


def test_only_what_lies_below_a_path(filled: MemoryStore) -> None:
    below = ["/notes", "/notes/b.md", "/notes/deep/.c.md", "/notes/document", "/notes/x%_y.md"]
    assert keys(filled, "marmot", path="/notes") == keys(filled, "marmot", path="/notes/") == below
    assert keys(filled, "marmot", path="/notes//deep/.") == ["/notes/deep/.c.md"]
    assert keys(filled, "marmot", path="/a.md") == ["/a.md"]
    assert keys(filled, "marmot", path="/nowhere") == []
    everywhere = keys(filled, "marmot", path="/")
    assert everywhere == sorted([*below, "/a.md", "/notes2/d.md", "/Notes/e.md"])
    assert set(keys(filled, "marmot")) == {*everywhere, "fact", "notes/fact", "m1"}
    assert keys(filled, "marmot", path="/notes", kinds=["item"]) == ["/notes/document"]
    assert keys(filled, "marmot", path="/notes", kinds=["file", "turn"]) == [k for k in below if k != "/notes/document"]


def test_below_a_path_in_the_namespaces_below(filled: MemoryStore) -> None:
    assert keys(filled, "marmot", path="/notes/f.md") == []
    assert keys(filled, "marmot", path="/notes/f.md", below=True) == ["/notes/f.md"]


def test_there_are_as_many_hits_as_there_can_be(store: MemoryStore) -> None:
    """What lies elsewhere answers better, and takes no place."""
    store.commit(
        ChangeSet(
            [Write(ANN, f"/else/{number}.md", "marmot marmot marmot") for number in range(60)]
            + [
                Write(ANN, f"/here/{number}.md", f"Beside much else, number {number} is about a marmot too.")
                for number in range(5)
            ]
        )
    )
    assert len(store.recall(ANN, "marmot", k=5, path="/here")) == 5


def test_what_lies_elsewhere_lends_no_words(store: MemoryStore) -> None:
    """The words of the best passages widen a query; those of other folders do not."""
    store.write(ANN, "/else/a.md", "The marmot project is called Whistler; Whistler is due in May.")
    store.write(ANN, "/here/b.md", "Whistler needs a budget.")
    for number in range(30):
        store.write(ANN, f"/filler/{number}.md", f"Nothing to do with it, number {number}.")
    assert "/here/b.md" in keys(store, "marmot project")
    assert keys(store, "marmot project", path="/here") == []


def test_a_moved_file_is_where_it_is(filled: MemoryStore) -> None:
    filled.move(ANN, "/notes/b.md", "/elsewhere/b.md")
    assert "/notes/b.md" not in keys(filled, "marmot", path="/notes")
    assert keys(filled, "marmot", path="/elsewhere") == ["/elsewhere/b.md"]
    filled.delete(ANN, "/elsewhere/b.md")
    assert keys(filled, "marmot", path="/elsewhere") == []


def test_below_a_path_at_an_earlier_time(store: MemoryStore) -> None:
    store.write(ANN, "/notes/a.md", "a marmot")
    store.write(ANN, "/other/b.md", "a marmot")
    moment = datetime.now(UTC)
    store.write(ANN, "/notes/a.md", "a wombat")
    assert keys(store, "marmot", path="/notes") == []
    assert keys(store, "marmot", path="/notes", as_of=moment) == ["/notes/a.md"]


def test_paths_that_are_none(store: MemoryStore) -> None:
    with pytest.raises(InvalidPathError):
        store.recall(ANN, "marmot", path="/notes/../../etc")
    with pytest.raises(InvalidValueError, match="no path"):
        store.recall(ANN, "marmot", path="/notes", kinds=["turn"])


async def test_below_a_path_async(filled: MemoryStore) -> None:
    found = await filled.arecall(ANN, "marmot", path="/notes/deep")
    assert [hit.place for hit in found] == ["/notes/deep/.c.md:1"]
