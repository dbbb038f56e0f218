"""Another embedder, and bringing an index up to date: nothing is mixed, lost or done twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memoranda import ChangeSet, MemoryStore, Write
from memoranda.errors import SearchUnavailableError
from memoranda.search.blocks import VectorBlock
from memoranda.store.index_status import IndexStatus
from memoranda.store.operations.indexing import Part
from memoranda.store.reindexing import reindex
from memoranda.store.turns import Turn
from tests.store.conftest import Clock
from tests.store.embedding_support import Embedding, HashedWords, blocks_of

ANN = ("ann",)


def run(embedding: Embedding, **settings: Any) -> IndexStatus:
    return reindex(embedding.store.engine, embedding.context, embedding.worker, **settings)


def write_some(store: MemoryStore, count: int = 40) -> None:
    for number in range(count):
        store.write((f"user{number % 4}",), f"/{number}.md", f"note {number} about tea")


def test_swapped_for_another_of_the_same_size_nothing_is_mixed(
    store_url: str, open_here: Callable[..., MemoryStore]
) -> None:
    old = Embedding(open_here(store_url), HashedWords())
    old.store.write(ANN, "/tea.md", "green tea")
    old.drain()
    new = Embedding(open_here(store_url), HashedWords(salt="other"))
    found = new.store.recall(ANN, "beverage")
    assert (len(found), len(found.notices)) == (0, 1)
    new.store.write(ANN, "/cat.md", "a cat")
    # Each finds by its own vectors only; before the new one is complete, by none.
    assert old.meaning(ANN, "beverage").keys() == {"/tea.md"}
    assert not new.meaning(ANN, "feline")
    new.drain()
    old.drain()
    for embedding in (old, new):
        assert max(embedding.meaning(ANN, "feline").items(), key=lambda hit: hit[1])[0] == "/cat.md"
    ids = {status.name: status for status in new.worker.status().indexes}
    assert [status.embedded for status in new.worker.status().indexes] == [2, 2], ids
    by_index = {owner: bodies for (part, owner), bodies in blocks_of(store_url).items() if part == Part.VECTORS}
    assert len(by_index) == 2
    for words, (_, bodies) in zip((old, new), sorted(by_index.items()), strict=True):
        vectors = {
            int(number): row / abs(row).max()
            for body in bodies
            for block in [VectorBlock.unpack(body)]
            for number, row in zip(block.number, block.rounded.astype(float), strict=True)
        }
        for text in ("tea\ngreen tea", "cat\na cat"):
            expected = words.in_use.embedder.embed_documents([f"/{text}"])[0]
            top = max(map(abs, expected))
            close = [sum((a - b / top) ** 2 for a, b in zip(row, expected, strict=True)) for row in vectors.values()]
            assert min(close) < 0.1


def test_reindexing_drops_what_another_embedder_left(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    old = Embedding(open_here(store_url), HashedWords())
    write_some(old.store)
    old.drain()
    new = Embedding(open_here(store_url), HashedWords(salt="other"))
    told: list[tuple[int, int]] = []
    status = run(new, progress=lambda done, total: told.append((done, total)))
    assert [(index.name, index.state, index.embedded) for index in status.indexes] == [
        (new.in_use.embedder.name, "serving", 40)
    ]
    assert told == sorted(told)
    assert told[-1] == (40, 40)
    assert {owner for _, owner in blocks_of(store_url)} == {0, new.in_use.known_index.id}  # type: ignore[union-attr]
    # Whoever still has the old one finds by words, and is told why.
    assert old.in_use.refresh() is None
    found = old.store.recall(("user0",), "tea")
    assert len(found) == 10
    assert "was dropped for another embedder's" in found.notices[0]
    assert not old.worker.work()
    assert not old.worker.wait(0)


def test_reindexing_can_keep_what_another_embedder_left(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    old, new = (Embedding(open_here(store_url), HashedWords(salt=salt)) for salt in ("", "other"))
    write_some(old.store, 8)
    old.drain()
    assert [index.state for index in run(new, keep_old=True).indexes] == ["serving", "serving"]
    assert old.meaning(("user0",), "beverage")


def test_an_index_that_nobody_uses_any_more_goes_by_itself(store: MemoryStore, clock: Clock) -> None:
    old = Embedding(store, HashedWords(), clock=clock)
    write_some(old.store, 8)
    old.drain()
    clock.forward(3_600)
    Embedding(store, HashedWords(salt="second"), clock=clock).drain()
    assert len(old.worker.status().indexes) == 2
    clock.forward(25 * 3_600)
    third = Embedding(store, HashedWords(salt="third"), clock=clock)
    third.drain()
    assert [index.in_use for index in third.worker.status().indexes] == [True]


def test_reindexing_twice_does_nothing_twice(store: MemoryStore) -> None:
    words = HashedWords()
    write_some(store)
    embedding = Embedding(store, words)
    run(embedding)
    words.seen.clear()
    before = store.stats()
    assert run(embedding).indexes[0].embedded == 40
    assert words.seen == []
    assert store.stats().revisions == before.revisions


def test_what_was_written_without_an_index_is_indexed(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    write_some(open_here(store_url, index=False), 250)
    store = open_here(store_url)
    told: list[tuple[int, int]] = []
    status = reindex(store.engine, store.context, None, progress=lambda done, total: told.append((done, total)))
    assert (status.passages, status.to_index) == (250, 0)
    assert told == [(200, 250), (250, 250)]
    assert len(store.recall(("user1",), "tea", k=100)) == 63


def test_what_was_recorded_without_an_index_is_indexed(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    turns = [Turn(f"m{number}", "user", f"message {number} about tea") for number in range(250)]
    open_here(store_url, index=False).record_turns(ANN, "t1", turns)
    embedding = Embedding(open_here(store_url), HashedWords())
    assert embedding.worker.status().to_index == 250
    status = run(embedding)
    assert (status.passages, status.to_index, status.indexes[0].embedded) == (250, 0, 250)
    assert [hit.key for hit in embedding.store.recall(ANN, "message 123", k=1)] == ["m123"]
    assert embedding.meaning(ANN, "beverage 77")


def test_without_an_index_there_is_nothing_to_reindex(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    store = open_here(store_url, index=False)
    with pytest.raises(SearchUnavailableError, match="index=False"):
        reindex(store.engine, store.context, None)


def test_ctrl_c_loses_nothing(store: MemoryStore) -> None:
    write_some(store, 200)
    words = HashedWords()
    embedding = Embedding(store, words)

    def interrupt(done: int, total: int) -> None:
        if done >= 64:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(embedding, progress=interrupt)
    again = Embedding(store, words)
    assert run(again).indexes[0].embedded == 200
    embedded = [text for text in words.seen if "note" in text]
    assert len(embedded) == len(set(embedded)) == 200


def test_an_embedder_that_fails_for_long_ends_it_and_one_that_recovers_does_not(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoranda.store.reindexing.pause_after", lambda failures: 0)
    write_some(store, 8)

    class Failing(HashedWords):
        left = 3

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if len(texts) > 1 and self.left and "note" in texts[0]:
                self.left -= 1
                self.failing = OSError("busy")
            elif self.left < 3:
                self.failing = None if self.left % 2 else self.failing
            return super().embed_documents(texts)

    words = HashedWords()
    embedding = Embedding(store, words)
    embedding.in_use.index()
    words.failing = OSError("away")
    with pytest.raises(OSError, match="away"):
        run(embedding)
    words.failing = None
    assert run(embedding).indexes[0].embedded == 8


_KILLED = """
import sys, time
sys.path.insert(0, {root!r})
from memoranda import open_store
from memoranda.store.reindexing import reindex
from memoranda.store.turns import Turn
from tests.store.embedding_support import Embedding, HashedWords

