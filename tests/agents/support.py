"""What the tests of agents share."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, ToolMessage

from memoranda import MemoryStore
from memoranda.backends import CompositeBackend, StateBackend, StoreBackend, by_user


def thread(name: str | None = None) -> Any:
    """The configuration of a thread; without a name of one that nobody knows."""
    return {"configurable": {"thread_id": name or str(uuid4())}}


def text_of(store: MemoryStore, namespace: tuple[str, ...], path: str) -> str | None:
    """The text of a file as it is in the store."""
    item = store.get(namespace, path)
    return None if item is None else item.value["content"]


def tool_messages(result: dict[str, Any]) -> list[ToolMessage]:
    """What the tools of a run said."""
    return [message for message in result["messages"] if isinstance(message, ToolMessage)]


def last_text(result: dict[str, Any]) -> str:
    """What the agent said at last."""
    message = result["messages"][-1]
    assert isinstance(message, AIMessage)
    return message.text


ANN = {"user_id": "ann"}


def remembering() -> CompositeBackend:
    """Files of the thread, and behind /memories/ those of the user."""
    return CompositeBackend(StateBackend(), {"/memories/": StoreBackend(namespace=by_user)})


def echo(messages: list[Any]) -> str:
    """A reply that says what was said last."""
    return messages[-1].text
