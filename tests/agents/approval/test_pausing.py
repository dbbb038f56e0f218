"""A change to a sensitive path pauses the run, lands as it was approved, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver

from memoranda import MemoryStore
from memoranda.testing.scripted import call, calls
from tests.agents.approval.support import (
    ACME,
    APPROVE,
    THREAD,
    agent_on,
    guarded,
    requests,
    resume,
    run,
    text,
    told,
    write,
)

CHANGES: list[tuple[str, AIMessage, str, Any]] = [
    ("write_file", write("green"), "+green", lambda s: text(s, "/policies/tea.md") == "green"),
    (
        "edit_file",
        call("edit_file", file_path="/policies/old.md", old_string="black", new_string="white"),
        "-black\n",
        lambda s: text(s, "/policies/old.md") == "white",
    ),
    ("delete", call("delete", file_path="/policies/old.md"), "-black", lambda s: text(s, "/policies/old.md") is None),
    (
        "move",
        call("move", file_path="/draft.md", to="/policies/new.md"),
        "move /draft.md to /policies/new.md",
        lambda s: text(s, "/policies/new.md") == "draft" and text(s, "/draft.md") is None,
    ),
    (
        "move",
        call("move", file_path="/policies/old.md", to="/old.md"),
        "move /policies/old.md to /old.md",
        lambda s: text(s, "/old.md") == "black" and text(s, "/policies/old.md") is None,
    ),
]


@pytest.mark.parametrize(("name", "line", "diff", "landed"), CHANGES)
def test_a_change_waits_and_lands_when_it_is_approved(
    store: MemoryStore,
    checkpointer: BaseCheckpointSaver[str],
    name: str,
    line: AIMessage,
    diff: str,
    landed: Callable[[MemoryStore], bool],
) -> None:
    store.write(ACME, "/policies/old.md", "black")
    store.write(ACME, "/draft.md", "draft")
    state = store.verify(ACME).namespaces
    agent = agent_on(guarded(store), line, checkpointer=checkpointer)
    result = run(agent)
    (request,) = requests(result)
    assert request["name"] == name and request["args"] == line.tool_calls[0]["args"] | request["args"]
    assert diff in request["description"]
    assert line.tool_calls[0]["args"]["file_path"] in request["description"]
    assert result["__interrupt__"][0].value["review_configs"] == [
        {"action_name": name, "allowed_decisions": ["approve", "edit", "reject"]}
    ]
    assert store.verify(ACME).namespaces == state
    assert "needs a person's approval" in told(agent.get_state(THREAD).values)[0].text
    done = resume(agent, APPROVE)
    assert landed(store)
    assert done["messages"][-1].text == "Done." and "__interrupt__" not in done
    (message,) = told(done)
    assert message.text.startswith("A person approved this.") and message.status == "success"
    assert "pending_approvals" not in done and not agent.get_state(THREAD).values["pending_approvals"]
    key = {"write_file": "/policies/tea.md", "move": line.tool_calls[0]["args"].get("to")}.get(name)
    revision = store.history(ACME, key or "/policies/old.md")[0]
    assert (revision.author.tool_call_id, revision.author.thread_id) == (
        line.tool_calls[0]["id"],
        THREAD["configurable"]["thread_id"],
    )
    assert "approved by a person" in (revision.author.reason or "")


@pytest.mark.parametrize(("name", "line", "diff", "landed"), CHANGES)
def test_a_rejected_change_never_lands(
    store: MemoryStore, name: str, line: AIMessage, diff: str, landed: Callable[[MemoryStore], bool]
) -> None:
    store.write(ACME, "/policies/old.md", "black")
    store.write(ACME, "/draft.md", "draft")
    state = store.verify(ACME).namespaces
    agent = agent_on(guarded(store), line)
    run(agent)
    done = resume(agent, {"type": "reject", "message": "ask Ann first"})
    assert store.verify(ACME).namespaces == state
    (message,) = told(done)
    assert message.status == "error" and "ask Ann first" in message.text and "rejected" in message.text
    assert done["messages"][-1].text == "Done."


def test_an_edited_change_lands_as_the_person_wrote_it(store: MemoryStore) -> None:
    agent = agent_on(guarded(store), write("Be rude."))
    run(agent)
    edited = {"name": "write_file", "args": {"file_path": "/policies/tea.md", "content": "Be kind."}}
    done = resume(agent, {"type": "edit", "edited_action": edited})
    assert text(store, "/policies/tea.md") == "Be kind."
    assert "after changing it" in told(done)[0].text and "Be kind." in told(done)[0].text
    # What was not edited stays; another tool on the same file is fine.
    store.write(ACME, "/policies/tea.md", "one two")
    other = agent_on(guarded(store), call("edit_file", file_path="/policies/tea.md", old_string="one", new_string="1"))
    thread: Any = {"configurable": {"thread_id": uuid4().hex}}
    run(other, thread)
    resume(
        other, {"type": "edit", "edited_action": {"name": "edit_file", "args": {"new_string": "ONE"}}}, thread=thread
    )
    assert text(store, "/policies/tea.md") == "ONE two"


def test_what_is_not_sensitive_does_not_wait(store: MemoryStore) -> None:
    result = run(agent_on(guarded(store), write("free", "/notes.md")))
    assert "__interrupt__" not in result and text(store, "/notes.md") == "free"


def test_an_upload_waits_too(store: MemoryStore) -> None:
    backend = guarded(store)

    @tool
    def fetch() -> str:
        """Fetch pictures."""
        answers = backend.upload_files([("/policies/a.png", b"\x89PNG\xff"), ("/free.txt", b"free")])
        return f"fetched: {[answer.error for answer in answers]}"

    agent = agent_on(backend, call("fetch"), tools=[fetch])
    (request,) = requests(run(agent))
    assert request["name"] == "write_file" and request["args"]["encoding"] == "base64"
    assert store.get(ACME, "/policies/a.png") is None and text(store, "/free.txt") == "free"
    done = resume(agent, APPROVE)
    assert store.get(ACME, "/policies/a.png").value["encoding"] == "base64"
    # What else the tool said is still there.
    assert told(done)[0].text.startswith("fetched: [") and "A person approved this." in told(done)[0].text


def test_several_requests_at_once(store: MemoryStore, checkpointer: BaseCheckpointSaver[str]) -> None:
    store.write(ACME, "/policies/old.md", "black")
    line = calls(
        ("write_file", {"file_path": "/policies/a.md", "content": "a"}),
        ("write_file", {"file_path": "/notes.md", "content": "free"}),
        ("delete", {"file_path": "/policies/old.md"}),
        ("write_file", {"file_path": "/policies/c.md", "content": "c"}),
    )
    agent = agent_on(guarded(store), line, checkpointer=checkpointer)
    result = run(agent)
    paths = [request["args"]["file_path"] for request in requests(result)]
    assert sorted(paths) == ["/policies/a.md", "/policies/c.md", "/policies/old.md"]
    assert text(store, "/notes.md") == "free"
    decisions = {
        "/policies/a.md": APPROVE,
        "/policies/old.md": {"type": "reject"},
        "/policies/c.md": {"type": "edit", "edited_action": {"name": "write_file", "args": {"content": "C"}}},
    }
    done = resume(agent, *(decisions[path] for path in paths))
    assert (text(store, "/policies/a.md"), text(store, "/policies/old.md"), text(store, "/policies/c.md")) == (
        "a",
        "black",
        "C",
    )
    assert [message.status for message in told(done)] == ["success", "success", "error", "success"]
    assert [message.tool_call_id for message in told(done)] == [each["id"] for each in line.tool_calls]


def test_one_tool_that_asks_twice_is_told_about_both(store: MemoryStore) -> None:
    backend = guarded(store)

    @tool
    def save() -> str:
        """Save two files."""
        return "\n".join(backend.write(path, "x").error or "" for path in ("/policies/one.md", "/policies/two.md"))

    agent = agent_on(backend, call("save"), tools=[save])
    assert len(requests(run(agent))) == 2
    done = resume(agent, APPROVE, {"type": "reject"})
    assert (text(store, "/policies/one.md"), text(store, "/policies/two.md")) == ("x", None)
    (message,) = told(done)
    assert "Wrote /policies/one.md" in message.text and "rejected this write of /policies/two.md" in message.text
    assert "needs a person" not in message.text
