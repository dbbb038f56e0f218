"""The audit feed: every change of a store, in an order that a reader can follow without missing one.

On SQLite changes become visible in the order of their row numbers. On PostgreSQL transactions become visible out of
order, so the feed is ordered by transaction number and read only below the oldest one that still runs: a change that
commits late is met later, never skipped. A token names a place in that order and stays valid, a restored dump
included.
"""

from __future__ import annotations

from memoranda.errors import InvalidValueError
from memoranda.store.changes import Author, Namespace
from memoranda.store.effects import Body, Operation, Row, query, transact
from memoranda.store.namespaces import decode_namespace, encode_namespace
from memoranda.store.operations.context import Context, countable
from memoranda.store.types import FeedChange
from memoranda.store.values import stored_json, to_datetime

_PAGE = 1_000
_START = "0-0-0"


def changes(
    context: Context,
    *,
    since: str | None = None,
    author: str | None = None,
    namespace: Namespace | None = None,
    limit: int = 1_000,
) -> Operation[list[FeedChange]]:
    """Read the audit feed, oldest first.

    Args:
        context: The store's settings.
        since: The token of the last change seen; None starts at the beginning.
        author: Only changes by this actor.
        namespace: Only changes in exactly this namespace; `since` is then a token of this namespace.
        limit: At most so many.

    Returns:
        The changes, each with the token to go on from.

    Raises:
        InvalidValueError: The token is none of this feed's.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("ann",), "/tea.md", "green")
        ...     [(change.key, change.operation) for change in store.changes()]
        [('/tea.md', 'write')]
    """
    start = _parse(since or _START)
    labels = None if namespace is None else encode_namespace(namespace)
    return (yield from transact("snapshot", lambda: _changes(context, start, author, labels, countable(limit))))


def _parse(token: str) -> tuple[int, int, int]:
    parts = token.split("-") if isinstance(token, str) else []  # pyright: ignore[reportUnnecessaryIsInstance]
    # Eighteen digits always fit into the 64 bits of the database.
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) <= 18 for part in parts):
        raise _no_token(token)
    feed, namespace_id, position = (int(part) for part in parts)
    return feed, namespace_id, position


def _no_token(token: object) -> InvalidValueError:
    return InvalidValueError(
        f"{token!r} is no token of this feed.",
        "Pass the token of a change you have seen, of this namespace if you name one.",
    )


def _changes(
    context: Context, start: tuple[int, int, int], author: str | None, labels: str | None, limit: int
) -> Body[list[FeedChange]]:
    found: list[FeedChange] = []
    feed, namespace_id, position = start
    page = limit if author is None else _PAGE
    now = context.clock()
    if labels is not None and start != _parse(_START):
        heads = yield from query("namespace_head", tenant=context.tenant, labels=labels)
        if not heads or heads[0][0] != namespace_id:
            raise _no_token("-".join(map(str, start)))
    while len(found) < limit:
        if labels is None:
            rows = yield from query(
                "changes_after",
                tenant=context.tenant,
                now=now,
                feed=feed,
                namespace_id=namespace_id,
                position=position,
                limit=page,
            )
        else:
            # Within one namespace changes become visible in the order of their positions.
            rows = yield from query(
                "changes_in_namespace",
                tenant=context.tenant,
                labels=labels,
                now=now,
                position=position,
                limit=page,
            )
        found += [_change(row) for row in rows if author is None or row[8] == author]
        if len(rows) < page:
            break
        feed, namespace_id, position = rows[-1][:3]
    return found[:limit]


def _change(row: Row) -> FeedChange:
    feed, namespace_id, position, labels, key, revision, operation, at, *author, origin, size, digest = row
    return FeedChange(
        decode_namespace(labels),
        key,
        revision,
        operation,
        Author(*author),
        to_datetime(at),
        size,
        digest.hex(),
        position,
        stored_json(origin) if origin else {},
        f"{feed}-{namespace_id}-{position}",
    )
