"""`create_deep_agent`: its state, its streams, its guard, and its middleware."""

from __future__ import annotations

from typing import Any, NotRequired

from langchain.agents import AgentState
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware, TodoListMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from memoranda import MemoryStore
from memoranda.agents import create_deep_agent
from memoranda.agents.middleware.files import FilesMiddleware
from memoranda.backends import StoreBackend
from memoranda.backends.permissions import FilesystemPermission
from memoranda.testing.scripted import ScriptedChatModel, call, say
from tests.agents.support import ANN, echo, last_text, remembering, text_of, thread, tool_messages


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
