"""The same questions asked of a store, on either engine: what is recorded is recalled through the public interface."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count, groupby
from pathlib import Path
from typing import Any

from benchmarks.recall.datasets import Scope
from benchmarks.recall.embedders import Cached
from benchmarks.recall.ours import first
from benchmarks.recall.peers import Contender, Search
from benchmarks.support.postgres import database
from memoranda import MemoryStore, Turn, open_store

MOST = 1_000
"""`recall` gives no more hits."""
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
        namespace = _namespace(scope)
        for session, turns in groupby(scope.said or scope.turns, key=lambda turn: turn.session):
            said = [
                Turn(turn.id, _role(turn.role), turn.text, speaker=_name(turn.speaker), at=turn.at) for turn in turns
            ]
            store.record_turns(namespace, session, said)
        _wait(store)

        def search(question: str, k: int) -> list[str]:
            def ids(wanted: int) -> list[str]:
                found = store.recall(namespace, question, k=min(wanted, MOST)).hits
                return [str(hit.thread_id) if scope.said else hit.key for hit in found]

            return first(k, MOST, ids)

        return search

    return Contender(name, prepare)


def items(name: str, store: MemoryStore) -> Contender:
    """Each turn an item by itself, found by LangGraph's `search`: nothing tells which belong together."""

    def prepare(scope: Scope) -> Search:
        namespace = ("items", *_namespace(scope))
        for turn in scope.turns:
            store.put(namespace, turn.id, {"text": turn.full})
        _wait(store)
        return lambda question, k: [item.key for item in store.search(namespace, query=question, limit=k)]

    return Contender(name, prepare)


def _namespace(scope: Scope) -> tuple[str, ...]:
    """One that nothing else is in: two sets may name their scopes alike."""
    return ("recall", f"{next(_numbers)}", scope.name.replace(".", "-"))


def _role(role: str) -> Any:
    return role if role in ("user", "assistant") else "user"


def _name(speaker: str) -> str | None:
    return None if speaker in ("", "user", "assistant") else speaker


def _wait(store: MemoryStore) -> None:
    if not store.wait_for_index(600):
        raise TimeoutError("not all is embedded after ten minutes")
