"""The thinnest path through the store."""

from memoranda import MemoryStore


def test_put_get_edit_history(store: MemoryStore) -> None:
    store.put(("ann",), "profile", {"name": "Ann"})
    assert store.get(("ann",), "profile").value == {"name": "Ann"}
    store.write(("ann",), "/notes.md", "one\ntwo\n")
    store.edit(("ann",), "/notes.md", "two", "TWO")
    assert store.get(("ann",), "/notes.md").value["content"] == "one\nTWO\n"
    assert [entry.operation for entry in store.history(("ann",), "/notes.md")] == ["edit", "write"]
    assert store.verify().ok


async def test_async_is_the_same(store: MemoryStore) -> None:
    await store.awrite(("ann",), "/notes.md", "one\n")
    await store.aappend(("ann",), "/notes.md", "two")
    item = await store.aget(("ann",), "/notes.md")
    assert item is not None and item.value["content"] == "one\ntwo"
    await store.aclose()
