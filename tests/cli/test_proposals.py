"""proposals list, show, accept and reject."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from memoranda import Append, Author, ChangeSet, Edit, MemoryStore, Move, Proposal, Restore, Write
from memoranda.store.changes import Change
from tests.cli.conftest import Run, RunJson

ANN = ("ann",)
AGENT = Author("agent:helper", "thread-1", None, "call-1", "the user asked")
Propose = Callable[..., Proposal]


@pytest.fixture
def store(store_url: str, open_here: Callable[..., MemoryStore]) -> Iterator[MemoryStore]:
    yield open_here(store_url)


@pytest.fixture
def propose(store: MemoryStore) -> Propose:
    def proposing(*changes: Change, author: Author = AGENT, reason: str = "the policy is shared") -> Proposal:
        return store.propose(ChangeSet(changes, author), reason=reason, source="permission")

    return proposing


def test_list(run: Run, run_json: RunJson, propose: Propose) -> None:
    assert "No pending proposals in ann." in run("proposals", "list").stderr
    first = propose(Write(ANN, "/policy.md", "Be kind."), Append(ANN, "/log.md", "x"))
    second = propose(Move(ANN, "/a.md", "/b.md", ("bob",)), author=Author("user:ann"))
    one, two = run("proposals", "list").stdout.splitlines()
    assert one.startswith(first.id) and "agent:helper" in one and "write ann:/policy.md and 1 more" in one
    assert one.endswith("the user asked")
    assert two.startswith(second.id) and "move ann:/a.md to bob:/b.md" in two and two.endswith("the policy is shared")
    assert run("proposals", "list", "-n", "bob").stdout.startswith(second.id)
    assert len(run("proposals", "list", MEMORANDA_NAMESPACE="").stdout.splitlines()) == 2
    assert len(run("proposals", "list", "--limit", 1).stdout.splitlines()) == 1
    run("proposals", "reject", second.id)
    assert run("proposals", "list").stdout.startswith(first.id)
    everything = run("proposals", "list", "--all").stdout
    assert "pending" in everything and "rejected" in everything
    (shape,) = run_json("proposals", "list", "--status", "rejected")["proposals"]
    assert (shape["id"], shape["status"], shape["author"]["actor"]) == (second.id, "rejected", "user:ann")
    assert shape["changes"][0]["type"] == "move" and shape["source"] == "permission"
    run("proposals", "list", "--status", "rejected", "--all", code=2)
    run("proposals", "list", "--status", "open", code=2)


def test_show(run: Run, run_json: RunJson, propose: Propose, store: MemoryStore) -> None:
    store.write(ANN, "/policy.md", "Be brief.\nBe kind.\n")
    waiting = propose(Edit(ANN, "/policy.md", "brief", "exact"), Restore(ANN, "/policy.md", 1))
    text = run("proposals", "show", waiting.id).stdout
    for said in (
        f"{waiting.id} is pending",
        "Proposed by agent:helper at ",
        "In thread thread-1, tool call call-1",
        "Because: the user asked",
        "Waits because: the policy is shared (permission)",
        "edit ann:/policy.md",
        "restore ann:/policy.md r1",
    ):
        assert said in text
    other = propose(Edit(ANN, "/policy.md", "brief", "exact"))
    text = run("proposals", "show", other.id).stdout
    assert "-Be brief.\n+Be exact.\n" in text
    shape = run_json("proposals", "show", other.id)
    assert "+Be exact." in shape["diff"] and shape["conflicts"] == [] and shape["status"] == "pending"
    run("proposals", "reject", other.id, "--note", "no need", "--as", "user:bob")
    text = run("proposals", "show", other.id).stdout
    assert "Rejected by user:bob at " in text and text.count("no need") == 1 and "@@" not in text
    assert "diff" not in run_json("proposals", "show", other.id)


def test_accept(run: Run, run_json: RunJson, propose: Propose, store: MemoryStore) -> None:
    store.write(ANN, "/policy.md", "one\ntwo\nthree\n")
    waiting = propose(Write(ANN, "/policy.md", "ONE\ntwo\nthree\n"))
    store.edit(ANN, "/policy.md", "three", "THREE")
    said = run("proposals", "accept", waiting.id, "--note", "good", "--as", "user:bob").stdout
    assert said == (f"{waiting.id} is accepted.\n/policy.md is at revision 3 (merged with what others wrote since).\n")
    assert run("cat", "/policy.md").stdout == "ONE\ntwo\nTHREE\n"
    newest = run("log", "/policy.md").stdout.splitlines()[0]
    assert "agent:helper" in newest and f"(proposal {waiting.id}, accepted by user:bob)" in newest
    decided = store.get_proposal(waiting.id)
    assert (decided.status, decided.decided_by, decided.note) == ("accepted", "user:bob", "good")
    for again in ("accept", "reject"):
        assert "was accepted already by user:bob" in run("proposals", again, waiting.id, code=4).stderr
    another = propose(Write(ANN, "/new.md", "x"))
    answer = run_json("proposals", "accept", another.id, MEMORANDA_ACTOR="user:eve")
    assert answer["status"] == "accepted" and answer["revisions"][0]["key"] == "/new.md"
    assert store.get_proposal(another.id).decided_by == "user:eve"


def test_a_conflict(run: Run, run_json: RunJson, propose: Propose, store: MemoryStore) -> None:
    store.write(ANN, "/policy.md", "one\n")
    waiting = propose(Write(ANN, "/policy.md", "uno\n"))
    store.write(ANN, "/policy.md", "eins\n")
    failed = run("proposals", "accept", waiting.id, code=4)
    assert "/policy.md was changed since revision 1" in failed.stderr
    assert "The proposal stays pending: write what is wanted yourself and reject it." in failed.stderr
    assert "changes=" not in failed.stderr
    error = run_json("proposals", "accept", waiting.id, code=4)
    assert error["error"] == "ConflictError" and error["conflicts"][0]["theirs"] == "eins\n"
    shown = run("proposals", "show", waiting.id)
    assert "Conflict: /policy.md was changed" in shown.stdout and "-eins\n+uno\n" in shown.stdout
    assert run_json("proposals", "show", waiting.id)["conflicts"][0]["yours"] == "uno\n"
    assert store.get_proposal(waiting.id).status == "pending"


def test_reject(run: Run, run_json: RunJson, propose: Propose, store: MemoryStore) -> None:
    waiting = propose(Write(ANN, "/policy.md", "Be rude."))
    assert run("proposals", "reject", waiting.id, "--note", "no").stdout == (
        f"{waiting.id} is rejected; nothing was changed.\n"
    )
    decided = store.get_proposal(waiting.id)
    assert decided.status == "rejected" and (decided.decided_by or "").startswith("cli:")
    shape = run_json("proposals", "reject", propose(Write(ANN, "/b.md", "x")).id, "--as", "user:ann")
    assert (shape["status"], shape["decided_by"]) == ("rejected", "user:ann")


def test_what_cannot_be(run: Run, run_json: RunJson, propose: Propose, store: MemoryStore) -> None:
    store.write(ANN, "/a.md", "x")
    for action in ("show", "accept", "reject"):
        failed = run("proposals", action, "p-zzzzzz", code=3)
        assert "There is no proposal 'p-zzzzzz'." in failed.stderr and "`memoranda proposals list`" in failed.stderr
        run("proposals", action, code=2)
    run("proposals", "merge", "p-zzzzzz", code=2)
    assert run_json("proposals", "show", "p-zzzzzz", code=3)["error"] == "ProposalNotFoundError"
    assert "accept" in run("proposals").stdout
    other = propose(Write(ANN, "/evil\x1b[2J.md", "\x1b[2J"), reason="\x1b[2J", author=Author("a\x1b[2J"))
    assert "\x1b" not in run("proposals", "show", other.id).stdout.partition("---")[0]
    for shown in (run("proposals", "list"), run("proposals", "accept", other.id)):
        assert "\x1b" not in shown.stdout


@pytest.mark.parametrize(("who", "why"), [("--as", "--note"), ("--actor", "--reason")])
def test_who_and_why_have_two_spellings(run: Run, run_json: RunJson, propose: Propose, who: str, why: str) -> None:
    run("write", "/a.md", "a", who, "user:ann", why, "asked")
    author = run_json("log", "/a.md")["revisions"][0]["author"]
    assert (author["actor"], author["reason"]) == ("user:ann", "asked")
    proposed, other = propose(Write(ANN, "/b.md", "b")), propose(Write(ANN, "/c.md", "c"))
    run("proposals", "reject", proposed.id, who, "user:bob", why, "no")
    run("proposals", "accept", other.id, who, "user:bob", why, "yes")
    for id, note in ((proposed.id, "no"), (other.id, "yes")):
        shown = run_json("proposals", "show", id)
        assert (shown["decided_by"], shown["note"]) == ("user:bob", note)
