"""LangGraph's own memory patterns on our store: nodes that use it, tools that use it, short-term care."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import AnyMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.prebuilt import InjectedStore
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from memoranda import MemoryStore
from memoranda.agents.middleware import MemoryMiddleware
from memoranda.backends import StoreBackend, by_user
from memoranda.testing.scripted import ScriptedChatModel, call, say
from tests.integrations.support import saver
from tests.recipes.support import Context, answers, tree, turn


@pytest.fixture(params=["memory", "sqlite"])
def checkpointer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    with saver(request.param, tmp_path) as made:
        yield made


def test_a_node_remembers(store: MemoryStore) -> None:
    """A collection: each memory an item of its own, found by the namespace of its user."""

    def respond(state: MessagesState, runtime: Runtime[Context]) -> dict[str, Any]:
        store = runtime.store
        assert store is not None
        namespace = ("memories", str(runtime.context.user_id))
        known = [item.value["data"] for item in store.search(namespace)]
        text = state["messages"][-1].text
        if text.startswith("Remember: "):
            store.put(namespace, uuid4().hex, {"data": text.removeprefix("Remember: ")})
        return {"messages": [("ai", f"I know: {', '.join(known) or 'nothing'}")]}

    graph = (
        StateGraph(MessagesState, context_schema=Context)
        .add_node("respond", respond)
        .add_edge(START, "respond")
        .compile(store=store)
    )
    turn(graph, "Remember: my name is Ann", context=Context(user_id="ann"))
    said = turn(graph, "Who am I?", context=Context(user_id="ann"))["messages"][-1].text
    other = turn(graph, "Who am I?", context=Context(user_id="ben"))["messages"][-1].text
    assert said == "I know: my name is Ann" and other == "I know: nothing"
    (item,) = store.search(("memories",))
    assert item.namespace == ("memories", "ann") and item.value == {"data": "my name is Ann"}


def test_a_tool_keeps_a_profile(store: MemoryStore) -> None:
    """A profile: one document per user, written and read by tools through their runtime."""

    @tool
    def save_user_info(name: str, runtime: ToolRuntime[Context]) -> str:
        """Save the person's name."""
        assert runtime.store is not None
        runtime.store.put(("users",), str(runtime.context.user_id), {"name": name})
        return "Saved."

    @tool
    def get_user_info(runtime: ToolRuntime[Context], store: Annotated[BaseStore, InjectedStore()]) -> str:
        """Look up the person."""
        item = store.get(("users",), str(runtime.context.user_id))
        return str(item.value) if item else "Unknown."

    script = [call("save_user_info", name="Ann"), say("Saved."), call("get_user_info"), say("Ann.")]
    graph = create_agent(
        ScriptedChatModel(script=script), [save_user_info, get_user_info], context_schema=Context, store=store
    )
    turn(graph, "I am Ann.", context=Context(user_id="u-1"))
    state = turn(graph, "Who am I?", context=Context(user_id="u-1"))
    assert answers(state) == ["{'name': 'Ann'}"]
    item = store.get(("users",), "u-1")
    assert item is not None and item.value == {"name": "Ann"}
    assert [entry.operation for entry in store.history(("users",), "u-1")] == ["write"]


def test_a_query_is_answered_without_an_embedder(store: MemoryStore) -> None:
    """The guides search with `query=` and an embedding model; here words alone are enough to begin with.

    LangGraph's stores without an index ignore the query and return anything; that would read like an answer.
    """
    store.put(("memories", "ann"), "m1", {"data": "likes pizza"})
    store.put(("memories", "ann"), "m2", {"data": "works as a plumber"})
    found = store.search(("memories", "ann"), query="which pizza?", limit=1)
    assert [item.key for item in found] == ["m1"]
    assert found[0].score > 0


def test_filters_and_pages(store: MemoryStore) -> None:
    for number in range(5):
        store.put(
            ("memories", "ann"), f"m{number}", {"data": f"fact {number}", "kind": "odd" if number % 2 else "even"}
        )
    odd = store.search(("memories",), filter={"kind": "odd"})
    assert [item.key for item in odd] == ["m1", "m3"]
    pages = [[item.key for item in store.search(("memories",), limit=2, offset=at)] for at in (0, 2, 4)]
    assert sorted(key for page in pages for key in page) == ["m0", "m1", "m2", "m3", "m4"]


def test_memory_in_any_agent_of_langchain(store: MemoryStore) -> None:
    """The middleware works alone: memory in the prompt of `create_agent`, without the rest of a deep agent."""
    store.write(("ann",), "/AGENTS.md", "Ann drinks green tea.")
    model = ScriptedChatModel(script=["Green."])
    graph = create_agent(
        model,
        middleware=[MemoryMiddleware(StoreBackend(namespace=by_user), ["/AGENTS.md"])],
        context_schema=Context,
        store=store,
    )
    turn(graph, "Tea?", context=Context(user_id="ann"))
    assert "Ann drinks green tea." in model.prompts[0]


def test_short_term_memory_is_of_one_thread(store: MemoryStore, checkpointer: Any) -> None:
    model = ScriptedChatModel(script=["Hi Ann.", "Ann.", "Who?"])
    graph = create_agent(model, checkpointer=checkpointer, store=store)
    thread = uuid4().hex
    turn(graph, "I am Ann.", thread=thread)
    assert len(turn(graph, "Who am I?", thread=thread)["messages"]) == 4
    assert len(turn(graph, "Who am I?")["messages"]) == 2
    assert tree(store) == {}


def test_messages_are_trimmed_before_the_model(store: MemoryStore, checkpointer: Any) -> None:
    """A trimming that returns the messages to keep adds them again; `REMOVE_ALL_MESSAGES` has to come first."""

    class Trim(AgentMiddleware[Any, Any, Any]):
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            messages: list[AnyMessage] = state["messages"]
            if len(messages) <= 3:
                return None
            return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *messages[-3:]]}

    model = ScriptedChatModel(script=["One.", "Two.", "Three."])
    graph = create_agent(model, middleware=[Trim()], checkpointer=checkpointer, store=store)
    thread = uuid4().hex
    for text in ("first", "second", "third"):
        state = turn(graph, text, thread=thread)
    assert [message.text for message in model.requests[-1]] == ["second", "Two.", "third"]
    assert [message.text for message in state["messages"]] == ["second", "Two.", "third", "Three."]


def test_a_thread_is_deleted_and_memory_stays(store: MemoryStore, checkpointer: Any) -> None:
    @tool
    def remember(fact: str, runtime: ToolRuntime[Context]) -> str:
        """Remember a fact."""
        assert runtime.store is not None
        runtime.store.put(("ann",), "fact", {"text": fact})
        return "Saved."

    script = [call("remember", fact="Ann paints."), say("Noted.")]
    graph = create_agent(ScriptedChatModel(script=script), [remember], checkpointer=checkpointer, store=store)
    thread = uuid4().hex
    turn(graph, "I paint.", thread=thread)
    checkpointer.delete_thread(thread)
    assert graph.get_state({"configurable": {"thread_id": thread}}).values == {}
    item = store.get(("ann",), "fact")
    assert item is not None and item.value == {"text": "Ann paints."}
