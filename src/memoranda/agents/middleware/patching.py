"""`PatchToolCallsMiddleware`: a tool call that was never answered gets an answer, as providers want it."""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware.types import AgentMiddleware, AgentState
from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES  # pyright: ignore[reportMissingTypeStubs]
from langgraph.runtime import Runtime


class PatchToolCallsMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Answer the tool calls that a run left behind when it was cancelled or broke off.

    Providers refuse a conversation in which a call has no result.
    """

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Put the missing results right behind their calls."""
        messages = state["messages"]
        answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
        patched: list[AnyMessage] = []
        for message in messages:
            patched.append(message)
            if isinstance(message, AIMessage):
                patched.extend(_answers(message, answered))
        if len(patched) == len(messages):
            return None
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *patched]}

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """`before_agent` for an event loop."""
        return self.before_agent(state, runtime)


def _answers(message: AIMessage, answered: set[str]) -> list[ToolMessage]:
    """What is said for the calls of a message that have no result."""
    found: list[ToolMessage] = []
    calls = [(call["id"], call["name"], "was broken off, so that no result is known") for call in message.tool_calls]
    calls += [
        (call["id"], call["name"] or "unknown", "could not be understood, so that it did not run")
        for call in message.invalid_tool_calls
    ]
    for id_, name, what in calls:
        if id_ is not None and id_ not in answered:
            text = f"Error: this call of {name} {what}."
            found.append(ToolMessage(text, name=name, tool_call_id=id_, status="error"))
    return found
