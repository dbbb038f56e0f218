"""Writing what a file of a store holds already: no new revision, and nothing to merge or to refuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from langgraph.store.base import Item

from memoranda.backends.steps import Steps, ask
from memoranda.files.format import file_bytes, is_file_value
from memoranda.store.changes import Author, Change, ChangeSet, CommitResult, Committed, Conflict, Move, Write
from memoranda.store.store import MemoryStore


class Applied(NamedTuple):
    """What came of changes.

    Args:
        result: As the store would say it; a write of what was there already counts as landed at that revision.
        unchanged: Which changes changed nothing.
    """

    result: CommitResult
    unchanged: frozenset[int] = frozenset()


def holds(item: Item, content: str | bytes) -> bool:
    """Whether an item is a file with just this content."""
    if not is_file_value(item.value):
        return False  # a document, or put by hand without the marks of a file: writing makes it one
    return file_bytes(item.value) == (content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)


def apply_unless_there(store: MemoryStore, changes: Sequence[Change], author: Author) -> Steps[Applied]:
    """Apply changes in one commit, leaving out writes of what is there already.

    Where every base is the current state, that is one call. Only what somebody changed since is compared, before it
    is merged: two threads that write the same thing make one revision.

    Args:
        store: The store.
        changes: Changes that each make one revision.
        author: Who makes them.
    """
    exact = _exactly(changes)
    result = yield from ask(store.commit, ChangeSet(exact, author), on_conflict="return")
    stale = [one for one in result.conflicts if one.reason == "changed" and exact[one.index] is not changes[one.index]]
    if not stale:
        return Applied(result)
    there: dict[int, Conflict] = {}
    for conflict in stale:
        if (yield from _is_there(store, conflict, changes[conflict.index])):
            there[conflict.index] = conflict
    rest = [index for index in range(len(changes)) if index not in there]
    merging = ChangeSet([changes[index] for index in rest], author)
    result = yield from ask(store.commit, merging, on_conflict="return")
    if result.conflicts:
        conflicts = tuple(replace(one, index=rest[one.index]) if one.index >= 0 else one for one in result.conflicts)
        return Applied(CommitResult(conflicts=conflicts))
    landed = dict(zip(rest, result.revisions, strict=True))
    for index, conflict in there.items():
        landed[index] = Committed(conflict.namespace, conflict.key, conflict.revision, "write")
    return Applied(CommitResult(tuple(landed[index] for index in sorted(landed))), frozenset(there))


def _exactly(changes: Sequence[Change]) -> list[Change]:
    """The changes, with writes that might be merged refused at first where their base is past."""
    keys = Counter(key for one in changes for key in ([one.key, one.to] if isinstance(one, Move) else [one.key]))
    return [
        # Of several changes to one file each builds on the one before, so none of them can be left out.
        replace(one, merge=False)
        if isinstance(one, Write) and one.merge and one.base is not None and keys[one.key] == 1
        else one
        for one in changes
    ]


def _is_there(store: MemoryStore, conflict: Conflict, change: Change) -> Steps[bool]:
    assert isinstance(change, Write)
    if conflict.theirs is not None or conflict.yours is not None:
        return conflict.theirs == conflict.yours
    item = yield from ask(store.get, change.namespace, change.key)  # both are binary, which no conflict shows
    content = change.value
    return item is not None and isinstance(content, (str, bytes)) and holds(item, content)
