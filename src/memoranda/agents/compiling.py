"""One way to LangChain's `create_agent`, whose own types leave much unknown."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from langchain import agents
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph  # pyright: ignore[reportMissingTypeStubs]

DeepAgent: TypeAlias = "CompiledStateGraph[Any, Any, Any, Any]"
Checkpoints: TypeAlias = "BaseCheckpointSaver[Any] | bool | None"


def compiled(model: Any, tools: list[Any], **settings: Any) -> DeepAgent:
    """An agent of LangChain's; see `langchain.agents.create_agent`."""
    return cast("Any", agents).create_agent(model, tools, **settings)
