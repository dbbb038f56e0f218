"""An approval is no permission: rules and hooks have the last word."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from memoranda import MemoryStore
from memoranda.backends import (
    FilesystemPermission,
    GuardedBackend,
    StoreBackend,
)
from memoranda.testing.scripted import call
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
