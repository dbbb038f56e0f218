"""Short-term memory: what is kept of a long conversation. Nothing here touches what lies in files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from langchain.agents.middleware import SummarizationMiddleware
from langchain.agents.middleware.types import AgentMiddleware, AgentState
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langgraph.graph.message import REMOVE_ALL_MESSAGES  # pyright: ignore[reportMissingTypeStubs]
from langgraph.runtime import Runtime

from memoranda.agents.models import chat_model, window_of
from memoranda.errors import InvalidValueError

TRIGGER_FRACTION: Final = 0.85
"""How full of a model's window a conversation is when it is summarised."""

KEEP_FRACTION: Final = 0.10
"""How much of the window the messages after the summary may fill."""

TRIGGER_TOKENS: Final = 170_000
"""How long a conversation is when it is summarised for a model that does not say how much it takes."""

KEEP_MESSAGES: Final = 6
"""How many messages are kept then."""


def summarization(model: str | BaseChatModel, **settings: Any) -> SummarizationMiddleware:
    """LangChain's summarisation: at 85 % of the model's window, or at 170,000 tokens where that is not known.

    Args:
        model: The model that summarises, and whose window it is.
        **settings: Whatever else `SummarizationMiddleware` takes, or takes instead.
    """
    chat = chat_model(model)
    known = window_of(chat) is not None
    settings.setdefault("trigger", ("fraction", TRIGGER_FRACTION) if known else ("tokens", TRIGGER_TOKENS))
    settings.setdefault("keep", ("fraction", KEEP_FRACTION) if known else ("messages", KEEP_MESSAGES))
    # By default only the last 4,000 tokens would be summarised, and the rest be lost.
    settings.setdefault("trim_tokens_to_summarize", None)
    return SummarizationMiddleware(chat, **settings)


def trim_messages_before_model(
    *, max_tokens: int | None = None, max_messages: int | None = None, keep_first: bool = True
) -> AgentMiddleware[Any, Any, Any]:
    """Middleware that drops the oldest messages before each call of the model, and from the thread's state.

    A tool's result never stays without the call that asked for it, and what is kept begins with a person's message.

    Args:
        max_tokens: Keep the newest messages that have together about so many tokens.
        max_messages: Keep the so many newest messages.
        keep_first: Keep the first message as well, which often says what all of it is about.

    Raises:
        InvalidValueError: Neither limit was given, or one is below 1.
    """
    _check_limits(max_tokens=max_tokens, max_messages=max_messages)
    return _Trimming(max_tokens, max_messages, keep_first)


def delete_old_messages(keep: int) -> AgentMiddleware[Any, Any, Any]:
    """Middleware that deletes old messages from the thread's state after each reply.

    Args:
        keep: How many of the newest messages stay; fewer where a tool's result would stay without its call.

    Raises:
        InvalidValueError: It is below 1.
    """
    _check_limits(keep=keep)
    return _Deleting(keep)


def _check_limits(**limits: int | None) -> None:
    if all(limit is None for limit in limits.values()):
        raise InvalidValueError("No limit was given.", f"Pass {' or '.join(limits)}.")
    for name, limit in limits.items():
        if limit is not None and limit < 1:
            raise InvalidValueError(f"{name} is {limit}.", "It has to be at least 1.")


class _Trimming(AgentMiddleware[AgentState[Any], Any, Any]):
    """See `trim_messages_before_model`."""

    def __init__(self, max_tokens: int | None, max_messages: int | None, keep_first: bool) -> None:
        super().__init__()
        self.max_tokens = max_tokens
        self.max_messages = max_messages
        self.keep_first = keep_first

    @property
    def name(self) -> str:
        return "TrimMessages"

    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        messages = state["messages"]
        kept = _kept(messages, self._newest(messages))
        if self.keep_first and kept and kept[0] != 0:
            kept = [0, *kept]
        if len(kept) == len(messages):
            return None
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *(messages[index] for index in kept)]}

    async def abefore_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        return self.before_model(state, runtime)

    def _newest(self, messages: Sequence[AnyMessage]) -> int:
        """How many of the newest messages fit."""
        room = len(messages) if self.max_messages is None else self.max_messages
        if self.max_tokens is None:
            return room
        total = count_tokens_approximately(messages[:1]) if self.keep_first else 0
        fitting = 0
        for message in reversed(messages):
            total += count_tokens_approximately([message])
            if total > self.max_tokens or fitting == room:
                break
            fitting += 1
        return max(fitting, 1)


class _Deleting(AgentMiddleware[AgentState[Any], Any, Any]):
    """See `delete_old_messages`."""

    def __init__(self, keep: int) -> None:
        super().__init__()
        self.keep = keep

    @property
    def name(self) -> str:
        return "DeleteOldMessages"

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        messages = state["messages"]
        kept = frozenset(_kept(messages, self.keep))
        gone = [message for index, message in enumerate(messages) if index not in kept]
        return {"messages": [RemoveMessage(id=str(message.id)) for message in gone]} if gone else None

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        return self.after_agent(state, runtime)


def _kept(messages: Sequence[BaseMessage], newest: int) -> list[int]:
    """Which messages stay: about the newest, such that none is without what it belongs to.

    A conversation is cut before a person's message. Where the newest messages are all of one turn, that turn is cut
    before a reply, so that no tool's result is without its call, and the question that began the turn stays.
    """
    start = max(len(messages) - newest, 0)
    for index in range(start, len(messages)):
        if _is_human(messages[index]):
            return list(range(index, len(messages)))
    while start > 0 and isinstance(messages[start], ToolMessage):
        start -= 1
    asked = next(
        (index for index in range(start, -1, -1) if index < len(messages) and _is_human(messages[index])), None
    )
    rest = range(start, len(messages))
    return [*rest] if asked is None or asked in rest else [asked, *rest]


def _is_human(message: BaseMessage) -> bool:
    return message.type == "human"
