"""The history says which agent, thread, run and tool call changed a file."""

from __future__ import annotations

from langchain.tools import ToolRuntime
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from memoranda import Author, MemoryStore, acting_as
from memoranda.agents import create_deep_agent
from memoranda.backends import StoreBackend, by_assistant
from memoranda.testing.scripted import ScriptedChatModel, call, say
from tests.agents.support import thread


def test_the_history_says_who_and_where(store: MemoryStore) -> None:
    write = call("write_file", file_path="/a.md", content="x")
    again = call("edit_file", file_path="/a.md", old_string="x", new_string="y")
    model = ScriptedChatModel(script=[write, again, say("ok"), call("delete", file_path="/a.md"), say("ok")])
    agent = create_deep_agent(
        model,
        backend=StoreBackend(namespace=by_assistant),
        store=store,
        name="gardener",
        checkpointer=InMemorySaver(),
    )
    here = thread("t1")
    agent.invoke({"messages": "Go."}, here)
    agent.invoke({"messages": "Go."}, here)
    deleted, edited, written = store.history(("gardener",), "/a.md")
    assert {each.author.actor for each in (written, edited, deleted)} == {"agent:gardener"}
    assert {each.author.thread_id for each in (written, edited, deleted)} == {"t1"}
    assert written.author.tool_call_id == write.tool_calls[0]["id"]
    assert edited.author.tool_call_id == again.tool_calls[0]["id"]
    assert written.author.run_id == edited.author.run_id != deleted.author.run_id
    assert written.author.run_id and deleted.author.run_id


def test_the_run_id_of_the_caller_is_in_the_history(store: MemoryStore) -> None:
    from uuid import uuid4

    run = uuid4()
    script = [call("write_file", file_path="/a.md", content="x"), say("ok")]
    agent = create_deep_agent(ScriptedChatModel(script=script), backend=StoreBackend(namespace=("t",)), store=store)
    with acting_as(Author("user:ann", reason="asked")):
        agent.invoke({"messages": "Go."}, {**thread(), "run_id": run})
    (revision,) = store.history(("t",), "/a.md")
    assert revision.author.run_id == str(run)
    assert (revision.author.actor, revision.author.reason) == ("user:ann", "asked")


def test_a_tool_of_the_user_signs_too(store: MemoryStore) -> None:
    @tool
    def remember(fact: str, runtime: ToolRuntime) -> str:
        """Remember a fact."""
        assert runtime.store is not None
        runtime.store.put(("facts",), "one", {"fact": fact})
        return "ok"

    remembers = call("remember", fact="tea")
    agent = create_deep_agent(
        ScriptedChatModel(script=[remembers, say("ok")]), [remember], store=store, name="gardener"
    )
    agent.invoke({"messages": "Go."}, thread("t1"))
    (revision,) = store.history(("facts",), "one")
    assert revision.author.actor == "agent:gardener"
    assert revision.author.tool_call_id == remembers.tool_calls[0]["id"]
