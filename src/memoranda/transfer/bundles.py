"""Bundles: a store, or a part of it, or one person's memory, in one file with all history."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO, Literal, cast

from memoranda.errors import MemorandaError
from memoranda.store.changes import Change, Namespace
from memoranda.store.namespaces import decode_namespace
from memoranda.store.operations.bundle import count, dump
from memoranda.store.operations.bundle_turns import count_turns, proposals_about
from memoranda.store.operations.digests import EMPTY, replace_in_sum
from memoranda.store.operations.whole_items import WholeItem
from memoranda.store.selection import Selection
from memoranda.store.store import MemoryStore
from memoranda.store.turns import RecordedTurn
from memoranda.store.types import Proposal
from memoranda.transfer.bundle_import import BundleImport
from memoranda.transfer.bundle_lines import LineWriter, no_bundle, read_lines
from memoranda.transfer.bundle_records import (
    VERSION,
    Header,
    NamespaceStart,
    NamespaceTotal,
    Trailer,
    dump_header,
    dump_record,
    load_header,
)
from memoranda.transfer.bundle_turns import part_of
from memoranda.transfer.database_files import is_database
from memoranda.transfer.errors import SourceError, TargetError, TransferError
from memoranda.transfer.labels import require_any
from memoranda.transfer.prefixes import PrefixTally
from memoranda.transfer.types import Progress, TransferReport


def export_bundle(
    store: MemoryStore,
    path: Path,
    *,
    namespace: Namespace = (),
    below: bool = True,
    subject: str | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
) -> TransferReport:
    """Write every item with its whole history, every recorded turn and every proposal into one file.

    Each namespace is read from one snapshot. What has outlived its time to live is left out. Cursors, jobs, schedules
    and runs stay behind: they go by the positions that turns have in this store. The file appears under its name only
    when it is complete, so that whatever happens an older bundle there is either still there or replaced by a whole
    one.

    Args:
        store: The store to read.
        path: The file to write; `.mbundle` is the usual ending.
        namespace: Only namespaces that start with these labels.
        below: Whether those that go on behind these labels are meant too.
        subject: Of those, only what is about this person: the namespaces that have this label, and elsewhere the turns
            of this user. Of proposals that concern others too, only the changes in these namespaces are written.
        progress: Called with the items and turns written so far and their total.
        overwrite: Replace an older bundle of that name; anything else is refused all the same.

    Returns:
        What was written.

    Raises:
        SourceError: No namespace starts with these labels, or nothing is about this person.
        TargetError: The file cannot be written, is there already, or is something else than a bundle.
        StoreCorruptError: The store has lost something; `verify` says what.

    Example:
        >>> from tempfile import mkdtemp
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("ann",), "/tea.md", "green")
        ...     export_bundle(store, Path(mkdtemp()) / "ann.mbundle").items
        1
    """
    path = Path(path)
    run, context = store.engine.run, store.context
    selection = Selection.of(namespace, below=below, subject=subject)
    items, turns = run(count(context, selection, deleted=True)), run(count_turns(context, selection))
    require_any(items + turns, namespace, subject)
    if path.exists():
        if not is_bundle(path):
            raise TargetError(
                f"{path} exists and is no whole bundle.",
                "Choose another name, or remove it; only bundles are replaced.",
            )
        if not overwrite:
            raise TargetError(
                f"The bundle {path} exists.", "Choose another name, or pass overwrite=True to replace it."
            )
    try:
        with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name[:100]}.", delete=False) as file:
            try:
                lines = LineWriter(cast("BinaryIO", file))
                lines.begin()
                lines.write(dump_header(Header(VERSION, items, context.clock(), namespace, subject)))
                lines.keep()
                sink = _BundleSink(lines, items + turns, progress)
                run(dump(context, selection, sink))
                run(proposals_about(context, selection, sink.proposal))
                report = sink.end()
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        if isinstance(error, MemorandaError):  # the store's own
            raise
        raise TargetError(
            f"{path} cannot be written: {error.strerror or error}.", "Choose another place, or make room there."
        ) from error
    return report


def import_bundle(
    store: MemoryStore,
    path: Path,
    *,
    into: Callable[[Namespace], Namespace] | None = None,
    strip_prefix: str | None = None,
    on_existing: Literal["refuse", "skip"] = "refuse",
    dry_run: bool = False,
    progress: Progress | None = None,
) -> TransferReport:
    """Bring back what `export_bundle` wrote, digests and all.

    The bundle is checked as a whole before anything is written. Then items land in transactions of bounded size: an
    interrupted import leaves whole items only, and a second one with `on_existing="skip"` completes it. Turns come
    after them, each once, however often they are imported. Proposals stay behind: what was accepted is in the history
    of its items, and what waits has to be decided where it was made.

    Args:
        store: The store to write to.
        path: The bundle.
        into: Gives the namespace that the items of a namespace shall live in; their digests are made anew.
        strip_prefix: A folder to take off the keys that start with it, for example `/memories/`.
        on_existing: `"refuse"` stops before anything is written if an item of the bundle is in the store already;
            `"skip"` leaves out those that are there with the same history, further changes included, and stops for
            others only.
        dry_run: Check everything and say what would be done, but write nothing.
        progress: Called with the items done so far and their total.

    Returns:
        What was brought in.

    Raises:
        SourceError: There is no such file, or it cannot be read.
        NotABundleError: The file is no bundle.
        BundleTooNewError: A newer version wrote it.
        BundleTruncatedError: It ends early.
        BundleCorruptError: It is damaged.
        BundleConflictError: The store holds other items under keys of the bundle.
        KeyCollisionError: Two items of the bundle would get one key.

    Example:
        >>> from tempfile import mkdtemp
        >>> from memoranda import open_store
        >>> path = Path(mkdtemp()) / "ann.mbundle"
        >>> with open_store("memory://") as store, open_store("memory://") as other:
        ...     _ = store.write(("ann",), "/tea.md", "green")
        ...     _ = export_bundle(store, path)
        ...     _ = import_bundle(other, path)
        ...     store.verify().namespaces == other.verify().namespaces
        True
    """
    path = Path(path)
    try:
        if is_database(path):
            raise no_bundle(path)
        file = path.open("rb")
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror or error}.", "Give the path of a bundle.") from error
    with file:
        importing = BundleImport(
            store, file, path, into=into, strip_prefix=strip_prefix, skip=on_existing == "skip", progress=progress
        )
        return importing.check() if dry_run else importing.run()


def is_bundle(path: Path) -> bool:
    """Whether a file begins as a bundle does, of whatever version."""
    try:
        require_bundle(path)
    except (OSError, TransferError):
        return False
    return True


def require_bundle(path: Path) -> None:
    """Read the beginning of a file, as far as it takes to know a bundle.

    Raises:
        NotABundleError: It is something else.
        BundleTruncatedError: It is compressed as a bundle is, and ends before it could be known.
        BundleCorruptError: It is compressed as a bundle is, and damaged.
        OSError: It cannot be read.
    """
    if is_database(path):
        raise no_bundle(path)
    with path.open("rb") as file:
        if load_header(next(read_lines(file, path), b"")) is None:
            raise no_bundle(path)


class _BundleSink:
    """Turns what `dump` reads into lines, and adds it up for the trailer."""

    def __init__(self, lines: LineWriter, total: int, progress: Progress | None) -> None:
        self._lines = lines
        self._total = total
        self._progress = progress
        self._kept: list[NamespaceTotal] = []
        self._size = 0
        self._done = self._said = self._proposals = 0
        self._tally = PrefixTally()
        self._head: NamespaceStart | None = None
        self._reset()

    def _reset(self) -> None:
        self._items = self._revisions = self._bytes = self._turns = 0
        self._digest = EMPTY

    def start(self, labels: str, position: int) -> None:
        self._reset()
        self._head = NamespaceStart(labels, position)
        self._tally.forget(decode_namespace(labels))
        self._lines.begin()

    def item(self, item: WholeItem) -> None:
        self._write(item)
        self._items += 1
        self._revisions += len(item.revisions)
        self._bytes += item.size
        self._digest = replace_in_sum(self._digest, None, item.digest)
        if item.stored is not None:
            self._tally.add(decode_namespace(item.labels), item.key)
        self._tell()

    def turn(self, turn: RecordedTurn) -> None:
        self._write(turn)
        self._turns += 1
        self._tell()

    def _write(self, record: WholeItem | RecordedTurn) -> None:
        assert self._head is not None
        if not self._items + self._turns:
            self._lines.write(dump_record(self._head))
        self._lines.write(dump_record(record))

    def _tell(self) -> None:
        if self._progress is not None:
            done = self._done + self._said + self._items + self._turns
            self._progress(done, max(self._total, done))

    def finish(self) -> None:
        self._lines.keep()
        if self._head is None or not self._items + self._turns:
            return
        self._kept.append(NamespaceTotal(self._head.labels, self._digest, self._items, self._revisions, self._turns))
        self._size += self._bytes
        self._done += self._items
        self._said += self._turns
        self._head = None

    def proposal(self, proposal: Proposal, changes: tuple[Change, ...]) -> None:
        self._lines.begin()
        self._lines.write(dump_record(part_of(proposal, changes)))
        self._lines.keep()
        self._proposals += 1

    def end(self) -> TransferReport:
        """Write the trailer."""
        revisions = sum(total.revisions for total in self._kept)
        self._lines.begin()
        self._lines.write(dump_record(Trailer(tuple(self._kept), self._done, revisions, self._said, self._proposals)))
        self._lines.close()
        return TransferReport(
            self._done,
            revisions,
            self._size,
            (),
            tuple(decode_namespace(total.labels) for total in self._kept),
            self._tally.found(),
            self._said,
            self._proposals,
        )
