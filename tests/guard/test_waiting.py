"""Changes that wait for a person: approvals bound to a state, and proposals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from memoranda import MemoryStore
from memoranda.backends import FilesystemPermission, GuardedBackend, Hold, Refuse, Replace, StoreBackend, approved
from memoranda.backends.protocol import DeleteFile, EditFile, MoveFile, WriteFile
from memoranda.backends.runtime import ToolCall, inside_tool_call

P = FilesystemPermission


@pytest.fixture
def inner(store: MemoryStore) -> StoreBackend:
    backend = StoreBackend(namespace=("ann",), store=store)
    backend.write("/a.md", "one\ntwo\n")
    return backend


@pytest.fixture
def guard(inner: StoreBackend) -> GuardedBackend:
    return GuardedBackend(inner, [P(["write"], ["/**"], "interrupt")])


def text(backend: Any, path: str) -> str | None:
    (answer,) = backend.download_files([path])
    return None if answer.content is None else answer.content.decode(errors="replace")


def test_a_request_shows_what_would_happen(guard: GuardedBackend) -> None:
    request = guard.edit("/a.md", "one", "ONE").approval
    assert request is not None
    assert request.base == 1
    assert request.change == EditFile("/a.md", "one", "ONE", base=1)
    assert "-one\n+ONE\n" in request.diff
    assert (request.before, request.after) == ("one\ntwo\n", "ONE\ntwo\n")
    new = guard.write("/new.md", "new\n").approval
    assert new is not None
    assert new.base == 0
    assert "--- /dev/null\n+++ /new.md" in new.diff
    gone = guard.delete("/a.md").approval
    assert gone is not None
    assert "+++ /dev/null" in gone.diff
    assert gone.change == DeleteFile("/a.md", 1)
    binary = guard.upload_files([("/a.md", b"\xff\x00")])[0].approval
    assert binary is not None
    assert "Binary" in binary.diff


@pytest.mark.parametrize(
    "ask",
    [
        lambda guard: guard.write("/a.md", "new\n").approval,
        lambda guard: guard.write("/b.md", "new\n").approval,
        lambda guard: guard.edit("/a.md", "one", "ONE").approval,
        lambda guard: guard.append("/a.md", "three").approval,
        lambda guard: guard.append("/b.md", "three").approval,
        lambda guard: guard.delete("/a.md").approval,
        lambda guard: guard.move("/a.md", "/b.md").approval,
        lambda guard: guard.upload_files([("/a.md", b"up\n")])[0].approval,
        lambda guard: guard.upload_files([("/a.md", b"\xff")])[0].approval,
        lambda guard: guard.commit([WriteFile("/a.md", "new\n")]).approvals[0],
    ],
)
def test_what_was_approved_lands_once_and_only_it(inner: Any, guard: GuardedBackend, ask: Any) -> None:
    request = ask(guard)
    before = text(inner, "/a.md")
    with approved(request):
        other = guard.write("/other.md", "something else")
        assert other.approval is not None
        result = guard.commit([request.change])
    assert result.error is None, result
    target = request.change.to if isinstance(request.change, MoveFile) else request.change.path
    if request.after is not None:
        assert text(inner, target) == request.after
    assert (text(inner, "/a.md"), text(inner, target)) != (before, before)
    assert text(inner, "/other.md") is None
    with approved(request):  # the file is not in that state any more
        assert guard.commit([request.change]).error is not None


def test_an_approval_is_of_one_state(inner: Any, guard: GuardedBackend) -> None:
    request = guard.write("/a.md", "mine\n").approval
    assert request is not None
    inner.edit("/a.md", "two", "TWO")
    with approved(request):
        result = guard.commit([request.change])
    assert result.error is not None
    assert text(inner, "/a.md") == "one\nTWO\n"
    blind = replace(request.change, base=None)
    with approved(request):
        again = guard.commit([blind])
    assert again.approvals[0].base == 2
    assert "-TWO" in again.approvals[0].diff
    assert text(inner, "/a.md") == "one\nTWO\n"


def test_an_approval_is_of_one_content_and_path(inner: Any, guard: GuardedBackend) -> None:
    request = guard.write("/a.md", "mine\n").approval
    assert request is not None
    with approved(request):
        assert guard.write("/a.md", "mine, and more\n").approval is not None
        assert guard.write("/b.md", "mine\n").approval is not None
        assert guard.delete("/a.md").approval is not None
        assert guard.append("/a.md", "mine\n").approval is not None
        assert guard.write("//a.md/", "mine\n").error is None
    assert text(inner, "/a.md") == "mine\n"


def test_an_approval_does_not_pass_rules_that_deny_nor_hooks(inner: Any, guard: GuardedBackend) -> None:
    request = guard.write("/a.md", "mine\n").approval
    assert request is not None
    denying = GuardedBackend(guard, [P(["write"], ["/a.md"], "deny")])
    refusing = GuardedBackend(guard, hooks=[lambda event: Refuse("no")])
    holding = GuardedBackend(guard, hooks=[lambda event: Hold("later")])
    with approved(request):
        assert "permission denied" in (denying.commit([request.change]).error or "")
        assert "refused: no" in (refusing.commit([request.change]).error or "")
        assert holding.commit([request.change]).proposal is not None
    assert text(inner, "/a.md") == "one\ntwo\n"


def test_the_approval_is_of_what_hooks_made_of_it(inner: Any) -> None:
    def hook(event: Any) -> Any:
        return Replace(event.after.replace("bad", "good"))

    guard = GuardedBackend(inner, [P(["write"], ["/**"], "interrupt")], [hook])
    request = guard.edit("/a.md", "one", "bad").approval
    assert request is not None
    assert request.after == "good\ntwo\n"
    with approved(request):
        assert guard.commit([request.change]).error is None
    assert text(inner, "/a.md") == "good\ntwo\n"


def test_requests_are_noted_in_the_tool_call(guard: GuardedBackend) -> None:
    with inside_tool_call(ToolCall("call_1")) as call:
        guard.write("/a.md", "x")
        guard.delete("/")
    assert [type(request.change) for request in call.approvals] == [WriteFile, DeleteFile]


def test_a_folder_asks_about_each_file(inner: Any, guard: GuardedBackend) -> None:
    inner.write("/d/x.md", "x")
    inner.write("/d/.y", "y")
    with inside_tool_call(ToolCall("call_1")) as call:
        assert guard.delete("/d").error is not None
        assert guard.move("/d", "/e").error is not None
    assert len(call.approvals) == 4
    with approved(*call.approvals[:2]):
        assert sorted(guard.delete("/d").paths) == ["/d/.y", "/d/x.md"]


def test_an_invalid_change_is_told_at_once(guard: GuardedBackend) -> None:
    assert guard.edit("/a.md", "three", "3").approval is None
    assert "not found" in (guard.edit("/a.md", "three", "3").error or "")
    assert "'/none.md' not found" in (guard.edit("/none.md", "three", "3").error or "")
    assert "not found" in (guard.delete("/none.md").error or "")
    assert "/a.md" in (guard.move("/a.md", "/a.md").error or "")
    assert "lies below it" in (guard.move("/a.md", "/a.md/b").error or "")


def test_a_proposal_waits_in_the_store(inner: Any, store: MemoryStore) -> None:
    guard = GuardedBackend(inner, [P(["write"], ["/a.md"], "propose")])
    result = guard.edit("/a.md", "one", "ONE")
    assert result.proposal is not None
    assert f"proposal {result.proposal}" in (result.error or "")
    assert text(inner, "/a.md") == "one\ntwo\n"
    (waiting,) = store.proposals(("ann",))
    assert (waiting.id, waiting.source) == (result.proposal, "permission")
    inner.edit("/a.md", "two", "TWO")
    store.accept_proposal(result.proposal)
    assert text(inner, "/a.md") == "ONE\nTWO\n"


@pytest.mark.parametrize(
    ("ask", "after"),
    [
        (lambda guard: guard.write("/a.md", "new\n"), "new\n"),
        (lambda guard: guard.append("/a.md", "three\n"), "one\ntwo\nthree\n"),
        (lambda guard: guard.delete("/a.md"), None),
        (lambda guard: guard.delete("/"), None),
        (lambda guard: guard.move("/a.md", "/b.md"), None),
        (lambda guard: guard.upload_files([("/a.md", b"up\n")])[0], "up\n"),
        (lambda guard: guard.commit([WriteFile("/a.md", "c\n"), WriteFile("/c.md", "c")]), "c\n"),
    ],
)
def test_every_change_can_be_proposed(inner: Any, store: MemoryStore, ask: Any, after: str | None) -> None:
    guard = GuardedBackend(inner, [P(["write"], ["/**"], "propose")])
    result = ask(guard)
    assert result.proposal, result
    assert text(inner, "/a.md") == "one\ntwo\n"
    store.accept_proposal(result.proposal)
    assert text(inner, "/a.md") == after


def test_hooks_come_before_proposals(inner: Any, store: MemoryStore) -> None:
    guard = GuardedBackend(inner, [P(["write"], ["/**"], "propose")], [lambda event: Refuse("no")])
    assert "refused: no" in (guard.write("/a.md", "x").error or "")
    assert store.proposals() == []
    holding = GuardedBackend(inner, hooks=[lambda event: Hold("somebody must look")])
    result = holding.write("/a.md", "x")
    (waiting,) = store.proposals()
    assert waiting.id == result.proposal
    assert waiting.reason == "somebody must look"
    assert waiting.source == "hook:<lambda>"


def test_where_no_proposal_can_be_kept() -> None:
    inner = StoreBackend(namespace=("ann",), store=InMemoryStore())
    guard = GuardedBackend(inner, [P(["write"], ["/**"], "propose")])
    result = guard.write("/a.md", "x")
    assert "not lie in one Memoranda store" in (result.error or "")
    assert text(inner, "/a.md") is None
    guard = GuardedBackend(inner, hooks=[lambda event: Hold("wait")])
    assert "not lie in one Memoranda store" in (guard.write("/a.md", "x").error or "")


def test_the_stricter_of_two_waits_wins(inner: Any) -> None:
    interrupting = GuardedBackend(inner, [P(["write"], ["/**"], "interrupt")])
    both = GuardedBackend(interrupting, [P(["write"], ["/**"], "propose")])
    result = both.write("/a.md", "x")
    assert result.proposal is not None
    assert result.approval is None
