"""The embedder that a store was opened with: its index, and the vectors of queries and passages."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING

from memoranda.errors import StoreError, StoreReadOnlyError
from memoranda.forking import ForkSafeLock
from memoranda.search.embedding import PROBE, Embedder, Identity, embed_documents, embed_query, introduce
from memoranda.store.asking import LateError, answer, ask, ordinary
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

FIRST_PATIENCE = 4.0
"""Seconds that queries wait, from when an embedder is first asked, until it is loaded; then they go on without it."""

QUERY_PATIENCE = 10.0
"""Seconds that a query waits for its vector."""

LOOK_AGAIN = 1.0
"""Seconds after which a query looks again whether its index is still there."""

_MOST_LATE = 8
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
        self.engine = engine
        self.context = context
        self.embedder = embedder
        self._ordinary = ordinary(embedder)
        self.last_error: str | None = None
        self.dropped = False
        self.read_only = False
        self._identity: Identity | None = None
        self._index: IndexRow | None = None
        self._vectors: OrderedDict[str, Matrix] = OrderedDict()
        self._registering = ForkSafeLock()
        self._keeping = ForkSafeLock()
        self._looked_at = 0.0
        self.after_fork()
        self._query_failures = 0
        self._query_again = 0.0
        self._told: set[str] = set()
        self._failed_texts: dict[int, int] = {}

    def after_fork(self) -> None:
        """Ask anew: the threads that wait for an answer stayed with the parent."""
        self._introduction: Future[Identity] | None = None
        self._introduced_at = 0.0
        self._late: set[Future[Matrix]] = set()

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
            StoreReadOnlyError: It has none, and this process may not begin one.
            StoreError: The database failed.
            Exception: Whatever the embedder raises.
        """
        identity = self._introduced(None)
        with self._registering:
            if self._index is None and self.refresh() is not None:
                self.attend()
            elif self._index is None and (anew or not self.dropped):
                registered = self.engine.run(register(self.context, identity))
                with self._keeping:
                    self._index, self.dropped = registered, False
            return self._index

    def refresh(self) -> IndexRow | None:
        """Look how its index stands, which writes nothing; None where it is none, or was dropped."""
        identity, known = self._identity, self._index
        if identity is None:
            return None
        rows = self.engine.run(list_indexes(self.context))
        found = next((row for row in rows if known is not None and row.id == known.id), None)
        if found is None:
            # Another process may have begun it, or begun it anew.
            found = next((row for row in rows if row.identity.is_same(identity)), None)
        with self._keeping:
            self._looked_at = time.monotonic()
            if self._index is known:  # otherwise somebody knows better by now
                self._index = found
                self.dropped = found is None and (self.dropped or known is not None)
            return self._index

    def attend(self) -> None:
        """Say that its index is in use, where that can be said: who may only read is served all the same."""
        if self._index is not None:
            with suppress(StoreReadOnlyError):
                self.engine.run(attend(self.context, self._index))

    def _introduced(self, seconds: float | None) -> Identity:
        """Who the embedder is; it is asked once, on a thread of its own, whoever waits for the answer.

        Args:
            seconds: How long it may take since it was asked; None: as long as it takes.

        Raises:
            LateError: It takes longer.
            Exception: Whatever the embedder raises; the next one asks again.
        """
        with self._keeping:
            if self._identity is not None:
                return self._identity
            if self._introduction is None:
                self._introduction, self._introduced_at = ask(lambda: introduce(self._ordinary)), time.monotonic()
            introduction = self._introduction
        if seconds is not None:
            seconds = max(0.0, self._introduced_at + seconds - time.monotonic())
        try:
            identity = answer(introduction, seconds)
        except LateError:
            raise
        except BaseException:
            with self._keeping:
                # Ctrl-C ends the waiting alone.
                if self._introduction is introduction and introduction.done():
                    self._introduction = None
            raise
        self._identity = identity
        return identity

    # --- queries ------------------------------------------------------------------------------------------

    def embed_query(self, text: str) -> QueryMeaning:
        """The meaning of a query, or the reason why words alone have to do. It writes nothing and waits for no writer.

        Raises:
            StoreError: The database failed.
        """
        name = self.embedder.name
        if time.monotonic() < self._query_again:
            return QueryMeaning(notice=f"The embedder {name} fails at present, so only words were searched.")
        try:
            self._introduced(FIRST_PATIENCE)
            index = self._index
            looked = time.monotonic() - self._looked_at
            if index is None or index.state == "building" or looked >= LOOK_AGAIN:
                index = self.refresh()
            if index is None or index.state == "building":
                return QueryMeaning(notice=f"{self._why_not(index)}, so only words were searched{self._remedy(index)}.")
            vector = self._vector_of_query(text, index.identity.dims)
        except StoreError:
            raise
        except LateError:
            return QueryMeaning(notice=f"The embedder {name} is not ready yet, so only words were searched.")
        except Exception as error:  # noqa: BLE001 - a function of somebody else's; words are searched without it
            self._query_failures += 1
            self._query_again = time.monotonic() + pause_after(self._query_failures)
            self.failed(error)
            return QueryMeaning(notice=f"The embedder {name} failed ({_shown(error)}), so only words were searched.")
        self._query_failures = 0
        return QueryMeaning(index.id, vector, index.identity.floor)

    def _why_not(self, index: IndexRow | None) -> str:
        name = self.embedder.name
        if index is None and self.dropped:
            return f"The index of the embedder {name} was dropped for another embedder's"
        if index is None and self.read_only:
            return f"There is no index of the embedder {name}, and this store cannot be written"
        return f"The index of the embedder {name} is still being built"

    def _remedy(self, index: IndexRow | None) -> str:
        if index is None and self.dropped:
            return ": run `memoranda reindex` with the one that is to stay"
        if index is None and self.read_only:
            return ": run `memoranda reindex` as somebody who may write"
        return ""

    def _vector_of_query(self, text: str, dims: int) -> Matrix:
        with self._keeping:
            kept = self._vectors.get(text)
            if kept is not None:
                self._vectors.move_to_end(text)
                return kept
            self._late = {late for late in self._late if not late.done()}
            hanging = len(self._late)
        if hanging >= _MOST_LATE:
            raise TimeoutError(f"{hanging} earlier queries wait for its answer")
        asked = ask(lambda: self._embedded(text, dims))
        try:
            return answer(asked, QUERY_PATIENCE)
        except LateError:
            with self._keeping:
                self._late.add(asked)
            raise TimeoutError(f"no answer within {QUERY_PATIENCE:g} seconds") from None

    def _embedded(self, text: str, dims: int) -> Matrix:
        vector = embed_query(self._ordinary, text, dims=dims)
        with self._keeping:  # an answer that is late is there for the next one who asks
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
            rows = list(embed_documents(self._ordinary, texts, dims=dims))
        except Exception as error:  # noqa: BLE001 - a function of somebody else's
            # Where it takes no other text either, it is not the texts' fault.
            embed_documents(self._ordinary, [PROBE], dims=dims)
            return self._embed_singly(texts, dims, error)
        self.succeeded()
        for text in texts:
            self._failed_texts.pop(hash(text), None)
        return Vectors(rows, range(len(texts)))

    def _embed_singly(self, texts: list[str], dims: int | None, error: Exception) -> Vectors:
        rows: list[Matrix] = []
        taken: list[int] = []
        refused: list[int] = []
        for position, text in enumerate(texts):
            tries = self._failed_texts.pop(hash(text), 0) + 1
            try:
                rows.append(embed_documents(self._ordinary, [text], dims=dims)[0])
                taken.append(position)
            except Exception as failure:  # noqa: BLE001 - see above
                error = failure
                if tries < _TRIES_OF_A_TEXT:
                    self._failed_texts[hash(text)] = tries
                else:
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

    def failed(self, error: BaseException, waiting: int | None = None) -> None:
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
