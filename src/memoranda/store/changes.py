"""What can be changed, by whom, and what came of it: the vocabulary of `MemoryStore.commit`."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from memoranda.errors import InvalidChangeError, ItemExistsError, ItemNotFoundError, MemorandaError

Namespace: TypeAlias = tuple[str, ...]
Value: TypeAlias = "str | bytes | Mapping[str, Any]"
ConflictReason: TypeAlias = Literal[
    "overlap",
    "text_not_found",
    "text_not_unique",
    "not_editable",
    "missing",
    "occupied",
    "exists",
    "deleted",
    "changed",
    "cursor",
]


@dataclass(frozen=True, slots=True)
class Author:
    """Who makes a change, where, and why; kept with every revision.

    Args:
        actor: Who acts, for example `user:ann` or `agent:researcher`.
        thread_id: The conversation it happened in.
        run_id: The run of the agent or consolidator.
        tool_call_id: The tool call that asked for it.
        reason: Why, in words.

    Example:
        >>> Author("user:ann", reason="asked to remember").actor
        'user:ann'
    """

    actor: str | None = None
    thread_id: str | None = None
    run_id: str | None = None
    tool_call_id: str | None = None
    reason: str | None = None


def no_author(author: object) -> InvalidChangeError:
    """The error for an author that is none."""
    remedy = f"Pass Author({author!r})." if isinstance(author, str) else "Pass an Author."
    return InvalidChangeError(f"{author!r} is no Author.", remedy)


_NOBODY = Author()
_author: ContextVar[Author] = ContextVar("memoranda_author", default=_NOBODY)


def current_author() -> Author:
    """The author of changes that name none: the innermost `acting_as`, or nobody."""
    return _author.get()


@contextmanager
def acting_as(author: Author) -> Generator[Author]:
    """Sign every change made inside the block, plain `put` and `delete` of foreign code included.

    Fields that the author leaves out are taken from the block around.

    Example:
        >>> with acting_as(Author("user:ann")), acting_as(Author(reason="clean-up")) as author:
        ...     author
        Author(actor='user:ann', thread_id=None, run_id=None, tool_call_id=None, reason='clean-up')
    """
    if not isinstance(author, Author):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are untyped too
        raise no_author(author)
    outer = _author.get()
    merged = Author(
        author.actor or outer.actor,
        author.thread_id or outer.thread_id,
        author.run_id or outer.run_id,
        author.tool_call_id or outer.tool_call_id,
        author.reason or outer.reason,
    )
    token = _author.set(merged)
    try:
        yield merged
    finally:
        _author.reset(token)


@dataclass(frozen=True, slots=True)
class Write:
    """Set the whole value of an item.

    Args:
        namespace: Where it lives.
        key: Its key; one that starts with a slash is a path and is made canonical.
        value: Text or bytes for a file, or any JSON object.
        base: The revision this value was made from; 0 says "it did not exist". An older base is merged with what
            happened since, or refused. None overwrites; the old value stays in the history.
        ttl: Minutes until the item expires; None: never.
        merge: Whether an older base may be merged; False refuses it, for a value that must land as it is.
        index: Which fields to index for search, as LangGraph writes them (`"content"`, `"a.b"`, `"$"`); False: none;
            None: those that the store indexes; True: as the item was indexed before, or as with None.
    """

    namespace: Namespace
    key: str
    value: Value
    base: int | None = None
    ttl: float | None = None
    merge: bool = True
    index: Sequence[str] | bool | None = True


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace text in an item, in whatever state it is by then.

    Args:
        namespace: Where it lives.
        key: Its key.
        old: The text to replace; it must occur exactly once unless `replace_all`.
        new: The text to put there.
        replace_all: Replace every occurrence.
        base: Refuse if the item has changed since this revision.
    """

    namespace: Namespace
    key: str
    old: str
    new: str
    replace_all: bool = False
    base: int | None = None


