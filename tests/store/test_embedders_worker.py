"""Embedding what was written: in the background, once, and never in anybody's way."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memoranda import MemoryStore
from memoranda.search.blocks import VectorBlock
from memoranda.store.operations.indexing import Part
from tests.store.embedding_support import Embedding, HashedWords, blocks_of

ANN = ("ann",)


@pytest.fixture
def words() -> HashedWords:
    return HashedWords()


@pytest.fixture
def embedding(store: MemoryStore, words: HashedWords) -> Embedding:
    return Embedding(store, words)


def test_meaning_finds_what_no_word_finds(embedding: Embedding) -> None:
    embedding.drain()
    embedding.store.write(ANN, "/tea.md", "green tea in the morning")
    embedding.store.write(ANN, "/cat.md", "the cat sleeps")
    assert [hit.key for hit in embedding.store.recall(ANN, "beverage")] == []
    embedding.drain()
    assert embedding.store.recall(ANN, "beverage").hits[0].key == "/tea.md"


def test_everything_that_was_there_before_is_embedded(store: MemoryStore, words: HashedWords) -> None:
    for number in range(7):
        store.write((f"user{number % 3}",), f"/{number}.md", "\n\n".join(f"text {number} {part}" for part in range(30)))
    embedding = Embedding(store, words)
    embedding.drain()
    status = embedding.worker.status().in_use
    assert status is not None
    assert (status.state, status.waiting) == ("serving", 0)
    assert status.embedded == status.passages > 0
    said = [text for text in words.seen if "text" in text]
    assert len(said) == len(set(said)) == status.passages


def test_words_serve_while_the_index_is_built(store: MemoryStore, words: HashedWords) -> None:
    store.write(ANN, "/tea.md", "green tea")
    embedding = Embedding(store, words)
    found = embedding.store.recall(ANN, "tea")
    assert [hit.key for hit in found] == ["/tea.md"]
    assert "still being built" in found.notices[0]
    embedding.drain()
    assert embedding.store.recall(ANN, "tea").notices == ()


def test_what_dies_while_it_waits_gets_no_vector(embedding: Embedding, words: HashedWords) -> None:
    embedding.drain()
    embedding.store.write(ANN, "/a.md", "old words")
    embedding.store.write(ANN, "/b.md", "other words")
    embedding.store.delete(ANN, "/b.md")
    embedding.store.write(ANN, "/a.md", "new words")
    words.seen.clear()
    embedding.drain()
    assert [text.splitlines()[-1] for text in words.seen] == ["new words"]
    status = embedding.worker.status().in_use
    assert status is not None
    assert (status.embedded, status.waiting) == (1, 0)


def test_what_dies_while_it_is_embedded_gets_no_vector(store: MemoryStore, store_url: str) -> None:
    deleting: list[str] = []

    class Slow(HashedWords):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            while deleting:
                store.delete(ANN, deleting.pop())
            return super().embed_documents(texts)

    embedding = Embedding(store, Slow())
    embedding.drain()
    embedding.store.write(ANN, "/a.md", "stays")
    embedding.store.write(ANN, "/b.md", "goes")
    deleting.append("/b.md")
    embedding.drain()
    status = embedding.worker.status().in_use
    assert status is not None
    assert (status.embedded, status.waiting, status.passages) == (1, 0, 1)
    ((body,),) = [bodies for (part, _), bodies in blocks_of(store_url).items() if part == Part.VECTORS]
    assert len(VectorBlock.unpack(body)) == 1


def test_of_two_workers_on_one_block_the_second_drops_its_work(store: MemoryStore) -> None:
    others: list[Embedding] = []

    class Overtaken(HashedWords):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            for other in others:
                other.drain()
            return super().embed_documents(texts)

    slow, fast = Embedding(store, Overtaken()), Embedding(store, HashedWords())
    slow.drain()
    fast.drain()
    for name in ("one", "two", "three"):
        store.write(ANN, f"/{name}.md", name)
    others.append(fast)
    slow.drain()
    status = slow.worker.status()
    assert len(status.indexes) == 1
    assert (status.indexes[0].embedded, status.passages) == (3, 3)


def test_a_large_document_is_embedded_in_batches(store: MemoryStore) -> None:
    words = HashedWords()
    embedding = Embedding(store, words)
    embedding.drain()
    embedding.store.write(ANN, "/long.md", "\n\n".join(f"paragraph {number} " + "word " * 60 for number in range(300)))
    before = words.calls
    steps = embedding.drain()
    status = embedding.worker.status().in_use
    assert status is not None
    assert status.embedded == status.passages
    assert words.calls - before == -(-status.passages // 64)
    assert steps >= words.calls - before


def test_a_failing_embedder_hurts_nobody_and_is_told_of_once(
    embedding: Embedding, words: HashedWords, caplog: pytest.LogCaptureFixture
) -> None:
    embedding.drain()
    words.failing = ConnectionError("no route to the provider")
    with caplog.at_level(logging.WARNING):
        for number in range(3):
            embedding.store.write(ANN, f"/{number}.md", f"number {number} of tea")
            with pytest.raises(ConnectionError):
                embedding.worker.work()
            embedding.in_use.failed(words.failing, 3)
        found = embedding.store.recall(ANN, "tea")
        again = embedding.store.recall(ANN, "tea")
    assert len(found) == 3
    assert "ConnectionError: no route to the provider" in found.notices[0]
    assert "fails at present" in again.notices[0]
    assert len([record for record in caplog.records if "3 passages wait" in record.message]) == 1
    assert len(caplog.records) == 1
    status = embedding.worker.status().in_use
    assert status is not None
    assert (status.waiting, status.last_error) == (3, "ConnectionError: no route to the provider")
    words.failing = None
    embedding.drain()
    assert embedding.worker.status().in_use == type(status)(
        status.name, 64, "serving", passages=3, embedded=3, waiting=0, in_use=True
    )


def test_an_embedder_that_fails_at_first_is_introduced_later(store: MemoryStore, words: HashedWords) -> None:
    words.failing = TimeoutError()
    embedding = Embedding(store, words)
    embedding.store.write(ANN, "/tea.md", "green tea")
    assert "TimeoutError" in embedding.store.recall(ANN, "tea").notices[0]
    with pytest.raises(TimeoutError):
        embedding.worker.work()
    words.failing = None
    embedding.drain()
    assert embedding.worker.status().indexes[0].embedded == 1


def test_one_text_that_cannot_be_embedded_keeps_no_other_waiting(
    embedding: Embedding, words: HashedWords, caplog: pytest.LogCaptureFixture
) -> None:
    embedding.drain()
    words.poison = "poison"
    for number in range(10):
        embedding.store.write(ANN, f"/{number}.md", "poison" if number == 5 else f"text {number}")
    embedding.worker.work()
    status = embedding.worker.status().in_use
    assert status is not None
    assert (status.embedded, status.waiting) == (9, 1)
    with pytest.raises(ValueError, match="cannot embed"):
        embedding.worker.work()
    with caplog.at_level(logging.WARNING):
        embedding.drain()
    assert "fails for one passage" in caplog.text
    status = embedding.worker.status().in_use
    assert status is not None
    assert (status.embedded, status.waiting) == (9, 0)
    assert embedding.store.recall(ANN, "poison").hits[0].key == "/5.md"


def test_the_thread_embeds_what_is_written(embedding: Embedding) -> None:
    embedding.worker.wake()
    assert embedding.worker.wait(20)
    embedding.store.write(ANN, "/tea.md", "green tea")
    embedding.worker.wake()
    assert embedding.worker.wait(20)
    assert embedding.meaning(ANN, "beverage")
    assert embedding.worker.close()
    embedding.store.write(ANN, "/cat.md", "a cat")
    embedding.worker.wake()
    assert not embedding.worker.wait(0.1)
    status = embedding.worker.status().in_use
    assert status is not None
    assert status.waiting == 1


def test_waiting_gives_up_where_the_embedder_fails(embedding: Embedding, words: HashedWords) -> None:
    words.failing = OSError("away")
    embedding.store.write(ANN, "/tea.md", "green tea")
    assert not embedding.worker.wait()
    embedding.worker.close()


def test_closing_does_not_wait_for_an_embedder_that_hangs(store: MemoryStore) -> None:
    entered, leave = threading.Event(), threading.Event()

    class Hanging(HashedWords):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            entered.set()
            leave.wait(30)
            return super().embed_documents(texts)

    embedding = Embedding(store, Hanging())
    embedding.worker.wake()
    assert entered.wait(10)
    began = time.monotonic()
    assert not embedding.worker.close(0.05)
    assert time.monotonic() - began < 2
    leave.set()
    assert embedding.worker.close(20)


def test_another_process_embeds_what_this_one_wrote(
    store_url: str, open_here: Callable[..., MemoryStore], words: HashedWords
) -> None:
    first, second = Embedding(open_here(store_url), words), Embedding(open_here(store_url), HashedWords())
    first.drain()
    first.store.write(ANN, "/tea.md", "green tea")
    second.drain()
    assert first.meaning(ANN, "beverage")


def test_async_embedders_serve_blocking_callers(store: MemoryStore, words: HashedWords) -> None:
    async def embed(texts: list[str]) -> list[list[float]]:
        return words.embed_documents(texts)

    embedding = Embedding(store, embed)
    embedding.drain()
    embedding.store.write(ANN, "/tea.md", "green tea")
    embedding.drain()
    assert embedding.meaning(ANN, "beverage")


async def test_async_embedders_serve_async_callers(store: MemoryStore, words: HashedWords) -> None:
    async def embed(texts: list[str]) -> list[list[float]]:
        return words.embed_documents(texts)

    embedding = Embedding(store, embed)
    embedding.drain()
    await embedding.store.awrite(ANN, "/tea.md", "green tea")
    embedding.drain()
    hits = await embedding.store.arecall(ANN, "beverage")
    assert [hit.key for hit in hits] == ["/tea.md"]


def test_a_query_is_embedded_once(embedding: Embedding, words: HashedWords) -> None:
    embedding.store.write(ANN, "/tea.md", "green tea")
    embedding.drain()
    before = words.calls
    for _ in range(3):
        embedding.store.recall(ANN, "beverage")
    assert words.calls == before + 1


_FORKED = """
import os, sys, threading
sys.path.insert(0, {root!r})
from memoranda import open_store
from tests.store.embedding_support import Embedding, HashedWords

entered, leave = threading.Event(), threading.Event()

class Hanging(HashedWords):
    def embed_documents(self, texts):
        if os.getpid() == parent:
            entered.set()
            leave.wait(20)
        return super().embed_documents(texts)

parent = os.getpid()
embedding = Embedding(open_store({url!r}), Hanging())
embedding.worker.wake()
assert entered.wait(10)
child = os.fork()
if child == 0:
    embedding.store.write(("ann",), "/tea.md", "green tea")
    embedding.worker.wake()
    os._exit(0 if embedding.worker.wait(10) and embedding.meaning(("ann",), "beverage") else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
leave.set()
"""


def test_a_fork_while_it_embeds_leaves_the_child_a_worker_of_its_own(store: MemoryStore, store_url: str) -> None:
    code = _FORKED.format(root=str(Path(__file__).parents[2]), url=store_url)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == "0", done.stderr
