"""Many who save at once: processes, threads and tasks."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from memoranda import MemoryStore
from memoranda.knowledge.collection import Collection
from memoranda.knowledge.writing import Saved
from memoranda.testing.scripted import ScriptedChatModel, call
from tests.knowledge.saving_process import FACT, ROUNDS, START

PROCESSES = 2


def test_processes_that_save_the_same_leave_one_of_each(store: MemoryStore, store_url: str) -> None:
    command = [sys.executable, "-m", "tests.knowledge.saving_process", store_url]
    running = [
        subprocess.Popen([*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(PROCESSES)
    ]
    try:
        for process in running:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
        for process in running:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        said = [process.communicate(timeout=60)[0] for process in running]
        assert [process.returncode for process in running] == [0] * PROCESSES
    finally:
        for process in running:
            process.kill()
            process.wait()
    actions = [json.loads(text) for text in said]
    assert sum(each.count("inserted") for each in actions) == ROUNDS
    assert len(Collection(None, store, ("same",)).all()) == ROUNDS

    facts = Collection(FACT, store, ("facts",), identity=["who"])
    (current,) = facts.all()
    assert current.value["city"] == f"city {ROUNDS - 1} {PROCESSES - 1}"
    history = facts.history(current.id)
    expected = [
        (10 * round + number, f"city {round} {number}") for round in range(ROUNDS) for number in range(PROCESSES)
    ]
    assert [(memory.valid_from, memory.value["city"]) for memory in history] == [
        (START + timedelta(hours=hour), city) for hour, city in expected
    ]
    assert all(earlier.valid_to == later.valid_from for earlier, later in pairwise(history))
    assert store.verify().ok


def test_threads_that_save_the_same_leave_one(store: MemoryStore) -> None:
    notes = Collection(None, store, ("ann",))
    with ThreadPoolExecutor(8) as pool:
        saved = list(pool.map(notes.save, ["Ann likes green tea."] * 24))
    assert [each.action for each in saved].count("inserted") == 1
    assert {each.id for each in saved} == {memory.id for memory in notes.all()}
    assert len(notes.all()) == 1


def supersede(messages: list[BaseMessage]) -> AIMessage:
    """Everything that is related holds no more."""
    listed = messages[1].text.partition("stored:\n")[2].splitlines()
    return call("supersede_memories", ids=[line[1:].partition("]")[0] for line in listed])


def test_threads_whose_models_decide_leave_one(store: MemoryStore) -> None:
    notes = Collection(None, store, ("ann",), model=ScriptedChatModel(script=[supersede]))
    notes.save("Ann lives in city 0.", at=START)

    def tell(_: int) -> None:
        for number in range(1, 6):
            notes.save(f"Ann lives in city {number}.", at=START + timedelta(hours=number))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(tell, range(4)))
    assert [memory.text for memory in notes.all()] == ["Ann lives in city 5."]
    history = notes.history(notes.all()[0].id)
    assert [memory.text for memory in history] == [f"Ann lives in city {number}." for number in range(6)]
    assert all(earlier.valid_to == later.valid_from for earlier, later in pairwise(history))


def test_what_was_superseded_does_not_hide_what_is_current(store: MemoryStore) -> None:
    notes = Collection(None, store, ("ann",), model=ScriptedChatModel(script=[supersede]))
    for number in range(12):
        notes.save(f"Ann lives in city {number}.")
    notes.save("Last week Ann moved to Oslo, at last, after many years of waiting.")
    notes.save("Ann lives in city 12.")
    assert [memory.text for memory in notes.all()] == ["Ann lives in city 12."]


def test_a_search_that_met_a_change_is_made_again(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = Collection(None, store, ("ann",), model=ScriptedChatModel(script=[supersede]))
    notes.save("Ann lives in Bonn.")
    search, changes = MemoryStore.recall, iter(["Ann lives in Rome."])

    def met(self: MemoryStore, *args: Any, **kwargs: Any) -> Any:
        hits = search(self, *args, **kwargs)
        for text in changes:
            notes.save(text)
        return [hit for hit in hits if store.get(("ann",), hit.key) is not None]

    monkeypatch.setattr(MemoryStore, "recall", met)
    notes.save("Ann lives in Paris.")
    assert [memory.text for memory in notes.all()] == ["Ann lives in Paris."]


def test_tasks_that_change_a_fact_and_forget_it_leave_it_whole(store: MemoryStore) -> None:
    facts = Collection(FACT, store, ("ann",), identity=["who"])

    async def change(number: int) -> Saved | bool:
        if number % 5 == 4:
            current = await facts.aall()
            return await facts.aforget(current[0].id) if current else False
        return await facts.asave({"who": "Ann", "city": f"city {number}"})

    async def run() -> list[Any]:
        return await asyncio.gather(*(change(number) for number in range(20)))

    asyncio.run(run())
    current = facts.all()
    assert len(current) <= 1
    if current:
        history = facts.history(current[0].id)
        assert all(earlier.valid_to == later.valid_from for earlier, later in pairwise(history))
        assert {
            entry.key.rpartition("/")[2] for entry in store.list_keys(("ann",), "/facts/superseded", recursive=True)
        } == {memory.id for memory in history[:-1]}
