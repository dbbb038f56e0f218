"""Words that have another form by now are made anew; what they belong to stays."""

from __future__ import annotations

from typing import Any

import pytest

from memoranda import MemoryStore
from memoranda.store.operations import item_passages, rewording, turn_passages, workspace
from memoranda.store.reindexing import reindex
from memoranda.store.turns import Turn
from tests.store.embedding_support import Embedding, HashedWords

ANN, BOB = ("ann",), ("bob",)


def words_of_another_version(text: str) -> dict[int, int]:
    return {4711: 1}


@pytest.fixture
def old(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> Embedding:
    """A store whose words are those of another version."""
    embedding = Embedding(store, HashedWords())
    with monkeypatch.context() as patch:
        patch.setattr(item_passages, "terms_of", words_of_another_version)
        patch.setattr(turn_passages, "terms_of", words_of_another_version)
        patch.setattr(workspace, "WORDS_VERSION", "another")
        for number in range(30):
            embedding.store.write(ANN, f"/{number}.md", f"note {number} about tea")
        embedding.store.delete(ANN, "/7.md")
        embedding.store.put(BOB, "profile", {"likes": "tea"})
        embedding.store.record_turns(BOB, "t1", [Turn("m1", "user", "Where is my tea?")])
    embedding.drain()
    return embedding


def run(embedding: Embedding, **settings: Any) -> None:
    reindex(embedding.store.engine, embedding.context, embedding.worker, **settings)


def test_words_are_found_again_and_no_vector_is_made_anew(old: Embedding) -> None:
    store = MemoryStore(old.store.engine, old.store.context.__class__(), url="")
    assert len(store.recall(ANN, "tea")) == 0
    words = old.in_use.embedder.embed_documents.__self__  # type: ignore[attr-defined]
    words.seen.clear()
    told: list[tuple[int, int]] = []
    run(old, progress=lambda done, total: told.append((done, total)))
    assert told[:2] == [(1, 2), (2, 2)]
    assert words.seen == []
    assert len(store.recall(ANN, "tea", k=100)) == 29
    assert {hit.key for hit in store.recall(BOB, "tea")} == {"profile", "m1"}
    assert len(old.meaning(ANN, "beverage")) == 10
    status = old.worker.status()
    assert (status.passages, status.indexes[0].embedded) == (31, 31)


def test_it_is_done_once(old: Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    run(old)
    monkeypatch.setattr(rewording, "terms_of", lambda text: pytest.fail("made anew again"))
    run(old)


def test_stopped_it_goes_on_with_the_next_namespace(old: Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(old, progress=interrupt)
    assert len(old.store.recall(ANN, "tea", k=100)) == 29
    told: list[tuple[int, int]] = []
    run(old, progress=lambda done, total: told.append((done, total)))
    assert told[0] == (1, 1)
    assert {hit.key for hit in old.store.recall(BOB, "tea")} == {"profile", "m1"}


def test_what_is_written_meanwhile_stays_found(old: Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    terms_of = rewording.terms_of
    to_write, to_delete = ["/new.md"], ["/3.md"]

    def overtaken(text: str) -> dict[int, int]:
        while to_write:
            old.store.write(ANN, to_write.pop(), "new tea")
        while to_delete:
            old.store.delete(ANN, to_delete.pop())
        return terms_of(text)

    monkeypatch.setattr(rewording, "terms_of", overtaken)
    run(old)
    found = {hit.key for hit in old.store.recall(ANN, "tea", k=100)}
    assert "/new.md" in found
    assert "/3.md" not in found
    assert len(found) == 29


def test_what_is_cut_in_another_way_by_now_is_cut_anew(old: Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = item_passages.passages_of

    def otherwise(text: str, *, path: str = "") -> Any:
        return cut(f"Title: {text}", path=path)

    monkeypatch.setattr(item_passages, "passages_of", otherwise)
    run(old)
    hits = old.store.recall(ANN, "note 12 tea", k=1).hits
    assert hits[0].text == "Title: note 12 about tea"
    status = old.worker.status()
    assert (status.passages, status.indexes[0].embedded, status.indexes[0].waiting) == (31, 31, 0)
