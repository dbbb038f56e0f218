"""An agent with memory, whose prompts are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from memoranda.agents.middleware.memory import MemoryMiddleware
from memoranda.testing.scripted import ScriptedChatModel


@dataclass
class Context:
    user_id: str | None = None
    org_id: str | None = None
    assistant_id: str | None = None


class Agent:
    """An agent whose model says nothing, so that its prompts can be looked at."""

    def __init__(self, backend: Any, sources: Sequence[str], name: str | None = None, **settings: Any) -> None:
        self.model = ScriptedChatModel(script=["ok"])
        self.middleware = MemoryMiddleware(backend, sources, **settings)
        self.graph = create_agent(
            self.model,
            system_prompt="Be kind.",
            middleware=[self.middleware],
            context_schema=Context,
            checkpointer=InMemorySaver(),
            name=name,
        )

    def turn(self, thread: str = "t1", **context: str) -> str:
        """Take a turn, and return the system prompt of it."""
        config: Any = {"configurable": {"thread_id": thread}}
        self.graph.invoke({"messages": "hi"}, config, context=Context(**context))
        return self.model.prompts[-1]

    async def aturn(self, thread: str = "t1", **context: str) -> str:
        """Take a turn without blocking."""
        config: Any = {"configurable": {"thread_id": thread}}
        await self.graph.ainvoke({"messages": "hi"}, config, context=Context(**context))
        return self.model.prompts[-1]
