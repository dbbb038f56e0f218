"""Reading a bundle twice: once to check it against itself and the store, once to load it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

import orjson

from memoranda.store.changes import Namespace
from memoranda.store.keys import checked_key
from memoranda.store.namespaces import decode_namespace, encode_namespace, encode_writable
from memoranda.store.operations.bundle import Load, Presence, Span, load, presence
from memoranda.store.operations.digests import EMPTY, replace_in_sum
from memoranda.store.operations.whole_items import WholeItem
from memoranda.store.store import MemoryStore
from memoranda.store.turns import RecordedTurn
from memoranda.transfer.bundle_lines import damaged, no_bundle, read_lines, truncated
from memoranda.transfer.bundle_records import (
    VERSION,
    NamespaceStart,
    NamespaceTotal,
    Record,
    Trailer,
    load_header,
    load_record,
)
from memoranda.transfer.bundle_turns import ProposalLine
from memoranda.transfer.errors import BundleConflictError, BundleTooNewError, KeyCollisionError
from memoranda.transfer.labels import format_namespace
from memoranda.transfer.prefixes import PrefixTally, prefix_folder, without_prefix
from memoranda.transfer.turns_import import TurnsImport
from memoranda.transfer.types import Progress, Skipped, TransferReport

BATCH_ITEMS = 200
BATCH_BYTES = 8_000_000
_SHOWN = 3


class BundleImport:
    """One import of one bundle.

    Args:
        store: The store to write to.
        file: The bundle, open.
        path: Its name, for messages.
        into: Gives the namespace that the items of a namespace shall live in.
        strip_prefix: A folder to take off keys.
        skip: Whether items that are there already, with the same history, are left out rather than refused.
        progress: Called with the items done so far and their total.
    """

    def __init__(
        self,
        store: MemoryStore,
        file: BinaryIO,
        path: Path,
        *,
        into: Callable[[Namespace], Namespace] | None,
        strip_prefix: str | None,
        skip: bool,
        progress: Progress | None,
    ) -> None:
        self._store = store
        self._file = file
        self._path = path
        self._into = into
        self._strip = None if strip_prefix is None else prefix_folder(strip_prefix)
        self._skip = skip
        self._progress = progress
        self._total = 0
        self._checked = self._loaded = 0
        self._spans: dict[str, Span] = {}
        self._same = 0
        self._conflicts: list[str] = []
        self._conflict_count = 0
        self._said = TurnsImport(store, self._target_of)

    # --- the first reading --------------------------------------------------------------------------------------

    def check(self) -> TransferReport:
        """Check every line, and what the store holds already; writes nothing.

        Returns:
            What a second reading would load.
        """
        report = _Report()
        self._said = TurnsImport(self._store, self._target_of)
        batch: list[Load] = []
        targets: set[int] = set()
        mapped = self._into is not None or self._strip is not None
        for item in self._checked_items():
            placed = self._place(item)
            if mapped:
                place = int.from_bytes(blake2b(f"{placed.labels}\0{placed.key}".encode(), digest_size=16).digest())
                if place in targets:
                    raise KeyCollisionError(
                        f"Two items of the bundle would become {_place_of(placed)}.",
                        "Rename one of them in its store and export again, or leave the prefix or namespace as it is.",
                    )
                targets.add(place)
            batch.append(Load(placed, item.labels))
            self._checked += 1
            self._tell()
            if len(batch) == BATCH_ITEMS:
                self._compare(batch, report)
                batch = []
        self._compare(batch, report)
        self._said.end()
        if self._conflict_count:
            raise self._conflict()
        return report.result(self._said)

    def _checked_items(self) -> Iterator[WholeItem]:
        """The items of the bundle, each proved; the end is reached only if the trailer agrees with all of them."""
        current: str | None = None
        totals: dict[str, NamespaceTotal] = {}
        trailer: Trailer | None = None
        proposals = 0
        for number, record in self._records():
            if trailer is not None:
                raise damaged(self._path, f"line {number} comes after the last one")
            if isinstance(record, Trailer):
                trailer = record
                continue
            if isinstance(record, ProposalLine):
                proposals += 1
                continue
            if isinstance(record, NamespaceStart):
                current = record.labels
                if current in totals:
                    raise damaged(self._path, f"line {number} begins a namespace a second time")
                totals[current] = NamespaceTotal(current, EMPTY, 0, 0)
                self._spans[current] = Span(record.position)
                continue
            labels = encode_namespace(record.namespace) if isinstance(record, RecordedTurn) else record.labels
            if current is None or labels != current:
                raise damaged(self._path, f"line {number} is of another namespace than those around it")
            if isinstance(record, RecordedTurn):
                totals[current] = replace(totals[current], turns=totals[current].turns + 1)
                self._said.look(record)
                continue
            problem = record.problem()
            if problem is None and max(entry.position for entry in record.revisions) > self._spans[current].length:
                problem = "a revision has a position beyond its namespace's."
            if problem is not None:
                raise damaged(
                    self._path, f"{record.key} in {format_namespace(decode_namespace(current))}: {problem.rstrip('.')}"
                )
            before = totals[current]
            totals[current] = replace(
                before,
                digest=replace_in_sum(before.digest, None, record.digest),
                items=before.items + 1,
                revisions=before.revisions + len(record.revisions),
            )
            yield record
        if trailer is None:
            raise truncated(self._path)
        items = sum(total.items for total in totals.values())
        revisions = sum(total.revisions for total in totals.values())
        turns = sum(total.turns for total in totals.values())
        said = (trailer.items, trailer.revisions, trailer.turns, trailer.proposals)
        if {total.labels: total for total in trailer.namespaces} != totals or said != (
            items,
            revisions,
            turns,
            proposals,
        ):
            raise damaged(self._path, "its lines do not add up to its last one")

    def _compare(self, batch: list[Load], report: _Report) -> None:
        """Sort out what the store holds already."""
        now = self._store.context.clock()
        for (item, span), there in zip(batch, self._presences(batch), strict=True):
            if there is None:
                report.add(item, now)
            elif self._skip and there.continues(item):
                self._same += 1
                self._remember(item, self._spans[span], there)
            else:
                self._conflict_count += 1
                if len(self._conflicts) < _SHOWN:
                    self._conflicts.append(_place_of(item))

    def _remember(self, item: WholeItem, span: Span, there: Presence) -> None:
        """Note where an interrupted import put the positions of a namespace, so that this one goes on there."""
        if span.offset is None and there.past_position is not None:
            span.offset = there.past_position - item.revisions[-1].position

    # --- the second reading -------------------------------------------------------------------------------------

    def run(self) -> TransferReport:
        """Check everything, then load it."""
        self.check()
        self._file.seek(0)
        report = _Report()
        batch: list[Load] = []
        size = 0
        self._said = TurnsImport(self._store, self._target_of)
        for _, record in self._records():
            if isinstance(record, RecordedTurn):
                self._said.record(record)
            if not isinstance(record, WholeItem):
                continue
            item = self._place(record)
            if batch and (len(batch) == BATCH_ITEMS or size + item.weight > BATCH_BYTES):
                self._load(batch, report)
                batch, size = [], 0
            batch.append(Load(item, record.labels))
            size += item.weight
        self._load(batch, report)
        self._said.end()
        return report.result(self._said)

    def _load(self, batch: list[Load], report: _Report) -> None:
        now = self._store.context.clock()
        wanted = batch
        if self._same:
            # Looked up outside the writing transaction, so that going over what is there holds nobody up.
            there = self._presences(batch)
            wanted = [
                each
                for each, found in zip(batch, there, strict=True)
                if found is None or not found.continues(each.item)
            ]
        wanted = [each for each in wanted if not report.expired(each.item, now)]
        if wanted:
            loaded = self._store.engine.run(load(self._store.context, wanted, self._spans))
            if loaded.clashes:
                self._conflict_count = len(loaded.clashes)
                self._conflicts = [_place_of(item) for item in loaded.clashes[:_SHOWN]]
                raise self._conflict()
            for name, offset in loaded.offsets.items():
                self._spans[name].offset, self._spans[name].certain = offset, True
            for item in loaded.landed:
                report.add(item, now)
        self._loaded += len(batch)
        self._tell()

    # --- both ---------------------------------------------------------------------------------------------------

    def _records(self) -> Iterator[tuple[int, Record]]:
        lines = enumerate(read_lines(self._file, self._path), 1)
        _, first = next(lines, (0, b""))
        header = load_header(first)
        if header is None:
            raise no_bundle(self._path)
        if header.version > VERSION:
            raise BundleTooNewError(
                f"{self._path} has bundle format {header.version}; this version of Memoranda reads up to {VERSION}.",
                "Upgrade with `pip install --upgrade memoranda`.",
            )
        self._total = header.items
        for number, line in lines:
            try:
                yield number, load_record(line)
            except ValueError as error:
                raise damaged(self._path, f"line {number} cannot be read: {error}") from None

    def _place(self, item: WholeItem) -> WholeItem:
        """The item where it shall live, with everything that it says about places."""
        if self._into is None and self._strip is None:
            return item
        labels, key = self._moved(item.labels, item.key)
        return item.placed(labels, key, self._moved_origin)

    def _target_of(self, namespace: Namespace) -> Namespace:
        return namespace if self._into is None else self._into(namespace)

    def _moved(self, labels: str, key: str) -> tuple[str, str]:
        if self._into is not None:
            labels = encode_writable(self._into(decode_namespace(labels)))
        return labels, checked_key(without_prefix(key, self._strip))

    def _moved_origin(self, origin: str | None) -> str | None:
        """The other end of a move moves too."""
        if origin is None:
            return None
        parts = orjson.loads(origin)
        for end in ("from", "to"):
            if end in parts:
                labels, key = self._moved(encode_writable(tuple(parts[end]["namespace"])), parts[end]["key"])
                parts[end] |= {"namespace": decode_namespace(labels), "key": key}
        return orjson.dumps(parts).decode()

    def _presences(self, batch: list[Load]) -> list[Presence | None]:
        places = [(item.labels, item.key, item.revisions[-1].revision) for item, _ in batch]
        return self._store.engine.run(presence(self._store.context, places)) if places else []

    def _tell(self) -> None:
        if self._progress is not None:
            # Either reading is half of the work.
            self._progress((self._checked + self._loaded) // 2, max(self._total, self._checked))

    def _conflict(self) -> BundleConflictError:
        more = self._conflict_count - len(self._conflicts)
        shown = ", ".join(self._conflicts) + (f" and {more} more" if more else "")
        return BundleConflictError(
            f"The store already holds, with another history, {shown}."
            if self._skip
            else f"The store already holds {shown}.",
            "Import into another namespace, or remove them there first."
            if self._skip
            else "Leave out those with the same history with on_existing='skip', or import into another namespace.",
        )


def _place_of(item: WholeItem) -> str:
    return f"{item.key} in {format_namespace(decode_namespace(item.labels))}"


class _Report:
    """A `TransferReport` in the making."""

    def __init__(self) -> None:
        self._items = self._revisions = self._bytes = 0
        self._skipped: list[Skipped] = []
        self._namespaces: set[Namespace] = set()
        self._tally = PrefixTally()

    def expired(self, item: WholeItem, now: int) -> bool:
        """Whether an item has outlived its time; if so, that is noted."""
        if item.expires_at is None or item.expires_at > now:
            return False
        self._skipped.append(Skipped(item.key, "It has outlived its time to live."))
        return True

    def add(self, item: WholeItem, now: int) -> None:
        """Count an item."""
        if self.expired(item, now):
            return
        namespace = decode_namespace(item.labels)
        self._items += 1
        self._revisions += len(item.revisions)
        self._bytes += item.size
        self._namespaces.add(namespace)
        if item.stored is not None:
            self._tally.add(namespace, item.key)

    def result(self, said: TurnsImport) -> TransferReport:
        """What was counted."""
        return TransferReport(
            self._items,
            self._revisions,
            self._bytes,
            tuple(self._skipped),
            tuple(sorted(self._namespaces | said.namespaces)),
            self._tally.found(),
            said.new,
        )
