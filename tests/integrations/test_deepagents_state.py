"""Deep Agents' own agent on our `StateBackend`: its `files` channel is there, and one thread's files are its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import deepagents.backends
import pytest
from deepagents.backends.utils import create_file_data

from memoranda.backends import StateBackend
from memoranda.testing.scripted import call, calls, say
from tests.integrations.support import WAYS, agent, answers, run, saver


@pytest.mark.parametrize("way", WAYS)
def test_files_are_in_the_state(way: str) -> None:
    script = [
        call("write_file", file_path="/plan.md", content="one\n"),
        calls(
            ("edit_file", {"file_path": "/plan.md", "old_string": "one", "new_string": "two"}),
            ("write_file", {"file_path": "/gone.md", "content": "x"}),
        ),
        call("delete", file_path="/gone.md"),
        calls(("ls", {"path": "/"}), ("grep", {"pattern": "two"}), ("read_file", {"file_path": "/plan.md"})),
        say("Done."),
    ]
    state = run(agent(script, backend=StateBackend()), "Plan it.", way=way)
    assert {path: data["content"] for path, data in state["files"].items()} == {"/plan.md": "two\n"}
    listed, matched, read = answers(state)[-3:]
    assert "/plan.md" in listed and "/gone.md" not in listed
    assert "/plan.md" in matched and "two" in read


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_files_come_back_with_their_thread_and_no_other(tmp_path: Path, kind: str) -> None:
    mine, other = uuid4().hex, uuid4().hex
    with saver(kind, tmp_path) as checkpointer:
        write = call("write_file", file_path="/plan.md", content="one")
        run(agent([write, say("Done.")], backend=StateBackend(), checkpointer=checkpointer), "Plan.", thread=mine)
        edit = call("edit_file", file_path="/plan.md", old_string="one", new_string="two")
        again = agent([edit, say("Done.")], backend=StateBackend(), checkpointer=checkpointer)
        assert run(again, "Go on.", thread=mine)["files"]["/plan.md"]["content"] == "two"
        elsewhere = agent([edit, say("Hm.")], backend=StateBackend(), checkpointer=checkpointer)
        state = run(elsewhere, "Go on.", thread=other)
        assert "not found" in answers(state)[0] and not state.get("files")


def test_files_given_to_the_run_are_there() -> None:
    given = {"files": {"/notes.md": create_file_data("Ann likes tea.")}}
    script = [call("read_file", file_path="/notes.md"), say("Tea.")]
    state = run(agent(script, backend=StateBackend()), "What?", given=given)
    assert "Ann likes tea." in answers(state)[0]


def test_it_is_taken_for_theirs() -> None:
    ours: Any = StateBackend()
    assert isinstance(ours, deepagents.backends.StateBackend)
    assert isinstance(ours, deepagents.backends.BackendProtocol)


def test_a_subagent_shares_the_files_of_its_thread() -> None:
    helper = {"name": "helper", "description": "Helps.", "system_prompt": "Help.", "tools": []}
    script = [
        call("write_file", file_path="/task.md", content="count"),
        call("task", description="Do /task.md", subagent_type="helper"),
        # From here the subagent speaks.
        call("read_file", file_path="/task.md"),
        call("write_file", file_path="/result.md", content="42"),
        say("It is in /result.md."),
        # And here its parent again.
        call("read_file", file_path="/result.md"),
        say("42."),
    ]
    state = run(agent(script, backend=StateBackend(), subagents=[helper]), "Count.")
    assert {path: data["content"] for path, data in state["files"].items()} == {"/task.md": "count", "/result.md": "42"}
    assert "42" in answers(state)[-1]
