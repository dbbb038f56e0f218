"""Which assistant runs: bound when the agent is built, so that no caller's configuration can say otherwise."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse, ToolCallRequest

from memoranda.agents.middleware.tool_calls import ToolResult
from memoranda.backends.scopes import bound_assistant, inside_assistant


class AssistantMiddleware(AgentMiddleware[Any, Any, Any]):
    """Let `by_assistant` mean this agent, in its tools, its prompt and its subagents.

    Args:
        assistant: The agent's name; None for an agent without one, which is nobody's memory unless it runs inside
            another agent.
    """

    def __init__(self, assistant: str | None) -> None:
        super().__init__()
        self.assistant = assistant

    @contextmanager
    def bound(self) -> Generator[None]:
        """Bind the assistant inside the block."""
        outer = bound_assistant()
        with inside_assistant(self.assistant if self.assistant is not None else outer or ""):
            yield

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> Any:
        """Bind it for what goes into the prompt."""
        with self.bound():
            return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> Any:
        """`wrap_model_call` for an event loop."""
        with self.bound():
            return await handler(request)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """Bind it for the tools."""
        with self.bound():
            return handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """`wrap_tool_call` for an event loop."""
        with self.bound():
            return await handler(request)
