"""What reading a store gives back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from langgraph.store.base import Item, SearchItem

from memoranda.store.changes import Author, Change, Move, Namespace

ProposalStatus: TypeAlias = Literal["pending", "accepted", "rejected"]


class StoredItem(Item):
    """A LangGraph `Item` that also knows its revision, to be passed as `base` of a later write.

    Attributes:
        revision: 1 for the first state of an item, one more with every change.
    """

    __slots__ = ("revision",)

    def __init__(
        self,
        *,
        value: dict[str, Any],
        key: str,
        namespace: Namespace,
        created_at: datetime,
        updated_at: datetime,
        revision: int,
    ) -> None:
        super().__init__(value=value, key=key, namespace=namespace, created_at=created_at, updated_at=updated_at)
        self.revision = revision


class StoredSearchItem(SearchItem):
    """A LangGraph `SearchItem` that also knows its revision."""

    __slots__ = ("revision",)

    def __init__(
        self,
        *,
        value: dict[str, Any],
        key: str,
        namespace: Namespace,
        created_at: datetime,
        updated_at: datetime,
        revision: int,
        score: float | None = None,
    ) -> None:
        super().__init__(namespace, key, value, created_at, updated_at, score)
        self.revision = revision


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """One file, folder or named item of a listing.

    Args:
        key: Its key; a folder's ends with a slash.
        is_folder: Whether it stands for everything below it.
        size: Bytes of its content; 0 for a folder.
        revision: Its current revision; 0 for a folder.
        created_at: When it was created; None for a folder.
        updated_at: When it was last changed; None for a folder.
    """

    key: str
    is_folder: bool = False
    size: int = 0
    revision: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class GrepMatch:
    """A line that holds the text looked for.

    Args:
        key: Where.
        line: The line's number, from 1.
        text: The whole line, without its end.
    """

    key: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class GrepResult:
    """All matches of a `grep`, by folder and key; `truncated` says that there are more than asked for."""

    matches: tuple[GrepMatch, ...]
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Revision:
    """One entry of an item's history.

    Args:
        namespace: Where.
        key: The item's key at that revision; a move changes it.
        revision: 1, 2, 3 … for each item.
        operation: `write`, `edit`, `append`, `delete`, `move` or `restore`.
        author: Who, in which thread, run and tool call, and why.
        at: When, in UTC.
        size: Bytes of the content that it left.
        digest: The head of the item's digest chain at that revision, in hexadecimal.
        position: The order of the change within its namespace.
        origin: Where the content came from besides the author: `merged_from` and `restored` name a revision,
            `from` and `to` the other end of a move, `proposal` the proposal that it waited as, `accepted_by` who
            accepted that, and `proposed_by` who made it where the reviewer put in changes of their own.
    """

    namespace: Namespace
    key: str
    revision: int
    operation: str
    author: Author
    at: datetime
    size: int
    digest: str
    position: int
    origin: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class FeedChange(Revision):
    """One entry of the audit feed.

    Args:
        token: Pass it as `since` to go on after this change.
    """

    token: str = ""


@dataclass(frozen=True, slots=True)
class BlameLine:
    """A line of an item and the revision that wrote it.

    Args:
        number: From 1.
        text: The line, without its end.
        revision: The revision that wrote its text; ending a line writes none.
    """

    number: int
    text: str
    revision: Revision


@dataclass(frozen=True, slots=True)
class Proposal:
    """Changes that wait for a reviewer, or that one has decided on.

    Args:
        id: Short and typable, such as `p-7f3k2m`; unique within the tenant.
        changes: What it would change, in order, each with the revision that it was made from.
        author: Who proposed it, in which thread, run and tool call, and why.
        created_at: When, in UTC.
        reason: Why it waits instead of landing.
        source: What made it wait, for example `permission` or `hook:secrets`.
        status: `pending`, `accepted` or `rejected`.
        decided_by: The actor who decided.
        decided_at: When.
        note: What the reviewer said.
    """

    id: str
    changes: tuple[Change, ...]
    author: Author
    created_at: datetime
    reason: str | None = None
    source: str | None = None
    status: ProposalStatus = "pending"
    decided_by: str | None = None
    decided_at: datetime | None = None
    note: str | None = None

    @property
    def namespaces(self) -> tuple[Namespace, ...]:
        """Every namespace that it would change, sorted."""
        return tuple(sorted(set(namespaces_of(self.changes))))


def namespaces_of(changes: Iterable[Change]) -> Iterator[Namespace]:
    """The namespaces that changes touch, as often as they do."""
    for change in changes:
        yield tuple(change.namespace)
        if isinstance(change, Move) and change.to_namespace is not None:
            yield tuple(change.to_namespace)


@dataclass(frozen=True, slots=True)
class NamespaceDigest:
    """The state of one namespace in a `Verification`.

    Args:
        namespace: Its labels.
        digest: Its head, in hexadecimal; equal heads mean equal items with equal histories.
        items: Items, deleted ones included.
        revisions: Revisions of all of them.
    """

    namespace: Namespace
    digest: str
    items: int
    revisions: int


@dataclass(frozen=True, slots=True)
class Verification:
    """What `verify` found.

    Args:
        namespaces: Every namespace looked at.
        problems: One sentence for each thing that does not hold; empty when all is well.
    """

    namespaces: tuple[NamespaceDigest, ...]
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class StoreStats:
    """How much a store holds.

    Args:
        namespaces: Namespaces with at least one item, deleted ones included.
        items: Items that are not deleted.
        revisions: Changes recorded.
        engine: `sqlite`, `memory` or `postgres`.
        schema: The number of the last migration applied.
        size: Bytes that the database takes; None where unknown.
    """

    namespaces: int
    items: int
    revisions: int
    engine: str
    schema: int
    size: int | None = None
