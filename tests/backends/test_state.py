"""Files in the state of a thread, under our reducer and under Deep Agents' own."""

from __future__ import annotations

from collections.abc import Callable
from operator import or_
from typing import Annotated, Any, TypedDict

import pytest
from deepagents.middleware.filesystem import FilesystemState, _file_data_reducer
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from memoranda.backends import SEEN, StateBackend
from memoranda.backends.protocol import DeleteFile, EditFile, MoveFile, WriteFile
from memoranda.backends.runtime import ToolCall, inside_tool_call
from memoranda.backends.tree import merge_file_states
from memoranda.files.format import create_file_data

Node = Callable[[StateBackend], Any]


class Ours(TypedDict, total=False):
    files: Annotated[dict[str, Any], merge_file_states]


class Theirs(TypedDict, total=False):
    files: Annotated[dict[str, Any], _file_data_reducer]


class WithoutFiles(TypedDict, total=False):
    other: str


SCHEMAS = {"ours": Ours, "theirs": Theirs, "theirs in deltas": FilesystemState}


def graph(*nodes: Node, schema: type = Ours, side_by_side: bool = False, checkpointer: Any = None) -> Any:
    """A graph whose nodes are given a backend, one after the other or side by side."""
    built = StateGraph(schema)
    before = START
    for number, node in enumerate(nodes):
        name = f"node{number}"
        built.add_node(name, lambda _state, node=node: node(StateBackend()) and None)
        built.add_edge(START if side_by_side else before, name)
        built.add_edge(name, END) if side_by_side or number == len(nodes) - 1 else None
        before = name
    return built.compile(checkpointer=checkpointer)


def files(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"files": {path: create_file_data(text) for path, text in pairs}}


def texts(result: dict[str, Any]) -> dict[str, str]:
    return {path: data["content"] for path, data in result["files"].items()}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_files_come_and_go_with_the_state(schema: type) -> None:
    seen: dict[str, Any] = {}

    def work(backend: StateBackend) -> None:
        assert backend.write("/notes/tea.md", "green\nblack").error is None
        assert backend.edit("/notes/tea.md", "green", "white").occurrences == 1
        assert backend.append("/notes/tea.md", "oolong").error is None
        assert backend.upload_files([("/pic.bin", b"\xff\x00")])[0].error is None
        assert backend.delete("/old").error is None
        assert backend.move("/a.md", "/b.md").paths == ("/b.md",)
        seen["ls"] = [entry["path"] for entry in backend.ls("/").entries or []]
        seen["read"] = (backend.read("/notes/tea.md").file_data or {}).get("content")
        seen["bytes"] = backend.download_files(["/pic.bin"])[0].content
        seen["glob"] = [entry["path"] for entry in backend.glob("*.md").matches or []]
        seen["grep"] = backend.grep("oolong").matches

    result = graph(work, schema=schema).invoke(files(("/old/x.md", "x"), ("/a.md", "a")))
    assert texts(result) == {"/notes/tea.md": "white\nblack\noolong", "/pic.bin": "/wA=", "/b.md": "a"}
    assert all(set(data) <= {"content", "encoding", "created_at", "modified_at"} for data in result["files"].values())
    assert seen == {
        "ls": ["/b.md", "/notes/", "/pic.bin"],
        "read": "white\nblack\noolong",
        "bytes": b"\xff\x00",
        "glob": ["/notes/tea.md", "/b.md"],
        "grep": [{"path": "/notes/tea.md", "line": 3, "text": "oolong"}],
    }


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_files_survive_turns_of_a_thread_and_are_absent_in_another(schema: type) -> None:
    answers: list[Any] = []
    saver = InMemorySaver()
    writing = graph(lambda b: b.write("/a.md", "kept"), schema=schema, checkpointer=saver)
    reading = graph(lambda b: answers.append(b.read("/a.md")), schema=schema, checkpointer=saver)
    writing.invoke({"files": {}}, {"configurable": {"thread_id": "1"}})
    reading.invoke({"files": {}}, {"configurable": {"thread_id": "1"}})
    reading.invoke({"files": {}}, {"configurable": {"thread_id": "2"}})
    assert answers[0].file_data["content"] == "kept"
    assert answers[1].error == "File '/a.md' not found"


