"""Writing a store out as ordinary files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from memoranda.store.changes import Namespace
from memoranda.store.namespaces import decode_namespace
from memoranda.store.operations.bundle import count, dump
from memoranda.store.operations.whole_items import WholeItem
from memoranda.store.selection import Selection
from memoranda.store.store import MemoryStore
from memoranda.store.turns import RecordedTurn
from memoranda.store.values import Kind
from memoranda.transfer.errors import TargetError
from memoranda.transfer.labels import require_any
from memoranda.transfer.names import Places, key_parts, namespace_folder
from memoranda.transfer.prefixes import PrefixTally
from memoranda.transfer.types import Progress, Skipped, TransferReport

_UNWELCOME_NAME = (errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ)


def export_folder(
    store: MemoryStore,
    folder: Path,
    *,
    namespace: Namespace = (),
    below: bool = True,
    subject: str | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
) -> TransferReport:
    """Write the current state of every item as a file, one sub folder for each namespace.

    Files lie at their paths, other items as `key.json`. Nothing is ever written outside the folder. History stays
    behind; a bundle carries it.

    Args:
        store: The store to read.
        folder: Where to write; made if missing.
        namespace: Only namespaces that start with these labels.
        below: Whether those that go on behind these labels are meant too.
        subject: Of those, only the ones that have this label: a person's.
        progress: Called with the items written so far and their total.
        overwrite: Write into a folder that is not empty, replacing files of the same names.

    Returns:
        What was written.

    Raises:
        SourceError: No namespace that starts with these labels holds anything.
        TargetError: The folder is not empty, or cannot be written.

    Example:
        >>> from tempfile import mkdtemp
        >>> from memoranda import open_store
        >>> target = Path(mkdtemp())
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("acme", "ann"), "/notes/tea.md", "green")
        ...     _ = export_folder(store, target)
        >>> (target / "acme,ann" / "notes" / "tea.md").read_text()
        'green'
    """
    folder = Path(folder)
    run, context = store.engine.run, store.context
    selection = Selection.of(namespace, below=below, subject=subject)
    total = run(count(context, selection, deleted=False))
    require_any(total, namespace, subject)
    _prepare(folder, overwrite)
    sink = _FolderSink(folder.resolve(), total, progress)
    run(dump(context, selection, sink, history=False))
    return sink.report()


class _FolderSink:
    """Writes what `dump` reads."""

    def __init__(self, root: Path, total: int, progress: Progress | None) -> None:
        self._root = root
        self._total = total
        self._progress = progress
        self._folders = Places()
        self._made: set[Path] = {root}
        self._skipped: list[Skipped] = []
        self._namespaces: list[Namespace] = []
        self._tally = PrefixTally()
        self._items = self._bytes = 0
        self._folder = root
        self._reset("")

    def _reset(self, labels: str) -> None:
        self._labels = labels
        self._places = Places()
        self._written = self._size = 0
        self._failed: list[Skipped] = []

    def start(self, labels: str, position: int) -> None:
        if labels != self._labels:  # otherwise it starts over, in the same place
            self._folder = self._root.joinpath(*self._folders.place(namespace_folder(decode_namespace(labels))))
        self._reset(labels)
        self._tally.forget(decode_namespace(labels))

    def item(self, item: WholeItem) -> None:
        stored = item.stored
        assert stored is not None
        parts = self._places.place(key_parts(item.key, ".json" if stored.kind == Kind.JSON else ""))
        path = self._folder.joinpath(*parts)
        try:
            self._write(path, stored.body, item.updated_at)
        except OSError as error:
            if isinstance(error, TargetError):
                raise
            if error.errno not in _UNWELCOME_NAME:
                raise TargetError(
                    f"{path} cannot be written: {error.strerror or error}.",
                    "Choose another folder, or make room there.",
                ) from error
            self._failed.append(Skipped(item.key, f"The file system refuses its name: {error.strerror}."))
        else:
            self._written += 1
            self._size += item.size
            self._tally.add(decode_namespace(item.labels), item.key)
        if self._progress is not None:
            done = self._items + self._written
            self._progress(done, max(self._total, done))

    def turn(self, turn: RecordedTurn) -> None:
        """Conversations are no files."""

    def finish(self) -> None:
        self._skipped += self._failed
        if self._written:
            self._namespaces.append(decode_namespace(self._labels))
        self._items += self._written
        self._bytes += self._size
        self._written, self._size, self._failed = 0, 0, []

    def report(self) -> TransferReport:
        """What was written."""
        return TransferReport(
            self._items,
            self._items,
            self._bytes,
            tuple(self._skipped),
            tuple(self._namespaces),
            self._tally.found(),
        )

    def _write(self, path: Path, body: bytes, at: int) -> None:
        self._make(path.parent)
        # What is there is removed, never written through: it might be a link to somewhere else.
        path.unlink(missing_ok=True)
        with path.open("xb") as file:
            file.write(body)
        try:
            os.utime(path, ns=(at * 1_000, at * 1_000))
        except (OSError, OverflowError):
            pass  # a file system that cannot keep such a time

    def _make(self, folder: Path) -> None:
        if folder in self._made:
            return
        self._make(folder.parent)
        folder.mkdir(exist_ok=True)
        if folder.is_symlink():
            raise TargetError(
                f"{folder} is a symbolic link, which might lead outside.", "Remove it, or export to an empty folder."
            )
        self._made.add(folder)


def _prepare(folder: Path, overwrite: bool) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not overwrite and next(folder.iterdir(), None) is not None:
            raise TargetError(
                f"{folder} is not empty.", "Choose another folder, or pass overwrite=True to write into this one."
            )
    except TargetError:
        raise
    except OSError as error:
        raise TargetError(
            f"{folder} cannot be written: {error.strerror or error}.", "Choose another folder."
        ) from error
