"""Bringing in what LangGraph's own stores hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple, cast

from memoranda.errors import InvalidValueError, MemorandaError
from memoranda.store.changes import Author, ChangeSet, Namespace, Write
from memoranda.store.keys import checked_key
from memoranda.store.namespaces import decode_namespace, encode_writable
from memoranda.store.operations.bundle import Load, Presence, Span, load, presence
from memoranda.store.operations.commit import commit
from memoranda.store.operations.context import checked_ttl
from memoranda.store.operations.planning import checked_author
from memoranda.store.operations.whole_items import WholeItem, first_revision
from memoranda.store.store import MemoryStore
from memoranda.store.values import encode_value
from memoranda.transfer.errors import KeyCollisionError
from memoranda.transfer.folders import signed_for
from memoranda.transfer.labels import require_any
from memoranda.transfer.langgraph_sources import Source, SourceRow, open_source
from memoranda.transfer.prefixes import PrefixTally, prefix_folder, without_prefix
from memoranda.transfer.types import Progress, Skipped, TransferReport

_MINUTE = 60_000_000
_BATCH_ITEMS = 200
_BATCH_BYTES = 8_000_000


def import_langgraph(
    store: MemoryStore,
    source: str,
    *,
    prefix: Namespace = (),
    strip_prefix: str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
    author: Author | None = None,
) -> TransferReport:
    """Bring in the items of a LangGraph `SqliteStore` or `PostgresStore`, with their times and times to live.

    A SQLite file is read through a copy, so that two SQLite libraries never open one file. An item that is here with
    the same value is left alone; of two that differ the one changed last wins, and what it replaces stays in the
    history. So a second run brings in only what changed.

    Args:
        store: The store to write to.
        source: The path of a SQLite file, `sqlite:///…`, or `postgresql://…`.
        prefix: Only namespaces that start with these labels.
        strip_prefix: A folder to take off the keys that start with it, for example `/memories/`.
        dry_run: Say what would be done, but write nothing.
        progress: Called with the items done so far and their total.
        author: Who imports; None takes `acting_as`. The reason is "imported from …" unless it says another.

    Returns:
        What was brought in.

    Raises:
        SourceError: The source cannot be read, holds no LangGraph store, or no namespace that starts with `prefix`.
        KeyCollisionError: Without its prefix an item would get the key of another.
    """
    strip = None if strip_prefix is None else prefix_folder(strip_prefix)
    with open_source(source) as opened:
        if prefix:
            require_any(sum(_starts(place, prefix) for place, _ in opened.places()), tuple(prefix))
        if strip is not None:
            _refuse_collisions(opened, strip)
        importing = _LangGraphImport(store, prefix, strip, signed_for(author, opened.name), dry_run)
        done = 0
        for batch in _batches(opened.rows()):
            importing.take(batch)
            done += len(batch)
            if progress is not None:
                progress(done, max(opened.total, done))
        return importing.report()


class _Arrival(NamedTuple):
    """An item as it would stand in the store, with its value for a plain write."""

    item: WholeItem
    value: dict[str, Any]


class _LangGraphImport:
    """One import of one LangGraph store."""

    def __init__(self, store: MemoryStore, prefix: Namespace, strip: str | None, author: Author, dry_run: bool) -> None:
        self._store = store
        self._prefix = tuple(prefix)
        self._strip = strip
        self._author = checked_author(author)
        self._dry_run = dry_run
        self._skipped: list[Skipped] = []
        self._namespaces: set[Namespace] = set()
        self._tally = PrefixTally()
        self._items = self._bytes = 0

    def take(self, rows: list[SourceRow]) -> None:
        """Import some items in one transaction; those that are here already, in another."""
        arrivals = [arrival for row in rows if (arrival := self._arrival(row)) is not None]
        for arrival in arrivals:
            self._tally.add(decode_namespace(arrival.item.labels), arrival.item.key)
        while arrivals:
            places = [(item.labels, item.key, 1) for item, _ in arrivals]
            there = self._store.engine.run(presence(self._store.context, places))
            fresh = [arrival for arrival, found in zip(arrivals, there, strict=True) if found is None]
            known = [(arrival, found) for arrival, found in zip(arrivals, there, strict=True) if found is not None]
            newer = [arrival for arrival, found in known if self._is_newer(arrival.item, found)]
            if not self._dry_run:
                if newer:
                    self._replace(newer)
                # Somebody who wrote one of the fresh ones just now makes all of them be looked at again.
                if fresh and not self._load(fresh):
                    self._count(newer)
                    arrivals = fresh
                    continue
            self._count(newer + fresh)
            return

    def report(self) -> TransferReport:
        """What was imported."""
        return TransferReport(
            self._items,
            self._items,
            self._bytes,
            tuple(self._skipped),
            tuple(sorted(self._namespaces)),
            self._tally.found(),
        )

    def _arrival(self, row: SourceRow) -> _Arrival | None:
        if not _starts(row.prefix, self._prefix):
            return None
        labels = tuple(row.prefix.split("."))
        now = self._store.context.clock()
        if row.expires_at is not None and row.expires_at <= now:
            return self._skip(row, "It has outlived its time to live.")
        try:
            value = _value(row.value)
            stored = encode_value(value)
            checked_ttl(row.ttl)
            text, key = encode_writable(labels), checked_key(without_prefix(row.key, self._strip))
        except MemorandaError as error:
            return self._skip(row, error.cause)
        updated_at = now if row.updated_at is None else min(row.updated_at, now)
        created_at = updated_at if row.created_at is None else min(row.created_at, updated_at)
        ttl = row.ttl
        if ttl is None and row.expires_at is not None:
            ttl = (row.expires_at - now) / _MINUTE
        expires_at = row.expires_at if row.expires_at is not None or ttl is None else now + int(ttl * _MINUTE)
        first = first_revision(text, key, stored, updated_at, self._author)
        return _Arrival(WholeItem(text, key, stored, created_at, updated_at, expires_at, ttl, (first,)), value)

    def _skip(self, row: SourceRow, reason: str) -> None:
        self._skipped.append(Skipped(f"{row.prefix}: {row.key}", reason))

    def _is_newer(self, item: WholeItem, there: Presence) -> bool:
        """Whether an item is to replace the one that is here."""
        assert item.stored is not None
        if there.holds(item.stored):
            return False
        # Times of SQLite are whole seconds: of two states of one second the source's is the later one.
        if item.updated_at >= there.updated_at:
            return True
        what = "changed" if there.live else "deleted"
        shown = f"{'.'.join(decode_namespace(item.labels))}: {item.key}"
        self._skipped.append(Skipped(shown, f"It was {what} here later than in the source."))
        return False

    def _load(self, arrivals: list[_Arrival]) -> bool:
        loads = [Load(item, "") for item, _ in arrivals]
        return not self._store.engine.run(load(self._store.context, loads, {"": Span()})).clashes

    def _replace(self, arrivals: list[_Arrival]) -> None:
        changes = [Write(decode_namespace(item.labels), item.key, value, ttl=item.ttl) for item, value in arrivals]
        self._store.engine.run(
            commit(self._store.context, ChangeSet(changes, self._author), opaque=True)
        ).raise_for_conflicts()

    def _count(self, arrivals: list[_Arrival]) -> None:
        for item, _ in arrivals:
            self._items += 1
            self._bytes += item.size
            self._namespaces.add(decode_namespace(item.labels))


def _starts(place: str, labels: Namespace) -> bool:
    """Whether a namespace, as LangGraph writes it, starts with these labels."""
    return tuple(place.split(".")[: len(labels)]) == tuple(labels)


def _value(text: str) -> dict[str, Any]:
    """The JSON object of a row; the standard parser, since a faster one rounds large numbers silently."""
    try:
        value: Any = json.loads(text)
    except ValueError as error:
        raise InvalidValueError(f"The value is no JSON: {error}.") from None
    if not isinstance(value, dict):
        raise InvalidValueError(f"The value is {type(value).__name__}, not a JSON object.")
    return cast("dict[str, Any]", value)


def _refuse_collisions(source: Source, strip: str) -> None:
    """Go over all keys first, so that nothing is written where two would become one."""
    taken: set[int] = set()
    for prefix, key in source.places():
        bare = without_prefix(key, strip)
        place = int.from_bytes(blake2b(f"{prefix}\0{bare}".encode(), digest_size=16).digest())
        if place in taken:
            raise KeyCollisionError(
                f"Without {strip} two items of {prefix} would both be {bare}.",
                "Rename one of them, or import without taking the prefix off.",
            )
        taken.add(place)


def _batches(rows: Iterator[SourceRow]) -> Iterator[list[SourceRow]]:
    batch: list[SourceRow] = []
    size = 0
    for row in rows:
        if batch and (len(batch) == _BATCH_ITEMS or size + len(row.value) > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += len(row.value)
    if batch:
        yield batch
