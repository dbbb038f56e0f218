"""A store that was opened with an embedder embeds by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memoranda import MemoryStore
from memoranda.store.turns import Turn
from tests.store.embedding_support import HashedWords

ANN = ("ann",)


def opened(open_here: Callable[..., MemoryStore], url: str, words: HashedWords | None = None) -> MemoryStore:
    return open_here(url, index={"embed": words or HashedWords(), "dims": 64})


def test_what_is_written_is_found_by_its_meaning(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    store = opened(open_here, store_url)
    store.write(ANN, "/tea.md", "green tea")
    store.put(ANN, "pet", {"name": "a cat"})
    store.record_turns(ANN, "t1", [Turn("m1", "user", "I sold my car")])
    assert store.wait_for_index(20)
    for query, key in (("beverage", "/tea.md"), ("feline", "pet"), ("automobile", "m1")):
        assert store.recall(ANN, query).hits[0].key == key
    assert [item.key for item in store.search(ANN, query="beverage", limit=1)] == ["/tea.md"]
    status = store.index_status()
    assert status.in_use is not None
    assert (status.in_use.embedded, status.in_use.waiting, status.passages) == (3, 0, 3)


def test_what_was_there_before_is_embedded_by_who_only_searches(
    store_url: str, open_here: Callable[..., MemoryStore]
) -> None:
    with open_here(store_url) as before:
        before.write(ANN, "/tea.md", "green tea")
    store = opened(open_here, store_url)
    found = store.recall(ANN, "tea")
    assert len(found) == 1
    assert store.wait_for_index(20)
    assert [hit.key for hit in store.recall(ANN, "beverage")] == ["/tea.md"]
    assert store.recall(ANN, "beverage").notices == ()


def test_an_embedder_that_fails_is_in_nobodys_way(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    words = HashedWords()
    words.failing = ConnectionError("away")
    store = opened(open_here, store_url, words)
    store.write(ANN, "/tea.md", "green tea")
    assert [hit.key for hit in store.recall(ANN, "tea")] == ["/tea.md"]
    assert not store.wait_for_index()
    assert [hit.key for hit in store.recall(ANN, "tea")] == ["/tea.md"]
    store.close()


def test_another_embedder_takes_over_by_reindexing(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    with opened(open_here, store_url) as old:
        old.write(ANN, "/tea.md", "green tea")
        assert old.wait_for_index(20)
    store = opened(open_here, store_url, HashedWords(salt="other"))
    status = store.reindex()
    assert [(index.state, index.embedded) for index in status.indexes] == [("serving", 1)]
    assert [hit.key for hit in store.recall(ANN, "beverage")] == ["/tea.md"]


def test_what_is_deleted_is_not_found_by_its_meaning(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    store = opened(open_here, store_url)
    store.write(ANN, "/tea.md", "green tea")
    assert store.wait_for_index(20)
    store.delete(ANN, "/tea.md")
    assert len(store.recall(ANN, "beverage")) == 0


def test_tenants_have_indexes_of_their_own(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    store = opened(open_here, store_url)
    other = open_here(store_url, index={"embed": HashedWords()}, tenant="other")
    for each, text in ((store, "green tea"), (other, "a cat")):
        each.write(ANN, "/it.md", text)
        assert each.wait_for_index(20)
    assert [hit.text for hit in store.recall(ANN, "beverage feline")] == ["green tea"]
    assert [hit.text for hit in other.recall(ANN, "beverage feline")] == ["a cat"]
    assert [index.embedded for index in other.index_status().indexes] == [1]


@pytest.mark.parametrize("url", ["memory://"])
def test_a_store_in_memory_embeds_too(url: str, open_here: Callable[..., MemoryStore]) -> None:
    store = opened(open_here, url)
    store.write(ANN, "/tea.md", "green tea")
    assert store.wait_for_index(20)
    assert [hit.key for hit in store.recall(ANN, "beverage")] == ["/tea.md"]


async def test_every_method_has_its_async_twin(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    async def embed(texts: list[str]) -> list[list[float]]:
        return HashedWords().embed_documents(texts)

    store = open_here(store_url, index={"embed": embed})
    await store.awrite(ANN, "/tea.md", "green tea")
    assert await store.await_for_index(20)
    assert [hit.key for hit in await store.arecall(ANN, "beverage")] == ["/tea.md"]
    assert (await store.areindex()).passages == (await store.aindex_status()).passages == 1
    await store.aclose()


def test_the_best_local_embedder_is_taken_by_its_name(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    store = open_here(store_url, index="local")
    store.write(ANN, "/tee.md", "Morgens trinkt sie am liebsten grünen Tee.")
    store.write(ANN, "/katze.md", "Die Katze schläft auf dem Sofa.")
    assert store.wait_for_index(60)
    assert store.recall(ANN, "Which drink does she like?").hits[0].key == "/tee.md"
    assert store.recall(ANN, "Where is the pet?").hits[0].key == "/katze.md"
