"""The rows that a commit works on: loaded under lock, changed in memory, written back in one batch.

Writers of one namespace queue up on its row, so positions are given out in the order in which commits become visible,
and two change sets can only wait for each other in one direction: rows are locked in sorted order.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from memoranda.files.delta import encode_previous
from memoranda.search.tokens import WORDS_VERSION
from memoranda.store.changes import Author, Namespace
from memoranda.store.effects import Batch, Body, Row, Sql
from memoranda.store.keys import folder_of
from memoranda.store.namespaces import decode_namespace
from memoranda.store.operations.context import Context
from memoranda.store.operations.digests import (
    EMPTY,
    SALT_BYTES,
    content_digest,
    first_link,
    next_link,
    replace_in_sum,
)
from memoranda.store.operations.indexing import IndexKind, ScopeIndex
from memoranda.store.operations.item_passages import (
    Indexed,
    fields_of,
    index_item,
    indexed,
    unpack_placed,
)
from memoranda.store.values import Kind, Stored

KEYFRAME_EVERY = 64
"""Every so many revisions the replaced value is kept whole, so that reaching back never applies more deltas."""

NUMBER_BITS = 32
"""An item's id is its namespace's, shifted by so many bits, plus its number there; `search_items` counts on it."""


_TRIES = 10

Prepared = dict[tuple[str, bool, bytes], list[Indexed]]


@dataclass(slots=True)
class Scope:
    """A namespace's row."""

    labels: str
    id: int
    position: int
    items: int
    live: int
    digest: bytes
    loaded_position: int
    loaded_items: int
    loaded_digest: bytes
    turns: int
    loaded_turns: int
    index: ScopeIndex
    turned_at: int | None = None
    """When a turn was recorded, where one is now."""
    changed: bool = False


@dataclass(slots=True)
class ItemState:
    """An item's row as the change set leaves it so far."""

    labels: str
    key: str
    id: int = 0
    revision: int = 0
    stored: Stored | None = None
    created_at: int = 0
    updated_at: int = 0
    expires_at: int | None = None
    ttl: float | None = None
    digest: bytes | None = None
    in_table: bool = False
    changed: bool = False
    loaded: Stored | None = None
    """What the table holds, before this change set."""
    loaded_revision: int = 0
    passages: bytes | None = None
    """Its passages, packed, as the index has them; None: it is not indexed."""
    index_fields: str | None = None
    revisions: list[Sql] = field(default_factory=list[Sql])

    @property
    def text(self) -> str | None:
        """The current text, None where there is none to show."""
        return self.stored.text if self.stored is not None else None


def scope_of(labels: str, row: Row) -> Scope:
    """A namespace as its row says."""
    namespace_id, position, items, live, digest, passages, turns, indexes = row
    wanted = tuple(map(int, indexes.split(","))) if indexes else ()
    index = ScopeIndex(namespace_id, passages, wanted)
    return Scope(labels, namespace_id, position, items, live, digest, position, items, digest, turns, turns, index)


def note_words_version(tenant: str) -> Sql:
    """Note of what form the words of a tenant's index are, where nobody has yet."""
    return Sql("note_index_setting", {"tenant": tenant, "name": "words", "value": WORDS_VERSION})


