"""A reviewer's own changes stay with what was proposed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memoranda import Append, Author, ChangeSet, Delete, Edit, MemoryStore, Move, Restore, Write
from memoranda.errors import InvalidChangeError
from memoranda.store.changes import Change
from tests.store.conftest import Namespace
from tests.store.test_proposals import text

AGENT, ANN = Author("agent:helper"), Author("user:ann")


@pytest.mark.parametrize(
    "elsewhere",
    [
        lambda ns, other: Write(other, "/other.md", "EVIL"),
        lambda ns, other: Write(other, "/a.md", "EVIL"),
        lambda ns, other: Write(ns, "/other.md", "EVIL"),
        lambda ns, other: Write(ns, "/a.md/below.md", "EVIL"),
        lambda ns, other: Write((*ns, "deeper"), "/a.md", "EVIL"),
        lambda ns, other: Edit(ns, "/other.md", "one", "EVIL"),
        lambda ns, other: Append(ns, "/other.md", "EVIL"),
        lambda ns, other: Delete(ns, "/other.md"),
        lambda ns, other: Restore(ns, "/other.md", 1),
        lambda ns, other: Move(ns, "/other.md", "/a.md", overwrite=True),
        lambda ns, other: Move(ns, "/a.md", "/new.md"),
        lambda ns, other: Move(ns, "/a.md", "/a.md", to_namespace=other),
        lambda ns, other: Move(ns, "/folder", "/b.md"),
    ],
    ids=lambda change: str(change(("ns",), ("other",))),
)
def test_nothing_else_is_changed(
    shared: MemoryStore, ns: Namespace, elsewhere: Callable[[Namespace, Namespace], Change]
) -> None:
    other = (*ns[:-1], f"{ns[-1]}-other")
    for key in ("/a.md", "/other.md", "/folder/x.md"):
        shared.write(ns, key, "one")
    shared.write(ns, "/other.md", "two one")
    changes = [Write(ns, "/a.md", "proposed"), Write(ns, "/folder", "proposed"), Write(ns, "/b.md", "proposed")]
    waiting = shared.propose(ChangeSet(changes, AGENT))
    before = shared.verify(ns).namespaces
    with pytest.raises(InvalidChangeError, match=r"is not about .*commit whatever else"):
        shared.accept_proposal(waiting.id, author=ANN, changes=[Write(ns, "/a.md", "fine"), elsewhere(ns, other)])
    assert shared.verify(ns).namespaces == before
    assert shared.list_keys(other) == []
    assert shared.get_proposal(waiting.id) == waiting
    assert len(shared.accept_proposal(waiting.id, author=ANN).revisions) == 3


def test_its_own_items_may_be_changed_in_any_way(shared: MemoryStore, ns: Namespace) -> None:
    other = (*ns[:-1], f"{ns[-1]}-other")
    for key in ("/a.md", "/b.md", "/folder/x.md", "/folder/deep/y.md"):
        shared.write(ns, key, "one")
    proposed = [
        Write(ns, "/new.md", "new"),
        Delete(ns, "/a.md"),
        Move(ns, "/b.md", "/b.md", to_namespace=other),
        Move(ns, "/folder", "/moved"),
    ]
    waiting = shared.propose(ChangeSet(proposed, AGENT))
    own = [
        Move(ns, "/a.md", "/new.md"),
        Append(ns, "//new.md", "and more"),
        Write(other, "/b.md", "of the reviewer"),
        Move(ns, "/folder/deep", "/moved/deep"),
        Write(ns, "/moved/note.md", "why"),
    ]
    shared.accept_proposal(waiting.id, author=ANN, changes=own)
    assert text(shared, ns, "/new.md") == "one\nand more"
    assert text(shared, other, "/b.md") == "of the reviewer"
    assert text(shared, ns, "/moved/deep/y.md") == "one"
    assert text(shared, ns, "/moved/note.md") == "why"
