"""Changes that must land on exactly the state they were made from, or not at all."""

from __future__ import annotations

import pytest

from memoranda import Append, ChangeSet, ConflictError, Delete, Edit, MemoryStore, Write
from memoranda.errors import InvalidChangeError
from memoranda.store.changes import Change

ANN = ("ann",)


def _refused(store: MemoryStore, change: Change) -> str:
    with pytest.raises(ConflictError) as caught:
        store.commit(ChangeSet([change]))
    (conflict,) = caught.value.conflicts
    assert conflict.reason == "changed"
    return conflict.cause


@pytest.fixture
def at_two(store: MemoryStore) -> MemoryStore:
    store.write(ANN, "/tea.md", "one\ntwo\nthree\n")
    store.write(ANN, "/tea.md", "one\ntwo\nTHREE\n")
    return store


def test_a_write_that_may_not_be_merged_is_refused(at_two: MemoryStore) -> None:
    stale = Write(ANN, "/tea.md", "ONE\ntwo\nthree\n", base=1, merge=False)
    assert "now at revision 2" in _refused(at_two, stale)
    landed = at_two.commit(ChangeSet([Write(ANN, "/tea.md", "ONE\n", base=2, merge=False)]))
    assert landed.revisions[0].revision == 3


def test_the_same_write_is_merged_by_default(at_two: MemoryStore) -> None:
    at_two.commit(ChangeSet([Write(ANN, "/tea.md", "ONE\ntwo\nthree\n", base=1)]))
    assert at_two.get(ANN, "/tea.md").value["content"] == "ONE\ntwo\nTHREE\n"  # pyright: ignore[reportOptionalMemberAccess]


def test_an_edit_with_a_base(at_two: MemoryStore) -> None:
    assert "since revision 1" in _refused(at_two, Edit(ANN, "/tea.md", "one", "ONE", base=1))
    assert at_two.commit(ChangeSet([Edit(ANN, "/tea.md", "one", "ONE", base=2)])).revisions[0].revision == 3


def test_an_append_with_a_base(at_two: MemoryStore) -> None:
    assert "since revision 0" in _refused(at_two, Append(ANN, "/tea.md", "four", base=0))
    assert "does not exist now" in _refused(at_two, Append(ANN, "/new.md", "four", base=4))
    assert at_two.commit(ChangeSet([Append(ANN, "/tea.md", "four", base=2)])).revisions[0].revision == 3
    assert at_two.commit(ChangeSet([Append(ANN, "/new.md", "four", base=0)])).revisions[0].revision == 1


def test_a_delete_with_a_base(at_two: MemoryStore) -> None:
    assert "before you delete" not in _refused(at_two, Delete(ANN, "/tea.md", base=1))
    assert at_two.commit(ChangeSet([Delete(ANN, "/tea.md", base=2)])).revisions[0].operation == "delete"


@pytest.mark.parametrize("change", [Edit(ANN, "/tea.md", "a", "b", base=True), Append(ANN, "/tea.md", "a", base=-0.5)])  # type: ignore[arg-type]
def test_what_is_no_revision_is_refused(store: MemoryStore, change: Change) -> None:
    with pytest.raises(InvalidChangeError):
        store.commit(ChangeSet([change]))
