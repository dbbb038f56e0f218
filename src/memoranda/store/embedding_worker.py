"""The thread of an open store that embeds what was written, in the background."""

from __future__ import annotations

import atexit
import logging
import threading
import time
import weakref
from collections import defaultdict
from dataclasses import replace

from memoranda.errors import StoreClosedError, StoreReadOnlyError
from memoranda.forking import ForkSafeLock, call_in_forked_child
from memoranda.search.embedding import Embedder
from memoranda.store.effects import query, transact
from memoranda.store.embedder_in_use import LONGEST_PAUSE, EmbedderInUse, pause_after
from memoranda.store.engines.base import Engine
from memoranda.store.index_status import IndexStatus
from memoranda.store.meaning import QueryMeaning
from memoranda.store.operations.context import Context
from memoranda.store.operations.embedder_indexes import IndexRow, serve, status
from memoranda.store.operations.embedding import embed_some
from memoranda.store.operations.index_filling import Filler
from memoranda.store.operations.indexing import IndexScope
from memoranda.store.operations.tending import tend

logger = logging.getLogger(__name__)

POLL = 5.0
"""Seconds between two looks for what other processes have written."""

CLOSING = 5.0
"""Seconds that closing waits for an embedder that is at work."""

_TEND_AFTER = 32
_NEARLY = 100


