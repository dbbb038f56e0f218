"""An item as a whole: its value, its history, and the chain of digests over both."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from memoranda.store.changes import Author
from memoranda.store.keys import folder_of
from memoranda.store.operations.digests import SALT_BYTES, content_digest, first_link, next_link
from memoranda.store.operations.verify import ItemRow, check_item
from memoranda.store.values import Kind, Stored


class WholeRevision(NamedTuple):
    """One row of an item's history, in the order of `full_revisions`."""

    revision: int
    position: int
    operation: str
    at: int
    actor: str | None
    thread_id: str | None
    run_id: str | None
    tool_call_id: str | None
    reason: str | None
    origin: str | None
    size: int
    salt: bytes
    content_digest: bytes
    digest: bytes
    previous_kind: int | None = None
    previous_meta: bytes | None = None
    delta_kind: int | None = None
    delta: bytes | None = None

    @property
    def header(self) -> tuple[Any, ...]:
        """What its digest covers beside the content."""
        return (self.revision, *self[2:11])


@dataclass(frozen=True, slots=True)
class WholeItem:
    """An item with its history, oldest revision first; `stored` is None for a deleted one.

    `index_fields` says which of its fields are indexed, as JSON; None: all.
    """

    labels: str
    key: str
    stored: Stored | None
    created_at: int
    updated_at: int
    expires_at: int | None
    ttl: float | None
    revisions: tuple[WholeRevision, ...] = ()
    index_fields: str | None = None

    @property
    def digest(self) -> bytes:
        """The head of its chain."""
        return self.revisions[-1].digest

    @property
    def weight(self) -> int:
        """Bytes of its content and of all that came before."""
        return self.size + sum(len(entry.delta) for entry in self.revisions if entry.delta is not None)

    @property
    def size(self) -> int:
        """Bytes of its content."""
        return len(self.stored.body) if self.stored is not None else 0

    def problem(self) -> str | None:
        """Rebuild every revision and check the chain; returns what does not hold."""
        if not self.revisions:
            return "it has no history."
        kind, meta, body = self.stored or (Kind.JSON, b"", b"")
        live, head = int(self.stored is not None), self.revisions[-1]
        place, times = (0, self.key, folder_of(self.key)), (self.created_at, self.updated_at, head.digest)
        row = ItemRow(*place, head.revision, kind, live, len(body), *times, meta, body)
        return check_item(self.labels, row, list(self.revisions))

    def placed(self, labels: str, key: str, origins: Callable[[str | None], str | None]) -> WholeItem:
        """The same item under another namespace, key and origins, with its chain made anew."""
        link = first_link(labels, key)
        chain: list[WholeRevision] = []
        for entry in self.revisions:
            moved = entry._replace(origin=origins(entry.origin))
            link = next_link(link, moved.header, moved.content_digest)
            chain.append(moved._replace(digest=link))
        return replace(self, labels=labels, key=key, revisions=tuple(chain))


def first_revision(labels: str, key: str, stored: Stored, at: int, author: Author) -> WholeRevision:
    """The revision of an item that was written once, at a time and place that are known."""
    salt = os.urandom(SALT_BYTES)
    content = content_digest(salt, stored)
    who = (author.actor, author.thread_id, author.run_id, author.tool_call_id, author.reason)
    entry = WholeRevision(1, 1, "write", at, *who, None, len(stored.body), salt, content, b"")
    return entry._replace(digest=next_link(first_link(labels, key), entry.header, content))
