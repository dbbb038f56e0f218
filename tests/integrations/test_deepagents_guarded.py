"""Our guard and our middleware inside Deep Agents' own agent: nothing reaches a file but through the guard."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import deepagents
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from memoranda import Author, MemoryStore
from memoranda.agents.middleware import ApprovalMiddleware, MemoryMiddleware
from memoranda.agents.middleware.tool_calls import ToolCallMiddleware
from memoranda.backends import (
    CompositeBackend,
    FilesystemPermission,
    GuardedBackend,
    Refuse,
    StagedBackend,
    StateBackend,
    StoreBackend,
    WriteEvent,
    runtime,
)
from memoranda.integrations.deepagents import as_deepagents_backend
from memoranda.testing.scripted import ScriptedChatModel, call, calls, say
from tests.integrations.support import WAYS, agent, answers, keys_in, run, text_in

ANN = ("ann",)


def routed() -> CompositeBackend:
    return CompositeBackend(StateBackend(), {"/memories/": StoreBackend(namespace=ANN)})


@pytest.mark.parametrize("way", WAYS)
def test_no_denied_byte_is_read(store: MemoryStore, way: str) -> None:
    """By no tool, no subagent with rules of its own, no memory and no skill; dot names are no exception."""
    store.write(ANN, "/secrets/.env", "hunter2")
    store.write(ANN, "/secrets/key.md", "hunter2")
    store.write(ANN, "/secrets/skill/SKILL.md", "---\nname: skill\ndescription: hunter2\n---\n\n# hunter2\n")
    rules = [FilesystemPermission(["read", "write"], ["/memories/secrets/**"], "deny")]
    unbound: Any = {"name": "free", "description": "Has no rules.", "system_prompt": "Look.", "permissions": []}
    looking = calls(
        ("read_file", {"file_path": "/memories/secrets/.env"}),
        ("read_file", {"file_path": "//memories/./secrets/key.md"}),
        ("grep", {"pattern": "hunter", "output_mode": "content"}),
        ("glob", {"pattern": "**/*"}),
        ("ls", {"path": "/memories/secrets"}),
    )
    model = ScriptedChatModel(
        script=[looking, call("task", description="Look.", subagent_type="free"), looking, say("None."), say("None.")]
    )
    graph: Any = deepagents.create_deep_agent(
        model=model,
        backend=as_deepagents_backend(GuardedBackend(routed(), rules)),
        memory=[],
        skills=["/memories/secrets/"],
        subagents=[unbound],
        store=store,
        checkpointer=InMemorySaver(),
    )
    run(graph, "Look.", way=way)
    # Every text that any model was shown, in prompts, arguments of tools aside.
    shown = "".join(message.text for request in model.requests for message in request)
    assert "hunter2" not in shown


def test_denied_memory_ends_their_run(store: MemoryStore) -> None:
    """Their memory takes any error but a missing file for the end of the run; ours shows a notice and goes on."""
    store.write(ANN, "/secrets/key.md", "hunter2")
    rules = [FilesystemPermission(["read"], ["/memories/secrets/**"], "deny")]
    guarded: Any = GuardedBackend(routed(), rules)
    with pytest.raises(ValueError, match="permission_denied"):
        run(agent(["Hi."], backend=guarded, store=store, memory=["/memories/secrets/key.md"]), "Hi.")
    model = ScriptedChatModel(script=["Hi."])
    ours = MemoryMiddleware(guarded, ["/memories/secrets/key.md"])
    run(deepagents.create_deep_agent(model=model, backend=guarded, middleware=[ours], store=store), "Hi.")
    assert "hunter2" not in model.prompts[0] and "/memories/secrets/key.md" in model.prompts[0]


@pytest.mark.parametrize("way", WAYS)
def test_no_denied_byte_is_changed(store: MemoryStore, way: str) -> None:
    store.write(ANN, "/policy/.rules.md", "Be kind.")
    rules = [FilesystemPermission(["write"], ["/memories/policy/**"], "deny")]
    script = [
        calls(
            ("write_file", {"file_path": "/memories/policy/.rules.md", "content": "Be rude."}),
            ("edit_file", {"file_path": "/memories//policy/.rules.md", "old_string": "kind", "new_string": "rude"}),
            ("delete", {"file_path": "/memories/policy"}),
            ("delete", {"file_path": "/memories"}),
            ("write_file", {"file_path": "/memories/notes.md", "content": "allowed"}),
        ),
        say("I may not."),
    ]
    run(agent(script, backend=GuardedBackend(routed(), rules), store=store), "Try.", way=way)
    assert text_in(store, ANN, "/policy/.rules.md") == "Be kind."
    assert len(store.history(ANN, "/policy/.rules.md")) == 1
    assert text_in(store, ANN, "/notes.md") == "allowed"


@pytest.mark.parametrize("way", WAYS)
def test_hooks_see_what_lands(store: MemoryStore, way: str) -> None:
    seen: list[tuple[str, Any, Any]] = []

    def no_shouting(event: WriteEvent) -> Refuse | None:
        seen.append((event.path, event.before, event.after))
        return Refuse("Do not shout.") if "!" in str(event.after) else None

    script = [
        call("write_file", file_path="/memories/tea.md", content="green"),
        call("edit_file", file_path="/memories/tea.md", old_string="green", new_string="green!"),
        say("Done."),
    ]
    said = answers(
        run(agent(script, backend=GuardedBackend(routed(), hooks=[no_shouting]), store=store), "Go.", way=way)
    )
    assert text_in(store, ANN, "/tea.md") == "green" and "Do not shout." in said[1]
    assert seen == [("/memories/tea.md", None, "green"), ("/memories/tea.md", "green", "green!")]


def test_approval(store: MemoryStore) -> None:
    store.write(ANN, "/policy.md", "Be kind.")
    rules = [FilesystemPermission(["write"], ["/memories/policy.md"], "interrupt")]
    guarded = GuardedBackend(routed(), rules)
    edit = call("edit_file", file_path="/memories/policy.md", old_string="kind", new_string="fair")
    graph = agent([edit, say("Changed.")], backend=guarded, middleware=[ApprovalMiddleware(guarded)], store=store)
    config = {"configurable": {"thread_id": uuid4().hex}}
    (asked,) = graph.invoke({"messages": "Be fair."}, config)["__interrupt__"]
    assert "+Be fair." in asked.value["action_requests"][0]["description"]
    assert text_in(store, ANN, "/policy.md") == "Be kind."
    graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
    assert text_in(store, ANN, "/policy.md") == "Be fair."


def test_a_change_that_only_waits(store: MemoryStore) -> None:
    store.write(ANN, "/policy.md", "Be kind.")
    rules = [FilesystemPermission(["write"], ["/memories/policy.md"], "propose")]
    edit = call("edit_file", file_path="/memories/policy.md", old_string="kind", new_string="fair")
    graph = agent([edit, say("It waits.")], backend=GuardedBackend(routed(), rules), store=store)
    said = answers(run(graph, "Be fair."))
    (proposal,) = store.proposals()
    assert proposal.id in said[0] and text_in(store, ANN, "/policy.md") == "Be kind."
    store.accept_proposal(proposal.id, author=Author("user:lead"))
    assert text_in(store, ANN, "/policy.md") == "Be fair."


def test_our_memory_in_their_agent_is_fresh_in_every_turn(store: MemoryStore) -> None:
    """Theirs is read once for a thread and kept in its state: what another thread changed is never seen there."""
    store.write(ANN, "/AGENTS.md", "Likes green tea.")
    theirs, ours = ScriptedChatModel(script=["Hi."]), ScriptedChatModel(script=["Hi."])
    backend: Any = routed()
    settings: dict[str, Any] = {"backend": backend, "store": store, "memory": ["/memories/AGENTS.md"]}
    memory = MemoryMiddleware(backend, ["/memories/AGENTS.md"])
    old = deepagents.create_deep_agent(model=theirs, checkpointer=InMemorySaver(), **settings)
    new = deepagents.create_deep_agent(model=ours, checkpointer=InMemorySaver(), middleware=[memory], **settings)
    thread = uuid4().hex
    for text in ("Likes black tea.", None):
        run(old, "Hi.", thread=thread)
        run(new, "Hi.", thread=thread + "-new")
        if text is not None:
            store.write(ANN, "/AGENTS.md", text)
    assert "Likes green tea." in theirs.prompts[1], "if this fails, theirs is fresh now: say so in the guide"
    assert "Likes black tea." in ours.prompts[1] and "Likes green tea." not in ours.prompts[1]


def test_what_a_thread_saw_outlives_the_process(store: MemoryStore) -> None:
    """With `ToolCallMiddleware` it is kept in the thread's state, so a stale write is refused after a restart too."""
    store.write(ANN, "/tea.md", "green\n")
    checkpointer, thread = InMemorySaver(), uuid4().hex
    settings: dict[str, Any] = {
        "backend": StoreBackend(namespace=ANN),
        "store": store,
        "checkpointer": checkpointer,
        "middleware": [ToolCallMiddleware()],
    }
    run(agent([call("read_file", file_path="/tea.md"), say("Green.")], **settings), "Tea?", thread=thread)
    store.write(ANN, "/tea.md", "oolong\n")
    runtime._process.clear()  # what a new process begins with
    write = call("write_file", file_path="/tea.md", content="black\n")
    said = answers(run(agent([write, say("Hm.")], **settings), "Black.", thread=thread))
    assert text_in(store, ANN, "/tea.md") == "oolong\n" and "oolong" in said[-1]


@pytest.mark.parametrize("way", WAYS)
def test_a_staged_backend_lands_at_once(store: MemoryStore, way: str) -> None:
    store.write(ANN, "/a.md", "one")
    staged = StagedBackend(StoreBackend(namespace=ANN, store=store))
    script = [
        calls(
            ("edit_file", {"file_path": "/a.md", "old_string": "one", "new_string": "two"}),
            ("write_file", {"file_path": "/b.md", "content": "new"}),
        ),
        call("read_file", file_path="/a.md"),
        say("Done."),
    ]
    said = answers(run(agent(script, backend=staged, store=store), "Go.", way=way))
    assert "two" in said[-1]
    assert text_in(store, ANN, "/a.md") == "one" and keys_in(store, ANN) == ["/a.md"]
    assert staged.commit_staged(author=Author("user:lead")).error is None
    assert text_in(store, ANN, "/a.md") == "two" and text_in(store, ANN, "/b.md") == "new"
