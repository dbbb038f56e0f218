"""Looking back: history, point-in-time reads, differences and blame."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from memoranda.errors import InvalidValueError, ItemNotFoundError, RevisionNotFoundError
from memoranda.files.blame import blame as blame_lines
from memoranda.files.delta import LineSplice, apply_delta, splice_of
from memoranda.files.diff import unified_diff
from memoranda.files.matching import split_lines
from memoranda.store.changes import Author, Namespace
from memoranda.store.effects import Batch, Body, Operation, Row, Sql, query, transact
from memoranda.store.keys import file_key
from memoranda.store.namespaces import decode_namespace, encode_namespace
from memoranda.store.operations.context import Context, countable
from memoranda.store.operations.reconstruct import broken_history, revisions_up_to, stored_at
from memoranda.store.types import BlameLine, Revision, StoredItem
from memoranda.store.values import Kind, Stored, decode_value, stored_json, to_datetime, to_microseconds


class Head(NamedTuple):
    """An item's row, as far as its history needs it."""

    id: int
    revision: int
    created_at: int
    stored: Stored | None


def history(
    context: Context,
    namespace: Namespace,
    key: str,
    *,
    limit: int | None = None,
    before: int | None = None,
    follow: bool = False,
) -> Operation[list[Revision]]:
    """List the revisions of an item, newest first.

    Args:
        context: The store's settings.
        namespace: Where.
        key: The item's key; one that starts with a slash is a path and is made canonical.
        limit: At most so many; None: all.
        before: Only revisions below this one, to go on after a page.
        follow: Where the item was moved here, go on with the history of the place it came from.

    Returns:
        The revisions; empty if the item never existed.

    Example:
        >>> from memoranda import Author, open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("ann",), "/tea.md", "green", author=Author("user:ann"))
        ...     [(entry.revision, entry.author.actor) for entry in store.history(("ann",), "/tea.md")]
        [(1, 'user:ann')]
    """
    place = (encode_namespace(namespace), file_key(key))
    ends = (countable(limit), countable(before))
    return (yield from transact("snapshot", lambda: _history(context, place, ends, follow)))


