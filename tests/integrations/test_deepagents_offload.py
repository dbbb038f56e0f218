"""What Deep Agents puts out of the way goes into our backends: old messages, and results that are too long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from deepagents.middleware.summarization import SummarizationMiddleware
from langchain_core.tools import tool

from memoranda import MemoryStore
from memoranda.backends import CompositeBackend, GuardedBackend, StateBackend, StoreBackend
from memoranda.testing.scripted import ScriptedChatModel, call, say
from tests.integrations.support import WAYS, agent, answers, keys_in, run, text_in

ANN = ("ann",)
LONG = "\n".join(f"line {number}: " + "x" * 80 for number in range(3_000))


@tool
def fetch() -> str:
    """Fetch a long document."""
    return LONG


@pytest.mark.parametrize("way", WAYS)
def test_long_results_are_kept_whole(store: MemoryStore, way: str) -> None:
    ask = call("fetch")
    graph = agent([ask, say("Read.")], tools=[fetch], backend=StoreBackend(namespace=ANN), store=store)
    (answer,) = answers(run(graph, "Fetch it.", way=way))
    (key,) = keys_in(store, ANN)
    assert key == f"/large_tool_results/{ask.tool_calls[0]['id']}" and key in answer
    assert text_in(store, ANN, key) == LONG
    assert len(answer) < 5_000


def direct() -> Any:
    return StoreBackend(namespace=ANN)


def routed() -> Any:
    return CompositeBackend(StateBackend(), {"/archive/": StoreBackend(namespace=ANN)}, artifacts_root="/archive/")


def guarded() -> Any:
    return GuardedBackend(routed(), hooks=[lambda event: None])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [direct, routed, guarded])
def test_old_messages_are_kept_whole(store: MemoryStore, shape: Callable[[], Any], way: str) -> None:
    backend = shape()
    summary = SummarizationMiddleware(
        model=ScriptedChatModel(script=["Ann spoke of tea."]),
        backend=backend,
        trigger=("messages", 4),
        keep=("messages", 2),
    )
    graph = agent([f"reply {number}" for number in range(5)], backend=backend, store=store, middleware=[summary])
    thread = uuid4().hex
    state: dict[str, Any] = {}
    for number in range(5):
        state = run(graph, f"question {number}", thread=thread, way=way)
    (key,) = keys_in(store, ANN)
    assert key.startswith("/conversation_history/session_") and key.endswith(".md")
    kept = text_in(store, ANN, key) or ""
    assert all(f"question {number}" in kept for number in range(3))
    assert all(f"reply {number}" in kept for number in range(3))
    assert len(store.history(ANN, key)) > 1, "each part is added to the one before, and nothing is written over"
    assert state["messages"]
