"""Embedders for tests, and stores with one of them: fast, offline, and as different from each other as real ones."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import Any

import apsw
import numpy as np
import psycopg

from memoranda import MemoryStore
from memoranda.search.embedding import Embedder
from memoranda.store.embedders import embedder_from
from memoranda.store.embedding_worker import with_embedder

_WORD = re.compile(r"\w+")
_SYNONYMS = {"beverage": "tea", "feline": "cat", "automobile": "car"}


class HashedWords:
    """An embedder for tests that knows some synonyms: each word is a direction that its hash tells.

    Args:
        dims: Numbers per vector.
        salt: Another salt makes another embedder, of the same size and class.
    """

    def __init__(self, dims: int = 64, salt: str = "") -> None:
        self.dims = dims
        self.salt = salt
        self.seen: list[str] = []
        self.calls = 0
        self.failing: Exception | None = None
        self.poison: str | None = None

    def vector(self, text: str) -> list[float]:
        """The sum of the words' directions."""
        total = np.zeros(self.dims)
        for word in _WORD.findall(text.lower()):
            word = _SYNONYMS.get(word, word)
            seed = int.from_bytes(hashlib.blake2b(f"{self.salt}{word}".encode(), digest_size=8).digest())
            # What a text is about weighs more than how it says it.
            weight = 3.0 if word in _SYNONYMS.values() else 1.0
            total += np.random.default_rng(seed).standard_normal(self.dims) * weight
        return total.tolist()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts, unless told to fail."""
        self.calls += 1
        if self.failing is not None:
            raise self.failing
        if self.poison is not None and any(self.poison in text for text in texts):
            raise ValueError("cannot embed this")
        self.seen += texts
        return [self.vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query, unless told to fail."""
        self.calls += 1
        if self.failing is not None:
            raise self.failing
        return self.vector(text)


class Embedding:
    """A store with an embedder whose worker is driven by hand.

    Args:
        store: An open store, whose engine is used.
        embed: What `index={"embed": …}` would take.
        settings: Changes of the store's settings.
    """

    def __init__(self, store: MemoryStore, embed: Any, **settings: Any) -> None:
        embedder = embed if isinstance(embed, Embedder) else embedder_from(embed)
        context, self.worker = with_embedder(store.engine, replace(store.context, **settings), embedder)
        self.in_use = self.worker.in_use
        # Nothing but a test sets the worker to work.
        self.context = replace(context, embed_query=self.in_use.embed_query, on_write=None)
        self.store = MemoryStore(store.engine, self.context, url=store.url)

    def drain(self) -> int:
        """Do everything that there is to do; how many steps that took."""
        steps = 1
        while self.worker.work():
            steps += 1
        return steps

    def meaning(self, scope: tuple[str, ...], query: str) -> dict[str, float]:
        """The hits of a query that its vector has anything to do with: key to score."""
        return {hit.key: hit.parts.meaning for hit in self.store.recall(scope, query) if hit.parts.meaning > 0}


def blocks_of(url: str) -> dict[tuple[int, int], list[bytes]]:
    """The bodies of all blocks as they lie in the database, by part and index."""
    found: dict[tuple[int, int], list[bytes]] = {}
    statement = "SELECT part, index_id, body FROM blocks ORDER BY id"
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        try:
            listed = list(connection.execute(statement))
        finally:
            connection.close()
    else:
        with psycopg.connect(url, options="-c search_path=memoranda") as server:
            listed = server.execute(statement).fetchall()  # type: ignore[arg-type]
    for part, owner, body in listed:
        found.setdefault((part, owner), []).append(bytes(body))
    return found
