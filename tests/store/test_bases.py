"""A write that says what it was made from is merged or refused, never lost and never losing."""

from __future__ import annotations

import base64

import pytest

from memoranda import ChangeSet, ConflictError, MemoryStore, Write
from memoranda.errors import InvalidChangeError
from tests.store.conftest import Namespace

LINES = "".join(f"line {number}\n" for number in range(20))


def text(store: MemoryStore, ns: Namespace, key: str = "/a.md") -> str:
    return store.get(ns, key).value["content"]


def test_current_base_replaces(shared: MemoryStore, ns: Namespace) -> None:
    assert shared.write(ns, "/a.md", "one", base=0).revision == 1
    done = shared.write(ns, "/a.md", "two", base=1)
    assert (done.revision, done.merged) == (2, False)
    assert text(shared, ns) == "two"


def test_no_base_overwrites_and_the_history_keeps_it(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one")
    shared.write(ns, "/a.md", "two")
    assert text(shared, ns) == "two"
    assert shared.get_at(ns, "/a.md", revision=1).value["content"] == "one"


def test_older_base_elsewhere_is_merged(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", LINES)
    shared.write(ns, "/a.md", LINES.replace("line 3\n", "line THREE\n"), base=1)
    done = shared.write(ns, "/a.md", LINES.replace("line 15\n", "line FIFTEEN\n"), base=1)
    assert (done.revision, done.merged) == (3, True)
    assert text(shared, ns) == LINES.replace("line 3\n", "line THREE\n").replace("line 15\n", "line FIFTEEN\n")
    assert shared.history(ns, "/a.md")[0].origin == {"merged_from": 1}


def test_older_base_in_the_same_place_is_refused(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", LINES)
    theirs = LINES.replace("line 3\n", "line THREE\n")
    yours = LINES.replace("line 3\n", "line three\n")
    shared.write(ns, "/a.md", theirs, base=1)
    with pytest.raises(ConflictError) as caught:
        shared.write(ns, "/a.md", yours, base=1)
    (conflict,) = caught.value.conflicts
    assert conflict.reason == "overlap"
    assert (conflict.base, conflict.theirs, conflict.yours, conflict.revision) == (LINES, theirs, yours, 2)
    assert "revision 2" in conflict.message and "/a.md" in conflict.message
    assert text(shared, ns) == theirs
    assert len(shared.history(ns, "/a.md")) == 2


def test_a_stale_short_file_never_replaces_a_long_one(shared: MemoryStore, ns: Namespace) -> None:
    """A writer that read 333 bytes does not throw away what the others added since."""
    start = "# Memory\n" + "".join(f"- fact number {number:03}\n" for number in range(17))
    start = start.ljust(332, "x") + "\n"
    assert len(start) == 333
    shared.write(ns, "/memory.md", start)
    long = start + "".join(f"- learnt later, number {number:04}\n" for number in range(250))
    long = long.ljust(8_166, "y") + "\n"
    assert len(long) == 8_167
    shared.write(ns, "/memory.md", long, base=1)
    # The same bytes as at revision 1: nothing of their own, so all that the others wrote stays.
    shared.write(ns, "/memory.md", start, base=1)
    assert text(shared, ns, "/memory.md") == long
    # Another text: merged with the long one, or refused with it.
    changed = start.replace("- fact number 003\n", "- fact number three\n")
    shared.write(ns, "/memory.md", changed, base=1)
    assert text(shared, ns, "/memory.md") == long.replace("- fact number 003\n", "- fact number three\n")
    with pytest.raises(ConflictError):
        shared.write(ns, "/memory.md", "something else altogether\n", base=1)
    assert len(text(shared, ns, "/memory.md")) >= 8_167


def test_base_zero_says_it_did_not_exist(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "theirs")
    with pytest.raises(ConflictError) as caught:
        shared.write(ns, "/a.md", "yours", base=0)
    (conflict,) = caught.value.conflicts
    assert (conflict.reason, conflict.theirs, conflict.yours, conflict.base) == ("exists", "theirs", "yours", None)
    # The same text twice is no conflict.
    shared.write(ns, "/a.md", "theirs", base=0)
    assert text(shared, ns) == "theirs"


def test_base_zero_after_a_deletion(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one")
    shared.delete(ns, "/a.md")
    assert shared.write(ns, "/a.md", "again", base=0).revision == 3


def test_base_of_a_deleted_item_is_refused(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one")
    shared.delete(ns, "/a.md")
    for base in (1, 2):
        with pytest.raises(ConflictError) as caught:
            shared.write(ns, "/a.md", "two", base=base)
        (conflict,) = caught.value.conflicts
        assert (conflict.reason, conflict.theirs, conflict.revision) == ("deleted", None, 0)
    assert shared.get(ns, "/a.md") is None


@pytest.mark.parametrize("base", [2, 99, -1])
def test_base_that_never_was_is_refused(shared: MemoryStore, ns: Namespace, base: int) -> None:
    shared.write(ns, "/a.md", "one")
    with pytest.raises(InvalidChangeError):
        shared.write(ns, "/a.md", "two", base=base)
    assert text(shared, ns) == "one"


def test_base_from_before_a_deletion_and_rebirth(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", LINES)
    shared.delete(ns, "/a.md")
    shared.write(ns, "/a.md", LINES.replace("line 3\n", ""))
    done = shared.write(ns, "/a.md", LINES.replace("line 15\n", ""), base=1)
    assert done.merged
    assert text(shared, ns) == LINES.replace("line 3\n", "").replace("line 15\n", "")


def test_a_base_within_one_change_set_is_the_state_before_it(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", LINES)
    mine = LINES.replace("line 3\n", "3\n")
    result = shared.commit(
        ChangeSet([Write(ns, "/a.md", mine, base=1), Write(ns, "/a.md", LINES.replace("line 15\n", "15\n"), base=1)])
    )
    assert [done.merged for done in result.revisions] == [False, True]
    assert text(shared, ns) == mine.replace("line 15\n", "15\n")


def test_json_is_merged_by_field(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "profile", {"name": "Ann", "tea": "green", "age": 30})
    shared.write(ns, "profile", {"name": "Ann", "tea": "black", "age": 30}, base=1)
    done = shared.write(ns, "profile", {"name": "Anna", "tea": "green", "age": 30}, base=1)
    assert done.merged
    assert shared.get(ns, "profile").value == {"name": "Anna", "tea": "black", "age": 30}
    with pytest.raises(ConflictError) as caught:
        shared.write(ns, "profile", {"name": "Ann", "tea": "white", "age": 30}, base=1)
    assert "tea" in caught.value.conflicts[0].message
    assert shared.get(ns, "profile").value == {"name": "Anna", "tea": "black", "age": 30}


def test_binary_and_text_are_not_merged(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.bin", b"\xff\x00\x01")
    shared.write(ns, "/a.bin", b"\xff\x00\x02", base=1)
    with pytest.raises(ConflictError):
        shared.write(ns, "/a.bin", b"\xff\x00\x03", base=1)
    with pytest.raises(ConflictError):
        shared.write(ns, "/a.bin", "text", base=1)
    assert shared.get_at(ns, "/a.bin", revision=2).value == shared.get(ns, "/a.bin").value


def test_the_revision_read_is_the_base_to_pass(shared: MemoryStore, ns: Namespace) -> None:
    shared.put(ns, "/a.md", {"content": "one\n", "encoding": "utf-8"})
    item = shared.get(ns, "/a.md")
    (found,) = shared.search(ns)
    assert item.revision == found.revision == 1
    assert not shared.write(ns, "/a.md", "two\n", base=item.revision).merged


def test_where_one_side_changed_nothing_there_is_no_conflict(store: MemoryStore) -> None:
    store.write(("a",), "/logo.png", b"\x89PNG\xff")
    store.write(("a",), "/logo.png", b"\x89PNG\xff")
    assert store.write(("a",), "/logo.png", b"\x89PNG\xfe", base=1).merged
    assert store.write(("a",), "/logo.png", b"\x89PNG\xff", base=1).merged
    assert store.get(("a",), "/logo.png").value["content"] == base64.b64encode(b"\x89PNG\xfe").decode()
