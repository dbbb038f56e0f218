"""What is there is found, what is not to be found is not, whichever handle looks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from zlib import crc32

import psycopg
import pytest

from memoranda import ChangeSet, MemoryStore, Write, open_store
from memoranda.store.operations.index_checking import discard_index
from memoranda.store.turns import Turn

ANN, BEN = ("ann",), ("ben",)
Opening = Callable[..., MemoryStore]


def keys(store: MemoryStore, query: str, scope: tuple[str, ...] = ANN, **settings: object) -> list[str]:
    return [hit.key for hit in store.recall(scope, query, **settings).hits]  # type: ignore[arg-type]


def meaning(texts: list[str]) -> list[list[float]]:
    return [[1.0, float("zebra" in text)] for text in texts]


def test_files_can_be_written_where_fields_are_named(store_url: str, open_here: Opening) -> None:
    store = open_here(store_url, index={"fields": ["text"]})
    store.write(ANN, "/a.md", "zebra")  # raised StoreCorruptError
    assert store.get(ANN, "/a.md") is not None


def test_what_was_put_under_other_fields_is_found(store_url: str, open_here: Opening) -> None:
    writer = open_here(store_url, index={"fields": ["text"]})
    writer.put(ANN, "k", {"text": "likes zebras", "other": "hates broccoli"})
    assert keys(writer, "zebras") == ["k"]
    assert keys(open_here(store_url), "zebras") == ["k"]


def test_what_was_put_under_other_fields_is_embedded(store_url: str, open_here: Opening) -> None:
    reader = open_here(store_url, index={"embed": meaning})
    assert reader.wait_for_index(20)
    open_here(store_url, index={"fields": ["text"]}).put(ANN, "k", {"text": "likes zebras", "other": "broccoli"})
    reader.recall(ANN, "x")
    assert reader.wait_for_index(20)
    status = reader.index_status()
    assert status.indexes[0].embedded == status.passages == 1


@pytest.mark.parametrize("order", [1, -1])
def test_equal_bodies_of_a_text_and_a_document_in_one_change_set(store: MemoryStore, order: int) -> None:
    text, document = Write(ANN, "/x.md", '{\n  "a": "zebra"\n}'), Write(BEN, "/x.md", {"a": "zebra"})
    store.commit(ChangeSet([text, document][::order]))
    assert (keys(store, "zebra"), keys(store, "zebra", BEN)) == (["/x.md"], ["/x.md"])


def test_a_file_that_becomes_a_document(store: MemoryStore) -> None:
    store.write(ANN, "/p.md", "name: Anna")
    store.put(ANN, "/p.md", {"name": "Anna"})
    assert keys(store, "anna", kinds=["item"]) == ["/p.md"]


def test_a_new_file_in_the_place_of_one_that_was_not_to_be_found(store: MemoryStore) -> None:
    store.put(ANN, "/a.md", {"content": "a zebra", "encoding": "utf-8"}, index=False)
    store.delete(ANN, "/a.md")
    store.write(ANN, "/a.md", "another zebra")
    assert keys(store, "zebra") == ["/a.md"]


def test_what_is_not_to_be_found_is_not_found_at_an_earlier_time_either(store: MemoryStore) -> None:
    store.put(ANN, "k", {"a": "a zebra"}, index=False)
    assert keys(store, "zebra") == []
    assert keys(store, "zebra", as_of=datetime.now(UTC)) == []


def test_turns_that_are_not_indexed_are_told_of(store_url: str, open_here: Opening) -> None:
    open_here(store_url, index=False).record_turns(ANN, "t", [Turn("m", "user", "I like zebras.")])
    found = open_here(store_url).search_episodes(ANN, "zebras")
    assert found.episodes or found.notices


def test_turns_after_a_rebuilding_that_was_stopped_are_told_of(store: MemoryStore) -> None:
    store.record_turns(ANN, "t", [Turn("m", "user", "I like zebras.")])
    store.engine.run(discard_index(store.context))  # the first step of reindex(rebuild=True)
    found = store.search_episodes(ANN, "zebras")
    assert found.episodes or found.notices


def test_a_text_with_the_checksum_of_the_one_before(store: MemoryStore) -> None:
    before = "the password is zebra"
    after = _with_checksum("nothing of interest here ", crc32(b"\0" + before.encode()))
    store.write(ANN, "/a.md", before)
    store.write(ANN, "/a.md", after)
    assert (keys(store, "zebra"), keys(store, "interest")) == ([], ["/a.md"])


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_a_schema_that_is_made_anew_while_a_process_lives(engine: str, other_store_url: str) -> None:
    with open_store(other_store_url) as store:
        store.write(BEN, "/a.md", "bananas")
        assert keys(store, "bananas", BEN) == ["/a.md"]
        with psycopg.connect(other_store_url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA memoranda CASCADE")
        with open_store(other_store_url) as other:
            other.write(ANN, "/b.md", "cherries")
        assert store.get(ANN, "/b.md") is not None
        assert keys(store, "cherries") == ["/b.md"]


def _with_checksum(text: str, wanted: int, length: int = 12) -> str:
    """The text with letters behind it that give it a checksum."""
    start = b"\0" + text.encode()
    plain = bytes([0x60] * length)
    zero = crc32(start + plain)
    basis: dict[int, tuple[int, int]] = {}
    for bit in range(4 * length):
        changed = bytearray(plain)
        changed[bit // 4] ^= 1 << bit % 4
        value, mask = crc32(start + changed) ^ zero, 1 << bit
        while value:
            high = value.bit_length()
            if high not in basis:
                basis[high] = value, mask
                break
            value, mask = value ^ basis[high][0], mask ^ basis[high][1]
    left, chosen = wanted ^ zero, 0
    while left:
        value, mask = basis[left.bit_length()]
        left, chosen = left ^ value, chosen ^ mask
    return text + bytes(byte ^ (chosen >> 4 * place & 15) for place, byte in enumerate(plain)).decode()
