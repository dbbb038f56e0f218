"""What was changed after a person was asked: the approval is asked for again, with what is there now."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from memoranda import MemoryStore
from memoranda.testing.scripted import call, calls
from tests.agents.approval.support import (
    ACME,
    APPROVE,
    agent_on,
    guarded,
    requests,
    resume,
    run,
    text,
    told,
    write,
)


def test_a_stale_approval_is_asked_again_merged(store: MemoryStore, checkpointer: BaseCheckpointSaver[str]) -> None:
    store.write(ACME, "/policies/tea.md", "one\ntwo\nthree\n")
    agent = agent_on(
        guarded(store),
        call("read_file", file_path="/policies/tea.md"),
        write("ONE\ntwo\nthree\n"),
        checkpointer=checkpointer,
    )
    (first,) = requests(run(agent))
    assert "made from revision 1" in first["description"]
    store.edit(ACME, "/policies/tea.md", "three", "THREE")
    (second,) = requests(resume(agent, APPROVE))
    assert text(store, "/policies/tea.md") == "one\ntwo\nTHREE\n"
    assert "made from revision 2" in second["description"] and "changed after you were asked" in second["description"]
    assert second["args"]["content"] == "ONE\ntwo\nTHREE\n" and "-three" not in second["description"]
    store.append(ACME, "/policies/tea.md", "four")
    (third,) = requests(resume(agent, APPROVE))
    assert "made from revision 3" in third["description"] and third["args"]["content"].endswith("four")
    done = resume(agent, APPROVE)
    assert text(store, "/policies/tea.md") == "ONE\ntwo\nTHREE\nfour"
    assert done["messages"][-1].text == "Done."
    assert len(told(done)) == 2 and told(done)[1].status == "success"


def test_a_stale_approval_in_the_same_place_shows_what_it_would_replace(store: MemoryStore) -> None:
    store.write(ACME, "/policies/tea.md", "v0")
    agent = agent_on(guarded(store), call("read_file", file_path="/policies/tea.md"), write("v0 + A"))
    run(agent)
    store.write(ACME, "/policies/tea.md", "v0 + B")
    (second,) = requests(resume(agent, APPROVE))
    assert text(store, "/policies/tea.md") == "v0 + B"
    assert "-v0 + B" in second["description"] and "+v0 + A" in second["description"]
    edited = {"name": "write_file", "args": {"content": "v0 + B + A"}}
    resume(agent, {"type": "edit", "edited_action": edited})
    assert text(store, "/policies/tea.md") == "v0 + B + A"
    assert [entry.revision for entry in store.history(ACME, "/policies/tea.md")] == [3, 2, 1]


def test_a_file_that_came_or_went_meanwhile_is_asked_about_again(store: MemoryStore) -> None:
    agent = agent_on(guarded(store), write("mine"))
    assert "a new file" in requests(run(agent))[0]["description"]
    store.write(ACME, "/policies/tea.md", "theirs")
    (again,) = requests(resume(agent, APPROVE))
    assert "-theirs" in again["description"] and text(store, "/policies/tea.md") == "theirs"
    store.delete(ACME, "/policies/tea.md")
    (again,) = requests(resume(agent, APPROVE))
    assert "a new file" in again["description"] and text(store, "/policies/tea.md") is None
    resume(agent, APPROVE)
    assert text(store, "/policies/tea.md") == "mine"


@pytest.mark.parametrize(
    "line",
    [
        call("edit_file", file_path="/policies/tea.md", old_string="one", new_string="1"),
        call("delete", file_path="/policies/tea.md"),
        call("move", file_path="/policies/tea.md", to="/policies/other.md"),
        call("move", file_path="/draft.md", to="/policies/tea.md", overwrite=True),
    ],
)
def test_every_stale_change_is_asked_again(store: MemoryStore, line: AIMessage) -> None:
    store.write(ACME, "/policies/tea.md", "one\n")
    store.write(ACME, "/draft.md", "draft")
    agent = agent_on(guarded(store), line)
    run(agent)
    store.append(ACME, "/policies/tea.md", "theirs")
    (again,) = requests(resume(agent, APPROVE))
    assert text(store, "/policies/tea.md") == "one\ntheirs"
    assert "theirs" in again["description"]
    done = resume(agent, APPROVE)
    assert told(done)[0].status == "success"


def test_an_edit_that_fits_no_more_is_told_to_the_model(store: MemoryStore) -> None:
    store.write(ACME, "/policies/tea.md", "one")
    agent = agent_on(guarded(store), call("edit_file", file_path="/policies/tea.md", old_string="one", new_string="1"))
    run(agent)
    store.write(ACME, "/policies/tea.md", "two")
    done = resume(agent, APPROVE)
    assert text(store, "/policies/tea.md") == "two"
    assert told(done)[0].status == "error" and "cannot be made now" in told(done)[0].text


def test_a_decision_stands_while_others_are_asked_again(store: MemoryStore) -> None:
    store.write(ACME, "/policies/b.md", "one\n")
    line = calls(
        ("write_file", {"file_path": "/policies/a.md", "content": "a"}),
        ("edit_file", {"file_path": "/policies/b.md", "old_string": "one", "new_string": "1"}),
    )
    agent = agent_on(guarded(store), line)
    run(agent)
    store.append(ACME, "/policies/b.md", "theirs")
    (again,) = requests(resume(agent, APPROVE, APPROVE))
    assert again["args"]["file_path"] == "/policies/b.md" and text(store, "/policies/a.md") == "a"
    resume(agent, {"type": "reject"})
    assert len(store.history(ACME, "/policies/a.md")) == 1
    assert text(store, "/policies/b.md") == "one\ntheirs"
