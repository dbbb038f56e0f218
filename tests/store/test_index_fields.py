"""Which fields of an item are indexed: files in such stores, handles that differ, and earlier times."""

from __future__ import annotations

from datetime import UTC, datetime

from memoranda import MemoryStore, open_store

NS = ("ann",)


def test_a_file_can_be_written_where_other_fields_are_indexed(store_url: str) -> None:
    with open_store(store_url, index={"fields": ["text"]}) as store:
        store.write(NS, "/tea.md", "Likes oolong.")
        store.append(NS, "/tea.md", "And sencha.")
        assert store.get(NS, "/tea.md").value["content"] == "Likes oolong.\nAnd sencha."
        assert store.recall(NS, "oolong").hits == ()


def test_handles_with_different_fields_find_what_each_has_indexed(store_url: str) -> None:
    with open_store(store_url, index={"fields": ["text"]}) as narrow, open_store(store_url) as wide:
        narrow.put(NS, "one", {"text": "Likes oolong.", "source": "chat"})
        wide.put(NS, "two", {"text": "Likes sencha.", "source": "mail"})
        for each in (narrow, wide):
            assert [hit.key for hit in each.recall(NS, "oolong")] == ["one"]
            assert [hit.key for hit in each.recall(NS, "sencha")] == ["two"]


def test_what_is_not_to_be_found_is_not_found_at_an_earlier_time_either(store: MemoryStore) -> None:
    store.put(NS, "wish", {"text": "A secret wish."}, index=False)
    store.put(NS, "note", {"text": "Tea.", "source": "chat"}, index=["text"])
    then = datetime.now(UTC)
    assert store.recall(NS, "wish").hits == () and store.recall(NS, "chat").hits == ()
    assert store.recall(NS, "wish", as_of=then).hits == ()
    assert store.recall(NS, "chat", as_of=then).hits == ()