class Noting(HashedWords):
    def embed_documents(self, texts):
        with open({notes!r}, "a") as notes:
            notes.writelines(text.splitlines()[-1] + "\\n" for text in texts if "note" in text)
        time.sleep(0.03)
        return super().embed_documents(texts)

embedding = Embedding(open_store({url!r}), Noting())
print("ready", flush=True)
reindex(embedding.store.engine, embedding.context, embedding.worker)
"""


def test_killed_in_the_middle_it_goes_on_and_does_nothing_twice(
    store: MemoryStore, store_url: str, tmp_path: Path
) -> None:
    store.commit(ChangeSet([Write(ANN, f"/{number}.md", f"note {number} about tea") for number in range(400)]))
    notes = tmp_path / "notes"
    code = _KILLED.format(root=str(Path(__file__).parents[2]), notes=str(notes), url=store_url)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and (not notes.exists() or len(notes.read_text().splitlines()) < 150):
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
    before = notes.read_text().splitlines()
    words = HashedWords()
    status = run(Embedding(store, words))
    after = [text.splitlines()[-1] for text in words.seen if "note" in text]
    assert status.indexes[0].embedded == status.passages == 400
    assert status.indexes[0].waiting == 0
    assert set(before) | set(after) == {f"note {number} about tea" for number in range(400)}
    # Only the batch that was under way is embedded again.
    assert len(set(before) & set(after)) <= 64
    vectors = [body for (part, _), bodies in blocks_of(store_url).items() if part == Part.VECTORS for body in bodies]
    assert sum(len(VectorBlock.unpack(body)) for body in vectors) == 400


def test_what_is_written_while_an_index_begins_is_in_it(store: MemoryStore, store_url: str) -> None:
    write_some(store, 12)

    def keep_writing(writer: int) -> None:
        for number in range(25):
            store.write((f"user{writer % 2}",), f"/{writer}-{number}.md", f"note {number} of {writer}")

    embedding = Embedding(store, HashedWords())
    with ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(keep_writing, writer) for writer in range(4)]
        embedding.drain()
        for writer in writing:
            writer.result()
    embedding.drain()
    status = embedding.worker.status().indexes[0]
    assert (status.state, status.embedded, status.passages, status.waiting) == ("serving", 112, 112, 0)
