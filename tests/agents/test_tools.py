"""The file tools: exact results within the budget, errors that a model can act on, and pictures as pictures."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool

from memoranda import MemoryStore
from memoranda.agents import create_deep_agent, file_tools
from memoranda.agents.errors import UnknownToolError
from memoranda.agents.middleware.files import FilesMiddleware
from memoranda.agents.middleware.prompt import tokens_of
from memoranda.agents.tools import FILE_TOOLS
from memoranda.backends import Backend, CompositeBackend, StateBackend, StoreBackend
from memoranda.backends.permissions import FilesystemPermission
from memoranda.testing.scripted import ScriptedChatModel, call, calls, say
from tests.agents.support import tool_messages


class Tools:
    """Calls tools as an agent does."""

    def __init__(self, backend: Backend, **settings: Any) -> None:
        self.by_name = {each.name: each for each in file_tools(backend, **settings)}

    def __call__(self, name: str, /, **arguments: Any) -> ToolMessage:
        return self.by_name[name].invoke({"name": name, "args": arguments, "id": "c1", "type": "tool_call"})


@pytest.fixture
def files(store: MemoryStore) -> StoreBackend:
    return StoreBackend(namespace=("team",), store=store)


@pytest.fixture
def tools(files: StoreBackend) -> Tools:
    return Tools(files)


def test_every_tool_has_a_short_description_and_described_arguments(tools: Tools) -> None:
    assert tuple(tools.by_name) == FILE_TOOLS
    for each in tools.by_name.values():
        assert tokens_of(each.description) <= 100
        schema: Any = each.tool_call_schema
        for name, field in schema.model_json_schema()["properties"].items():
            assert field.get("description"), (each.name, name)
            assert name != "tool_call_id"


def test_a_file_through_its_life(tools: Tools) -> None:
    assert tools("write_file", file_path="notes/tea.md", content="green\n").text == "Wrote /notes/tea.md (revision 1)."
    assert tools("ls").text == "/notes/"
    assert tools("ls", path="/notes").text == "/notes/tea.md"
    edit = tools("edit_file", file_path="/notes/tea.md", old_string="green", new_string="black")
    assert edit.text == "Changed 1 place in /notes/tea.md (revision 2)."
    assert tools("glob", pattern="*.md").text == "/notes/tea.md"
    assert tools("grep", pattern="bla").text == "/notes/tea.md"
    assert tools("grep", pattern="bla", output_mode="content").text == "/notes/tea.md:1: black"
    assert tools("grep", pattern="bla", output_mode="count").text == "/notes/tea.md: 1"
    assert tools("move", file_path="/notes", to="/old").text == "Moved /notes to /old."
    assert tools("read_file", file_path="/old/tea.md").text == "@@ lines 1-1 of 1 @@\nblack\n"
    assert tools("delete", file_path="/old").text == "Deleted /old."
    assert tools("ls").text == "Nothing is in /."


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("read_file", {"file_path": "/no.md"}, "Error: File '/no.md' not found"),
        ("read_file", {"file_path": "/../etc"}, "Error: "),
        ("read_file", {"file_path": "/a.md", "offset": 9}, "Error: Line offset 9 exceeds file length (1 lines)"),
        ("edit_file", {"file_path": "/a.md", "old_string": "x", "new_string": "y"}, "Error: "),
        ("edit_file", {"file_path": "/no.md", "old_string": "x", "new_string": "y"}, "Error: File '/no.md' not found"),
        ("delete", {"file_path": "/no.md"}, "Error: File '/no.md' not found"),
        ("move", {"file_path": "/no.md", "to": "/b"}, "Error: File '/no.md' not found"),
        ("glob", {"pattern": "../*"}, "Error: "),
        ("grep", {"pattern": ""}, "Error: "),
    ],
)
def test_errors_are_answers(tools: Tools, name: str, arguments: dict[str, Any], said: str) -> None:
    tools("write_file", file_path="/a.md", content="tea")
    message = tools(name, **arguments)
    assert message.status == "error" and message.text.startswith(said), message.text


def test_windows_say_how_to_go_on(tools: Tools) -> None:
    tools("write_file", file_path="/a.md", content="".join(f"line {n}\n" for n in range(1, 11)))
    first = tools("read_file", file_path="/a.md", limit=4).text
    assert first.startswith("@@ lines 1-4 of 10 | next offset 4 @@\nline 1\n")
    assert tools("read_file", file_path="/a.md", offset=8).text == "@@ lines 9-10 of 10 @@\nline 9\nline 10\n"
    assert "limit=0" in tools("read_file", file_path="/a.md", limit=0).text


def test_an_empty_file_is_said_to_be_empty(tools: Tools) -> None:
    tools("write_file", file_path="/a.md", content="")
    assert tools("read_file", file_path="/a.md").text == "[/a.md is empty.]"


def test_results_keep_to_the_budget_and_say_how_to_go_on(files: StoreBackend) -> None:
    tools = Tools(files, token_limit=100)
    text = "".join(f"line {n} of a long file\n" for n in range(1, 101))
    files.write("/a.md", text)
    shown: list[str] = []
    offset = 0
    while offset < 100:
        result = tools("read_file", file_path="/a.md", offset=offset).text
        header, _, rest = result.partition(" @@\n")
        assert tokens_of(result) < 150
        shown += [line for line in rest.splitlines(keepends=True) if line.startswith("line")]
        offset = int(header.rpartition("next offset ")[2]) if "next offset" in header else 100
    assert "".join(shown) == text
    for number in range(200):
        files.write(f"/notes/{number:03}.md", "x")
    for name, arguments in (("ls", {"path": "/notes"}), ("glob", {"pattern": "*"}), ("grep", {"pattern": "x"})):
        result = tools(name, **arguments).text
        assert tokens_of(result) < 150 and "more lines do not fit" in result


def test_a_line_that_is_too_long_is_cut(files: StoreBackend) -> None:
    files.write("/a.md", "x" * 10_000 + "\nend\n")
    result = Tools(files, token_limit=100)("read_file", file_path="/a.md").text
    assert result.startswith("@@ lines 1-1 of 2 | next offset 1 @@\nxxx")
    assert "Line 1 is too long" in result and tokens_of(result) < 150


@pytest.mark.parametrize(
    ("name", "kind", "mime_type"),
    [("a.png", "image", "image/png"), ("a.pdf", "file", "application/pdf"), ("a.mp3", "audio", "audio/mpeg")],
)
def test_pictures_sound_and_documents_come_as_such(files: StoreBackend, name: str, kind: str, mime_type: str) -> None:
    content = b"\x89\xff\x00" * 10
    files.upload_files([("/" + name, content)])
    message = Tools(files)("read_file", file_path="/" + name)
    (block,) = message.content_blocks
    assert (block["type"], block.get("mime_type")) == (kind, mime_type)
    assert base64.b64decode(str(block.get("base64"))) == content
    assert message.tool_call_id == "c1"


def test_other_binary_files_are_told(files: StoreBackend) -> None:
    files.upload_files([("/a.bin", b"\xff\x00\xff")])
    message = Tools(files)("read_file", file_path="/a.bin")
    assert message.status == "error" and "is a binary file of 3 bytes" in message.text


def test_unknown_tools_are_told(files: StoreBackend) -> None:
    with pytest.raises(UnknownToolError, match="'rm' is no file tool"):
        file_tools(files, ["rm"])


# --- around the tools -----------------------------------------------------------------------------------------


@tool
def fetch() -> str:
    """Fetch a long text."""
    return "".join(f"row {n}\n" for n in range(30_000))


def path_of(preview: str) -> str:
    found = re.search(r"All of it is in (\S+);", preview)
    assert found is not None, preview
    return found[1]


@pytest.mark.parametrize("is_async", [False, True])
async def test_long_results_go_into_files(is_async: bool) -> None:
    def read_the_end(messages: Any) -> Any:
        return call("read_file", file_path=path_of(messages[-1].text), offset=29_999)

    model = ScriptedChatModel(script=[call("fetch"), read_the_end, say("ok")])
    backend = CompositeBackend(StateBackend(), {}, artifacts_root="/artifacts")
    agent = create_deep_agent(model, [fetch], backend=backend)
    given: Any = {"messages": "Go."}
    result = await agent.ainvoke(given) if is_async else agent.invoke(given)
    preview, rest = tool_messages(result)
    assert path_of(preview.text).startswith("/artifacts/large_tool_results/")
    assert "row 0\n" in preview.text and "row 29999" in preview.text
    assert "29,990 lines left out" in preview.text and tokens_of(preview.text) < 1_500
    assert rest.text == "@@ lines 30000-30000 of 30000 @@\nrow 29999\n"


def test_long_results_of_threads_on_one_store_are_files_of_their_own(store: MemoryStore, files: StoreBackend) -> None:
    @tool
    def page(name: str) -> str:
        """Fetch a page."""
        return f"{name}\n" * 30_000

    shown: list[str] = []
    for name in ("ann", "bob"):
        fetching = call("page", name=name)
        fetching.tool_calls[0]["id"] = "0"  # some models count anew in each thread
        agent = create_deep_agent(ScriptedChatModel(script=[fetching, say("ok")]), [page], backend=files)
        config: Any = {"configurable": {"thread_id": name}}
        shown.append(tool_messages(agent.invoke({"messages": "Go."}, config))[0].text)
    paths = [path_of(text) for text in shown]
    assert paths[0] != paths[1]
    assert [files.read(path, limit=1).file_data["content"] for path in paths] == ["ann\n", "bob\n"]  # type: ignore[index]


def test_long_results_that_cannot_be_kept_are_cut() -> None:
    deny = FilesystemPermission(["write"], ["/**"], "deny")
    agent = create_deep_agent(ScriptedChatModel(script=[call("fetch"), say("ok")]), [fetch], permissions=[deny])
    (preview,) = tool_messages(agent.invoke({"messages": "Go."}))
    assert "could not be kept in a file" in preview.text and "row 29999" in preview.text


def test_changes_of_one_message_keep_their_order(store: MemoryStore, files: StoreBackend) -> None:
    steps = [("write_file", {"file_path": "/a.md", "content": "0\n"})]
    steps += [
        ("edit_file", {"file_path": "/a.md", "old_string": f"{n}\n", "new_string": f"{n + 1}\n"}) for n in range(8)
    ]
    steps += [("move", {"file_path": "/a.md", "to": "/b.md"}), ("delete", {"file_path": "/b.md"})]
    agent = create_agent(ScriptedChatModel(script=[calls(*steps), say("ok")]), middleware=[FilesMiddleware(files)])
    result = agent.invoke({"messages": "Go."})
    assert [message.status for message in tool_messages(result)] == ["success"] * len(steps)
    assert store.get(("team",), "/b.md") is None
    (last, *_) = [each for each in store.history(("team",), "/b.md") if each.operation != "delete"]
    assert store.get_at(("team",), "/b.md", revision=last.revision).value["content"] == "8\n"


def test_parallel_edits_of_a_file_in_the_state_all_land() -> None:
    text = "".join(f"<{n}>\n" for n in range(10))
    edits = [("edit_file", {"file_path": "/a.md", "old_string": f"<{n}>", "new_string": f"[{n}]"}) for n in range(10)]
    agent = create_deep_agent(ScriptedChatModel(script=[calls(*edits), say("ok")]))
    result = agent.invoke({"messages": "Go.", "files": {"/a.md": {"content": text.splitlines()}}})
    assert result["files"]["/a.md"]["content"].rstrip("\n") == "\n".join(f"[{n}]" for n in range(10))


def test_what_a_file_holds_already_is_told_as_such(store: MemoryStore) -> None:
    files = StoreBackend(namespace=("team",), store=store)
    for expected in ("Wrote /a.md (revision 1).", "/a.md already holds this (revision 1); nothing was changed."):
        model = ScriptedChatModel(script=[call("write_file", file_path="/a.md", content="x"), say("ok")])
        answer = create_deep_agent(model, backend=files).invoke({"messages": "Go."})
        assert [message.text for message in answer["messages"] if message.type == "tool"] == [expected]
    assert len(store.history(("team",), "/a.md")) == 1
