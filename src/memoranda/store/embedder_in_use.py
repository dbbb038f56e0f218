"""The embedder that a store was opened with: its index, and the vectors of queries and passages."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from memoranda.errors import StoreError
from memoranda.search.embedding import PROBE, Embedder, Identity, embed_documents, embed_query, introduce
from memoranda.store.engines.base import Engine
from memoranda.store.meaning import QueryMeaning
from memoranda.store.operations.context import Context
from memoranda.store.operations.embedder_indexes import IndexRow, attend, list_indexes, register
from memoranda.store.operations.embedding import Vectors

if TYPE_CHECKING:
    from memoranda.search.embedding import Matrix

logger = logging.getLogger(__name__)

LONGEST_PAUSE = 60.0
"""Seconds, at most, between two tries of an embedder that fails."""

_KEPT_QUERIES = 256
_TRIES_OF_A_TEXT = 3


def pause_after(failures: int) -> float:
    """Seconds to wait after so many failures in a row."""
    return min(LONGEST_PAUSE, 0.5 * 2.0 ** min(failures, 10))


class EmbedderInUse:
    """One embedder of one open store, for any number of threads.

    Nothing is imported, loaded or asked before the first use. What the embedder raises never gets to those who write or
    search: they find by words meanwhile.

    Args:
        engine: The store's engine.
        context: The store's settings.
        embedder: The embedder.
    """

    def __init__(self, engine: Engine, context: Context, embedder: Embedder) -> None:
        self._engine = engine
        self._context = context
        self.embedder = embedder
        self.last_error: str | None = None
        self.dropped = False
        self._identity: Identity | None = None
        self._index: IndexRow | None = None
        self._vectors: OrderedDict[str, Matrix] = OrderedDict()
        self.after_fork()
        self._query_failures = 0
        self._query_again = 0.0
        self._told: set[str] = set()
        self._failed_texts: dict[int, int] = {}

    def after_fork(self) -> None:
        """Begin with locks of its own: a thread that is not here any more may have held them."""
        self._introducing = threading.Lock()
        self._keeping = threading.Lock()

    # --- whose index --------------------------------------------------------------------------------------

    @property
    def known_index(self) -> IndexRow | None:
        """Its index as far as this process knows it, without asking anybody."""
        return self._index

    def index(self, *, anew: bool = False) -> IndexRow | None:
        """Its index, registered with its first use.

        Args:
            anew: Begin another one where somebody has dropped it.

        Returns:
            The index; None where somebody has dropped it since this store was opened.

        Raises:
            StoreError: The database failed.
            Exception: Whatever the embedder raises.
        """
        with self._introducing:
            if self._index is None and (anew or not self.dropped):
                if self._identity is None:
                    self._identity = introduce(self.embedder)
                self._index = self._engine.run(register(self._context, self._identity))
                self._engine.run(attend(self._context, self._index))
                self.dropped = False
            return self._index

    def refresh(self) -> IndexRow | None:
        """Look again how its index stands; None where it is none, or was dropped."""
        with self._introducing:
            known = self._index
            if known is None:
                return None
            rows = self._engine.run(list_indexes(self._context))
            self._index = next((row for row in rows if row.id == known.id), None)
            self.dropped = self._index is None
            if self._index is not None:
                self._engine.run(attend(self._context, self._index))
            return self._index

    # --- queries ------------------------------------------------------------------------------------------

    def embed_query(self, text: str) -> QueryMeaning:
        """The meaning of a query, or the reason why words alone have to do.

        Raises:
            StoreError: The database failed.
        """
        name = self.embedder.name
        if time.monotonic() < self._query_again:
            return QueryMeaning(notice=f"The embedder {name} fails at present, so only words were searched.")
        try:
            index = self.index()
            if index is not None and index.state == "building":
                index = self.refresh()
            if index is None:
                return QueryMeaning(
                    notice=f"The index of the embedder {name} was dropped for another embedder's, so only words were "
                    "searched: run `memoranda reindex` with the one that is to stay."
                )
            if index.state == "building":
                return QueryMeaning(
                    notice=f"The index of the embedder {name} is still being built, so only words were searched."
                )
            vector = self._vector_of_query(text, index.identity.dims)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - a function of somebody else's; words are searched without it
            self._query_failures += 1
            self._query_again = time.monotonic() + pause_after(self._query_failures)
            self.failed(error)
            return QueryMeaning(notice=f"The embedder {name} failed ({_shown(error)}), so only words were searched.")
        self._query_failures = 0
        return QueryMeaning(index.id, vector, index.identity.floor)

    def _vector_of_query(self, text: str, dims: int) -> Matrix:
        with self._keeping:
            kept = self._vectors.get(text)
            if kept is not None:
                self._vectors.move_to_end(text)
                return kept
        vector = embed_query(self.embedder, text, dims=dims)
        with self._keeping:
            self._vectors[text] = vector
            while len(self._vectors) > _KEPT_QUERIES:
                self._vectors.popitem(last=False)
        return vector

    # --- passages -----------------------------------------------------------------------------------------

    def embed_texts(self, texts: list[str]) -> Vectors:
        """Embed passages, and find out which of them it is that the embedder cannot take.

        Raises:
            Exception: Whatever the embedder raises, if it takes none of them.
        """
        dims = self._identity.dims if self._identity is not None else self.embedder.dims
        try:
            rows = list(embed_documents(self.embedder, texts, dims=dims))
        except Exception as error:  # noqa: BLE001 - a function of somebody else's
            # Where it takes no other text either, it is not the texts' fault.
            embed_documents(self.embedder, [PROBE], dims=dims)
            return self._embed_singly(texts, dims, error)
        self.succeeded()
        return Vectors(rows, range(len(texts)))

    def _embed_singly(self, texts: list[str], dims: int | None, error: Exception) -> Vectors:
        rows: list[Matrix] = []
        taken: list[int] = []
        refused: list[int] = []
        for position, text in enumerate(texts):
            try:
                rows.append(embed_documents(self.embedder, [text], dims=dims)[0])
                taken.append(position)
            except Exception as failure:  # noqa: BLE001 - see above
                error = failure
                tries = self._failed_texts[hash(text)] = self._failed_texts.get(hash(text), 0) + 1
                if tries >= _TRIES_OF_A_TEXT:
                    refused.append(position)
                    logger.warning(
                        "The embedder %s fails for one passage, which is found by its words alone from now on: %s",
                        self.embedder.name,
                        _shown(error),
                    )
        if not taken and not refused:
            raise error
        return Vectors(rows, taken, refused)

    # --- failures -----------------------------------------------------------------------------------------

    def failed(self, error: Exception, waiting: int | None = None) -> None:
        """Remember why it failed, and say it once for each kind of failure."""
        self.last_error = _shown(error)
        kind = type(error).__qualname__
        if kind not in self._told:
            self._told.add(kind)
            queued = "" if waiting is None else f" {waiting:,} passages wait for it."
            logger.warning(
                "The embedder %s failed: %s.%s They are found by their words meanwhile; it is tried again.",
                self.embedder.name,
                self.last_error,
                queued,
            )

    def succeeded(self) -> None:
        """Forget failures."""
        self.last_error = None
        self._told.clear()


def _shown(error: BaseException) -> str:
    text = " ".join(str(error).split())
    shown = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return (shown if len(shown) <= 200 else f"{shown[:197]}...").rstrip(".")
