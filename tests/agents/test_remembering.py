"""What an agent writes is in the store, and what is in the store reaches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from memoranda import MemoryStore
from memoranda.agents import create_deep_agent
from memoranda.agents.middleware.short_term import delete_old_messages
from memoranda.backends import StoreBackend
from memoranda.testing.scripted import ScriptedChatModel, call, say
from tests.agents.support import ANN, echo, last_text, remembering, text_of, thread, tool_messages
from tests.support.scale import sized


@pytest.mark.parametrize("is_async", [False, True])
async def test_what_one_thread_writes_another_reads(store: MemoryStore, is_async: bool) -> None:
    model = ScriptedChatModel(
        script=[
            call("write_file", file_path="/memories/tea.md", content="Ann likes green tea."),
            say("Noted."),
            call("read_file", file_path="/memories/tea.md"),
            echo,
        ]
    )
    agent = create_deep_agent(
        model, backend=remembering(), store=store, checkpointer=InMemorySaver(), context_schema=dict
    )

    async def run(said: str) -> dict[str, Any]:
        given: Any = {"messages": said}
        if is_async:
            return await agent.ainvoke(given, thread(), context=ANN)
        return agent.invoke(given, thread(), context=ANN)

    await run("I like green tea.")
    assert text_of(store, ("ann",), "/tea.md") == "Ann likes green tea."
    assert last_text(await run("What do I like?")) == "@@ lines 1-1 of 1 @@\nAnn likes green tea."


def test_a_stale_write_is_refused_once_with_the_current_text(store: MemoryStore) -> None:
    files = StoreBackend(namespace=("team",), store=store)
    store.write(("team",), "/plan.md", "tea\n")

    def somebody_writes(_: Any) -> AIMessage:
        store.write(("team",), "/plan.md", "coffee\n")
        return call("write_file", file_path="/plan.md", content="green tea\n")

    script = [
        call("read_file", file_path="/plan.md"),
        somebody_writes,
        call("write_file", file_path="/plan.md", content="coffee and green tea\n"),
        say("ok"),
    ]
    agent = create_deep_agent(ScriptedChatModel(script=script), backend=files, checkpointer=InMemorySaver())
    _, refused, accepted = tool_messages(agent.invoke({"messages": "Go."}, thread()))
    assert refused.status == "error" and "coffee\n" in refused.text and "Nothing was written" in refused.text
    assert accepted.status == "success" and accepted.text == "Wrote /plan.md (revision 3)."
    assert text_of(store, ("team",), "/plan.md") == "coffee and green tea\n"


def test_changes_of_different_lines_are_merged(store: MemoryStore) -> None:
    store.write(("team",), "/plan.md", "a\nb\nc\n")

    def somebody_writes(_: Any) -> AIMessage:
        store.write(("team",), "/plan.md", "A\nb\nc\n")
        return call("write_file", file_path="/plan.md", content="a\nb\nC\n")

    script = [call("read_file", file_path="/plan.md"), somebody_writes, say("ok")]
    files = StoreBackend(namespace=("team",), store=store)
    told = tool_messages(create_deep_agent(ScriptedChatModel(script=script), backend=files).invoke({"messages": "Go."}))
    assert "merged with what others had changed" in told[-1].text
    assert text_of(store, ("team",), "/plan.md") == "A\nb\nC\n"


def test_a_file_that_was_not_read_is_not_overwritten(store: MemoryStore) -> None:
    store.write(("team",), "/plan.md", "tea\n")
    write = call("write_file", file_path="/plan.md", content="mine\n")
    files = StoreBackend(namespace=("team",), store=store)
    agent = create_deep_agent(ScriptedChatModel(script=[write, write, say("ok")]), backend=files)
    first, second = tool_messages(agent.invoke({"messages": "Go."}, thread()))
    assert "exists already and you have not read it" in first.text and "tea\n" in first.text
    assert second.status == "success"
    assert text_of(store, ("team",), "/plan.md") == "mine\n"


def test_what_a_thread_has_seen_survives_in_its_state(store: MemoryStore) -> None:
    from memoranda.backends import runtime

    store.write(("team",), "/plan.md", "tea\n")
    files = StoreBackend(namespace=("team",), store=store)
    script = [
        call("read_file", file_path="/plan.md"),
        say("Read."),
        call("write_file", file_path="/plan.md", content="mine\n"),
        say("ok"),
    ]
    agent = create_deep_agent(ScriptedChatModel(script=script), backend=files, checkpointer=InMemorySaver())
    here = thread()
    agent.invoke({"messages": "Read."}, here)
    runtime._process.clear()  # another process
    result = agent.invoke({"messages": "Write."}, here)
    assert tool_messages(result)[-1].text == "Wrote /plan.md (revision 2)."
    assert not {"seen_revisions", "pending_approvals", "agent_run_id"} & result.keys()


def test_two_users_are_apart(store: MemoryStore) -> None:
    for user in ("ann", "bob"):
        script = [
            call("write_file", file_path="/memories/me.md", content=f"I am {user}."),
            call("grep", pattern="I am", output_mode="content"),
            echo,
        ]
        model = ScriptedChatModel(script=script)
        agent = create_deep_agent(model, backend=remembering(), store=store, context_schema=dict)
        result = agent.invoke({"messages": "Go."}, thread(), context={"user_id": user})
        assert last_text(result) == f"/memories/me.md:1: I am {user}."
    assert text_of(store, ("ann",), "/me.md") == "I am ann."
    assert text_of(store, ("bob",), "/me.md") == "I am bob."


@dataclass
class Context:
    user_id: str


class Checked(BaseModel):
    user_id: str


@pytest.mark.parametrize(
    ("schema", "context"), [(dict, ANN), (Context, Context("ann")), (Context, ANN), (Checked, Checked(user_id="ann"))]
)
def test_context_in_every_form(store: MemoryStore, schema: Any, context: Any) -> None:
    script = [call("write_file", file_path="/memories/a.md", content="x"), say("ok")]
    model = ScriptedChatModel(script=script)
    agent = create_deep_agent(model, backend=remembering(), store=store, context_schema=schema)
    agent.invoke({"messages": "Go."}, thread(), context=context)
    assert text_of(store, ("ann",), "/a.md") == "x"


def test_a_missing_context_is_a_tool_error_and_the_run_goes_on(store: MemoryStore) -> None:
    script = [
        call("write_file", file_path="/memories/a.md", content="x"),
        call("write_file", file_path="/a.md", content="x"),
        say("ok"),
    ]
    agent = create_deep_agent(ScriptedChatModel(script=script), backend=remembering(), store=store)
    result = agent.invoke({"messages": "Go."}, thread())
    first, second = tool_messages(result)
    assert first.status == "error" and 'Pass context={"user_id": "…"} to invoke' in first.text
    assert second.status == "success" and result["files"]["/a.md"]["content"] == "x"


@pytest.mark.slow
def test_many_turns_do_not_grow_with_memory(open_here: Callable[..., MemoryStore]) -> None:
    store = open_here("memory://")  # what a thread's state holds depends on no engine
    step = sized(100, quick=30)
    checkpoints = InMemorySaver()
    agent = create_deep_agent(
        ScriptedChatModel(script=[say("ok")]),
        backend=remembering(),
        store=store,
        memory=["/memories/AGENTS.md"],
        middleware=[delete_old_messages(keep=10)],
        checkpointer=checkpoints,
        context_schema=dict,
    )
    here = thread()
    sizes: list[int] = []
    for turn in range(10 * step):
        if turn % step == 0:
            store.write(("ann",), "/AGENTS.md", f"Ann likes tea number {turn}.\n" * (turn + 1))
        agent.invoke({"messages": "Go on."}, here, context=ANN)
        if turn % step == step - 1:
            sizes.append(len(repr(agent.get_state(here).values)))
    assert max(sizes) - min(sizes) < 200, sizes
    assert "Ann likes tea" not in f"{checkpoints.storage}{checkpoints.blobs}{checkpoints.writes}"
