"""Deep Agents' own agent over each shape of backend that ours take, direct, routed, nested and guarded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoranda import MemoryStore
from memoranda.backends import CompositeBackend, FilesystemBackend, GuardedBackend, StateBackend, StoreBackend
from memoranda.testing.scripted import call, calls, say
from tests.integrations.support import WAYS, agent, answers, keys_in, run, text_in

ANN, TEAM = ("ann",), ("team",)


def routed(folder: Path) -> Any:
    return CompositeBackend(
        StateBackend(),
        {"/memories/": StoreBackend(namespace=ANN), "/disk/": FilesystemBackend(folder)},
    )


def nested(folder: Path) -> Any:
    inner = CompositeBackend(StoreBackend(namespace=ANN), {"/team/": StoreBackend(namespace=TEAM)})
    return CompositeBackend(StateBackend(), {"/memories/": inner, "/disk": FilesystemBackend(folder)})


def guarded(folder: Path) -> Any:
    return GuardedBackend(routed(folder))


def guarded_routes(folder: Path) -> Any:
    return CompositeBackend(
        GuardedBackend(StateBackend()),
        {
            "/memories/": GuardedBackend(StoreBackend(namespace=ANN)),
            "/disk/": GuardedBackend(FilesystemBackend(folder)),
        },
    )


SHAPES = [routed, nested, guarded, guarded_routes]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", SHAPES)
def test_files_go_where_their_route_leads(
    store: MemoryStore, tmp_path: Path, shape: Callable[[Path], Any], way: str
) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    script = [
        calls(
            ("write_file", {"file_path": "/plan.md", "content": "one"}),
            ("write_file", {"file_path": "/memories/tea.md", "content": "green"}),
            ("write_file", {"file_path": "/disk/report.md", "content": "draft"}),
        ),
        calls(
            ("edit_file", {"file_path": "/plan.md", "old_string": "one", "new_string": "two"}),
            ("edit_file", {"file_path": "/memories/tea.md", "old_string": "green", "new_string": "black"}),
            ("edit_file", {"file_path": "/disk/report.md", "old_string": "draft", "new_string": "final"}),
        ),
        calls(
            ("ls", {"path": "/"}),
            ("glob", {"pattern": "**/*.md"}),
            ("grep", {"pattern": "black"}),
            ("read_file", {"file_path": "/memories/missing.md"}),
        ),
        say("Done."),
    ]
    state = run(agent(script, backend=shape(folder), store=store), "Work.", way=way)
    assert {path: data["content"] for path, data in state["files"].items()} == {"/plan.md": "two"}
    assert keys_in(store, ANN) == ["/tea.md"] and text_in(store, ANN, "/tea.md") == "black"
    assert [path.name for path in folder.iterdir()] == ["report.md"]
    assert (folder / "report.md").read_text("utf-8") == "final"
    listed, found, matched, missing = answers(state)[-4:]
    assert all(path in listed for path in ("/plan.md", "/memories/", "/disk/"))
    assert all(path in found for path in ("/plan.md", "/memories/tea.md", "/disk/report.md"))
    assert "/memories/tea.md" in matched and "/plan.md" not in matched
    assert "/memories/missing.md" in missing


@pytest.mark.parametrize("way", WAYS)
def test_nested_routes(store: MemoryStore, tmp_path: Path, way: str) -> None:
    script = [
        calls(
            ("write_file", {"file_path": "/memories/own.md", "content": "mine"}),
            ("write_file", {"file_path": "/memories/team/shared.md", "content": "ours"}),
        ),
        calls(("ls", {"path": "/memories"}), ("grep", {"pattern": "ours", "path": "/memories"})),
        call("delete", file_path="/memories/team/shared.md"),
        say("Done."),
    ]
    said = answers(run(agent(script, backend=nested(tmp_path), store=store), "Work.", way=way))
    assert keys_in(store, ANN) == ["/own.md"] and keys_in(store, TEAM) == []
    assert [entry.operation for entry in store.history(TEAM, "/shared.md")] == ["delete", "write"]
    assert "/memories/own.md" in said[2] and "/memories/team/" in said[2]
    assert "/memories/team/shared.md" in said[3]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_subagent_works_in_the_same_tree(store: MemoryStore, tmp_path: Path, shape: Callable[[Path], Any]) -> None:
    helper = {"name": "helper", "description": "Helps.", "system_prompt": "Help.", "tools": []}
    script = [
        call("task", description="Write down tea.", subagent_type="helper"),
        calls(
            ("write_file", {"file_path": "/memories/tea.md", "content": "green"}),
            ("write_file", {"file_path": "/scratch.md", "content": "x"}),
        ),
        say("Written."),
        say("Done."),
    ]
    state = run(agent(script, backend=shape(tmp_path), store=store, subagents=[helper]), "Delegate.")
    assert text_in(store, ANN, "/tea.md") == "green"
    assert list(state["files"]) == ["/scratch.md"]


def test_artifacts_go_to_their_root(store: MemoryStore) -> None:
    from tests.integrations.test_deepagents_offload import LONG, fetch

    backend: Any = CompositeBackend(
        StateBackend(), {"/archive/": StoreBackend(namespace=TEAM)}, artifacts_root="/archive"
    )
    ask = call("fetch")
    state = run(agent([ask, say("Read.")], tools=[fetch], backend=backend, store=store), "Fetch it.")
    key = f"/large_tool_results/{ask.tool_calls[0]['id']}"
    assert text_in(store, TEAM, key) == LONG and f"/archive{key}" in answers(state)[0]
    assert not state.get("files")
