"""What Deep Agents puts out of the way goes into our backends: old messages, and results that are too long."""

from __future__ import annotations

from typing import Any

import pytest
from deepagents.middleware.summarization import SummarizationMiddleware
from langchain_core.tools import tool

from memoranda import MemoryStore
from memoranda.backends import StoreBackend
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


@pytest.mark.parametrize("way", WAYS)
def test_old_messages_are_kept_whole(store: MemoryStore, way: str) -> None:
    backend = StoreBackend(namespace=ANN)
    summary = SummarizationMiddleware(
        model=ScriptedChatModel(script=["Ann spoke of tea."]),
        backend=backend,  # type: ignore[arg-type] - recognised, see memoranda.integrations.deepagents
        trigger=("messages", 4),
        keep=("messages", 2),
    )
    graph = agent([f"reply {number}" for number in range(5)], backend=backend, store=store, middleware=[summary])
    thread = "offload-" + way + store.url
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
