"""A whole file is written over nothing but what the model had seen when it wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from memoranda import MemoryStore
from memoranda.agents import create_deep_agent
from memoranda.agents.middleware import FilesMiddleware, MemoryMiddleware
from memoranda.backends import StoreBackend
from memoranda.testing.scripted import ScriptedChatModel, call, calls, say
from tests.agents.support import text_of, thread, tool_messages

NS = ("team",)
LINES = "head\n" + "x\n" * 50
UNREAD = "exists already and you have not read it"


@pytest.fixture(params=["invoke", "ainvoke"])
def invoke(request: pytest.FixtureRequest) -> Any:
    """Run an agent, in both ways."""

    async def run(agent: Any, said: str, config: Any) -> dict[str, Any]:
        if request.param == "invoke":
            return agent.invoke({"messages": said}, config)
        return await agent.ainvoke({"messages": said}, config)

    return run


def agent_of(store: MemoryStore, script: Sequence[Any], **kwargs: Any) -> Any:
    files = StoreBackend(namespace=NS, store=store)
    model = ScriptedChatModel(script=[*script, say("ok")])
    return create_deep_agent(model, backend=files, checkpointer=InMemorySaver(), **kwargs)


def write(path: str, content: str) -> AIMessage:
    return call("write_file", file_path=path, content=content)


def read(path: str, **window: int) -> AIMessage:
    return call("read_file", file_path=path, **window)


def after(work: Callable[[], Any], reply: AIMessage) -> Callable[[Any], AIMessage]:
    """A reply before which somebody else does something."""

    def replies(_: Any) -> AIMessage:
        work()
        return reply

    return replies


async def last_of(invoke: Any, agent: Any, config: Any = None) -> ToolMessage:
    return tool_messages(await invoke(agent, "Go.", config or thread()))[-1]


async def test_a_branch_from_an_older_checkpoint_writes_over_what_it_saw_itself(
    store: MemoryStore, invoke: Any
) -> None:
    store.write(NS, "/p.md", "v1\n")
    agent = agent_of(
        store, [read("/p.md"), say("a"), read("/p.md"), say("b"), write("/p.md", "v1 plus mine\n"), say("c")]
    )
    here = thread()
    await invoke(agent, "One.", here)
    older = agent.get_state(here).config
    store.write(NS, "/p.md", "v1\nof others\n")
    await invoke(agent, "Two.", here)
    merged = await last_of(invoke, agent, older)
    assert "merged" in merged.text
    assert text_of(store, NS, "/p.md") == "v1 plus mine\nof others\n"


async def test_a_write_beside_a_read_was_made_before_it(store: MemoryStore, invoke: Any) -> None:
    store.write(NS, "/a.md", "of others\n")
    both = calls(("read_file", {"file_path": "/a.md"}), ("write_file", {"file_path": "/a.md", "content": "mine\n"}))
    agent = agent_of(store, [both, write("/a.md", "of others and mine\n")])
    _, refused, accepted = tool_messages(await invoke(agent, "Go.", thread()))
    assert UNREAD in refused.text and accepted.status == "success"
    assert text_of(store, NS, "/a.md") == "of others and mine\n"


async def test_two_writes_of_one_message_are_merged_or_refused(store: MemoryStore, invoke: Any) -> None:
    store.write(NS, "/a.md", "a\nb\nc\n")

    def both(one: str, other: str) -> AIMessage:
        return calls(*(("write_file", {"file_path": "/a.md", "content": text}) for text in (one, other)))

    agent = agent_of(store, [read("/a.md"), both("A\nb\nc\n", "a\nb\nC\n"), read("/a.md"), both("one\n", "two\n")])
    told = tool_messages(await invoke(agent, "Go.", thread()))
    assert "merged" in told[2].text
    assert told[4].status == "success" and "Nothing was written" in told[5].text and "one\n" in told[5].text
    assert text_of(store, NS, "/a.md") == "one\n"


async def test_edits_of_one_message_leave_nothing_unseen(store: MemoryStore, invoke: Any) -> None:
    store.write(NS, "/a.md", "a\nb\n")
    edits = calls(
        ("edit_file", {"file_path": "/a.md", "old_string": "a", "new_string": "A"}),
        ("edit_file", {"file_path": "/a.md", "old_string": "b", "new_string": "B"}),
    )
    agent = agent_of(store, [read("/a.md"), edits, write("/a.md", "new\n"), write("/a.md", "newer\n")])
    assert (await last_of(invoke, agent)).text == "Wrote /a.md (revision 5)."


@pytest.mark.parametrize("path", ["/a.md", "/long.md"])
async def test_a_part_is_not_the_whole(store: MemoryStore, invoke: Any, path: str) -> None:
    text = LINES if path == "/a.md" else "a line of a text that has no end\n" * 900
    store.write(NS, path, text)
    limit = {"limit": 1} if path == "/a.md" else {}
    long = {"middleware": [FilesMiddleware(token_limit=500)]} if path == "/long.md" else {}
    agent = agent_of(store, [read(path, **limit), write(path, "short\n")], **long)
    assert UNREAD in (await last_of(invoke, agent)).text
    assert text_of(store, NS, path) == text


async def test_a_part_leaves_what_was_seen_of_the_whole(store: MemoryStore, invoke: Any) -> None:
    store.write(NS, "/a.md", LINES + "tail\n")
    others = after(lambda: store.write(NS, "/a.md", LINES + "tail of others\n"), read("/a.md", limit=1))
    agent = agent_of(store, [read("/a.md"), others, write("/a.md", "mine\n" + LINES + "tail\n")])
    assert "merged" in (await last_of(invoke, agent)).text
    assert text_of(store, NS, "/a.md") == "mine\n" + LINES + "tail of others\n"


async def test_an_edit_of_an_unread_file_is_no_reading(store: MemoryStore, invoke: Any) -> None:
    store.write(NS, "/a.md", "a\nof others\n")
    edit = call("edit_file", file_path="/a.md", old_string="a\n", new_string="b\n")
    agent = agent_of(store, [edit, write("/a.md", "b\n"), write("/a.md", "b\nof others and mine\n")])
    _, refused, accepted = tool_messages(await invoke(agent, "Go.", thread()))
    assert UNREAD in refused.text and "of others" in refused.text and accepted.status == "success"


@pytest.mark.parametrize("is_stale", [False, True])
async def test_a_moved_file_is_seen_as_it_was_before(store: MemoryStore, invoke: Any, is_stale: bool) -> None:
    store.write(NS, "/a.md", "a\n")
    move = call("move", file_path="/a.md", to="/b.md")
    others = after(lambda: store.write(NS, "/a.md", "a\nof others\n"), move)
    agent = agent_of(store, [read("/a.md"), others if is_stale else move, write("/b.md", "mine\n")])
    told = await last_of(invoke, agent)
    assert (UNREAD in told.text) is is_stale
    assert text_of(store, NS, "/b.md") == ("a\nof others\n" if is_stale else "mine\n")


@pytest.mark.parametrize(
    ("text", "is_whole"), [("a\n", True), (LINES * 400, False), ("a\n<!-- of others -->\n", False)]
)
async def test_memory_is_seen_where_the_prompt_holds_all_of_it(
    store: MemoryStore, invoke: Any, text: str, is_whole: bool
) -> None:
    store.write(NS, "/m.md", text)
    files = StoreBackend(namespace=NS, store=store)
    model = ScriptedChatModel(script=[write("/m.md", "mine\n"), say("ok")])
    middleware: list[Any] = [FilesMiddleware(files), MemoryMiddleware(files, ["/m.md"], budget=600)]
    agent = create_agent(model, middleware=middleware, checkpointer=InMemorySaver())
    told = await last_of(invoke, agent)
    assert (told.status == "success") is is_whole and (UNREAD in told.text) is not is_whole
    assert text_of(store, NS, "/m.md") == ("mine\n" if is_whole else text)


async def test_what_the_prompt_showed_is_kept_once(store: MemoryStore, invoke: Any) -> None:
    store.write(NS, "/m.md", "a\n")
    agent, here = agent_of(store, [], memory=["/m.md"]), thread()
    await invoke(agent, "One.", here)
    first = agent.get_state(here).values["seen_revisions"]
    await invoke(agent, "Two.", here)
    assert agent.get_state(here).values["seen_revisions"] == first
    assert [base for base, _ in first.values()] == [1]


async def test_what_a_graph_inside_a_tool_reads_the_agent_has_not_seen(store: MemoryStore, invoke: Any) -> None:
    store.write(NS, "/a.md", "of others\n")
    files = StoreBackend(namespace=NS, store=store)

    @tool
    def peek() -> str:
        """Look."""
        return files.read("/a.md").file_data["content"][:2]  # pyright: ignore[reportOptionalSubscript]

    inner = create_agent(ScriptedChatModel(script=[call("peek"), say("ok")]), tools=[peek])
    task = call("task", description="Look.", subagent_type="looking")
    looking: Any = {"name": "looking", "description": "Looks.", "runnable": inner}
    agent = agent_of(store, [task, write("/a.md", "mine\n")], subagents=[looking])
    assert UNREAD in (await last_of(invoke, agent)).text
