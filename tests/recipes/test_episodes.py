"""Episodic memory as published guides do it, a tool that looks through checkpoints, and beside it with episodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver

from memoranda import MemoryStore
from memoranda.backends import StoreBackend, by_user
from memoranda.episodes import backfill
from memoranda.testing.scripted import call, say
from tests.integrations.support import saver
from tests.recipes.support import Context, agent, answers, tree, turn


@pytest.fixture(params=["memory", "sqlite"])
def checkpointer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    with saver(request.param, tmp_path) as made:
        yield made


def threads_of(checkpointer: BaseCheckpointSaver[Any], user_id: str) -> list[str]:
    """The threads of a user, the last used first; `user_id` was put into the metadata of their runs."""
    # Not every checkpointer lists the threads in the order of time.
    found = sorted(
        checkpointer.list(None, filter={"user_id": user_id}), key=lambda at: at.checkpoint["ts"], reverse=True
    )
    return list(dict.fromkeys(at.config.get("configurable", {})["thread_id"] for at in found))


def episodic(checkpointer: BaseCheckpointSaver[Any], graph: list[Any]) -> BaseTool:
    @tool
    def search_past_conversations(query: str, runtime: ToolRuntime[Context]) -> str:
        """Search earlier conversations with this person for words.

        Args:
            query: The words.
            runtime: The run.
        """
        here = runtime.config.get("configurable", {})["thread_id"]
        words = query.lower().split()
        lines: list[str] = []
        for thread in threads_of(checkpointer, str(runtime.context.user_id)):
            if thread != here:
                messages = graph[0].get_state({"configurable": {"thread_id": thread}}).values["messages"]
                said = [f"{message.type}: {message.text}" for message in messages if message.text]
                lines += [f"[{thread}] {line}" for line in said if any(word in line.lower() for word in words)]
        return "\n".join(lines) or "Nothing about that."

    return search_past_conversations


def test_earlier_conversations_are_found_by_words(store: MemoryStore, checkpointer: Any) -> None:
    """The published tool takes a query and never uses it: it returns all of the last five threads.

    Its `threads.search` knows metadata only, and the history that it dumps is a list with one entry per checkpoint, so
    every message comes many times over. Here the words decide, the user comes from the runtime and not from the model,
    and each thread is read once, in its last state.
    """
    script = [
        say("The timeout was in the proxy; raising it to 60 s solved it."),
        say("Nice weather."),
        say("Ben's proxy is fine."),
        call("search_past_conversations", query="timeout proxy"),
        call("write_file", file_path="/solutions.md", content="Timeouts: raise the proxy's limit to 60 s.\n"),
        say("Last time it was the proxy."),
    ]
    built: list[Any] = []
    graph, _ = agent(
        script,
        tools=[episodic(checkpointer, built)],
        backend=StoreBackend(namespace=by_user),
        context_schema=Context,
        checkpointer=checkpointer,
        store=store,
    )
    built.append(graph)

    def talk(user: str, text: str) -> tuple[str, dict[str, Any]]:
        thread = uuid4().hex
        config: Any = {"configurable": {"thread_id": thread}, "metadata": {"user_id": user}}
        given: Any = {"messages": [{"role": "user", "content": text}]}
        return thread, graph.invoke(given, config, context=Context(user_id=user))

    solved, _ = talk("ann", "The upload fails with a timeout.")
    talk("ann", "How are you?")
    talk("ben", "Is my proxy all right?")
    _, state = talk("ann", "The upload fails again.")
    found = answers(state)[0]
    assert f"[{solved}] ai: The timeout was in the proxy" in found
    assert "weather" not in found and "Ben's proxy" not in found
    assert found.count("raising it to 60 s") == 1
    assert tree(store) == {("ann",): {"/solutions.md": "Timeouts: raise the proxy's limit to 60 s.\n"}}


def test_the_same_with_episodes(store: MemoryStore, checkpointer: Any) -> None:
    """Conversations that the checkpointer holds already are taken over, and no metadata says whose they are."""
    script = [say("The timeout was in the proxy; raising it to 60 s solved it."), say("Nice weather.")]
    before, _ = agent(script, context_schema=Context, checkpointer=checkpointer, store=store)
    for thread, text in (("solved", "The upload fails with a timeout."), ("other", "How are you?")):
        turn(before, text, context=Context(user_id="ann"), thread=thread)
    assert backfill(checkpointer, store, scope=("ann",)).new == 4
    script = [call("search_past_conversations", query="timeout of the proxy"), say("Last time it was the proxy.")]
    for user, finds in (("ann", True), ("ben", False)):
        graph, _ = agent(script, episodes=True, context_schema=Context, checkpointer=checkpointer, store=store)
        found = answers(turn(graph, "The upload fails again.", context=Context(user_id=user)))[0]
        assert ("thread solved" in found and "raising it to 60 s" in found) is finds
        assert "weather" not in found


def test_threads_are_listed_by_user(store: MemoryStore, checkpointer: Any) -> None:
    graph, _ = agent(["Hello."], checkpointer=checkpointer, store=store)
    threads = [uuid4().hex for _ in range(3)]
    for thread, user in zip(threads, ["ann", "ben", "ann"], strict=True):
        config: Any = {"configurable": {"thread_id": thread}, "metadata": {"user_id": user}}
        graph.invoke({"messages": "Hi."}, config)
    assert threads_of(checkpointer, "ann") == [threads[2], threads[0]]
    assert threads_of(checkpointer, "ben") == [threads[1]]
    assert threads_of(checkpointer, "an") == []
