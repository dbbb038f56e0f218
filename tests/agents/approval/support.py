"""Agents whose changes to sensitive paths wait for a person, and the answers of that person."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from memoranda import MemoryStore
from memoranda.agents.middleware import FilesMiddleware
from memoranda.agents.middleware.approval import ApprovalMiddleware
from memoranda.backends import FilesystemPermission, GuardedBackend, StoreBackend
from memoranda.testing.scripted import ScriptedChatModel, call, say

ACME = ("acme",)
THREAD: Any = {"configurable": {"thread_id": ""}}
APPROVE = {"type": "approve"}


def guarded(store: MemoryStore, *more: FilesystemPermission, hooks: Any = ()) -> GuardedBackend:
    rules = [*more, FilesystemPermission(["write"], ["/policies/**"], "interrupt")]
    return GuardedBackend(StoreBackend(namespace=ACME, store=store), rules, hooks)


def agent_on(backend: Any, *script: Any, checkpointer: Any = None, tools: Any = ()) -> Any:
    model = ScriptedChatModel(script=[*script, say("Done.")])
    middleware = [FilesMiddleware(backend), ApprovalMiddleware(backend)]
    return create_agent(model, list(tools), middleware=middleware, checkpointer=checkpointer or InMemorySaver())


def run(agent: Any, thread: Any = THREAD) -> Any:
    return agent.invoke({"messages": "Go."}, thread)


def resume(agent: Any, *decisions: Any, thread: Any = THREAD) -> Any:
    return agent.invoke(Command(resume={"decisions": list(decisions)}), thread)


def requests(result: Any) -> list[dict[str, Any]]:
    (asked,) = result["__interrupt__"]
    return asked.value["action_requests"]


def told(result: Any) -> list[ToolMessage]:
    return [message for message in result["messages"] if isinstance(message, ToolMessage)]


def text(store: MemoryStore, key: str) -> str | None:
    item = store.get(ACME, key)
    return None if item is None else item.value["content"]


def write(content: str, path: str = "/policies/tea.md") -> AIMessage:
    return call("write_file", file_path=path, content=content)