class Workspace:
    """All rows of one commit.

    Args:
        context: The store's settings.
        author: Who makes the changes.
        origin: What the origin of every revision says besides.
        prepared: The passages of values that may come to be written, by key, whether it is JSON, and body; found
            before the transaction.
    """

    def __init__(
        self,
        context: Context,
        author: Author,
        *,
        origin: dict[str, Any] | None = None,
        prepared: Prepared | None = None,
    ) -> None:
        self.context = context
        self.author = author
        self.origin = origin or {}
        self.now = context.clock()
        self.scopes: dict[str, Scope] = {}
        self._items: dict[tuple[str, str], ItemState] = {}
        self._purged: list[Sql] = []
        self._prepared = prepared or {}

    def open(self, keys: Iterable[tuple[str, str]], create: set[str]) -> Body[None]:
        """Lock the namespaces of these (labels, key) pairs and load their items.

        Args:
            keys: What the change set touches.
            create: Namespaces to be locked too, and made where they are missing.
        """
        wanted = sorted(set(keys) - self._items.keys())
        scopes = sorted(({labels for labels, _ in wanted} | create) - self.scopes.keys())
        rows = yield Batch([self._lock(labels) for labels in scopes] + [self._select(*pair) for pair in wanted])
        missing = [labels for labels, found in zip(scopes, rows, strict=False) if not found and labels in create]
        tries = 0
        # One that another process forgets between being made and being locked is made again.
        while missing and tries < _TRIES:
            tries += 1
            tenant = self.context.tenant
            yield Batch(
                [Sql("create_namespace", {"tenant": tenant, "labels": text, "digest": EMPTY}) for text in missing]
                + [note_words_version(tenant)]
            )
            # Another writer may have made the same namespace, and filled it, just before: look again.
            rows = yield Batch([self._lock(labels) for labels in scopes] + [self._select(*pair) for pair in wanted])
            missing = [labels for labels, found in zip(scopes, rows, strict=False) if not found and labels in create]
        for labels, found in zip(scopes, rows, strict=False):
            if found:
                self.scopes[labels] = scope_of(labels, found[0])
        for (labels, key), found in zip(wanted, rows[len(scopes) :], strict=True):
            # Without its namespace it is too new: both were made between the two statements that looked for them.
            row = found[0] if found and labels in self.scopes else None
            self._items[labels, key] = self._load(labels, key, row)

    def item(self, labels: str, key: str) -> ItemState:
        """An item that `open` loaded."""
        return self._items[labels, key]

    def revisions_before(self) -> dict[tuple[Namespace, str], int]:
        """The revision that each loaded item had; 0: it did not exist."""
        return {
            (decode_namespace(labels), key): item.loaded_revision if item.loaded is not None else 0
            for (labels, key), item in self._items.items()
        }

    def items_below(self, labels: str, prefix: str) -> list[ItemState]:
        """The loaded items of a namespace whose keys start with a folder's prefix."""
        return [item for (scope, key), item in self._items.items() if scope == labels and key.startswith(prefix)]

    def record(
        self,
        item: ItemState,
        stored: Stored | None,
        operation: str,
        *,
        origin: dict[str, Any] | None = None,
        ttl: float | None = None,
        created_at: int | None = None,
    ) -> int:
        """Give an item its next state, None for deleted, and return the revision that this makes."""
        scope = self.scopes[item.labels]
        if not item.in_table and not item.revision:
            scope.items += 1
            item.id = (scope.id << NUMBER_BITS) | scope.items
        previous, link = item.stored, item.digest
        item.revision += 1
        scope.position += 1
        # A clock that was set back must not put a revision before the one it follows.
        at = max(self.now, item.updated_at)
        author = self.author
        origin = {**self.origin, **(origin or {})}
        origin_text = orjson.dumps(origin).decode() if origin else None
        size = len(stored.body) if stored is not None else 0
        header = (
            item.revision,
            operation,
            at,
            author.actor,
            author.thread_id,
            author.run_id,
            author.tool_call_id,
            author.reason,
            origin_text,
            size,
        )
        salt = os.urandom(SALT_BYTES)
        content = content_digest(salt, stored)
        item.digest = next_link(link or first_link(item.labels, item.key), header, content)
        delta = None
        if previous is not None:
            against = stored.body if stored is not None and item.revision % KEYFRAME_EVERY else None
            delta = encode_previous(previous.body, against)
        item.revisions.append(
            Sql(
                "insert_revision",
                {
                    "namespace_id": scope.id,
                    "position": scope.position,
                    "item_id": item.id,
                    "revision": item.revision,
                    "operation": operation,
                    "at": at,
                    "actor": author.actor,
                    "thread_id": author.thread_id,
                    "run_id": author.run_id,
                    "tool_call_id": author.tool_call_id,
                    "reason": author.reason,
                    "origin": origin_text,
                    "size": size,
                    "salt": salt,
                    "content_digest": content,
                    "digest": item.digest,
                    "previous_kind": None if previous is None else int(previous.kind),
                    "previous_meta": None if previous is None else previous.meta,
                    "delta_kind": None if delta is None else int(delta.kind),
                    "delta": None if delta is None else delta.payload,
                },
            )
        )
        scope.live += (stored is not None) - (previous is not None)
        scope.digest = replace_in_sum(scope.digest, link, item.digest)
        scope.changed = item.changed = True
        if previous is None:
            item.created_at = at if created_at is None else min(created_at, at)
        item.updated_at = at
        item.stored = stored
        if stored is not None:  # a deleted item keeps its time, so that its history goes when it would have gone
            item.ttl = ttl
            item.expires_at = None if ttl is None else at + int(ttl * 60_000_000)
        return item.revision

    def purge(self, item: ItemState) -> None:
        """Remove an item with its whole history, as if it had never been."""
        scope = self.scopes[item.labels]
        self._purged += [Sql("delete_revisions", {"item_id": item.id}), Sql("delete_item", {"id": item.id})]
        scope.live -= item.stored is not None
        scope.index.kill(IndexKind.ITEMS, [entry.number for entry in unpack_placed(item.passages)])
        scope.digest = replace_in_sum(scope.digest, item.digest, None)
        scope.changed = True
        self._items[item.labels, item.key] = ItemState(item.labels, item.key)

    @property
    def purged(self) -> int:
        """How many items are removed with their history."""
        return len(self._purged) // 2

    def statements(self) -> list[Sql]:
        """Everything that has to be written, in an order in which it can be.

        Namespaces come first: a writer that has locked none waits there for others, before it touches anything else.
        """
        changed = [item for item in self._items.values() if item.changed]
        for item in changed:
            self._index(item)
        scopes = sorted((scope for scope in self.scopes.values() if scope.changed), key=lambda scope: scope.labels)
        written = [self._scope_row(scope) for scope in scopes] + self._purged
        for item in changed:
            written.append(self._item_row(item))
            written += item.revisions
        for scope in scopes:
            written += scope.index.statements()
        return written

    @property
    def to_tend(self) -> list[int]:
        """The namespaces whose index has gathered enough small blocks to merge them."""
        return [scope.id for scope in self.scopes.values() if scope.changed and scope.index.due]

    def reindex(self, item: ItemState) -> None:
        """Find the passages of an item that stays as it is."""
        self.scopes[item.labels].changed = True
        self._index(item)

    def index_row(self, item: ItemState) -> Sql:
        """The statement that keeps an item's passages, where nothing else of it changed."""
        return Sql("keep_passages", {"id": item.id, "revision": item.revision, "passages": item.passages})

    def _index(self, item: ItemState) -> None:
        """Bring the index to an item's state."""
        index, stored = self.scopes[item.labels].index, item.stored
        wanted = stored is not None and self.context.indexing
        # A file's passages say that they are a file's: of one that became a document none stays.
        same = stored is not None and item.loaded is not None and stored.is_document == item.loaded.is_document
        if not wanted or not same:
            index.kill(IndexKind.ITEMS, [entry.number for entry in unpack_placed(item.passages)])
            item.passages = b"" if stored is None else None
        if stored is None or not wanted:
            return
        fields = fields_of(item.index_fields)
        found = None
        if fields == self.context.index_fields:
            found = self._prepared.get((item.key, stored.is_document, stored.body))
        if found is None:
            found = indexed(item.key, stored, fields)
        item.passages = index_item(index, item.passages, found, item.id, max(item.updated_at, 0), stored.kind)

    def _lock(self, labels: str) -> Sql:
        return Sql("lock_namespace", {"tenant": self.context.tenant, "labels": labels})

    def _select(self, labels: str, key: str) -> Sql:
        return Sql("item_to_change", {"tenant": self.context.tenant, "labels": labels, "key": key})

    def _load(self, labels: str, key: str, row: Row | None) -> ItemState:
        if row is None:
            return ItemState(labels, key)
        item_id, revision, kind, live, created_at, updated_at, expires_at, ttl, digest, meta, body, *index = row
        stored = Stored(Kind(kind), meta, body) if live else None
        item = ItemState(
            labels,
            key,
            item_id,
            revision,
            stored,
            created_at,
            updated_at,
            expires_at,
            ttl,
            digest,
            True,
            False,
            stored,
            revision,
            *index,
        )
        if expires_at is not None and expires_at <= self.now:
            # Past its time the item is gone, even if no sweep came by yet.
            self._items[labels, key] = item
            self.purge(item)
            return self._items[labels, key]
        return item

    def _scope_row(self, scope: Scope) -> Sql:
        return Sql(
            "update_namespace",
            {
                "id": scope.id,
                "expected_position": scope.loaded_position,
                "expected_items": scope.loaded_items,
                "expected_digest": scope.loaded_digest,
                "position": scope.position,
                "items": scope.items,
                "live": scope.live,
                "digest": scope.digest,
                "expected_passages": scope.index.loaded_passages,
                "expected_turns": scope.loaded_turns,
                "passages": scope.index.passages,
                "turns": scope.turns,
                "turned_at": scope.turned_at,
            },
        )

    def _item_row(self, item: ItemState) -> Sql:
        stored = item.stored
        row: dict[str, Any] = {
            "id": item.id,
            "revision": item.revision,
            "kind": int(stored.kind) if stored is not None else int(Kind.JSON),
            "live": int(stored is not None),
            "size": len(stored.body) if stored is not None else 0,
            "created_at": item.created_at,
            "updated_at": item.updated_at,
            "expires_at": item.expires_at,
            "ttl": item.ttl,
            "digest": item.digest,
            "meta": stored.meta if stored is not None else b"",
            "body": stored.body if stored is not None else b"",
            "passages": item.passages,
            "index_fields": item.index_fields,
        }
        if item.in_table:
            return Sql("update_item", row)
        row |= {
            "namespace_id": self.scopes[item.labels].id,
            "key": item.key,
            "parent": folder_of(item.key),
        }
        return Sql("insert_item", row)
