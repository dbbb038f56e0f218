"""Several of Deep Agents' own agents at work on one file: no edit is lost, and no stale text replaces a new one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from memoranda import Author, MemoryStore
from memoranda.backends import CompositeBackend, GuardedBackend, StateBackend, StoreBackend
from memoranda.testing.scripted import call, say
from tests.integrations.support import WAYS, agent, answers, keys_in, run, text_in
from tests.support.scale import sized

ANN = ("ann",)
EDITS = sized(50, quick=15)
NAMES = ("one", "two")


def direct() -> Any:
    return StoreBackend(namespace=ANN)


def guarded() -> Any:
    """Behind a hook every change is worked out, checked, and applied to exactly the state that was checked."""
    routed = CompositeBackend(StateBackend(), {"/team/": StoreBackend(namespace=ANN)})
    return GuardedBackend(routed, hooks=[lambda event: None])


SHAPES = [(direct, "/list.md"), (guarded, "/team/list.md")]


def editor(name: str, store: MemoryStore, backend: Any, path: str) -> Any:
    lines = [f"- {name} {number}: " for number in range(EDITS)]
    script: list[Any] = [
        call("edit_file", file_path=path, old_string=line + "open", new_string=line + "done") for line in lines
    ]
    return agent([*script, say("Done.")], backend=backend, store=store, name=name)


def prepare(store: MemoryStore) -> None:
    lines = [f"- {name} {number}: open" for number in range(EDITS) for name in NAMES]
    store.write(ANN, "/list.md", "\n".join(lines) + "\n")


def check(store: MemoryStore, states: list[dict[str, Any]], threads: list[str]) -> None:
    for state in states:
        assert len(answers(state)) == EDITS and not [text for text in answers(state) if "rror" in text]
    text = text_in(store, ANN, "/list.md") or ""
    assert [line for line in text.splitlines() if line.endswith("open")] == []
    history = store.history(ANN, "/list.md")
    assert len(history) == 1 + EDITS * len(NAMES)
    made = [(entry.author.actor, entry.author.thread_id) for entry in history[:-1]]
    for name, thread in zip(NAMES, threads, strict=True):
        assert made.count((f"agent:{name}", thread)) == EDITS


@pytest.mark.parametrize("way", ["invoke", "stream"])
@pytest.mark.parametrize(("shape", "path"), SHAPES)
def test_two_agents_in_threads(store: MemoryStore, shape: Callable[[], Any], path: str, way: str) -> None:
    prepare(store)
    threads = [uuid4().hex for _ in NAMES]
    with ThreadPoolExecutor() as pool:
        work = [
            pool.submit(run, editor(name, store, shape(), path), "Close all.", thread=thread, way=way)
            for name, thread in zip(NAMES, threads, strict=True)
        ]
        states = [each.result() for each in work]
    check(store, states, threads)


@pytest.mark.parametrize(("shape", "path"), SHAPES)
def test_two_agents_in_tasks(store: MemoryStore, shape: Callable[[], Any], path: str) -> None:
    prepare(store)
    threads = [uuid4().hex for _ in NAMES]

    async def both() -> list[dict[str, Any]]:
        return await asyncio.gather(
            *(
                editor(name, store, shape(), path).ainvoke(
                    {"messages": "Close all."}, {"configurable": {"thread_id": thread}}
                )
                for name, thread in zip(NAMES, threads, strict=True)
            )
        )

    check(store, asyncio.run(both()), threads)


def between(store: MemoryStore, change: Any, then: Any) -> Any:
    """A line of a script: somebody else makes a change, and the model goes on with what it saw before."""

    def line(messages: Any) -> Any:
        change(store)
        return then

    return line


@pytest.mark.parametrize("way", WAYS)
def test_a_stale_write_is_merged(store: MemoryStore, way: str) -> None:
    store.write(ANN, "/list.md", "one\ntwo\nthree\nfour\nfive\n")
    ben = Author("user:ben")
    stale = between(
        store,
        lambda store: store.edit(ANN, "/list.md", "one", "ONE (Ben)", author=ben),
        call("write_file", file_path="/list.md", content="one\ntwo\nthree\nfour\nfive (Ann)\n"),
    )
    graph = agent(
        [call("read_file", file_path="/list.md"), stale, say("Done.")], backend=StoreBackend(namespace=ANN), store=store
    )
    run(graph, "Change five.", way=way)
    assert text_in(store, ANN, "/list.md") == "ONE (Ben)\ntwo\nthree\nfour\nfive (Ann)\n"
    assert store.history(ANN, "/list.md")[0].origin["merged_from"] == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_stale_write_of_the_same_line_is_refused(store: MemoryStore, way: str) -> None:
    store.write(ANN, "/tea.md", "green\n")
    stale = between(
        store,
        lambda store: store.write(ANN, "/tea.md", "oolong\n", author=Author("user:ben")),
        call("write_file", file_path="/tea.md", content="black\n"),
    )
    graph = agent(
        [call("read_file", file_path="/tea.md"), stale, say("Hm.")], backend=StoreBackend(namespace=ANN), store=store
    )
    said = answers(run(graph, "Black.", way=way))
    assert text_in(store, ANN, "/tea.md") == "oolong\n"
    assert "oolong" in said[1] and said[1].startswith("Error")


def test_what_was_refused_can_be_written_knowingly(store: MemoryStore) -> None:
    store.write(ANN, "/tea.md", "green\n")
    write = {"file_path": "/tea.md", "content": "black\n"}
    stale = between(store, lambda store: store.write(ANN, "/tea.md", "oolong\n"), call("write_file", **write))
    graph = agent(
        [call("read_file", file_path="/tea.md"), stale, call("write_file", **write), say("Done.")],
        backend=StoreBackend(namespace=ANN),
        store=store,
    )
    run(graph, "Black.")
    assert text_in(store, ANN, "/tea.md") == "black\n"
    assert len(store.history(ANN, "/tea.md")) == 3


def test_what_a_thread_read_in_an_earlier_turn_counts(store: MemoryStore) -> None:
    store.write(ANN, "/tea.md", "green\n")
    thread, checkpointer = uuid4().hex, InMemorySaver()
    settings: dict[str, Any] = {"backend": StoreBackend(namespace=ANN), "store": store, "checkpointer": checkpointer}
    run(agent([call("read_file", file_path="/tea.md"), say("Green.")], **settings), "Tea?", thread=thread)
    store.write(ANN, "/tea.md", "oolong\n")
    write = call("write_file", file_path="/tea.md", content="black\n")
    said = answers(run(agent([write, say("Hm.")], **settings), "Black.", thread=thread))
    assert text_in(store, ANN, "/tea.md") == "oolong\n" and "oolong" in said[-1]


def test_deleted_meanwhile(store: MemoryStore) -> None:
    store.write(ANN, "/tea.md", "green\n")
    stale = between(
        store,
        lambda store: store.delete(ANN, "/tea.md"),
        call("write_file", file_path="/tea.md", content="green, hot\n"),
    )
    graph = agent(
        [call("read_file", file_path="/tea.md"), stale, say("Hm.")], backend=StoreBackend(namespace=ANN), store=store
    )
    said = answers(run(graph, "Hot."))
    assert keys_in(store, ANN) == [] and "deleted" in said[1]
