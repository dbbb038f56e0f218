"""The same questions asked of a store, on either engine: what is recorded is recalled through the public interface."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.recall.datasets import Sessions, full, said
from benchmarks.recall.embedders import Cached
from benchmarks.recall.peers import Contender, Search
from benchmarks.support.postgres import database
from memoranda import MemoryStore, open_store
from memoranda.evaluation import Dataset, Scope, record
from memoranda.evaluation.asking import MOST, first, namespace_of

_numbers = count(1)


@contextmanager
def opened(engine: str, folder: Path, server: str | None, embedder: Cached | None) -> Iterator[MemoryStore]:
    """An empty store."""
    with ExitStack() as stack:
        name = f"memoranda_bench_recall_{next(_numbers)}"
        url = f"sqlite:///{folder / name}.db"
        if engine == "postgres":
            assert server is not None
            url = stack.enter_context(database(server, name))
        index: dict[str, Any] | None = {"embed": embedder} if embedder else None
        yield stack.enter_context(open_store(url, index=index))


def conversations(name: str, store: MemoryStore) -> Contender:
    """Turns recorded as conversations, found by `recall`."""

    def prepare(scope: Scope) -> Search:
        alone = _alone(scope)
        namespace = namespace_of(alone, scope)
        record(store, alone)
        _wait(store)

        def search(question: str, k: int) -> Sequence[str]:
            def ids(wanted: int) -> list[str]:
                found = store.recall(namespace, question, k=wanted).hits
                return [str(hit.thread_id) if isinstance(scope, Sessions) else hit.key for hit in found]

            return first(k, MOST, ids)

        return search

    return Contender(name, prepare)


def items(name: str, store: MemoryStore) -> Contender:
    """Each turn an item by itself, found by LangGraph's `search`: nothing tells which belong together."""

    def prepare(scope: Scope) -> Search:
        namespace = ("items", *namespace_of(_alone(scope), scope))
        for turn in scope.messages:
            store.put(namespace, turn.id, {"text": full(turn)})
        _wait(store)
        return lambda question, k: [item.key for item in store.search(namespace, query=question, limit=k)]

    return Contender(name, prepare)


def _alone(scope: Scope) -> Dataset:
    """The messages of one scope as a set that nothing else is called: two sets may name their scopes alike."""
    # A store knows the role by itself, and who has no name has none.
    unnamed = tuple(replace(each, speaker="") if each.speaker == each.role else each for each in said(scope))
    return Dataset(f"recall-{next(_numbers)}", (Scope(scope.name, unnamed, ()),))


def _wait(store: MemoryStore) -> None:
    if not store.wait_for_index(600):
        raise TimeoutError("not all is embedded after ten minutes")
