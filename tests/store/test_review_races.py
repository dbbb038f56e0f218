"""Races that need one exact order of statements, played out statement by statement."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import psycopg
import pytest
from langgraph.store.base import GetOp

from memoranda import Author, ChangeSet, Delete, Edit, MemoryStore, Move, Restore, Write
from memoranda.store.changes import Change
from memoranda.store.effects import Body, Transact
from memoranda.store.engines.postgres.engine import POSTGRES
from memoranda.store.namespaces import encode_namespace
from memoranda.store.operations.commit import commit, delete_folder
from memoranda.store.operations.expiry import sweep_ttl
from tests.store.conftest import Clock, Namespace

STATEMENTS = POSTGRES.statements()


def play(url: str, body: Body[Any], after: str, meanwhile: Callable[[], object]) -> Any:
    """Run a transaction's body with locks, as the engine does, and something else after the first of some statement."""
    done = False
    with psycopg.connect(url, options="-c search_path=memoranda") as connection:
        try:
            batch = next(body)
            while True:
                answers: list[Any] = []
                for name, params in batch.statements:
                    cursor = connection.execute(cast("Any", STATEMENTS[name]), params)
                    answers.append(cursor.fetchall() if cursor.description else [])
                    if name == after and not done:
                        done = True
                        meanwhile()
                batch = body.send(answers)
        except StopIteration as stop:
            return stop.value
        finally:
            assert done


@pytest.mark.parametrize(
    "change",
    [
        lambda ns: Edit(ns, "/a.md", "x", "y"),
        lambda ns: Delete(ns, "/a.md", missing_ok=False),
        lambda ns: Move(ns, "/a.md", "/b.md", ("zzz",)),
        lambda ns: Restore(ns, "/a.md", 1),
    ],
)
def test_a_namespace_that_is_born_while_it_is_looked_at(
    postgres_url: str, open_here: Callable[..., MemoryStore], ns: Namespace, change: Callable[[Namespace], Change]
) -> None:
    store = open_here(postgres_url)
    store.write(("zzz",), "/there.md", "x")
    effect = cast("Transact", next(commit(store.context, ChangeSet([change(ns)]))))
    with pytest.raises(Exception) as caught:
        play(postgres_url, effect.body(), "lock_namespace", lambda: store.write(ns, "/a.md", "x"))
    (conflict,) = cast("Any", caught.value).result.conflicts
    assert conflict.reason == "missing"
    assert store.get(ns, "/a.md").value["content"] == "x"


def test_a_folder_that_is_born_while_it_is_deleted(
    postgres_url: str, open_here: Callable[..., MemoryStore], ns: Namespace
) -> None:
    store = open_here(postgres_url)
    effect = cast("Transact", next(delete_folder(store.context, encode_namespace(ns), "/a.md", Author())))
    result, _ = play(postgres_url, effect.body(), "lock_namespace", lambda: store.write(ns, "/a.md", "x"))
    assert result.revisions == ()
    assert store.get(ns, "/a.md").value["content"] == "x"


def test_two_sweeps_count_what_each_removed(
    postgres_url: str, open_here: Callable[..., MemoryStore], clock: Clock, ns: Namespace
) -> None:
    opened = open_here(postgres_url)
    store = MemoryStore(opened.engine, replace(opened.context, clock=clock), url=opened.url)
    store.write(ns, "/a.md", "x", ttl=1)
    clock.forward(60)
    effect = cast("Transact", next(sweep_ttl(store.context)))
    counts: list[int] = []
    (removed, _), _ = play(postgres_url, effect.body(), "expired_items", lambda: counts.append(store.sweep_ttl()))
    assert [removed, *counts] == [0, 1]


def test_items_read_together_are_of_one_moment(store: MemoryStore, ns: Namespace) -> None:
    keys = [f"/{number}.md" for number in range(4)]

    def write(number: int) -> None:
        store.commit(ChangeSet([Write(ns, key, str(number)) for key in keys]))

    write(0)
    stop = threading.Event()

    def writing() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            write(number)

    writer = threading.Thread(target=writing, daemon=True)
    writer.start()
    torn: list[set[str]] = []
    try:
        for _ in range(600):
            found = cast("Any", store.batch([GetOp(ns, key) for key in keys]))
            contents = {item.value["content"] for item in found}
            if len(contents) > 1:
                torn.append(contents)
    finally:
        stop.set()
        writer.join()
    assert torn == []


def test_what_a_change_set_made_moves_in_its_place(store: MemoryStore, ns: Namespace) -> None:
    store.write(ns, "/a/b/b/x.md", "deep")
    store.commit(ChangeSet([Write(ns, "/a/b/x.md", "shallow"), Move(ns, "/a/b", "/a")]))
    assert store.get(ns, "/a/x.md").value["content"] == "shallow"
    assert store.get(ns, "/a/b/x.md").value["content"] == "deep"
