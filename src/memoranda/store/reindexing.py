"""Bringing the whole search index of a store up to date: words first, then the vectors of its embedder."""

from __future__ import annotations

import time
from collections.abc import Callable

from memoranda.errors import SearchUnavailableError, StoreError
from memoranda.store.embedder_in_use import pause_after
from memoranda.store.embedding_worker import EmbeddingWorker
from memoranda.store.engines.base import Engine
from memoranda.store.index_status import IndexStatus
from memoranda.store.namespaces import prefix_range
from memoranda.store.operations.context import Context
from memoranda.store.operations.embedder_indexes import drop_ownerless, serve, status
from memoranda.store.operations.index_checking import discard_index
from memoranda.store.operations.index_loading import LabelRange, index_missing
from memoranda.store.operations.rewording import reword
from memoranda.store.operations.turn_indexing import index_missing_turns

Progress = Callable[[int, int], None]

_TRIES = 5


def reindex(
    engine: Engine,
    context: Context,
    worker: EmbeddingWorker | None,
    *,
    progress: Progress | None = None,
    keep_old: bool = False,
    rebuild: bool = False,
) -> IndexStatus:
    """Bring the search index up to date; what it has done stays done, whenever it is stopped.

    Files, documents and messages that are not indexed are, and where words have another form by now, all are anew.
    Then, with an embedder, every passage that has no vector gets one. Searches and writes go on meanwhile.

    Args:
        engine: The store's engine.
        context: The store's settings.
        worker: What embeds; None: the store has no embedder.
        progress: Told how much is done of how much: items and messages to index, then namespaces whose words are made
            anew, then passages to embed.
        keep_old: Keep the vectors of other embedders.
        rebuild: Throw away what the index holds, and make all of it anew.

    Returns:
        What the index holds now.

    Raises:
        SearchUnavailableError: The store was opened with `index=False`.
        StoreError: The database failed.
        Exception: Whatever the embedder raises, several times in a row.
    """
    tell = progress or _tell_nobody
    if not context.indexing:
        raise SearchUnavailableError(
            "This store was opened with index=False, so it has no index.", "Open it without that argument."
        )
    if rebuild:
        engine.run(discard_index(context))
    _index_words(engine, context, tell)
    if worker is None:
        engine.run(drop_ownerless(context))
        return engine.run(status(context))
    _embed(engine, context, worker, tell)
    index = worker.in_use.refresh()
    if index is not None:
        engine.run(serve(context, index.id, drop="none" if keep_old else "all"))
        worker.in_use.refresh()
    return worker.status()


def _tell_nobody(done: int, total: int) -> None:
    pass


def _index_words(engine: Engine, context: Context, tell: Progress) -> None:
    total = engine.run(status(context)).to_index
    done = 0
    everywhere = LabelRange(*prefix_range(()))
    # Items first, then turns: each until there are none any more.
    for index_some in (lambda: index_missing(context, everywhere, most=1), lambda: index_missing_turns(context)):
        while some := engine.run(index_some()):
            done += some
            tell(done, max(done, total))
    engine.run(reword(context, tell))


def _embed(engine: Engine, context: Context, worker: EmbeddingWorker, tell: Progress) -> None:
    index = worker.in_use.index(anew=True)
    failures, more = 0, index is not None
    while more:
        try:
            more = worker.work()
        except StoreError:
            raise
        except Exception:
            failures += 1
            if failures >= _TRIES:
                raise
            time.sleep(pause_after(failures))
            continue
        failures = 0
        counts = worker.status().in_use
        if counts is not None:
            tell(counts.embedded, counts.passages)
