"""Which passages of an item stay when it changes, and how much of a very large one is indexed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda import ChangeSet, MemoryStore, Write
from memoranda.search.passages import Passage
from memoranda.store.operations import item_passages
from memoranda.store.operations.indexing import ScopeIndex
from memoranda.store.operations.item_passages import NUMBER_MASK, Indexed, index_item, unpack_placed
from memoranda.store.values import Kind

ANN = ("ann",)


def changed(index: ScopeIndex, packed: bytes | None, digests: list[int]) -> bytes:
    found = [Indexed(Passage(1, 1, str(digest), "", digest), {digest: 1}) for digest in digests]
    return index_item(index, packed, found, 7, 0, Kind.TEXT)


@given(st.lists(st.lists(st.integers(1, 30), unique=True, max_size=20), max_size=12))
def test_what_stays_in_its_order_keeps_its_number(texts: list[list[int]]) -> None:
    packed: bytes | None = None
    before: dict[int, int] = {}
    given_out = 1_000
    for digests in texts:
        index = ScopeIndex(1, given_out)
        packed = changed(index, packed, digests)
        given_out = index.passages
        placed = unpack_placed(packed)
        assert [entry.digest for entry in placed] == digests
        spots = [entry.place for entry in placed]
        assert spots == sorted(set(spots)) and all(0 <= spot <= NUMBER_MASK for spot in spots)
        now = {entry.digest: entry.number for entry in placed}
        assert len(set(now.values())) == len(now)
        # Nothing is added or killed in vain: what is new is what has a new number, what is dead is what lost its own.
        added = {entry.number for entry in index._added.get(0, [])}  # type: ignore[call-overload]
        assert added == set(now.values()) - set(before.values())
        assert set(index._dead.get(0, [])) == set(before.values()) - set(now.values())  # type: ignore[call-overload]
        if [digest for digest in digests if digest in before] == [digest for digest in before if digest in now]:
            assert all(now[digest] == before[digest] for digest in now if digest in before)
        before = now


def test_where_there_is_no_room_left_all_get_new_places() -> None:
    index = ScopeIndex(1, 0)
    digests = [1, 2]
    packed = changed(index, None, digests)
    renumbered = 0
    for digest in range(3, 60):  # always into the same gap
        digests = [digests[0], digest, *digests[1:]]
        first = unpack_placed(packed)[0].number
        packed = changed(index, packed, digests)
        placed = unpack_placed(packed)
        assert [entry.digest for entry in placed] == digests
        assert [entry.place for entry in placed] == sorted({entry.place for entry in placed})
        renumbered += placed[0].number != first
    assert 1 <= renumbered <= 10


def test_of_a_very_large_item_the_beginning_is_indexed(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_passages, "MAX_INDEXED_BYTES", 2_000)
    text = "A bittern booms in the reeds.\n\n" + "Nothing to see here.\n\n" * 200 + "A curlew calls."
    store.write(ANN, "/large.md", text)
    store.put(ANN, "large", {"a": "a bittern", "b": "é" * 3_000, "c": "a curlew"})
    assert {hit.key for hit in store.recall(ANN, "bittern")} == {"/large.md", "large"}
    assert store.recall(ANN, "curlew").hits == ()
    assert store.get(ANN, "/large.md").value["content"] == text
    assert store.verify().ok


def test_accepted_proposals_are_tended_as_any_write(store: MemoryStore) -> None:
    for number in range(40):
        proposal = store.propose(ChangeSet([Write(ANN, f"/{number}.md", f"plover {number}")]))
        store.accept_proposal(proposal.id)
    assert len(store.recall(ANN, "plover", k=100)) == 40
    rows = store.engine.run(_blocks())
    assert len(rows) < 20


def _blocks():
    from memoranda.store.effects import query, transact

    return (yield from transact("read", lambda: query("blocks_of_scope", scope=2)))
