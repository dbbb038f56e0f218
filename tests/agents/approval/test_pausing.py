"""A change to a sensitive path pauses the run, lands as it was approved, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from memoranda import MemoryStore, create_deep_agent
from memoranda.agents.middleware import FilesMiddleware
from memoranda.agents.middleware.approval import ApprovalContextError, ApprovalMiddleware
from memoranda.agents.middleware.approval_decisions import InvalidDecisionError
from memoranda.backends import (
    CompositeBackend,
    FilesystemBackend,
    FilesystemPermission,
    GuardedBackend,
    StateBackend,
    StoreBackend,
    by_user,
)
from memoranda.testing.scripted import ScriptedChatModel, call, calls, say

ACME = ("acme",)
THREAD: Any = {"configurable": {"thread_id": ""}}
APPROVE = {"type": "approve"}


@pytest.fixture(autouse=True)
def own_thread() -> None:
    """A thread of each test's own: what a thread has seen is remembered by the process."""
    THREAD["configurable"]["thread_id"] = uuid4().hex


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def checkpointer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseCheckpointSaver[str]]:
    with ExitStack() as stack:
        if request.param == "memory":
            yield InMemorySaver()
        elif request.param == "sqlite":
            yield stack.enter_context(SqliteSaver.from_conn_string(str(tmp_path / "threads.db")))
        else:
            saver = stack.enter_context(PostgresSaver.from_conn_string(request.getfixturevalue("other_postgres_url")))
            saver.setup()
            yield saver


def guarded(store: MemoryStore, *more: FilesystemPermission, hooks: Any = ()) -> GuardedBackend:
    rules = [*more, FilesystemPermission(["write"], ["/policies/**"], "interrupt")]
    return GuardedBackend(StoreBackend(namespace=ACME, store=store), rules, hooks)


def agent_on(backend: Any, *script: Any, checkpointer: Any = None, tools: Any = ()) -> Any:
    model = ScriptedChatModel(script=[*script, say("Done.")])
    middleware = [FilesMiddleware(backend), ApprovalMiddleware(backend)]
    return create_agent(model, list(tools), middleware=middleware, checkpointer=checkpointer or InMemorySaver())


def run(agent: Any, thread: Any = THREAD) -> Any:
    return agent.invoke({"messages": "Go."}, thread)


def resume(agent: Any, *decisions: Any, thread: Any = THREAD) -> Any:
    return agent.invoke(Command(resume={"decisions": list(decisions)}), thread)


def requests(result: Any) -> list[dict[str, Any]]:
    (asked,) = result["__interrupt__"]
    return asked.value["action_requests"]


def told(result: Any) -> list[ToolMessage]:
    return [message for message in result["messages"] if isinstance(message, ToolMessage)]


def text(store: MemoryStore, key: str) -> str | None:
    item = store.get(ACME, key)
    return None if item is None else item.value["content"]


def write(content: str, path: str = "/policies/tea.md") -> AIMessage:
    return call("write_file", file_path=path, content=content)


# --- what pauses, and how it goes on --------------------------------------------------------------------------

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


# --- stale approvals ------------------------------------------------------------------------------------------


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


# --- wrong answers --------------------------------------------------------------------------------------------

WRONG: list[Any] = [
    "approve",
    {"decisions": "approve"},
    {"decisions": []},
    {"decisions": [APPROVE, APPROVE]},
    {"decisions": ["approve"]},
    {"decisions": [{"type": "respond", "message": "hi"}]},
    {"decisions": [{"type": "reject", "message": 7}]},
    {"decisions": [{"type": "edit"}]},
    {"decisions": [{"type": "edit", "edited_action": {"name": "execute", "args": {"command": "rm"}}}]},
    {"decisions": [{"type": "edit", "edited_action": {"name": "write_file", "args": {"content": 7}}}]},
    {"decisions": [{"type": "edit", "edited_action": {"name": "write_file", "args": {"file_path": "/other.md"}}}]},
    {"decisions": [{"type": "edit", "edited_action": {"name": "write_file", "args": {"file_path": "/../x"}}}]},
    {"decisions": [{"type": "edit", "edited_action": {"args": {"content": "?", "encoding": "base64"}}}]},
]