@dataclass(frozen=True, slots=True)
class Append:
    """Add text at the end of a file, on a new line; a missing file is created.

    Args:
        namespace: Where it lives.
        key: Its key.
        text: What to add, as it stands.
        base: Refuse if the item has changed since this revision; 0 says "it did not exist".
    """

    namespace: Namespace
    key: str
    text: str
    base: int | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete an item; its history stays.

    Args:
        namespace: Where it lives.
        key: Its key.
        base: Refuse if the item has changed since this revision.
        missing_ok: Whether it is fine that there is nothing to delete.
    """

    namespace: Namespace
    key: str
    base: int | None = None
    missing_ok: bool = True


@dataclass(frozen=True, slots=True)
class Move:
    """Give an item another key, or another namespace; the history of the old place stays there and is linked.

    Args:
        namespace: Where it lives.
        key: Its key.
        to: The new key.
        to_namespace: The new namespace; None: the same.
        overwrite: Whether an item that is there already may be replaced.
    """

    namespace: Namespace
    key: str
    to: str
    to_namespace: Namespace | None = None
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class Restore:
    """Bring back the value of an earlier revision, as a new revision."""

    namespace: Namespace
    key: str
    revision: int


Change: TypeAlias = Write | Edit | Append | Delete | Move | Restore


@dataclass(frozen=True, slots=True)
class CursorMove:
    """Move a consumer's cursor in the same transaction, if it still stands where it is expected to.

    Args:
        consumer: Who reads, for example `consolidation`.
        scope: The namespace that is read.
        expect: Where the cursor must stand now; 0 for one that never moved.
        to: Where it stands afterwards.
        lease: The lease under which it is moved; refused if another holds it.
    """

    consumer: str
    scope: Namespace
    expect: int
    to: int
    lease: str | None = None


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """Changes that land together or not at all.

    Args:
        changes: In the order in which they apply.
        author: Who makes them; None takes `acting_as`.
        advance: Cursors that move with them.

    Example:
        >>> changes = ChangeSet([Write(("ann",), "/notes.md", "tea"), Delete(("ann",), "/old.md")])
        >>> len(changes.changes)
        2
    """

    changes: Sequence[Change] = ()
    author: Author | None = None
    advance: Sequence[CursorMove] = ()


@dataclass(frozen=True, slots=True)
class Committed:
    """One change that landed.

    Args:
        namespace: Where.
        key: The key as it is stored.
        revision: The revision it made; 0 where there was nothing to do.
        operation: `write`, `edit`, `append`, `delete`, `move` or `restore`.
        merged: Whether it was merged with changes made since its base.
        occurrences: How many places an edit replaced.
    """

    namespace: Namespace
    key: str
    revision: int
    operation: str
    merged: bool = False
    occurrences: int = 0


@dataclass(frozen=True, slots=True)
class Conflict:
    """One change that could not land, with all it takes to try again.

    Args:
        index: Which change of the set, from 0.
        namespace: Where.
        key: The key as it is stored.
        reason: What stood in the way.
        cause: The same in a sentence.
        remedy: What to do about it.
        revision: The item's revision now; 0: it does not exist.
        theirs: The text as it is now.
        base: The text of the base revision, where one was given.
        yours: The text that was to be written.
    """

    index: int
    namespace: Namespace
    key: str
    reason: ConflictReason
    cause: str
    remedy: str = ""
    revision: int = 0
    theirs: str | None = None
    base: str | None = None
    yours: str | None = None

    @property
    def message(self) -> str:
        """Both sentences, for a person or a model."""
        return f"{self.cause} {self.remedy}".strip()


class ConflictError(MemorandaError):
    """A change set was refused as a whole because of what others wrote meanwhile; nothing of it landed.

    Args:
        conflicts: What stood in the way, a `Conflict` for each change concerned.
    """

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        super().__init__(
            " ".join(conflict.cause for conflict in conflicts),
            " ".join(dict.fromkeys(conflict.remedy for conflict in conflicts)),
        )
        self.conflicts = tuple(conflicts)

    def __reduce__(self) -> tuple[type[ConflictError], tuple[tuple[Conflict, ...]]]:
        return type(self), (self.conflicts,)


@dataclass(frozen=True, slots=True)
class CommitResult:
    """What came of a change set: either every change landed, or none did and `conflicts` says why.

    Args:
        revisions: What landed, in order; a change of a whole folder gives one for each file.
        conflicts: What stood in the way.
    """

    revisions: tuple[Committed, ...] = ()
    conflicts: tuple[Conflict, ...] = field(default=())

    @property
    def is_lasting(self) -> bool:
        """Whether something stood in the way that is no matter of time: a file that holds no text to change."""
        return any(conflict.reason == "not_editable" for conflict in self.conflicts)

    def raise_for_conflicts(self) -> CommitResult:
        """Return this result if it landed.

        Raises:
            ItemNotFoundError: The only conflict is that an item is missing.
            ItemExistsError: The only conflict is that the target of a move exists.
            ConflictError: Anything else stood in the way.
        """
        if not self.conflicts:
            return self
        if len(self.conflicts) == 1:
            (conflict,) = self.conflicts
            if conflict.reason == "missing":
                raise ItemNotFoundError(conflict.cause, conflict.remedy)
            if conflict.reason == "occupied":
                raise ItemExistsError(conflict.cause, conflict.remedy)
        raise ConflictError(self.conflicts)
