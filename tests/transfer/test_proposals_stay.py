"""What was accepted travels in bundles with its origin; proposals stay behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memoranda import Author, ChangeSet, MemoryStore, Write
from memoranda.transfer import export_bundle, import_bundle


def test_an_accepted_change_is_the_same_elsewhere(
    store: MemoryStore, other_store_url: str, open_here: Callable[..., MemoryStore], tmp_path: Path
) -> None:
    accepted = store.propose(ChangeSet([Write(("ann",), "/a.md", "x")], Author("agent")))
    store.accept_proposal(accepted.id, author=Author("user:ann"))
    store.propose(ChangeSet([Write(("ann",), "/a.md", "y"), Write(("bob",), "/b.md", "y")], Author("agent")))
    bundle = tmp_path / "all.mbundle"
    export_bundle(store, bundle)
    other = open_here(other_store_url)
    import_bundle(other, bundle)
    assert other.verify() == store.verify()
    (revision,) = other.history(("ann",), "/a.md")
    assert revision.origin == {"proposal": accepted.id, "accepted_by": "user:ann"}
    assert other.proposals(status=None) == []
    assert other.list_namespaces() == [("ann",)]