class EmbeddingWorker:
    """Embeds what waits for an embedder's index, fills it where it is new, and lets it serve when it is complete.

    All that it has to do stands in the database: it can be stopped at any time, and any process goes on.

    Args:
        in_use: The embedder, with the store that it was opened for.
    """

    def __init__(self, in_use: EmbedderInUse) -> None:
        self.in_use = in_use
        self._engine, self._context = in_use.engine, in_use.context
        self._starting = ForkSafeLock()
        self._working = ForkSafeLock()
        self._begin()
        self._filler: tuple[int, Filler] | None = None
        self._blocks: defaultdict[IndexScope, int] = defaultdict(int)
        self.failures = 0
        _workers.add(self)

    def _begin(self) -> None:
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._stop = threading.Event()

    def after_fork(self) -> None:
        """Begin anew, without the thread that stayed with the parent."""
        stopped = self._stop.is_set()
        self._begin()
        if stopped:
            self._stop.set()
        self.in_use.after_fork()

    def wake(self) -> None:
        """Say that something was written, to the thread or to the next one."""
        self._wake.set()
        self.start()

    def start(self) -> None:
        """Start the thread if it does not run: at the first use, and after a fork."""
        if self._thread is not None and self._thread.is_alive():
            return
        with self._starting:
            if self._stop.is_set() or (self._thread is not None and self._thread.is_alive()):
                return
            self._thread = threading.Thread(target=self._run, name="memoranda-embedding", daemon=True)
            self._thread.start()

    def close(self, timeout: float = CLOSING) -> bool:
        """Stop, waiting for an embedder that is at work, but not for ever; what is not done waits in the database.

        Args:
            timeout: Seconds to wait.

        Returns:
            Whether the thread has ended.
        """
        with self._starting:
            self._stop.set()
            self._wake.set()
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        return not thread.is_alive()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until everything that was written before is embedded.

        Args:
            timeout: Seconds; None: as long as it takes, unless the embedder fails or nothing can be written.

        Returns:
            Whether the index is complete.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        before = self.failures
        while not self._complete():
            late = self.failures > before if deadline is None else time.monotonic() >= deadline
            if late or self.in_use.dropped or self.in_use.read_only or self._stop.is_set():
                return False
            self.wake()
            self._stop.wait(0.02)
        return True

    def status(self) -> IndexStatus:
        """Say what the index holds and lacks."""
        index = self.in_use.known_index
        return self._engine.run(status(self._context, None if index is None else index.id, self.in_use.last_error))

    def work(self) -> bool:
        """Do some of what there is to do, on the calling thread.

        Returns:
            Whether there may be more.

        Raises:
            StoreError: The database failed.
            Exception: Whatever the embedder raises.
        """
        with self._working:
            in_use = self.in_use
            index = in_use.index()
            if index is None:
                return False
            filling = index.state == "building" and self._fill(index)
            step = self._engine.run(embed_some(self._context, index.id, in_use.embed_texts, in_use.embedder.batch))
            self._tend(step.scopes)
            if index.state == "building" and not filling:
                self._serve(index, idle=not step.found)
            return filling or step.found

    def _run(self) -> None:
        failures = 0
        while not self._stop.is_set():
            try:
                self._wake.clear()
                more = self.work()
                failures, self.in_use.read_only = 0, False
                if more:
                    continue
                self.in_use.refresh()
                self.in_use.attend()
            except StoreClosedError:
                return
            except StoreReadOnlyError as error:
                # Not the embedder's fault: whoever may write embeds what waits.
                self.failures += 1
                self.in_use.read_only = True
                logger.debug("What waits for its vectors is left to others: %s", error)
                self._stop.wait(LONGEST_PAUSE)
                continue
            except BaseException as error:  # noqa: BLE001 - the thread must not end: everything waits for it
                failures += 1
                self.failures += 1
                self.in_use.failed(error, self._waiting())
                self._stop.wait(pause_after(failures))
                continue
            self._wake.wait(POLL)

    def _fill(self, index: IndexRow) -> bool:
        """Go on filling a new index; whether there is more of that to do."""
        if self._filler is None or self._filler[0] != index.id:
            self._filler = index.id, Filler(self._context, index)
        filler = self._filler[1]
        return not filler.done and self._engine.run(filler.fill_some())

    def _serve(self, index: IndexRow, *, idle: bool) -> None:
        """Let a filled index serve when all is embedded, or nearly so where writers go on."""
        if not idle:
            counts = self._engine.run(status(self._context, index.id)).in_use
            if counts is not None and counts.waiting * _NEARLY > counts.passages:
                return
        self._engine.run(serve(self._context, index.id, drop="unattended"))
        self.in_use.refresh()

    def _tend(self, scopes: tuple[IndexScope, ...]) -> None:
        for scope in scopes:
            self._blocks[scope] += 1
            if self._blocks[scope] >= _TEND_AFTER:
                del self._blocks[scope]
                self._engine.run(tend(self._context, scope))

    def _complete(self) -> bool:
        index = self.in_use.known_index
        if index is None or index.state == "building":
            return False
        return not self._engine.run(transact("read", lambda: query("waiting_blocks", index_id=index.id, limit=1)))

    def _waiting(self) -> int | None:
        try:
            index = self.in_use.known_index
            found = None if index is None else self._engine.run(status(self._context, index.id)).in_use
        except Exception:  # noqa: BLE001 - it is for a message about another failure
            return None
        return None if found is None else found.waiting


def with_embedder(engine: Engine, context: Context, embedder: Embedder) -> tuple[Context, EmbeddingWorker]:
    """Give a store an embedder.

    Args:
        engine: The store's engine.
        context: The store's settings.
        embedder: The embedder.

    Returns:
        The settings with which its queries have a meaning, and the worker to wake after writes and to close.
    """
    in_use = EmbedderInUse(engine, context, embedder)
    worker = EmbeddingWorker(in_use)

    def embed_query(text: str) -> QueryMeaning:
        # Who only searches may be the one that fills a new index, or embeds what others have written.
        worker.start()
        return in_use.embed_query(text)

    return replace(context, embed_query=embed_query, on_write=worker.wake), worker


_workers: weakref.WeakSet[EmbeddingWorker] = weakref.WeakSet()


@atexit.register
def _at_exit() -> None:
    """Let no thread of a store that was never closed run into the end of the interpreter."""
    workers = list(_workers)
    for worker in workers:
        worker.close(0)
    for worker in workers:
        worker.close(1.0)


def _after_fork() -> None:
    for worker in list(_workers):
        worker.after_fork()


call_in_forked_child(_after_fork)