def test_side_by_side_changes_of_one_file_both_land() -> None:
    start = files(("/a.md", "1\n2\n3\n"), ("/log.md", "start"))
    both = graph(
        lambda b: (b.edit("/a.md", "1", "one"), b.append("/log.md", "first")),
        lambda b: (b.edit("/a.md", "3", "three"), b.append("/log.md", "second")),
        side_by_side=True,
    )
    result = texts(both.invoke(start))
    assert result["/a.md"] == "one\n2\nthree\n"
    assert sorted(result["/log.md"].split("\n")) == ["first", "second", "start"]
    assert not any("base" in data for data in both.invoke(start)["files"].values())


def test_side_by_side_changes_of_one_line_both_stay() -> None:
    both = graph(lambda b: b.edit("/a.md", "x", "left"), lambda b: b.edit("/a.md", "x", "right"), side_by_side=True)
    text = texts(both.invoke(files(("/a.md", "head\nx\ntail\n"))))["/a.md"]
    assert "left\n" in text and "right\n" in text and text.startswith("head\n<<<<<<<") and text.endswith("tail\n")


def test_a_reducer_that_cannot_merge_is_sent_plain_files() -> None:
    def check(result: dict[str, Any]) -> None:
        assert all("base" not in data for data in result["files"].values())

    class Plain(TypedDict, total=False):
        files: Annotated[dict[str, Any], or_]

    check(graph(lambda b: b.edit("/a.md", "x", "y"), schema=Theirs).invoke(files(("/a.md", "x"))))
    check(graph(lambda b: b.edit("/a.md", "x", "y"), schema=Plain).invoke(files(("/a.md", "x"))))


async def test_the_async_methods_work_in_an_async_graph() -> None:
    async def work(_state: Any) -> None:
        backend = StateBackend()
        assert (await backend.awrite("/a.md", "x")).error is None
        assert (await backend.aedit("/a.md", "x", "y")).error is None
        assert (await backend.aread("/a.md")).file_data["content"] == "y"  # type: ignore[index]

    built = StateGraph(Ours)
    built.add_node("work", work)
    built.add_edge(START, "work")
    assert texts(await built.compile().ainvoke({"files": {}})) == {"/a.md": "y"}


def test_outside_a_graph_every_method_says_so() -> None:
    backend = StateBackend()
    answers = [
        backend.ls("/"),
        backend.read("/a"),
        backend.grep("x"),
        backend.glob("*"),
        backend.write("/a", "x"),
        backend.edit("/a", "x", "y"),
        backend.append("/a", "x"),
        backend.delete("/a"),
        backend.move("/a", "/b"),
        *backend.upload_files([("/a", b"x")]),
        *backend.download_files(["/a"]),
        backend.commit([WriteFile("/a", "x")]),
    ]
    assert {answer.error and answer.error[:54] for answer in answers} == {
        "Error: A StateBackend works inside a running graph onl"
    }
    assert not backend.is_lasting(None)  # type: ignore[arg-type]


def test_a_graph_without_a_channel_for_files_says_so() -> None:
    errors: list[str | None] = []
    graph(lambda b: errors.append(b.read("/a").error), schema=WithoutFiles).invoke({"other": "x"})
    assert errors[0] is not None and "keeps no files in its state" in errors[0]


def test_old_forms_are_read_and_the_old_style_of_construction_is_taken() -> None:
    given = {
        "/list.md": {"content": ["a", "b"], "created_at": "2026-01-01T00:00:00+00:00"},
        "bare.md": {"content": "bare", "encoding": "utf-8"},
        "/text.md": "just text",
        "/broken.md": {"encoding": "utf-8"},
    }
    seen: dict[str, Any] = {}

    def work(_: StateBackend) -> None:
        backend = StateBackend(object())
        for path in ("/list.md", "/bare.md", "/text.md", "/broken.md"):
            result = backend.read(path)
            seen[path] = result.error or (result.file_data or {}).get("content")
        seen["ls"] = [entry["path"] for entry in backend.ls("/").entries or []]
        backend.edit("/bare.md", "bare", "dressed")

    class Lenient(TypedDict, total=False):
        files: Annotated[dict[str, Any], or_]

    result = graph(work, schema=Lenient).invoke({"files": given})
    assert seen.pop("/broken.md").startswith("Error: what the state holds at /broken.md is no file")
    assert seen == {
        "/list.md": "a\nb",
        "/bare.md": "bare",
        "/text.md": "just text",
        "ls": ["/bare.md", "/list.md", "/text.md"],
    }
    assert result["files"]["bare.md"]["content"] == "dressed"
    assert "/bare.md" not in result["files"]


