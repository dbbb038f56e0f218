"""Proposals wait, land as commits do, and are decided once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memoranda import (
    Append,
    Author,
    ChangeSet,
    ConflictError,
    CursorMove,
    Delete,
    Edit,
    MemoryStore,
    Move,
    Proposal,
    Restore,
    Write,
    acting_as,
)
from memoranda.errors import InvalidChangeError, ProposalDecidedError, ProposalNotFoundError
from memoranda.store.changes import Change
from memoranda.store.recorded_changes import change_to_json
from tests.store.conftest import Clock, Namespace, fresh

AGENT = Author("agent:helper", "thread-1", "run-1", "call-1", "the user asked")
ANN = Author("user:ann", reason="reviewed")


def propose(store: MemoryStore, *changes: Change, **given: str) -> Proposal:
    return store.propose(ChangeSet(changes, AGENT), **given)


def text(store: MemoryStore, ns: Namespace, key: str) -> str | None:
    item = store.get(ns, key)
    return None if item is None else item.value["content"]


def test_a_proposal_is_in_nothing_until_it_is_accepted(shared: MemoryStore, ns: Namespace) -> None:
    before = shared.stats()
    waiting = propose(shared, Write(ns, "//policy.md", "Be kind."), reason="policy is shared", source="permission")
    assert waiting.id.startswith("p-") and len(waiting.id) == 8
    assert (waiting.status, waiting.reason, waiting.source, waiting.author) == (
        "pending",
        "policy is shared",
        "permission",
        AGENT,
    )
    assert waiting.changes == (Write(ns, "/policy.md", "Be kind.", base=0),)
    assert shared.get(ns, "/policy.md") is None
    assert shared.history(ns, "/policy.md") == []
    assert shared.search(ns) == []
    assert shared.list_keys(ns) == []
    assert shared.glob(ns, "**") == []
    assert shared.grep(ns, "kind").matches == ()
    assert shared.list_namespaces(prefix=ns) == []
    assert shared.changes(namespace=ns) == []
    assert shared.stats().items == before.items
    assert shared.get_proposal(waiting.id) == waiting
    assert shared.proposals(ns) == [waiting]
    assert waiting.namespaces == (ns,)


def test_what_lands_is_the_proposers_and_names_the_reviewer(shared: MemoryStore, ns: Namespace) -> None:
    waiting = propose(shared, Write(ns, "/policy.md", "Be kind."))
    result = shared.accept_proposal(waiting.id, author=ANN, note="good")
    assert [(done.key, done.revision, done.operation, done.merged) for done in result.revisions] == [
        ("/policy.md", 1, "write", False)
    ]
    assert text(shared, ns, "/policy.md") == "Be kind."
    (revision,) = shared.history(ns, "/policy.md")
    assert revision.author == AGENT
    assert revision.origin == {"proposal": waiting.id, "accepted_by": "user:ann"}
    assert revision.position == 1
    decided = shared.get_proposal(waiting.id)
    assert (decided.status, decided.decided_by, decided.note) == ("accepted", "user:ann", "good")
    assert decided.decided_at is not None and decided.decided_at >= waiting.created_at
    assert shared.proposals(ns) == []
    assert shared.proposals(ns, status="accepted") == [decided]
    assert shared.verify(ns).ok
    (change,) = shared.changes(namespace=ns)
    assert change.author.actor == "agent:helper" and change.origin["proposal"] == waiting.id


def test_a_rejected_one_never_lands(shared: MemoryStore, ns: Namespace) -> None:
    waiting = propose(shared, Write(ns, "/policy.md", "Be rude."))
    with acting_as(ANN):
        rejected = shared.reject_proposal(waiting.id, note="no")
    assert (rejected.status, rejected.decided_by, rejected.note) == ("rejected", "user:ann", "no")
    assert shared.get_proposal(waiting.id) == rejected
    assert shared.get(ns, "/policy.md") is None
    for again in (
        lambda: shared.accept_proposal(waiting.id, author=Author("user:bob")),
        lambda: shared.reject_proposal(waiting.id),
        lambda: shared.proposal_diff(waiting.id),
    ):
        with pytest.raises(ProposalDecidedError, match="rejected already by user:ann"):
            again()
    assert shared.get_proposal(waiting.id) == rejected


def test_every_kind_of_change_lands(shared: MemoryStore, ns: Namespace) -> None:
    for key in ("/edit.md", "/delete.md", "/move.md", "/restore.md", "/folder/a.md", "/folder/b.md"):
        shared.write(ns, key, f"text of {key}")
    shared.append(ns, "/append.md", "one")
    shared.write(ns, "/restore.md", "worse")
    shared.put(ns, "profile", {"name": "Ann", "drinks": {"tea": True}})
    picture = bytes(range(256))
    document = {"name": "Ann", "drinks": {"tea": False}, "age": 0.1, "big": 2**53 + 1}
    other = (*ns, "archive")
    waiting = propose(
        shared,
        Write(ns, "/new.md", "new\0text ä\n"),
        Write(ns, "/picture.png", picture),
        Write(ns, "profile", document),
        Write(ns, "/passing.md", "soon gone", ttl=60),
        Edit(ns, "/edit.md", "text", "TEXT"),
        Append(ns, "/append.md", "two"),
        Delete(ns, "/delete.md"),
        Delete(ns, "/never.md"),
        Move(ns, "/move.md", "/moved.md", to_namespace=other),
        Move(ns, "/folder", "/sub/folder"),
        Restore(ns, "/restore.md", 1),
    )
    assert shared.get_proposal(waiting.id) == waiting
    assert waiting.namespaces == (ns, other)
    assert shared.proposals(other) == [waiting]
    shared.accept_proposal(waiting.id, author=ANN)
    assert text(shared, ns, "/new.md") == "new\0text ä\n"
    assert shared.get(ns, "/picture.png").value["encoding"] == "base64"
    assert shared.get(ns, "profile").value == document
    assert text(shared, ns, "/edit.md") == "TEXT of /edit.md"
    assert text(shared, ns, "/append.md") == "one\ntwo"
    assert text(shared, ns, "/delete.md") is None
    assert text(shared, other, "/moved.md") == "text of /move.md"
    assert text(shared, ns, "/sub/folder/b.md") == "text of /folder/b.md"
    assert text(shared, ns, "/restore.md") == "text of /restore.md"
    assert shared.verify(ns).ok
    (moved,) = shared.history(other, "/moved.md")
    assert moved.origin["proposal"] == waiting.id and moved.origin["from"]["key"] == "/move.md"
    assert len(shared.history(other, "/moved.md", follow=True)) == 2
    assert [line.revision.operation for line in shared.blame(other, "/moved.md")] == ["write"]


def test_what_others_wrote_is_merged(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one\ntwo\nthree\n")
    waiting = propose(shared, Write(ns, "/a.md", "ONE\ntwo\nthree\n"))
    shared.edit(ns, "/a.md", "three", "THREE", author=Author("user:bob"))
    diff = shared.proposal_diff(waiting.id)
    assert "-one\n" in diff and "+ONE\n" in diff and "-three" not in diff
    assert f"+++ /a.md (proposal {waiting.id})" in diff and "--- /a.md (revision 2)" in diff
    (landed,) = shared.accept_proposal(waiting.id).revisions
    assert landed.merged and landed.revision == 3
    assert text(shared, ns, "/a.md") == "ONE\ntwo\nTHREE\n"
    assert shared.history(ns, "/a.md")[0].origin == {"proposal": waiting.id, "merged_from": 1}


def test_a_conflict_leaves_it_pending_and_shows_the_text(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one\n")
    waiting = propose(shared, Write(ns, "/b.md", "also"), Write(ns, "/a.md", "uno\n"))
    shared.write(ns, "/a.md", "eins\n")
    digest = shared.verify(ns).namespaces
    for deciding in (lambda: shared.accept_proposal(waiting.id, author=ANN), lambda: shared.proposal_diff(waiting.id)):
        with pytest.raises(ConflictError, match="stays pending") as caught:
            deciding()
        (conflict,) = caught.value.conflicts
        assert (conflict.index, conflict.key, conflict.reason, conflict.revision) == (1, "/a.md", "overlap", 2)
        assert (conflict.base, conflict.theirs, conflict.yours) == ("one\n", "eins\n", "uno\n")
    assert shared.verify(ns).namespaces == digest
    assert shared.get(ns, "/b.md") is None
    assert shared.get_proposal(waiting.id) == waiting
    # The way out that the error names.
    shared.accept_proposal(waiting.id, author=ANN, changes=[Write(ns, "/a.md", "eins, uno\n", base=2)])
    revision = shared.history(ns, "/a.md")[0]
    assert revision.author == Author("user:ann", "thread-1", "run-1", "call-1", "reviewed")
    assert revision.origin == {"proposal": waiting.id, "accepted_by": "user:ann", "proposed_by": "agent:helper"}
    assert shared.get(ns, "/b.md") is None


@pytest.mark.parametrize(
    ("change", "meanwhile"),
    [
        (lambda ns: Write(ns, "/a.md", "x"), lambda s, ns: s.delete(ns, "/a.md")),
        (lambda ns: Write(ns, "/a.md", "x"), lambda s, ns: s.move(ns, "/a.md", "/elsewhere.md")),
        (lambda ns: Write(ns, "/a.md", "x", merge=False), lambda s, ns: s.append(ns, "/a.md", "more")),
        (lambda ns: Write(ns, "/new.md", "x"), lambda s, ns: s.write(ns, "/new.md", "theirs")),
        (lambda ns: Edit(ns, "/a.md", "text", "x"), lambda s, ns: s.edit(ns, "/a.md", "text", "other")),
        (lambda ns: Edit(ns, "/a.md", "text", "x"), lambda s, ns: s.edit(ns, "/a.md", "text", "text text")),
        (lambda ns: Edit(ns, "/a.md", "text", "x"), lambda s, ns: s.delete(ns, "/a.md")),
        (lambda ns: Edit(ns, "/a.md", "text", "x", base=1), lambda s, ns: s.append(ns, "/a.md", "more")),
        (lambda ns: Append(ns, "/a.md", "x"), lambda s, ns: s.delete(ns, "/a.md")),
        (lambda ns: Delete(ns, "/a.md"), lambda s, ns: s.append(ns, "/a.md", "more")),
        (lambda ns: Delete(ns, "/new.md"), lambda s, ns: s.write(ns, "/new.md", "theirs")),
        (lambda ns: Move(ns, "/a.md", "/c.md"), lambda s, ns: s.delete(ns, "/a.md")),
        (lambda ns: Move(ns, "/a.md", "/c.md"), lambda s, ns: s.write(ns, "/c.md", "theirs")),
        (lambda ns: Move(ns, "/a.md", "/b.md", overwrite=True), lambda s, ns: s.append(ns, "/b.md", "more")),
        (lambda ns: Move(ns, "/a.md", "/c.md", overwrite=True), lambda s, ns: s.write(ns, "/c.md", "theirs")),
        (lambda ns: Restore(ns, "/b.md", 1), lambda s, ns: s.append(ns, "/b.md", "more")),
    ],
)
def test_nothing_of_others_is_overwritten(
    shared: MemoryStore, ns: Namespace, change: Callable[..., Change], meanwhile: Callable[..., object]
) -> None:
    shared.write(ns, "/a.md", "text")
    shared.write(ns, "/b.md", "text")
    shared.write(ns, "/b.md", "other text")
    waiting = propose(shared, change(ns))
    meanwhile(shared, ns)
    state = shared.verify(ns).namespaces
    with pytest.raises(ConflictError) as caught:
        shared.accept_proposal(waiting.id)
    with pytest.raises(ConflictError):
        shared.proposal_diff(waiting.id)
    (conflict,) = caught.value.conflicts
    assert conflict.theirs == text(shared, ns, conflict.key)
    assert "stays pending" in conflict.remedy
    assert shared.verify(ns).namespaces == state
    assert shared.proposals(ns) == [waiting]


def test_changes_of_one_item_follow_each_other(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one\n")
    changes = (
        Write(ns, "/a.md", "two\n"),
        Write(ns, "/a.md", "three\n"),
        Move(ns, "/a.md", "/dir/a.md"),
        Write(ns, "/dir/a.md", "four\n"),
        Move(ns, "/dir", "/other"),
        Write(ns, "/other/a.md", "five\n"),
        Delete(ns, "/other/a.md"),
        Write(ns, "/other/a.md", "six\n"),
    )
    waiting = propose(shared, *changes)
    assert [getattr(change, "base", None) for change in waiting.changes] == [1] + [None] * 7
    assert "+six" in shared.proposal_diff(waiting.id)
    shared.accept_proposal(waiting.id)
    assert text(shared, ns, "/other/a.md") == "six\n"
    assert text(shared, ns, "/a.md") is None
    # Of those that follow none hides what somebody else wrote meanwhile.
    following = propose(shared, Edit(ns, "/other/a.md", "six", "seven"), Write(ns, "/other/a.md", "eight\n"))
    shared.append(ns, "/other/a.md", "theirs")
    with pytest.raises(ConflictError, match="changed since this was proposed"):
        shared.accept_proposal(following.id)


def test_an_item_that_took_the_place_of_an_expired_one_is_another(
    clocked: Callable[..., MemoryStore], clock: Clock, ns: Namespace
) -> None:
    store = clocked()
    store.write(ns, "/a.md", "one\ntwo\nthree\n", ttl=1)
    changes = [
        Write(ns, "/a.md", "ONE\ntwo\nthree\n"),
        Delete(ns, "/a.md"),
        Edit(ns, "/a.md", "two", "2", base=1),
        Restore(ns, "/a.md", 1),
    ]
    waiting = [propose(store, change) for change in changes]
    clock.forward(61)
    for proposal in waiting[:1] + waiting[2:]:
        with pytest.raises(ConflictError):
            store.accept_proposal(proposal.id)
    store.write(ns, "/a.md", "one\ntwo\ndrei\n")
    for proposal in waiting:
        with pytest.raises(ConflictError):
            store.accept_proposal(proposal.id)
    assert text(store, ns, "/a.md") == "one\ntwo\ndrei\n"


def test_the_diff_is_against_the_current_state(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/gone.md", "bye\n")
    shared.write(ns, "/raw.bin", b"\xff\x00")
    other = (*ns, "other")
    waiting = propose(
        shared,
        Write(other, "/new.md", "hello\n"),
        Delete(ns, "/gone.md"),
        Write(ns, "/raw.bin", b"\xff\x01"),
    )
    state = shared.verify(ns).namespaces
    diff = shared.proposal_diff(waiting.id)
    place = "/".join(ns)
    assert f"--- {place}:/gone.md (revision 1)" in diff and "-bye\n" in diff
    assert f"Binary {place}:/raw.bin (revision 1) and" in diff
    assert f"--- {place}/other:/new.md (revision 0)" in diff and "+hello\n" in diff
    # Looking makes nothing, not even a namespace.
    assert shared.verify(ns).namespaces == state
    same = propose(shared, Write(ns, "/gone.md", "bye\n"))
    assert shared.proposal_diff(same.id) == ""


def test_cursors_move_at_once(shared: MemoryStore, ns: Namespace) -> None:
    change = Write(ns, "/profile.md", "x")
    waiting = shared.propose(ChangeSet([change], AGENT, [CursorMove("reader", ns, 0, 5)]))
    with pytest.raises(ConflictError, match="stands at 5"):
        shared.propose(ChangeSet([change], AGENT, [CursorMove("reader", ns, 0, 6)]))
    assert shared.proposals(ns) == [waiting]
    shared.reject_proposal(waiting.id)
    shared.commit(ChangeSet(advance=[CursorMove("reader", ns, 5, 6)]))


def test_listing(shared: MemoryStore, ns: Namespace) -> None:
    first, second, third = (propose(shared, Write(ns, f"/{name}.md", name)) for name in "abc")
    elsewhere = propose(shared, Write((*ns, "below"), "/a.md", "x"))
    assert shared.proposals(ns) == [first, second, third]
    assert shared.proposals(ns, limit=2) == [first, second]
    assert shared.proposals(ns, limit=0) == []
    shared.accept_proposal(second.id)
    shared.reject_proposal(third.id)
    assert [entry.id for entry in shared.proposals(ns)] == [first.id]
    assert [entry.id for entry in shared.proposals(ns, status=None)] == [first.id, second.id, third.id]
    assert [entry.id for entry in shared.proposals(ns, status="rejected")] == [third.id]
    everywhere = [entry.id for entry in shared.proposals()]
    assert first.id in everywhere and elsewhere.id in everywhere and second.id not in everywhere
    assert {first.id, second.id} <= {entry.id for entry in shared.proposals(status=None)}
    with pytest.raises(InvalidChangeError, match="no status"):
        shared.proposals(status="open")


def test_a_tenant_sees_its_own_only(clocked: Callable[..., MemoryStore], shared: MemoryStore, ns: Namespace) -> None:
    mine = clocked()
    waiting = propose(mine, Write(ns, "/a.md", "mine"))
    assert shared.proposals(ns) == []
    assert waiting.id not in [entry.id for entry in shared.proposals(status=None)]
    for call in (shared.get_proposal, shared.proposal_diff, shared.accept_proposal, shared.reject_proposal):
        with pytest.raises(ProposalNotFoundError):
            call(waiting.id)
    assert mine.get_proposal(waiting.id) == waiting


@pytest.mark.parametrize("id", ["p-000000", "", "p-\0", "\ud800", "p-' OR 1=1 --", "P-7F3K2M"])
def test_an_unknown_id(shared: MemoryStore, id: str) -> None:
    with pytest.raises(ProposalNotFoundError):
        shared.get_proposal(id)
    with pytest.raises(ProposalNotFoundError):
        shared.accept_proposal(id)


def test_nonsense_is_refused_when_it_is_proposed(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "x")
    for changes in ([], [Write(ns, "/a.md", "y", base=7)], [Write(ns, "/a.md", "y", base=-1)], ["nothing"]):
        with pytest.raises(InvalidChangeError):
            shared.propose(ChangeSet(changes))  # type: ignore[arg-type]
    for words in ({"reason": "a\0b"}, {"source": 7}):
        with pytest.raises(InvalidChangeError, match="plain text"):
            shared.propose(ChangeSet([Write(ns, "/a.md", "y")]), **words)  # type: ignore[arg-type]
    waiting = propose(shared, Write(ns, "/a.md", "y"))
    with pytest.raises(InvalidChangeError):
        shared.accept_proposal(waiting.id, changes=[])
    with pytest.raises(InvalidChangeError):
        shared.reject_proposal(waiting.id, note="a\0b")
    assert shared.proposals(ns) == [waiting]


async def test_from_an_event_loop(store: MemoryStore) -> None:
    ns = fresh()
    waiting = await store.apropose(ChangeSet([Write(ns, "/a.md", "x")], AGENT))
    assert await store.aproposals(ns) == [waiting]
    assert await store.aget_proposal(waiting.id) == waiting
    assert "+x" in await store.aproposal_diff(waiting.id)
    await store.aaccept_proposal(waiting.id, author=ANN)
    with pytest.raises(ProposalDecidedError, match="accepted already by user:ann"):
        await store.areject_proposal(waiting.id)


def test_changes_as_json_keep_every_field(ns: Namespace) -> None:
    moved = change_to_json(Move(ns, "/a", "/b", ("other",), overwrite=True))
    assert moved == {
        "type": "move",
        "namespace": list(ns),
        "key": "/a",
        "to": "/b",
        "to_namespace": ["other"],
        "overwrite": True,
    }
    assert change_to_json(Write(ns, "/a", b"\xff"))["base64"] == "/w=="


def test_a_large_one(shared: MemoryStore, ns: Namespace) -> None:
    content = "line\n" * 400_000
    waiting = propose(shared, Write(ns, "/big.md", content))
    shared.accept_proposal(waiting.id)
    assert text(shared, ns, "/big.md") == content
