"""One ready-made agent with many scopes side by side: its graph is compiled once, and no run meets another's."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from memoranda import MemoryStore
from memoranda.backends import StoreBackend
from memoranda.consolidation.agent import ready, ready_made
from memoranda.consolidation.errors import ModelOutputError
from memoranda.consolidation.task import Task
from memoranda.consolidation.tracing import TracedStage
from memoranda.testing.scripted import ScriptedChatModel, call, calls
from tests.consolidation.agent_support import staged, task_over

PEOPLE = 12


class MeetingModel(ScriptedChatModel):
    """A scripted model that answers only when every run has asked it, so that all runs are inside the graph at once."""

    barrier: Any = None

    def _generate(self, messages: list[BaseMessage], *given: Any, **kwargs: Any) -> Any:
        if not isinstance(messages[-1], ToolMessage):
            self.barrier.wait(30)
        return super()._generate(messages, *given, **kwargs)


def _answer(messages: list[BaseMessage]) -> AIMessage:
    """Two changes of one file in one message, then the end, told by the person of the conversation."""
    if isinstance(messages[-1], ToolMessage):
        return call("finish", summary=f"Noted {_name(messages)}.")
    return calls(
        ("write_file", {"path": "/who.md", "content": f"- {_name(messages)}\n", "turns": ["t1"]}),
        ("edit_file", {"path": "/who.md", "old_string": "- ", "new_string": "- I am ", "turns": ["t1"]}),
    )


def _name(messages: list[BaseMessage]) -> str:
    text = next(message.text for message in messages if "My name is " in message.text)
    return text.partition("My name is ")[2].split(".")[0]


def _tasks(store: MemoryStore) -> list[Task]:
    made = task_over(store, "My name is nobody.")
    tasks: list[Task] = []
    for number in range(PEOPLE):
        files = TracedStage(StoreBackend(namespace=("files", str(number)), store=store), [1])
        tasks.append(_with(made, files, f"person{number}"))
    return tasks


def _with(task: Task, files: Any, name: str) -> Task:
    return replace(task, files=files, text=task.text.replace("nobody", name))


def _check(tasks: list[Task], said: list[str]) -> None:
    assert said == [f"Noted person{number}." for number in range(PEOPLE)]
    assert [staged(task) for task in tasks] == [{"/who.md": f"- I am person{number}\n"} for number in range(PEOPLE)]


def test_threads_work_side_by_side_through_one_graph(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = _counting(monkeypatch)
    agent = ready_made(MeetingModel(script=[_answer], barrier=threading.Barrier(PEOPLE)))
    tasks = _tasks(store)
    with ThreadPoolExecutor(PEOPLE) as pool:
        _check(tasks, list(pool.map(agent.consolidate, tasks)))
    before = len(compiled)
    agent.model.barrier = threading.Barrier(1)  # type: ignore[attr-defined]
    assert agent.consolidate(_tasks(store)[3]) == "Noted person3."
    assert before >= 1 and len(compiled) == before


def test_tasks_of_an_event_loop_work_side_by_side_through_one_graph(store: MemoryStore) -> None:
    agent = ready_made(MeetingModel(script=[_answer], barrier=threading.Barrier(PEOPLE)))
    tasks = _tasks(store)

    async def all_at_once() -> list[str]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(4 * PEOPLE))
        return await asyncio.gather(*(agent.aconsolidate(task) for task in tasks))

    _check(tasks, asyncio.run(all_at_once()))
    # and once more on another loop, through the same graph
    agent.model.barrier = threading.Barrier(PEOPLE)  # type: ignore[attr-defined]
    tasks = _tasks(store)
    _check(tasks, asyncio.run(all_at_once()))


def test_what_one_run_did_wrong_does_not_count_for_the_next(store: MemoryStore) -> None:
    patience = [4, 4, 5, 4]

    def answer(messages: list[BaseMessage]) -> AIMessage | str:
        wrong = sum(isinstance(message, AIMessage) for message in messages)
        return "No." if wrong < patience[0] else call("finish", summary="Nothing.")

    agent = ready_made(ScriptedChatModel(script=[answer]))
    while patience:
        if patience[0] < 5:
            assert agent.consolidate(task_over(store, "I drink tea.")) == "Nothing."
        else:
            with pytest.raises(ModelOutputError, match="5 messages in a row"):
                agent.consolidate(task_over(store, "I drink tea."))
        patience.pop(0)


def test_a_run_inside_the_tool_of_another_keeps_to_itself(store: MemoryStore) -> None:
    inner = ready_made(MeetingModel(script=[_answer], barrier=threading.Barrier(1)))
    first, second = _tasks(store)[:2]

    def answer(messages: list[BaseMessage]) -> AIMessage:
        if not isinstance(messages[-1], ToolMessage):
            assert inner.consolidate(second) == "Noted person1."
        return _answer(messages)

    assert ready_made(ScriptedChatModel(script=[answer])).consolidate(first) == "Noted person0."
    assert (staged(first), staged(second)) == ({"/who.md": "- I am person0\n"}, {"/who.md": "- I am person1\n"})


def _counting(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """How often a graph is compiled; threads that need it first at the same time may each do it."""
    compiled: list[Any] = []
    original = ready.create_agent

    def create(*args: Any, **settings: Any) -> Any:
        compiled.append(original(*args, **settings))
        return compiled[-1]

    monkeypatch.setattr(ready, "create_agent", create)
    return compiled