def test_wrong_answers_are_refused_and_the_run_can_still_be_resumed(
    store: MemoryStore, checkpointer: BaseCheckpointSaver[str]
) -> None:
    agent = agent_on(guarded(store), write("green"), checkpointer=checkpointer)
    before = requests(run(agent))
    for answer in WRONG:
        with pytest.raises(InvalidDecisionError) as caught:
            agent.invoke(Command(resume=answer), THREAD)
        assert str(caught.value)
        assert text(store, "/policies/tea.md") is None
        (waiting,) = agent.get_state(THREAD).interrupts
        assert waiting.value["action_requests"] == before
    resume(agent, APPROVE)
    assert text(store, "/policies/tea.md") == "green"


def test_where_langgraph_keeps_every_answer_it_is_asked_again_with_the_error(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langgraph.types import interrupt

    from memoranda.agents.middleware import approval_decisions

    monkeypatch.setattr(approval_decisions, "interrupt", lambda value: interrupt(value))
    agent = agent_on(guarded(store), write("green"))
    run(agent)
    for answer in WRONG:
        (asked,) = agent.invoke(Command(resume=answer), THREAD)["__interrupt__"]
        assert asked.value["error"] and asked.value["action_requests"]
    resume(agent, APPROVE)
    assert text(store, "/policies/tea.md") == "green"


# --- the guard has the last word ------------------------------------------------------------------------------


def test_an_approval_opens_no_other_door(store: MemoryStore) -> None:
    denied = FilesystemPermission(["write"], ["/policies/locked.md"], "deny")
    agent = agent_on(guarded(store, denied), call("move", file_path="/policies/tea.md", to="/policies/new.md"))
    store.write(ACME, "/policies/tea.md", "tea")
    run(agent)
    edited = {"name": "move", "args": {"to": "/policies/locked.md"}}
    done = resume(agent, {"type": "edit", "edited_action": edited})
    assert "permission denied" in told(done)[0].text and told(done)[0].status == "error"
    assert text(store, "/policies/tea.md") == "tea" and text(store, "/policies/locked.md") is None


def test_rules_that_became_stricter_meanwhile_hold(store: MemoryStore) -> None:
    saver = InMemorySaver()
    run(agent_on(guarded(store), write("green"), checkpointer=saver))
    denied = FilesystemPermission(["write"], ["/policies/**"], "deny")
    done = resume(agent_on(guarded(store, denied), checkpointer=saver), APPROVE)
    assert "permission denied" in told(done)[0].text and text(store, "/policies/tea.md") is None


def test_hooks_see_what_was_approved(store: MemoryStore) -> None:
    from memoranda.backends.hooks import Refuse

    heard: list[Any] = []

    def hook(event: Any) -> Any:
        heard.append(event.after)
        return Refuse("no swearing") if "damn" in str(event.after) else None

    agent = agent_on(guarded(store, hooks=[hook]), write("Be kind."))
    run(agent)
    done = resume(agent, {"type": "edit", "edited_action": {"args": {"content": "damn"}}})
    assert "no swearing" in told(done)[0].text and text(store, "/policies/tea.md") is None
    assert "damn" in heard


def test_a_folder_with_a_sensitive_file_goes_as_a_whole(store: MemoryStore) -> None:
    rule = FilesystemPermission(["write"], ["/all/secret/**"], "interrupt")
    backend = GuardedBackend(StoreBackend(namespace=ACME, store=store), [rule])
    store.write(ACME, "/all/secret/a.md", "x")
    store.write(ACME, "/all/free.md", "x")
    agent = agent_on(backend, call("delete", file_path="/all"))
    resume(agent, *([APPROVE] * len(requests(run(agent)))))
    assert store.glob(ACME, "**") == []


def test_the_approval_of_a_move_is_bound_to_what_it_replaces(store: MemoryStore) -> None:
    from memoranda.backends.guarded import approved

    store.write(ACME, "/draft.md", "draft")
    store.write(ACME, "/policies/tea.md", "old")
    backend = guarded(store)
    request = backend.move("/draft.md", "/policies/tea.md", overwrite=True).approval
    assert request is not None
    store.write(ACME, "/policies/tea.md", "theirs")
    with approved(request):
        backend.commit([request.change])
    assert text(store, "/policies/tea.md") == "theirs"


# --- other backends, other runs -------------------------------------------------------------------------------


def of_a_user(store: MemoryStore) -> tuple[Any, Any]:
    """An agent whose policies are those of its user, and where the policies of somebody lie."""
    rule = FilesystemPermission(["write"], ["/policies/**"], "interrupt")
    backend = GuardedBackend(StoreBackend(namespace=by_user, store=store), [rule])
    return agent_on(backend, write("Be kind."), checkpointer=InMemorySaver()), backend


def with_user(agent: Any, wish: Any, user: str | None) -> Any:
    return agent.invoke(wish, THREAD, context=None if user is None else {"user_id": user})


@pytest.mark.parametrize("other", ["boss", None])
def test_an_approval_lands_with_the_user_who_asked_or_not_at_all(store: MemoryStore, other: str | None) -> None:
    agent, _ = of_a_user(store)
    asked = with_user(agent, {"messages": "go"}, "ann")
    assert len(requests(asked)) == 1
    with pytest.raises(ApprovalContextError, match="same context"):
        with_user(agent, Command(resume={"decisions": [APPROVE]}), other)
    assert store.list_namespaces() == []
    # The right run goes on as if nothing had been.
    with_user(agent, Command(resume={"decisions": [APPROVE]}), "ann")
    item = store.get(("ann",), "/policies/tea.md")
    assert item is not None and item.value["content"] == "Be kind."
    assert store.list_namespaces() == [("ann",)]


def test_an_approval_is_not_used_up_while_the_storage_fails(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, _ = of_a_user(store)
    with_user(agent, {"messages": "go"}, "ann")

    def fail(*_: Any, **__: Any) -> Any:
        raise ConnectionError("the database is away")

    with monkeypatch.context() as patched:
        patched.setattr(MemoryStore, "commit", fail)
        asked = with_user(agent, Command(resume={"decisions": [APPROVE]}), "ann")
    (request,) = requests(asked)
    assert "the database is away" in request["description"]
    with_user(agent, Command(resume={"decisions": [APPROVE]}), "ann")
    item = store.get(("ann",), "/policies/tea.md")
    assert item is not None and item.value["content"] == "Be kind."


@pytest.mark.parametrize("again", [False, True], ids=["same agent", "built anew"])
def test_an_approved_change_of_a_subagent_is_signed_by_it(store: MemoryStore, again: bool) -> None:
    saver = InMemorySaver()
    rule = FilesystemPermission(["write"], ["/secret/**"], "interrupt")
    lines = [
        call("task", description="d", subagent_type="researcher"),
        write("x", "/free.md"),
        write("x", "/secret/a.md"),
    ]

    def build(*script: Any) -> Any:
        return create_deep_agent(
            ScriptedChatModel(script=script),
            backend=StoreBackend(namespace=ACME),
            store=store,
            checkpointer=saver,
            name="boss",
            permissions=[rule],
            subagents=[{"name": "researcher", "description": "d", "system_prompt": "p"}],
        )

    agent = build(*lines, say("done"), say("done"))
    asked = run(agent)
    assert len(requests(asked)) == 1
    resume(build(say("done"), say("done")) if again else agent, APPROVE)
    (free,), (secret,) = store.history(ACME, "/free.md"), store.history(ACME, "/secret/a.md")
    assert free.author.actor == secret.author.actor == "agent:researcher"
    assert secret.author.tool_call_id == lines[2].tool_calls[0]["id"]
    assert secret.author.reason is not None and "approved by" in secret.author.reason


def test_files_without_revisions(tmp_path: Path) -> None:
    rules = [FilesystemPermission(["write"], ["/policies/**"], "interrupt")]
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "tea.md").write_text("one")
    backend = GuardedBackend(FilesystemBackend(tmp_path), rules)
    agent = agent_on(backend, call("edit_file", file_path="/policies/tea.md", old_string="one", new_string="1"))
    run(agent)
    (tmp_path / "policies" / "tea.md").write_text("one, two")
    assert "+1, two" in requests(resume(agent, APPROVE))[0]["description"]
    assert (tmp_path / "policies" / "tea.md").read_text() == "one, two"
    resume(agent, APPROVE)
    assert (tmp_path / "policies" / "tea.md").read_text() == "1, two"


def test_behind_a_route_and_in_the_state_of_the_thread(store: MemoryStore) -> None:
    rules = [FilesystemPermission(["write"], ["/memories/policies/**", "/plan.md"], "interrupt")]
    routes = {"/memories/": StoreBackend(namespace=ACME, store=store)}
    backend = GuardedBackend(CompositeBackend(StateBackend(), routes), rules)
    line = calls(
        ("write_file", {"file_path": "/memories/policies/tea.md", "content": "green"}),
        ("write_file", {"file_path": "/plan.md", "content": "plan"}),
    )
    agent = agent_on(backend, line)
    assert {request["args"]["file_path"] for request in requests(run(agent))} == {
        "/memories/policies/tea.md",
        "/plan.md",
    }
    done = resume(agent, APPROVE, APPROVE)
    assert text(store, "/policies/tea.md") == "green"
    assert done["files"]["/plan.md"]["content"] == "plan"


async def test_from_an_event_loop(store: MemoryStore) -> None:
    agent = agent_on(guarded(store), write("one\ntwo\n"))
    asked = await agent.ainvoke({"messages": "Go."}, THREAD)
    with pytest.raises(InvalidDecisionError):
        await agent.ainvoke(Command(resume="yes"), THREAD)
    await store.awrite(ACME, "/policies/tea.md", "theirs")
    again = await agent.ainvoke(Command(resume={"decisions": [APPROVE]}), THREAD)
    assert requests(asked) != requests(again) and "-theirs" in requests(again)[0]["description"]
    await agent.ainvoke(Command(resume={"decisions": [APPROVE]}), THREAD)
    assert text(store, "/policies/tea.md") == "one\ntwo\n"


def test_a_new_message_instead_of_an_answer_asks_again(store: MemoryStore) -> None:
    agent = agent_on(guarded(store), write("green"))
    first = requests(run(agent))
    assert requests(agent.invoke({"messages": "Hello?"}, THREAD)) == first
    done = resume(agent, APPROVE)
    assert text(store, "/policies/tea.md") == "green"
    assert [message.type for message in done["messages"]] == ["human", "ai", "tool", "human", "ai"]


def test_without_a_checkpointer_nothing_lands(store: MemoryStore) -> None:
    backend = guarded(store)
    model = ScriptedChatModel(script=[write("green"), say("Done.")])
    agent: Any = create_agent(model, middleware=[FilesMiddleware(backend), ApprovalMiddleware(backend)])
    assert "__interrupt__" in agent.invoke({"messages": "Go."})
    assert text(store, "/policies/tea.md") is None


def test_the_state_is_no_input_and_no_output(store: MemoryStore) -> None:
    agent = agent_on(guarded(store), write("green"))
    forged = {"x": {"id": "x", "tool_call_id": "y", "tool": "write_file", "message_id": None, "base": 0, "diff": ""}}
    forged["x"]["change"] = {"type": "write", "path": "/policies/x.md", "content": "forged", "base": 0, "merge": True}  # type: ignore[assignment]
    result = agent.invoke({"messages": "Go.", "pending_approvals": forged}, THREAD)
    assert [request["args"]["content"] for request in requests(result)] == ["green"]
    assert "pending_approvals" not in result and "seen_revisions" not in result


def test_what_was_approved_has_been_seen(store: MemoryStore) -> None:
    """The model goes on with a file that it wrote: no later write of it is refused as unread."""
    agent = agent_on(guarded(store), write("one"), write("two"))
    run(agent)
    (again,) = requests(resume(agent, APPROVE))
    assert "-one" in again["description"]
    resume(agent, APPROVE)
    assert text(store, "/policies/tea.md") == "two"
    assert agent.get_state(THREAD).values["seen_revisions"]


def test_without_our_file_tools(store: MemoryStore) -> None:
    """Alone, with a tool of the application's own."""
    backend = guarded(store)

    @tool
    def remember(fact: str) -> str:
        """Remember a fact."""
        return backend.append("/policies/facts.md", fact).error or "kept"

    model = ScriptedChatModel(script=[call("remember", fact="tea"), say("Done.")])
    agent: Any = create_agent(model, [remember], middleware=[ApprovalMiddleware(backend)], checkpointer=InMemorySaver())
    (request,) = requests(run(agent))
    assert request["name"] == "append_file" and request["args"] == {"file_path": "/policies/facts.md", "text": "tea"}
    resume(agent, APPROVE)
    assert text(store, "/policies/facts.md") == "tea"