def test_a_base_is_checked() -> None:
    answers: dict[str, Any] = {}

    def work(backend: StateBackend) -> None:
        revision = backend.read("/a.md").revision
        answers["good"] = backend.write("/a.md", "second", base=revision)
        answers["stale"] = backend.write("/a.md", "third", base=revision)
        answers["stale edit"] = backend.edit("/a.md", "second", "x", base=revision)
        answers["exists"] = backend.write("/a.md", "other", base=0)
        answers["deleted"] = backend.write("/gone.md", "other", base=revision)
        answers["same"] = backend.write("/a.md", "second", base=revision)
        answers["number"] = backend.write("/a.md", "x", base=7)

    result = graph(work).invoke(files(("/a.md", "first")))
    assert texts(result) == {"/a.md": "second"}
    assert answers["good"].error is None and answers["same"].error is None
    assert answers["stale"].conflict and answers["stale"].error.endswith("The current text is:\nsecond")
    assert answers["stale edit"].conflict
    assert "exists already and you have not read it" in answers["exists"].error
    assert "was deleted since you read it" in answers["deleted"].error
    assert "is no state of this file" in answers["number"].error


def test_a_file_that_the_thread_has_not_seen_is_refused_once() -> None:
    answers: list[Any] = []

    def work(backend: StateBackend) -> None:
        with inside_tool_call(ToolCall("1")):
            answers.append(backend.write("/a.md", "mine", base=SEEN))
            answers.append(backend.write("/a.md", "mine", base=SEEN))
            answers.append(backend.write("/new.md", "new", base=SEEN))

    result = graph(work).invoke(files(("/a.md", "theirs")))
    assert answers[0].conflict and answers[0].error.endswith("theirs")
    assert answers[1].error is None and answers[2].error is None
    assert texts(result) == {"/a.md": "mine", "/new.md": "new"}


def test_what_one_branch_sees_does_not_reach_the_other() -> None:
    answers: list[Any] = []
    config = {"configurable": {"thread_id": "branches"}}

    def first(backend: StateBackend) -> None:
        with inside_tool_call(ToolCall("1")):
            answers.append(backend.write("/a.md", "1\n2\nthree\n"))

    def second(backend: StateBackend) -> None:
        with inside_tool_call(ToolCall("2")):
            answers.append(backend.write("/a.md", "one\n2\n3\n"))

    both = graph(first, second, side_by_side=True, checkpointer=InMemorySaver())
    both.invoke(files(("/a.md", "1\n2\n3\n")), config)
    assert [answer.error for answer in answers] == [None, None]


def test_a_commit_lands_whole_or_not_at_all() -> None:
    answers: list[Any] = []

    def work(backend: StateBackend) -> None:
        answers.append(backend.commit([WriteFile("/new.md", "x"), EditFile("/a.md", "nothing", "y")]))
        answers.append(
            backend.commit(
                [
                    WriteFile("/new.md", "x"),
                    EditFile("/new.md", "x", "y"),
                    MoveFile("/a.md", "/b.md"),
                    DeleteFile("/c.md"),
                ]
            )
        )

    result = graph(work).invoke(files(("/a.md", "a"), ("/c.md", "c")))
    assert answers[0].error is not None and answers[0].paths == ()
    assert answers[1].error is None
    assert answers[1].paths == ("/new.md", "/new.md", "/b.md", "/c.md")
    assert texts(result) == {"/new.md": "y", "/b.md": "a"}
