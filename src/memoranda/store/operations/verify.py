"""Checking that every byte is the one that was written."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from memoranda.errors import MemorandaError
from memoranda.files.delta import apply_delta
from memoranda.store.changes import Namespace
from memoranda.store.effects import Batch, Body, Operation, Row, Sql, query, transact
from memoranda.store.keys import folder_of
from memoranda.store.namespaces import decode_namespace, prefix_range
from memoranda.store.operations.context import Context
from memoranda.store.operations.digests import EMPTY, content_digest, first_link, next_link, replace_in_sum
from memoranda.store.operations.index_checking import check_index
from memoranda.store.operations.run_reading import check_ranges
from memoranda.store.types import NamespaceDigest, Verification
from memoranda.store.values import Kind, Stored

_PAGE = 200

Progress = Callable[[int], None]
"""Called with the number of items checked since the last call."""


def verify(
    context: Context, namespace_prefix: Namespace = (), *, progress: Progress | None = None
) -> Operation[Verification]:
    """Rebuild every revision of every item and check it against its digest chain, one namespace at a time.

    The search index is checked too: it holds every passage of what is indexed, and no other. So are the runs over
    what was said: those of a consumer cover every turn up to its cursor, and none twice.

    Args:
        context: The store's settings.
        namespace_prefix: Only namespaces that start with these labels.
        progress: Called with the number of items checked since the last call.

    Returns:
        The digest of each namespace, and what does not hold.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("ann",), "/tea.md", "green")
        ...     store.verify().ok
        True
    """
    low, high = prefix_range(namespace_prefix)
    digests: list[NamespaceDigest] = []
    problems: list[str] = []
    heads = yield from transact("read", lambda: namespace_heads(context, low, high, ""))
    while heads:
        for head in heads:
            labels = head[1]
            digest, found = yield from transact("snapshot", partial(_namespace, context, labels, progress))
            problems += found
            if digest is not None:
                digests.append(digest)
        heads = yield from transact("read", partial(namespace_heads, context, low, high, heads[-1][1]))
    return Verification(tuple(digests), tuple(problems))


def namespace_heads(context: Context, low: str, high: str, after: str) -> Body[list[Row]]:
    """A page of namespaces' rows, by name."""
    return (yield from query("namespace_heads", tenant=context.tenant, low=low, high=high, after=after, limit=_PAGE))


def _namespace(
    context: Context, labels: str, progress: Progress | None
) -> Body[tuple[NamespaceDigest | None, list[str]]]:
    # Read again, so that the head and the items come from one snapshot.
    rows = yield from query("namespace_head", tenant=context.tenant, labels=labels)
    if not rows:
        return None, []
    namespace_id, position, live, digest = rows[0]
    namespace = decode_namespace(labels)
    problems: list[str] = []
    total, items, revisions, alive, after = EMPTY, 0, 0, 0, 0
    positions: set[int] = set()
    while True:
        page = yield from query("items_of_namespace", namespace_id=namespace_id, after=after, limit=_PAGE)
        if page:
            histories = yield Batch([Sql("full_revisions", {"item_id": row[0]}) for row in page])
            for row, history in zip(page, histories, strict=True):
                item = ItemRow(*row)
                problem = check_item(labels, item, history)
                if problem is not None:
                    problems.append(f"{item.key} in {namespace}: {problem}")
                total = replace_in_sum(total, None, item.digest)
                revisions += len(history)
                positions.update(entry[1] for entry in history)
                alive += item.live
            items += len(page)
            if progress is not None:
                progress(len(page))
        if len(page) < _PAGE:
            break
        after = page[-1][0]
    if total != digest:
        problems.append(f"{namespace}: its items do not add up to its digest, so some are missing or were replaced.")
    if alive != live:
        problems.append(f"{namespace}: it counts {live} items but holds {alive}.")
    if len(positions) < revisions or not all(0 < taken <= position for taken in positions):
        problems.append(f"{namespace}: the positions of its revisions are not those that it gave out.")
    problems += [f"{namespace}: {problem}" for problem in (yield from check_index(namespace_id))]
    problems += [f"{namespace}: {problem}" for problem in (yield from check_ranges(context, labels))]
    return NamespaceDigest(namespace, digest.hex(), items, revisions), problems


class ItemRow(NamedTuple):
    """An item's row, as `items_of_namespace` gives it."""

    id: int
    key: str
    parent: str
    revision: int
    kind: int
    live: int
    size: int
    created_at: int
    updated_at: int
    digest: bytes
    meta: bytes
    body: bytes


def check_item(labels: str, item: ItemRow, history: list[Row]) -> str | None:
    """Check one item.

    Args:
        labels: Its namespace, as stored.
        item: Its row.
        history: All its revisions, as `full_revisions` gives them.

    Returns:
        What is wrong with it; None if nothing is.
    """
    if [entry[0] for entry in history] != list(range(1, item.revision + 1)):
        return f"its history does not run from 1 to {item.revision}."
    stored = Stored(Kind(item.kind), item.meta, item.body) if item.live else None
    # Backwards, as the deltas go.
    for entry in reversed(history):
        salt, content = entry[11], entry[12]
        if content_digest(salt, stored) != content:
            return f"the content of revision {entry[0]} is not what was written."
        try:
            stored = _previous(entry, stored)
        except (ValueError, MemorandaError):
            return f"the content before revision {entry[0]} cannot be rebuilt."
    if stored is not None:
        return "something lies before its first revision."
    link = first_link(labels, item.key)
    for entry in history:
        number, _, operation, at, *author, origin, size, _, content, expected = entry[:14]
        link = next_link(link, (number, operation, at, *author, origin, size), content)
        if link != expected:
            return f"the record of revision {number} was altered."
    if link != item.digest:
        return "it does not carry the digest of its last revision."
    if (item.parent, item.size, item.updated_at) != (folder_of(item.key), len(item.body), history[-1][3]):
        return "its folder, size or time is not that of its content."
    # Moved and imported items keep a time of creation that lies before what is recorded here.
    if item.created_at > max(entry[3] for entry in history if entry[14] is None):
        return "it claims to have been created after its first revision."
    return None


def _previous(entry: Row, stored: Stored | None) -> Stored | None:
    previous_kind, previous_meta, delta_kind, delta = entry[14:]
    if previous_kind is None:
        return None
    return Stored(Kind(previous_kind), previous_meta, apply_delta(delta_kind, delta, stored.body if stored else None))
