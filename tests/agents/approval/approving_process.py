"""A process that runs an agent until it pauses or ends: `python -m tests.agents.approval.approving_process JSON`."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from memoranda import MemoryStore, open_store
from memoranda.agents.middleware import FilesMiddleware
from memoranda.agents.middleware.approval import ApprovalMiddleware
from memoranda.backends import FilesystemPermission, GuardedBackend, StoreBackend
from memoranda.testing.scripted import ScriptedChatModel, call, say


def die_after_the_next_commit() -> None:
    """End this process as `kill -9` would, right after a change has landed."""
    commit = MemoryStore.commit

    def committing(self: MemoryStore, *args: Any, **kwargs: Any) -> Any:
        commit(self, *args, **kwargs)
        os._exit(9)

    MemoryStore.commit = committing  # type: ignore[method-assign]


def main(wish: dict[str, Any]) -> None:
    with ExitStack() as stack:
        store = stack.enter_context(open_store(wish["store"]))
        if wish["threads"].startswith("postgres"):
            saver: Any = stack.enter_context(PostgresSaver.from_conn_string(wish["threads"]))
            saver.setup()
        else:
            saver = stack.enter_context(SqliteSaver.from_conn_string(wish["threads"]))
        rules = [FilesystemPermission(["write"], ["/policies/**"], "interrupt")]
        if wish.get("dying"):
            die_after_the_next_commit()
        backend = GuardedBackend(StoreBackend(namespace=("acme",), store=store), rules)
        script = [
            call("read_file", file_path="/policies/tea.md"),
            call("write_file", file_path="/policies/tea.md", content="ONE\ntwo\nthree\n"),
            say("Done."),
        ]
        # The model of a new process goes on where the thread stands.
        position = wish["position"]
        agent: Any = create_agent(
            ScriptedChatModel(script=script[position:]),
            middleware=[FilesMiddleware(backend), ApprovalMiddleware(backend)],
            checkpointer=saver,
        )
        start = {"messages": "Go."} if "decisions" not in wish else Command(resume={"decisions": wish["decisions"]})
        result = agent.invoke(start, {"configurable": {"thread_id": "thread-1"}})
        answer = {
            "asked": [asked.value for asked in result.get("__interrupt__", ())],
            "last": result["messages"][-1].text,
            "told": [message.text for message in result["messages"] if isinstance(message, ToolMessage)],
        }
        print(json.dumps(answer))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
