"""LangGraph's contract of `search` with a query and an embedder, as its own stores keep it.

Vectors come in the background here, so the tests wait for them where LangGraph's stores embed within `put`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp, SearchOp

from memoranda import MemoryStore

DIMS = 64
DOCS = ("docs",)
Open = Callable[..., MemoryStore]


class LetterEmbeddings(Embeddings):
    """A fake embedder for tests: a text's vector counts its letters."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        counts = Counter(ord(letter) % DIMS for letter in text.lower())
        return [float(counts[number]) for number in range(DIMS)]


@pytest.fixture
def vector_store(store_url: str, open_here: Open) -> MemoryStore:
    return open_here(store_url, index={"embed": LetterEmbeddings(), "dims": DIMS})


def keys(store: MemoryStore, query: str, **options: Any) -> list[str]:
    assert store.wait_for_index(20)
    return [item.key for item in store.search(DOCS, query=query, **options)]


def test_what_was_put_is_found_by_its_vector(vector_store: MemoryStore) -> None:
    vector_store.put(DOCS, "abc", {"text": "aabbcc aabbcc"})
    vector_store.put(DOCS, "xyz", {"text": "xxyyzz xxyyzz"})
    vector_store.put(DOCS, "other", {"text": "mmnnoo mmnnoo"})
    assert keys(vector_store, "cba bca cab")[0] == "abc"
    found = vector_store.search(DOCS, query="zyx zzyx")
    assert found[0].key == "xyz"
    scores = [item.score for item in found]
    assert all(score is not None for score in scores)
    assert scores == sorted(scores, reverse=True)


def test_an_update_moves_an_item(vector_store: MemoryStore) -> None:
    vector_store.put(DOCS, "one", {"text": "zany zebra zzzz"})
    vector_store.put(DOCS, "two", {"text": "something about dogs"})
    vector_store.put(DOCS, "three", {"text": "text about birds"})
    assert keys(vector_store, "zzz yyz")[0] == "one"
    vector_store.put(DOCS, "one", {"text": "new text about dogs"})
    assert set(keys(vector_store, "dogs", limit=2)) == {"one", "two"}
    vector_store.put(DOCS, "four", {"text": "new text about dogs"}, index=False)
    assert "four" not in keys(vector_store, "new text about dogs", limit=10)


@pytest.mark.parametrize(
    "condition", [{"color": "red"}, {"score": {"$gt": 3.2}}, {"color": "red", "score": {"$lt": 4}}]
)
def test_filters_hold_before_ranking(vector_store: MemoryStore, condition: dict[str, Any]) -> None:
    values = {
        "doc1": {"text": "red apple", "color": "red", "score": 4.5},
        "doc2": {"text": "red car", "color": "red", "score": 3.0},
        "doc3": {"text": "green apple", "color": "green", "score": 4.0},
        "doc4": {"text": "blue car", "color": "blue", "score": 3.5},
    }
    for key, value in values.items():
        vector_store.put(DOCS, key, value)
    wanted = {
        key
        for key, value in values.items()
        if ("color" not in condition or value["color"] == condition["color"])
        and (condition.get("score") != {"$gt": 3.2} or value["score"] > 3.2)  # type: ignore[operator]
        and (condition.get("score") != {"$lt": 4} or value["score"] < 4)  # type: ignore[operator]
    }
    assert set(keys(vector_store, "apple car", filter=condition)) == wanted


def test_pages_do_not_overlap(vector_store: MemoryStore) -> None:
    for number in range(12):
        vector_store.put(DOCS, f"doc{number}", {"text": f"test document number {number}"})
    whole = keys(vector_store, "test document", limit=20)
    pages = [keys(vector_store, "test document", limit=5, offset=start) for start in (0, 5, 10)]
    assert [key for page in pages for key in page] == whole
    assert len(set(whole)) == 12


def test_edges(vector_store: MemoryStore) -> None:
    vector_store.put(DOCS, "doc1", {"text": "test document"})
    assert len(vector_store.search(DOCS, query="")) == 1
    assert len(vector_store.search(DOCS, query=None)) == 1
    assert keys(vector_store, "test " * 1_000) == ["doc1"]
    assert isinstance(keys(vector_store, "特殊な !@#$%^&*()"), list)
    assert vector_store.search(("nothing",), query="test") == []
    assert vector_store.search(DOCS, query="test", limit=0) == []


def test_fields_of_the_store_and_of_an_item(store_url: str, open_here: Open) -> None:
    store = open_here(
        store_url, index={"embed": LetterEmbeddings(), "dims": DIMS, "fields": ["key0", "key1", "key3[*].a"]}
    )
    store.put(DOCS, "doc1", {"key0": "aaa", "key1": "bbb", "key2": "ccc", "key3": [{"a": "ddd"}, {"a": "eee"}]})
    store.put(DOCS, "doc2", {"key0": "uuu", "key1": "vvv", "key2": "www", "key3": [{"a": "xxx"}]})
    store.put(DOCS, "doc3", {"key0": "nothing", "key2": "ccc ccc"}, index=["key2"])
    assert keys(store, "aaa")[0] == "doc1"
    assert keys(store, "eee")[0] == "doc1"
    assert keys(store, "xxx")[0] == "doc2"
    assert keys(store, "ccc")[0] == "doc3"


async def test_a_batch_and_the_async_face(vector_store: MemoryStore) -> None:
    await vector_store.abatch(
        [PutOp(DOCS, f"doc{number}", {"text": text}) for number, text in enumerate(("aaa", "bbb", "ccc"))]
    )
    assert await vector_store.await_for_index(20)
    first, second = await vector_store.abatch(
        [SearchOp(DOCS, query="aa a", limit=1), SearchOp(DOCS, query="cc c", limit=1)]
    )
    assert [item.key for item in first] == ["doc0"]  # type: ignore[union-attr]
    assert [item.key for item in second] == ["doc2"]  # type: ignore[union-attr]
    found = await vector_store.asearch(DOCS, query="b bb")
    assert found[0].key == "doc1"
