"""A graph around a few lines of code, as an agent would run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph


class Empty(TypedDict, total=False):
    nothing: str


Run = Callable[..., Any]


@pytest.fixture
def in_thread() -> Run:
    """Run a function inside a graph, in a thread: `in_thread("1", lambda: …)`."""

    def run(
        thread: str,
        work: Callable[[], Any],
        *,
        store: Any = None,
        context: Any = None,
        schema: Any = None,
        **configurable: Any,
    ) -> Any:
        answers: list[Any] = []
        built = StateGraph(Empty, context_schema=schema)
        built.add_node("work", lambda _state: answers.append(work()))
        built.add_edge(START, "work")
        graph = built.compile(store=store)
        graph.invoke({"nothing": ""}, {"configurable": {"thread_id": thread, **configurable}}, context=context)
        return answers[0]

    return run


@pytest.fixture
def ain_thread() -> Run:
    """`in_thread` for coroutine functions: `await ain_thread("1", work)`."""

    async def run(thread: str, work: Callable[[], Any], *, store: Any = None, context: Any = None) -> Any:
        answers: list[Any] = []

        async def node(_state: Any) -> None:
            answers.append(await work())

        built = StateGraph(Empty)
        built.add_node("work", node)
        built.add_edge(START, "work")
        graph = built.compile(store=store)
        await graph.ainvoke({"nothing": ""}, {"configurable": {"thread_id": thread}}, context=context)
        return answers[0]

    return run
