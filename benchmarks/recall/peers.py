"""Other search tools, each as it is meant to be used."""

from __future__ import annotations

import re
import sqlite3
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.recall.datasets import full
from benchmarks.recall.embedders import Cached
from memoranda.evaluation import Scope

Search = Callable[[str, int], Sequence[str]]
"""A query and how many are wanted; gives ids, best first."""

_STOP_WORDS = """
a about after again all also am an and any are as at be because been before being both but by can could did do
does doing down during each few for from further had has have having he her here hers herself him himself his
how i if in into is it its itself just me more most my myself no nor not now of off on once only or other our
ours ourselves out over own same she should so some such than that the their theirs them themselves then there
these they this those through to too under until up very was we were what when where which while who whom why
will with would you your yours yourself yourselves
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Contender:
    """Something that finds turns.

    Args:
        name: For tables.
        prepare: Indexes a scope and gives the way to search it.
    """

    name: str
    prepare: Callable[[Scope], Search]


def words() -> list[Contender]:
    """SQLite's own full-text search, which is always there."""
    return [Contender("FTS5 porter", _fts5("porter unicode61")), Contender("FTS5 trigram", _fts5("trigram"))]


def _terms(query: str) -> list[str]:
    """The words of a query, each once, without stop words unless nothing else is there."""
    words = list(dict.fromkeys(re.findall(r"\w+", query.lower())))
    return [word for word in words if word not in STOP_WORDS] or words


def _fts5(tokenizer: str) -> Callable[[Scope], Search]:
    """SQLite's full-text search with BM25; any of the words will do."""

    def prepare(scope: Scope) -> Search:
        file = sqlite3.connect(":memory:")
        file.execute(f"CREATE VIRTUAL TABLE found USING fts5(body, tokenize = '{tokenizer}')")
        file.executemany(
            "INSERT INTO found (rowid, body) VALUES (?, ?)", enumerate(full(turn) for turn in scope.messages)
        )

        def search(query: str, k: int) -> list[str]:
            terms = _terms(query)
            if tokenizer == "trigram":  # which has no words: every three characters of the query
                terms = [word[at : at + 3] for word in terms for at in range(max(1, len(word) - 2))]
            rows = file.execute(
                "SELECT rowid FROM found WHERE found MATCH ? ORDER BY rank LIMIT ?",
                (" OR ".join(f'"{term}"' for term in terms) or '""', k),
            )
            return [scope.messages[number].id for (number,) in rows]

        return search

    return prepare


def _bm25s() -> Callable[[Scope], Search]:
    """bm25s as its own guide shows it: English stop words, Snowball stems; bigrams for Chinese, which it cannot cut."""
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")

    def tokenize(texts: list[str]) -> Any:
        spaced = [re.sub(r"[\u3400-\u9fff]+", lambda run: _bigrams(run[0]), text) for text in texts]
        return bm25s.tokenize(spaced, stopwords="en", stemmer=stemmer, show_progress=False)

    def prepare(scope: Scope) -> Search:
        index = bm25s.BM25()
        index.index(tokenize([full(turn) for turn in scope.messages]), show_progress=False)

        def search(query: str, k: int) -> list[str]:
            try:
                found, _ = index.retrieve(tokenize([query]), k=min(k, len(scope.messages)), show_progress=False)
            except ValueError:  # no word of the query is known
                return []
            return [scope.messages[number].id for number in found[0]]

        return search

    return prepare


def _bigrams(run: str) -> str:
    pairs = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
    return f" {' '.join(pairs)} "


def _langgraph(embedder: Cached) -> Callable[[Scope], Search]:
    """LangGraph's own store: cosine of the whole item's text."""
    from langgraph.store.memory import InMemoryStore

    def prepare(scope: Scope) -> Search:
        dims = len(embedder.query("size"))
        store = InMemoryStore(index={"dims": dims, "embed": embedder, "fields": ["text"]})
        namespace = ("turns",)
        for turn in scope.messages:  # one by one: it refuses a batch with the same text twice
            store.put(namespace, turn.id, {"text": full(turn)})
        return lambda query, k: [item.key for item in store.search(namespace, query=query, limit=k)]

    return prepare


def _lancedb(embedder: Cached, folder: Path) -> Callable[[Scope], Search]:
    """LanceDB's hybrid search: its full text index and vectors, joined by its default reranker."""
    import lancedb

    def prepare(scope: Scope) -> Search:
        vectors = embedder.documents([full(turn) for turn in scope.messages])
        table = lancedb.connect(folder / "lance").create_table(
            uuid.uuid4().hex,
            [
                {"id": turn.id, "text": full(turn), "vector": vector}
                for turn, vector in zip(scope.messages, vectors, strict=True)
            ],
        )
        table.create_fts_index("text", replace=True)

        def search(query: str, k: int) -> list[str]:
            words = " ".join(re.findall(r"\w+", query)) or query
            found = table.search(query_type="hybrid").vector(embedder.query(query)).text(words).limit(k).to_list()
            return [row["id"] for row in found]

        return search

    return prepare


def _chromadb(embedder: Cached) -> Callable[[Scope], Search]:
    """chromadb: cosine by HNSW."""
    import chromadb

    def prepare(scope: Scope) -> Search:
        client = chromadb.EphemeralClient()
        made = client.create_collection(uuid.uuid4().hex, metadata={"hnsw:space": "cosine"}, embedding_function=None)
        vectors = embedder.documents([full(turn) for turn in scope.messages])
        for start in range(0, len(vectors), 5_000):
            made.add(
                ids=[str(number) for number in range(start, min(start + 5_000, len(vectors)))],
                embeddings=vectors[start : start + 5_000],
            )

        def search(query: str, k: int) -> list[str]:
            found = made.query(
                query_embeddings=[embedder.query(query)], n_results=min(k, len(scope.messages)), include=[]
            )
            return [scope.messages[int(number)].id for number in found["ids"][0]]

        return search

    return prepare


PEERS: dict[str, Callable[[Sequence[Cached], Path], list[Contender]]] = {
    "bm25s": lambda _, __: [Contender("bm25s", _bm25s())],
    "langgraph": lambda embedders, _: [
        Contender(f"LangGraph InMemoryStore, {e.name}", _langgraph(e)) for e in embedders
    ],
    "lancedb": lambda embedders, folder: [
        Contender(f"LanceDB hybrid, {e.name}", _lancedb(e, folder)) for e in embedders
    ],
    "chromadb": lambda embedders, _: [Contender(f"chromadb, {e.name}", _chromadb(e)) for e in embedders],
}
"""By the package that has to be installed."""
