"""What the recipes share: running a turn, as a server or as a program does it, and looking into the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from memoranda import MemoryStore, create_deep_agent
from memoranda.testing.scripted import ScriptedChatModel


@dataclass
class Context:
    """Who runs, where no server says it."""

    user_id: str | None = None
    org_id: str | None = None
    assistant_id: str | None = None


class User:
    """A user as a LangGraph server hands one to its graphs: an object with an `identity`."""

    is_authenticated = True
    permissions: tuple[str, ...] = ()

    def __init__(self, identity: str, **more: Any) -> None:
        self.identity = identity
        self.display_name = identity
        self.__dict__.update(more)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def __contains__(self, key: str) -> bool:
        return hasattr(self, key)

    def __iter__(self) -> Any:
        return iter(["identity"])


def agent(script: list[Any], **settings: Any) -> tuple[Any, ScriptedChatModel]:
    """An agent of ours with a scripted model, and that model."""
    model = ScriptedChatModel(script=script)
    settings.setdefault("checkpointer", InMemorySaver())
    return create_deep_agent(model, **settings), model


def turn(
    graph: Any, text: str = "Go.", *, context: Any = None, thread: str | None = None, **configurable: Any
) -> dict[str, Any]:
    """One turn. A server sets `assistant_id`, `graph_id` and `langgraph_auth_user`; a program passes `context`."""
    config = {"configurable": {"thread_id": thread or uuid4().hex, **configurable}}
    return graph.invoke({"messages": [{"role": "user", "content": text}]}, config, context=context)


async def aturn(
    graph: Any, text: str = "Go.", *, context: Any = None, thread: str | None = None, **configurable: Any
) -> dict[str, Any]:
    """`turn` for an event loop."""
    config = {"configurable": {"thread_id": thread or uuid4().hex, **configurable}}
    return await graph.ainvoke({"messages": [{"role": "user", "content": text}]}, config, context=context)


def answers(state: dict[str, Any]) -> list[str]:
    """What the tools said, in order."""
    return [message.text for message in state["messages"] if isinstance(message, ToolMessage)]


def tree(store: MemoryStore) -> dict[tuple[str, ...], dict[str, str]]:
    """Every file of the store with its text, by namespace."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for item in store.search((), limit=1_000):
        found.setdefault(item.namespace, {})[item.key] = item.value["content"]
    return found
