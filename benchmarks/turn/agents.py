"""The contenders: agents with memory and skills in their prompt, and the same agents without."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from deepagents.backends import StoreBackend as TheirStoreBackend
from deepagents.middleware.memory import MemoryMiddleware as TheirMemory
from deepagents.middleware.skills import SkillsMiddleware as TheirSkills
from langchain.agents import create_agent
from langchain.agents.middleware.types import ModelRequest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore

from benchmarks.support.measure import WrongAnswerError
from benchmarks.support.texts import key_of, text_of
from memoranda import MemoryStore
from memoranda.agents.middleware import MemoryMiddleware, SkillsMiddleware
from memoranda.backends import (
    Backend,
    CompositeBackend,
    FilesystemPermission,
    GuardedBackend,
    StateBackend,
    StoreBackend,
)
from memoranda.backends.hooks import secrets, size_limit
from memoranda.backends.steps import perform
from memoranda.testing.scripted import ScriptedChatModel

Namespace = tuple[str, ...]

MEMORY = tuple(f"/memories/{name}.md" for name in ("MEMORY", *(f"topic-{number}" for number in range(9))))
SKILLS = "/skills/"

_threads = itertools.count(1)


def stock(size: int, skills: int, memory_bytes: int) -> Iterator[tuple[str, str]]:
    """Keys and texts of `size` files: memory, skills, and notes that no prompt shows."""
    for number, path in enumerate(MEMORY):
        yield path, text_of(number, memory_bytes)
    for number in range(skills):
        name = f"skill-{number:02}"
        description = f"Does task {number} well, step by step. Use it when the user asks for task {number} or the like."
        header = f"---\nname: {name}\ndescription: {description}\nlicense: MIT\n---\n"
        yield f"{SKILLS}{name}/SKILL.md", header + text_of(number)
    for number in range(size - len(MEMORY) - skills):
        yield key_of(number), text_of(number)


class Agent:
    """An agent whose model answers at once with the same words; its prompts are checked.

    Args:
        name: Of the contender.
        middleware: What puts memory and skills into its prompt.
        expected: What must be in each of its prompts.
        section: Makes the same additions to the prompt without an agent around.
    """

    def __init__(
        self, name: str, middleware: Sequence[Any], expected: Sequence[str], section: Callable[[], str] = str
    ) -> None:
        self.name = name
        self._expected = expected
        self._section = section
        self._used: Any = None
        self._model = ScriptedChatModel(script=["ok"])
        self._graph: Any = create_agent(
            self._model, system_prompt="You are helpful.", middleware=middleware, checkpointer=InMemorySaver()
        )

    def new_thread(self, _sample: int) -> dict[str, Any]:
        """The configuration of a thread without a turn."""
        return {"configurable": {"thread_id": f"{self.name} {next(_threads)}"}}

    def used_thread(self, sample: int) -> dict[str, Any]:
        """The configuration of a thread after its first turn, the same each time."""
        if self._used is None:
            thread = self.new_thread(sample)
            self.turn(thread)
            self._used = self._graph.get_state(thread).config
        return self._used

    def turn(self, thread: dict[str, Any]) -> None:
        """Take a turn."""
        self._graph.invoke({"messages": "hi"}, thread)

    def async_turn(self, loop: asyncio.AbstractEventLoop, thread: dict[str, Any]) -> None:
        """Take a turn in an event loop."""
        loop.run_until_complete(self._graph.ainvoke({"messages": "hi"}, thread))

    def check(self, thread: dict[str, Any], _result: Any) -> None:
        """See that the last prompt held everything; tidy up."""
        prompt = self._model.prompts[-1]
        self._model.requests.clear()
        if thread is not self._used:
            self._graph.checkpointer.delete_thread(thread["configurable"]["thread_id"])
        self._look(prompt)

    def alone(self, _sample: int) -> str:
        """What its middleware adds to a prompt in a new thread."""
        return self._section()

    def check_alone(self, _sample: int, section: str) -> None:
        """See that it held everything."""
        self._look(section)

    def _look(self, prompt: str) -> None:
        for text in self._expected:
            if text not in prompt:
                raise WrongAnswerError(f"{self.name}: no {text!r} in the prompt")


def ours(name: str, store: MemoryStore, namespace: Namespace, expected: Sequence[str]) -> Agent:
    """Memoranda's middleware over a `StoreBackend`."""
    return _ours(name, StoreBackend(namespace=namespace, store=store), expected)


def ours_guarded(name: str, store: MemoryStore, namespace: Namespace, expected: Sequence[str]) -> Agent:
    """The same behind routes, rules and hooks, as a whole deep agent has it."""
    files = StoreBackend(namespace=namespace, store=store)
    backend = GuardedBackend(
        CompositeBackend(files, {"/scratch/": StateBackend()}),
        [
            FilesystemPermission(["read", "write"], ["/private/**"], "deny"),
            FilesystemPermission(["write"], ["/skills/**"], "propose"),
        ],
        [secrets(), size_limit(max_bytes=100_000)],
    )
    return _ours(name, backend, expected)


def _ours(name: str, backend: Backend, expected: Sequence[str]) -> Agent:
    skills, memory = SkillsMiddleware(backend, [SKILLS]), MemoryMiddleware(backend, MEMORY)

    def section() -> str:
        return perform(skills.section_steps()) + perform(memory.section_steps())

    return Agent(name, [skills, memory], expected, section)


def theirs(name: str, store: BaseStore, namespace: Namespace, expected: Sequence[str]) -> Agent:
    """Deep Agents' middleware over its `StoreBackend`."""
    backend = TheirStoreBackend(store=store, namespace=lambda _: namespace)
    skills: Any = TheirSkills(backend=backend, sources=[SKILLS])
    memory: Any = TheirMemory(backend=backend, sources=list(MEMORY))
    model = ScriptedChatModel(script=["ok"])

    def section() -> str:
        state: dict[str, Any] = {"messages": []}
        state |= skills.before_agent(state, None, {}) | memory.before_agent(state, None, {})
        request: Any = ModelRequest(model=model, messages=[], state=state)  # type: ignore[typeddict-item]
        return memory.modify_request(skills.modify_request(request)).system_prompt

    return Agent(name, [skills, memory], expected, section)


def bare() -> Agent:
    """The same agent without memory and skills."""
    return Agent("without memory", [], ["You are helpful."])
