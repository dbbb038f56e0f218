"""Forgetting that is stopped, or that others write beside: nothing is half gone, and nothing comes back."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from memoranda import MemoryStore, open_store
from memoranda.errors import MemorandaError
from memoranda.store.effects import Operation, Transact, Vacuum
from memoranda.store.operations import forget_namespaces
from memoranda.store.operations.forget_namespaces import NOBODY
from memoranda.store.turns import Turn
from tests.faults.killing import fresh
from tests.store.forget_support import TEAM, Words, contents_of, fill, raw_files


def forget_and_die(url: str, steps: int) -> None:
    """Forget Ann, and die with SIGKILL inside of a transaction: the one after so many writing ones."""
    forget_namespaces.PAGE = 5  # type: ignore[misc]
    with open_store(url) as store:
        perform = store.engine.transact
        done = 0

        def transact(effect: Transact) -> Any:
            nonlocal done
            if effect.mode == "write":
                done += 1
                if done > steps:
                    return perform(Transact("write", lambda: dying(effect)))
            return perform(effect)

        def dying(effect: Transact) -> Any:
            yield from effect.body()
            os.kill(os.getpid(), signal.SIGKILL)

        store.engine.transact = transact  # type: ignore[method-assign]
        store.forget(subject="ann")


@pytest.mark.parametrize("steps", [0, 2, 4, 5, 6])
def test_a_call_that_is_killed_is_completed_by_the_next(store: MemoryStore, store_url: str, steps: int) -> None:
    words = fill(store, "ann")
    fill(store, "bob")
    others = {each.namespace: each.digest for each in store.verify().namespaces if each.namespace[0] != "ann"}
    process = fresh.Process(target=forget_and_die, args=(store_url, steps))
    process.start()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL
    found = store.verify()
    assert found.ok, found.problems
    assert {each.namespace: each.digest for each in found.namespaces if each.namespace[0] != "ann"} == others
    assert contents_of(store_url).holding(words.all)
    store.forget(subject="ann")
    contents = contents_of(store_url)
    assert not contents.holding(words.all)
    assert not contents.indexed(words.all)
    assert {each.namespace: each.digest for each in store.verify().namespaces} == others
    if store_url.startswith("sqlite"):
        assert not [word for word in words.all if word.encode() in raw_files(store_url).lower()]


def test_what_a_stopped_call_left_is_invisible_and_goes_with_any_later_one(
    store: MemoryStore, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forget_namespaces, "PAGE", 3)
    words = fill(store, "ann")
    operation = store.forget.__wrapped__(store.context, ("ann",))  # type: ignore[attr-defined]
    stop_after(store, operation, 12)
    left = contents_of(store_url)
    assert left.holding(words.all)
    assert [row["labels"][0] for row in left.tables["namespaces"] if row["tenant"] == NOBODY] == ["p"]
    assert ("ann",) not in store.list_namespaces()
    assert store.history(("ann",), "/deleted.md") == []
    assert store.turns(("ann",)) == []
    assert not store.recall(("ann",), words.text(3)).hits
    assert ("ann",) not in [change.namespace for change in store.changes(limit=1000)]
    assert store.verify().ok
    store.write(("ann",), "/new.md", "begun again")
    receipt = store.forget(("nobody",))
    assert receipt.removed[0].namespace is None
    assert receipt.removed[0].rows > 0
    assert "left by an earlier call" in str(receipt)
    assert store.get(("ann",), "/new.md") is not None
    rows = contents_of(store_url)
    assert {row["namespace_id"] for row in rows.tables["items"]} <= rows.named


def stop_after(store: MemoryStore, operation: Operation[Any], transactions: int) -> None:
    effect = next(operation)
    for _ in range(transactions):
        assert not isinstance(effect, Vacuum)
        result = store.engine.transact(effect) if isinstance(effect, Transact) else effect.function()
        effect = operation.send(result)
    operation.close()


def test_writers_of_the_same_and_of_other_scopes(store: MemoryStore, store_url: str) -> None:
    """While Ann is forgotten again and again, whatever lands is whole, and nobody else notices anything."""
    stop = threading.Event()
    failures: list[BaseException] = []
    written = {"bob": 0, "ann": 0}

    def write(person: str) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            try:
                store.write((person,), f"/{number % 7}.md", f"tea {number}")
                if number % 5 == 0:
                    store.record_turns((person,), f"t{number % 3}", [Turn(f"m{number}", "user", f"hello {number}")])
                if number % 11 == 0:
                    store.delete((person,), f"/{number % 7}.md")
            except MemorandaError as error:
                failures.append(error)
                return
            written[person] = number

    def forget() -> None:
        for _ in range(25):
            try:
                store.forget(("ann",), vacuum=False)
            except MemorandaError as error:
                failures.append(error)
            time.sleep(0.005)
        stop.set()

    threads = [
        threading.Thread(target=write, args=("bob",)),
        *(threading.Thread(target=write, args=("ann",)) for _ in "12"),
    ]
    threads.append(threading.Thread(target=forget))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert min(written.values()) > 10
    found = store.verify()
    assert found.ok, found.problems
    assert [turn.message_id for turn in store.turns(("bob",))] == [f"m{n}" for n in range(5, written["bob"] + 1, 5)]
    contents = contents_of(store_url)
    homes = contents.named
    for table in ("items", "revisions", "turns", "threads"):
        assert {row["namespace_id"] for row in contents.tables[table]} <= homes, table
    assert {row["scope"] // 2 for row in contents.tables["blocks"]} <= homes
    store.forget(("ann",))
    assert {row["namespace_id"] for row in contents_of(store_url).tables["items"]} == {
        row["id"] for row in contents.tables["namespaces"] if row["labels"] == "bob\x01"
    }


def test_a_writer_that_read_before_and_writes_after(postgres_url: str, open_here: Callable[..., MemoryStore]) -> None:
    """On PostgreSQL a single write goes without locks: a scope that is forgotten between its two steps is another."""
    store, other = open_here(postgres_url), open_here(postgres_url)
    store.write(("ann",), "/tea.md", "green")
    drive = store.engine._drive  # type: ignore[attr-defined]
    forgotten: list[bool] = []

    def interrupted(connection: Any, effect: Transact, attempt: Any) -> Any:
        def body() -> Any:
            running = effect.body()
            batch = next(running)
            while True:
                answer = yield batch
                try:
                    batch = running.send(answer)
                except StopIteration as end:
                    return end.value
                if batch.last and not forgotten:
                    forgotten.append(attempt.optimistic)
                    other.forget(("ann",), vacuum=False)

        return drive(connection, Transact(effect.mode, body), attempt)

    store.engine._drive = interrupted  # type: ignore[attr-defined]
    written = store.write(("ann",), "/tea.md", "black")
    assert forgotten == [True]
    assert written.revision == 1
    item = store.get(("ann",), "/tea.md")
    assert item is not None
    assert item.value["content"] == "black"
    assert store.verify().ok
    contents = contents_of(postgres_url)
    assert {row["namespace_id"] for row in contents.tables["items"]} <= contents.named


@pytest.mark.parametrize("seed", range(6))
def test_any_store_and_any_scope(store: MemoryStore, store_url: str, seed: int) -> None:
    rng = random.Random(seed)
    labels = ["a", "b", "a\x01", "a/b", "ä"]
    scopes = [tuple(rng.choices(labels, k=rng.randint(1, 3))) for _ in range(7)]
    words = {scope: Words(repr(scope), seed) for scope in scopes}
    for _ in range(90):
        scope = rng.choice(scopes)
        text = words[scope].text(rng.randint(0, 50), rng.randint(1, 30))
        key = f"/{rng.choice('xyz')}.md"
        match rng.randint(0, 5):
            case 0 | 1:
                store.write(scope, key, text)
            case 2:
                store.append(scope, key, text)
            case 3:
                store.delete(scope, key)
            case 4:
                store.put(scope, rng.choice("pq"), {"text": text})
            case _:
                store.record_turns(scope, rng.choice("st"), [Turn(str(rng.random()), "user", text)], user=scope[-1])
    scope, below = rng.choice(scopes), rng.random() < 0.5
    meant = {each for each in scopes if each == scope or (below and each[: len(scope)] == scope)}
    before = {each.namespace: each.digest for each in store.verify().namespaces}
    store.forget(scope, below=below, vacuum=False)
    assert {each.namespace: each.digest for each in store.verify().namespaces} == {
        place: digest for place, digest in before.items() if place not in meant
    }
    contents = contents_of(store_url)
    for place in scopes:
        assert bool(contents.indexed(words[place].all)) == (place not in meant and place in before), place
        if place in meant:
            assert not contents.holding(words[place].all)


def test_the_team_keeps_what_is_theirs(store: MemoryStore) -> None:
    fill(store, "ann")
    before = store.history(TEAM, "/by-ann.md")
    store.forget(subject="ann")
    assert store.history(TEAM, "/by-ann.md") == before
    moved = store.get(TEAM, "/from-ann.md")
    assert moved is not None
    assert moved.value["content"] == "nothing in particular"