def get_at(
    context: Context,
    namespace: Namespace,
    key: str,
    *,
    revision: int | None = None,
    at: datetime | None = None,
) -> Operation[StoredItem]:
    """Read an item as it was.

    Args:
        context: The store's settings.
        namespace: Where.
        key: The item's key.
        revision: The revision to read.
        at: Or the time to read it at; one without a zone is taken as UTC.

    Returns:
        The item with its value, its `updated_at` and its revision of then.

    Raises:
        ItemNotFoundError: The item never existed.
        RevisionNotFoundError: It had no such revision, or was deleted or not yet written then.
        InvalidValueError: Not exactly one of `revision` and `at` is given.
    """
    if (revision is None) == (at is None):
        raise InvalidValueError("get_at() needs either a revision or a time.", "Pass revision=3 or at=datetime(…).")
    if revision is not None and (not isinstance(revision, int) or isinstance(revision, bool)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidValueError(f"{revision!r} is no revision.", "Pass its number, as history() gives it.")
    if at is not None and not isinstance(at, datetime):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidValueError(f"{at!r} is no datetime.", "Pass one, for example datetime.fromisoformat(…).")
    moment = None if at is None else to_microseconds(at)
    labels, name = encode_namespace(namespace), file_key(key)
    return (yield from transact("snapshot", lambda: _get_at(context, labels, name, revision, moment)))


def diff(
    context: Context, namespace: Namespace, key: str, before: int | None = None, after: int | None = None
) -> Operation[str]:
    """Compare two revisions of an item as a unified diff.

    Args:
        context: The store's settings.
        namespace: Where.
        key: The item's key.
        before: The older revision; None: the one before `after`. 0 stands for "nothing yet".
        after: The newer revision; None: the current one.

    Returns:
        The diff; empty if the two are equal. Binary files are only said to differ.

    Raises:
        ItemNotFoundError: The item never existed.
        RevisionNotFoundError: It has no such revision.
    """
    labels, name = encode_namespace(namespace), file_key(key)
    pair = yield from transact("snapshot", lambda: _pair(context, labels, name, before, after))
    (old_revision, old), (new_revision, new) = pair
    old_label, new_label = f"{name} (revision {old_revision})", f"{name} (revision {new_revision})"
    old_text, new_text = _shown(old), _shown(new)
    if old_text is None or new_text is None:
        same = old is not None and new is not None and old.body == new.body
        return "" if same else f"Binary {old_label} and {new_label} differ\n"
    return unified_diff(old_text, new_text, before_label=old_label, after_label=new_label)


def blame(
    context: Context, namespace: Namespace, key: str, *, revision: int | None = None
) -> Operation[list[BlameLine]]:
    """Say for every line of an item which revision wrote it.

    Args:
        context: The store's settings.
        namespace: Where.
        key: The item's key.
        revision: The revision whose lines are asked about; None: the current one.

    Returns:
        The lines in order. A move, or bringing a deleted item back, writes no line: those that came along keep the
        revision that wrote them, with the key it was written under.

    Raises:
        ItemNotFoundError: The item never existed, or is deleted and no revision was named.
        RevisionNotFoundError: It has no such revision, or was deleted by then.
        InvalidValueError: The item is a binary file.
    """
    labels, name = encode_namespace(namespace), file_key(key)
    return (yield from transact("snapshot", lambda: _blame(context, labels, name, revision)))


def to_revision(namespace: Namespace, key: str, row: Row) -> Revision:
    """A row of `revisions_of_item` as callers see it."""
    number, operation, at, *author, origin, size, digest, position = row
    return Revision(
        namespace,
        key,
        number,
        operation,
        Author(*author),
        to_datetime(at),
        size,
        digest.hex(),
        position,
        stored_json(origin) if origin else {},
    )


def _shown(stored: Stored | None) -> str | None:
    return "" if stored is None else stored.text


def _missing(labels: str, key: str) -> ItemNotFoundError:
    return ItemNotFoundError(
        f"{key} does not exist in {decode_namespace(labels)}.", "List the folder to see what there is."
    )


def _no_revision(key: str, revision: int, head: int) -> RevisionNotFoundError:
    return RevisionNotFoundError(
        f"{key} has no revision {revision}; it has {revisions_up_to(head)}.", "Look at its history."
    )


def _find(context: Context, labels: str, key: str) -> Body[Head | None]:
    rows = yield from query("find_item", tenant=context.tenant, labels=labels, key=key, now=context.clock())
    if not rows:
        return None
    item_id, revision, created_at, kind, live, meta, body = rows[0]
    return Head(item_id, revision, created_at, Stored(Kind(kind), meta, body) if live else None)


def _head(context: Context, labels: str, key: str) -> Body[Head]:
    head = yield from _find(context, labels, key)
    if head is None:
        raise _missing(labels, key)
    return head


def _history(context: Context, place: tuple[str, str], ends: tuple[int, int], follow: bool) -> Body[list[Revision]]:
    limit, before = ends
    found: list[Revision] = []
    while len(found) < limit:
        labels, key = place
        head = yield from _find(context, labels, key)
        if head is None:
            break
        rows = yield from query("revisions_of_item", item_id=head.id, before=before, limit=limit - len(found))
        namespace = decode_namespace(labels)
        entries = [to_revision(namespace, key, row) for row in rows]
        if found and entries and entries[0].at > found[-1].at:
            break  # another item took the place of the one that was moved away and has expired
        came_from: dict[str, Any] | None = None
        if follow:
            for index, entry in enumerate(entries):
                if "from" in entry.origin:
                    came_from = entry.origin["from"]
                    entries = entries[: index + 1]
                    break
        found += entries
        if came_from is None:
            break
        place = (encode_namespace(tuple(came_from["namespace"])), came_from["key"])
        before = came_from["revision"] + 1
    return found[:limit]


def _get_at(context: Context, labels: str, key: str, revision: int | None, moment: int | None) -> Body[StoredItem]:
    head = yield from _head(context, labels, key)
    if revision is None:
        rows = yield from query("revision_at", item_id=head.id, at=moment)
        revision = rows[0][0]
        if revision is None:
            raise RevisionNotFoundError(f"{key} was not written yet at that time.", "Look at its history.")
    stored = yield from _at(head, key, revision)
    if stored is None:
        raise RevisionNotFoundError(
            f"{key} is deleted at revision {revision}.", "Ask for an earlier revision, or restore one."
        )
    rows = yield from query("life_of_revision", item_id=head.id, revision=revision)
    born_at, updated_at, born_again = rows[0]
    # What was moved here or imported is older than its history here.
    created_at = born_at if born_again else head.created_at
    return StoredItem(
        value=decode_value(stored),
        key=key,
        namespace=decode_namespace(labels),
        created_at=to_datetime(created_at),
        updated_at=to_datetime(updated_at),
        revision=revision,
    )


def _at(head: Head, key: str, revision: int) -> Body[Stored | None]:
    if not 1 <= revision <= head.revision:
        raise _no_revision(key, revision, head.revision)
    return (yield from stored_at(head.id, revision, head.revision, head.stored))


def _pair(
    context: Context, labels: str, key: str, before: int | None, after: int | None
) -> Body[tuple[tuple[int, Stored | None], tuple[int, Stored | None]]]:
    head = yield from _head(context, labels, key)
    new = head.revision if after is None else after
    newer = yield from _at(head, key, new)
    old = new - 1 if before is None else before
    older = None
    if old:
        older = yield from _at(head, key, old)
    return (old, older), (new, newer)


def _blame(context: Context, labels: str, key: str, revision: int | None) -> Body[list[BlameLine]]:
    head = yield from _head(context, labels, key)
    wanted = head.revision if revision is None else revision
    stored = yield from _at(head, key, wanted)
    if stored is None:
        if revision is None:
            raise _missing(labels, key)
        raise RevisionNotFoundError(f"{key} is deleted at revision {wanted}.", "Ask for an earlier revision.")
    text = stored.text
    if text is None:
        raise InvalidValueError(f"{key} is a binary file, which has no lines.", "Look at its history instead.")
    trail = yield from _trail(context, Place(labels, key, head.id, wanted), stored.body)
    lines = split_lines(stored.body)
    origins = blame_lines(lines, enumerate(splice for _, splice in trail))
    known = {origin: trail[origin][0] for origin in set(origins)}
    return [
        BlameLine(number, line.decode().rstrip("\r\n"), known[origin])
        for number, (line, origin) in enumerate(zip(lines, origins, strict=True), 1)
    ]


class Place(NamedTuple):
    """A revision of an item."""

    labels: str
    key: str
    item_id: int
    revision: int


def _trail(context: Context, place: Place, body: bytes) -> Body[list[tuple[Revision, LineSplice | None]]]:
    """The way back through a text's history, newest first, across moves and returns from deletion."""
    trail: list[tuple[Revision, LineSplice | None]] = []
    while True:
        deltas, entries = yield Batch(
            [
                Sql("deltas_below", {"item_id": place.item_id, "revision": place.revision}),
                Sql(
                    "revisions_of_item",
                    {"item_id": place.item_id, "before": place.revision + 1, "limit": countable(None)},
                ),
            ]
        )
        namespace = decode_namespace(place.labels)
        born: Revision | None = None
        for (_, previous_kind, delta_kind, delta), entry in zip(deltas, entries, strict=True):
            revision = to_revision(namespace, place.key, entry)
            if previous_kind is None or previous_kind == Kind.BINARY:
                born = revision
                break
            try:
                trail.append((revision, splice_of(delta_kind, delta, body)))
                body = apply_delta(delta_kind, delta, body)
            except ValueError as error:
                raise broken_history(place.item_id, revision.revision - 1) from error
        if born is None:
            return trail
        earlier = yield from _came_from(context, place, born, body)
        if earlier is None:
            return [*trail, (born, None)]
        place = earlier


def _came_from(context: Context, place: Place, born: Revision, body: bytes) -> Body[Place | None]:
    """Where a text was before the revision that it begins with here, if it is still the same text there."""
    source = born.origin.get("from")
    if source is not None:
        labels, key, revision = encode_namespace(tuple(source["namespace"])), source["key"], source["revision"]
    elif "restored" in born.origin:
        labels, key, revision = place.labels, place.key, born.origin["restored"]
    else:
        return None
    head = yield from _find(context, labels, key)
    if head is None or not 1 <= revision <= head.revision:
        return None
    stored = yield from stored_at(head.id, revision, head.revision, head.stored)
    # Another item may have taken the place of one that has expired since.
    return Place(labels, key, head.id, revision) if stored is not None and stored.body == body else None
