"""`create_deep_agent`: what it writes is in the store, and what is in the store reaches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NotRequired

import pytest
from langchain.agents import AgentState
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware, TodoListMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from memoranda import Author, MemoryStore, acting_as
from memoranda.agents import create_deep_agent
from memoranda.agents.errors import MissingPackageError, UnknownModelError
from memoranda.agents.middleware.files import FilesMiddleware
from memoranda.backends import Backend, CompositeBackend, StateBackend, StoreBackend, by_assistant, by_user
from memoranda.backends.permissions import FilesystemPermission
from memoranda.testing.scripted import ScriptedChatModel, call, calls, say
from tests.agents.support import last_text, text_of, thread, tool_messages

ANN = {"user_id": "ann"}


def remembering() -> CompositeBackend:
    return CompositeBackend(StateBackend(), {"/memories/": StoreBackend(namespace=by_user)})


def echo(messages: list[Any]) -> str:
    return messages[-1].text


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


class Topic(AgentState[Any]):
    topic: NotRequired[str]


def test_custom_state_with_tool_runtime_and_command(store: MemoryStore) -> None:
    @tool
    def choose(topic: str, runtime: ToolRuntime) -> Command[Any]:
        """Choose the topic."""
        message = ToolMessage(f"was {runtime.state.get('topic')}", tool_call_id=runtime.tool_call_id)
        return Command(update={"topic": topic, "messages": [message]})

    model = ScriptedChatModel(script=[call("choose", topic="tea"), call("choose", topic="cake"), say("ok")])
    agent = create_deep_agent(model, [choose], state_schema=Topic, store=store)
    result = agent.invoke({"messages": "Go.", "topic": "none"})
    assert result["topic"] == "cake"
    assert [message.text for message in tool_messages(result)] == ["was none", "was tea"]


def test_response_format(store: MemoryStore) -> None:
    class Answer(BaseModel):
        drink: str

    script = [call("ls", path="/"), call("Answer", drink="tea")]
    agent = create_deep_agent(ScriptedChatModel(script=script), response_format=Answer, store=store)
    assert agent.invoke({"messages": "What?"})["structured_response"] == Answer(drink="tea")


def test_stream_modes(store: MemoryStore) -> None:
    def agent() -> Any:
        script = [call("write_file", file_path="/memories/a.md", content="x"), say("ok")]
        model = ScriptedChatModel(script=script)
        return create_deep_agent(model, backend=remembering(), store=store, context_schema=dict)

    def stream(mode: str, user: str) -> list[Any]:
        return list(agent().stream({"messages": "Go."}, thread(), context={"user_id": user}, stream_mode=mode))

    assert stream("values", "v")[-1]["messages"][-1].text == "ok"
    nodes = [node for update in stream("updates", "u") for node in update]
    assert nodes.count("model") == 2 and "tools" in nodes
    (event,) = stream("custom", "c")
    assert event["type"] == "memory_written" and event["path"] == "/memories/a.md" and event["namespace"] == ["c"]
    assert "ok" in "".join(message.text for message, _ in stream("messages", "m") if isinstance(message, AIMessage))


async def test_async_streaming(store: MemoryStore) -> None:
    script = [call("write_file", file_path="/memories/a.md", content="x"), say("ok")]
    model = ScriptedChatModel(script=script)
    agent = create_deep_agent(model, backend=remembering(), store=store, context_schema=dict)
    events = [
        (mode, chunk)
        async for mode, chunk in agent.astream(
            {"messages": "Go."}, thread(), context=ANN, stream_mode=["updates", "custom"]
        )
    ]
    assert [chunk["path"] for mode, chunk in events if mode == "custom"] == ["/memories/a.md"]


class Failing(Backend):
    """A backend whose storage is away."""

    def __getattribute__(self, name: str) -> Any:
        if name.endswith("_steps") and name != "names_steps":
            raise ConnectionError("the storage is away")
        return super().__getattribute__(name)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_backend_that_raises_is_a_tool_error(is_async: bool) -> None:
    script = [
        calls(
            ("ls", {"path": "/"}),
            ("read_file", {"file_path": "/a"}),
            ("write_file", {"file_path": "/a", "content": "x"}),
            ("edit_file", {"file_path": "/a", "old_string": "x", "new_string": "y"}),
            ("delete", {"file_path": "/a"}),
            ("move", {"file_path": "/a", "to": "/b"}),
            ("glob", {"pattern": "*"}),
            ("grep", {"pattern": "x"}),
        ),
        say("I go on."),
    ]
    agent = create_deep_agent(ScriptedChatModel(script=script), backend=Failing(), memory=["/AGENTS.md"])
    given: Any = {"messages": "Go."}
    result = await agent.ainvoke(given) if is_async else agent.invoke(given)
    told = tool_messages(result)
    assert len(told) == 8
    for message in told:
        assert message.status == "error" and "the storage is away" in message.text, message
    assert last_text(result) == "I go on."


@pytest.mark.parametrize(
    "make",
    [
        lambda rt: StateBackend(rt),
        lambda rt: StoreBackend(rt, namespace=lambda ctx: (ctx.runtime.context["user_id"],)),
        lambda rt: CompositeBackend(StateBackend(rt), {"/memories/": StoreBackend(rt, namespace=by_user)}),
    ],
)
def test_a_function_of_the_runtime_is_a_backend(store: MemoryStore, make: Callable[[Any], Any]) -> None:
    script = [
        call("write_file", file_path="/memories/a.md", content="x"),
        call("read_file", file_path="/memories/a.md"),
    ]
    model = ScriptedChatModel(script=[*script, echo])
    agent = create_deep_agent(model, backend=make, store=store, context_schema=dict)
    result = agent.invoke({"messages": "Go."}, thread(), context=ANN)
    assert last_text(result) == "@@ lines 1-1 of 1 @@\nx"


def test_a_function_that_fails_is_told_and_the_run_goes_on() -> None:
    def make(runtime: Any) -> Any:
        raise KeyError("team")

    model = ScriptedChatModel(script=[call("ls"), echo])
    text = last_text(create_deep_agent(model, backend=make).invoke({"messages": "Go."}))
    assert text.startswith("Error: The backend function failed with KeyError: 'team'.")


@pytest.mark.parametrize(
    ("model", "kind", "said"),
    [
        ("nobody:x", UnknownModelError, "cannot be set up"),
        ("just-a-name", UnknownModelError, '"provider:model"'),
        ("mistralai:small", MissingPackageError, "pip install langchain-mistralai"),
        ("", UnknownModelError, "is no model"),
        (None, UnknownModelError, "is no model"),
    ],
)
def test_a_model_that_cannot_be_set_up(model: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind) as caught:
        create_deep_agent(model)
    assert said in str(caught.value)


def test_the_guard_is_below_the_tools(store: MemoryStore) -> None:
    store.write(("team",), "/secrets/.env", "KEY=1")
    script = [
        call("read_file", file_path="//secrets/.env"),
        call("ls", path="/secrets"),
        call("grep", pattern="KEY"),
        call("write_file", file_path="/secrets/.env", content=""),
        say("ok"),
    ]
    deny = FilesystemPermission(["read", "write"], ["/secrets/**"], "deny")
    agent = create_deep_agent(
        ScriptedChatModel(script=script), backend=StoreBackend(namespace=("team",), store=store), permissions=[deny]
    )
    told = tool_messages(agent.invoke({"messages": "Go."}))
    assert all("KEY=1" not in message.text for message in told)
    assert told[0].status == told[3].status == "error"
    assert text_of(store, ("team",), "/secrets/.env") == "KEY=1"


def test_a_files_middleware_of_the_user_is_behind_the_guard(store: MemoryStore) -> None:
    store.write(("team",), "/a.md", "hidden")
    files = StoreBackend(namespace=("team",), store=store)
    deny = FilesystemPermission(["read"], ["/a.md"], "deny")
    for own in (FilesMiddleware(files, tools=["read_file"]), FilesMiddleware(tools=["read_file"])):
        model = ScriptedChatModel(script=[call("read_file", file_path="/a.md"), echo])
        agent = create_deep_agent(model, backend=files, middleware=[own], permissions=[deny])
        assert "permission denied" in last_text(agent.invoke({"messages": "Go."}))
        assert "write_file" not in model.offered[0] and "read_file" in model.offered[0]


def test_middleware_of_the_user_takes_the_place_of_ours(store: MemoryStore) -> None:
    class Mine(AgentMiddleware[Any, Any, Any]):
        seen: tuple[str, ...] = ()

        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            self.seen = (*self.seen, request.system_message.text)
            return handler(request)

    mine = Mine()
    summary = SummarizationMiddleware(
        ScriptedChatModel(script=["All of it."]), trigger=("messages", 3), keep=("messages", 1)
    )
    model = ScriptedChatModel(script=[say("a"), say("b"), say("c")])
    own = [mine, summary, TodoListMiddleware(system_prompt="Make a list!")]
    agent = create_deep_agent(
        model, middleware=own, system_prompt=SystemMessage("You are kind."), checkpointer=InMemorySaver()
    )
    here = thread()
    for _ in range(2):
        result = agent.invoke({"messages": "Go."}, here)
    assert "All of it." in result["messages"][0].text
    assert "Make a list!" in mine.seen[0] and mine.seen[0].startswith("You are kind.")


def test_a_dangling_tool_call_is_answered(store: MemoryStore) -> None:
    agent = create_deep_agent(ScriptedChatModel(script=[say("ok")]))
    broken = call("ls", path="/")
    result = agent.invoke({"messages": [HumanMessage("Go."), broken, HumanMessage("Still there?")]})
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "human", "ai"]
    assert "was broken off" in result["messages"][2].text


def test_a_thousand_turns_do_not_grow_with_memory(store: MemoryStore) -> None:
    store.write(("ann",), "/AGENTS.md", "Ann likes tea.\n" * 1_000)
    checkpoints = InMemorySaver()
    agent = create_deep_agent(
        ScriptedChatModel(script=[say("ok")]),
        backend=remembering(),
        store=store,
        memory=["/memories/AGENTS.md"],
        checkpointer=checkpoints,
        context_schema=dict,
    )
    here = thread("long")
    sizes: list[int] = []
    for turn in range(200):
        agent.invoke({"messages": f"Turn {turn}."}, here, context=ANN)
        sizes.append(len(repr(agent.get_state(here).values)))
    growth = [after - before for before, after in zip(sizes[20:], sizes[21:], strict=False)]
    assert max(growth) < 1_000
    assert "Ann likes tea." not in repr(checkpoints.storage) + repr(checkpoints.blobs) + repr(checkpoints.writes)
    assert not store.history(("ann",), "/AGENTS.md")[1:]
