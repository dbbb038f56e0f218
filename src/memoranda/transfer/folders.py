"""Bringing in folders of ordinary files."""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

from langgraph.store.base import GetOp, Item

from memoranda.errors import MemorandaError
from memoranda.files.format import create_file_data, is_file_value, read_file_data
from memoranda.files.globbing import Glob, compile_glob
from memoranda.files.path import canonical_path, folder_prefix
from memoranda.store.changes import Author, ChangeSet, Namespace, Write, current_author
from memoranda.store.keys import file_key
from memoranda.store.namespaces import encode_writable
from memoranda.store.store import MemoryStore
from memoranda.store.values import timestamp
from memoranda.transfer.database_files import belongs_to_database
from memoranda.transfer.errors import KeyCollisionError, SourceError
from memoranda.transfer.prefixes import PrefixTally, prefix_folder, without_prefix
from memoranda.transfer.types import Progress, Skipped, TransferReport

LARGEST = 256_000_000
"""Bytes of the largest file that is taken in."""

_BATCH_FILES = 200
_BATCH_BYTES = 8_000_000


def import_folder(
    store: MemoryStore,
    folder: Path,
    namespace: Namespace,
    *,
    to: str = "/",
    author: Author | None = None,
    include: str | None = None,
    overwrite: bool = True,
    dry_run: bool = False,
    strip_prefix: str | None = None,
    progress: Progress | None = None,
) -> TransferReport:
    """Write every file below a folder into one namespace.

    Text stays text, anything else is kept as binary. Files that are there already with the same content are left
    alone, so a second run writes only what changed. Symbolic links, what cannot be read, `.git`, SQLite databases and
    names that cannot be keys are left out and reported.

    Args:
        store: The store to write to.
        folder: The folder to read.
        namespace: Where the files shall live.
        to: The folder that they shall lie below.
        author: Who imports; None takes `acting_as`. The reason is "imported from …" unless it says another.
        include: Only files that match this glob pattern, as in `MemoryStore.glob`.
        overwrite: Whether a file that is there with other content is replaced (its history stays) or left out.
        dry_run: Say what would be done, but write nothing.
        strip_prefix: A folder to take off paths that start with it, for example `/memories/`.
        progress: Called with the files done so far and their total.

    Returns:
        What was brought in.

    Raises:
        SourceError: There is no such folder.
        KeyCollisionError: Without its prefix a file would get the path of another.

    Example:
        >>> from tempfile import mkdtemp
        >>> from memoranda import open_store
        >>> source = Path(mkdtemp())
        >>> _ = (source / "AGENTS.md").write_text("Be kind.")
        >>> with open_store("memory://") as store:
        ...     import_folder(store, source, ("ann",)).items
        1
    """
    folder = Path(folder)
    encode_writable(namespace)
    author = signed_for(author, folder.resolve().name or "/")
    strip = None if strip_prefix is None else prefix_folder(strip_prefix)
    skipped: list[Skipped] = []
    matcher = None if include is None else compile_glob(include)
    files = _planned(folder, canonical_path(to), strip, matcher, skipped)
    importing = _FolderImport(store, namespace, author, overwrite, dry_run, skipped)
    done = 0
    for batch in _batches(files):
        importing.take(batch)
        done += len(batch)
        if progress is not None:
            progress(done, len(files))
    return importing.report()


class _File(NamedTuple):
    """A file that is to be imported."""

    path: Path
    shown: str
    key: str
    size: int


class _FolderImport:
    """One import of one folder."""

    def __init__(
        self,
        store: MemoryStore,
        namespace: Namespace,
        author: Author,
        overwrite: bool,
        dry_run: bool,
        skipped: list[Skipped],
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._author = author
        self._overwrite = overwrite
        self._dry_run = dry_run
        self._skipped = skipped
        self._tally = PrefixTally()
        self._items = self._bytes = 0

    def take(self, batch: list[_File]) -> None:
        """Import some files in one transaction."""
        read = [(file, content) for file in batch if (content := self._read(file)) is not None]
        there = self._store.batch([GetOp(self._namespace, file.key, False) for file, _ in read])
        writes: list[tuple[_File, Write]] = []
        for (file, (content, at)), item in zip(read, there, strict=True):
            self._tally.add(self._namespace, file.key)
            value = item.value if isinstance(item, Item) else None
            if value is not None and _holds(value, content):
                continue
            if value is not None and not self._overwrite:
                self._exists(file)
                continue
            writes.append((file, self._write(file, content, at, value)))
        self._commit(writes)

    def report(self) -> TransferReport:
        """What was imported."""
        return TransferReport(
            self._items,
            self._items,
            self._bytes,
            tuple(self._skipped),
            (self._namespace,) if self._items else (),
            self._tally.found(),
        )

    def _read(self, file: _File) -> tuple[bytes, int] | None:
        try:
            with file.path.open("rb") as opened:
                return opened.read(), os.fstat(opened.fileno()).st_mtime_ns // 1_000
        except OSError as error:
            self._skipped.append(Skipped(file.shown, f"It cannot be read: {error.strerror or error}."))
            return None

    def _write(self, file: _File, content: bytes, at: int, before: Mapping[str, Any] | None) -> Write:
        data = create_file_data(content)
        try:
            data["created_at"] = data["modified_at"] = timestamp(at)
        except (OverflowError, ValueError, OSError):
            pass  # a time that no calendar knows; now has to do
        value: dict[str, Any] = {**data}
        if before is not None and is_file_value(before):
            kept = {name: part for name, part in before.items() if name not in ("content", "encoding", "modified_at")}
            value |= kept
        ttl = self._store.context.default_ttl
        return Write(self._namespace, file.key, value, None if self._overwrite else 0, ttl)

    def _commit(self, writes: list[tuple[_File, Write]]) -> None:
        while writes:
            if not self._dry_run:
                changes = ChangeSet([write for _, write in writes], self._author)
                result = self._store.commit(changes, on_conflict="return")
                if result.conflicts:
                    # Others wrote these meanwhile, and they are not to be overwritten.
                    theirs = {conflict.index for conflict in result.conflicts}
                    for index in theirs:
                        self._exists(writes[index][0])
                    writes = [each for index, each in enumerate(writes) if index not in theirs]
                    continue
            self._items += len(writes)
            self._bytes += sum(file.size for file, _ in writes)
            return

    def _exists(self, file: _File) -> None:
        self._skipped.append(Skipped(file.shown, f"{file.key} exists with other content."))


def signed_for(author: Author | None, source: str) -> Author:
    """The author of an import, with a reason that names the source."""
    author = author or current_author()
    return author if author.reason else replace(author, reason=f"imported from {source}")


def _holds(value: Mapping[str, Any], content: bytes) -> bool:
    """Whether an item is a file with this content."""
    if not is_file_value(value):
        return False
    data = read_file_data(value)
    raw = b64decode(data["content"]) if data["encoding"] == "base64" else data["content"].encode()
    return raw == content


def _planned(folder: Path, to: str, strip: str | None, matcher: Glob | None, skipped: list[Skipped]) -> list[_File]:
    """Every file to import, with its key."""
    planned: list[_File] = []
    owners: dict[str, tuple[str, bool]] = {}
    for path, relative, size in _walk(folder, matcher, skipped):
        inside = normalize("NFC", relative)
        bare = without_prefix("/" + inside, strip)
        stripped = bare != "/" + inside
        try:
            key = file_key(folder_prefix(to) + bare[1:])
        except MemorandaError as error:
            skipped.append(Skipped(relative, error.cause))
            continue
        if key in owners:
            owner, also = owners[key]
            if stripped or also:
                raise KeyCollisionError(
                    f"Without {strip} the files {owner} and {relative} would both be {key}.",
                    "Rename one of them, or import without taking the prefix off.",
                )
            skipped.append(Skipped(relative, f"Its name differs from that of {owner} in its Unicode form only."))
            continue
        owners[key] = (relative, stripped)
        planned.append(_File(path, relative, key, size))
    return planned


def _walk(folder: Path, matcher: Glob | None, skipped: list[Skipped]) -> Iterator[tuple[Path, str, int]]:
    """Every plain file below a folder that is asked for: its path, the path from there, and its size."""
    try:
        pending = [(folder, "", iter(_listed(folder)))]
    except OSError as error:
        raise SourceError(
            f"{folder} cannot be read: {error.strerror or error}.", "Give the path of a folder."
        ) from error
    while pending:
        above, prefix, entries = pending[-1]
        entry = next(entries, None)
        if entry is None:
            pending.pop()
            continue
        relative = prefix + entry.name
        path = above / entry.name
        try:
            folder_below = entry.is_dir(follow_symlinks=False)
            if matcher is not None and not folder_below and not matcher.matches(normalize("NFC", relative)):
                continue  # not asked for, so not worth a word
            reason = _unwanted(entry, path)
            if reason is not None:
                skipped.append(Skipped(relative.encode(errors="backslashreplace").decode(), reason))
            elif folder_below:
                pending.append((path, relative + "/", iter(_listed(path))))
            else:
                yield path, relative, entry.stat(follow_symlinks=False).st_size
        except OSError as error:
            skipped.append(Skipped(relative, f"It cannot be read: {error.strerror or error}."))


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _unwanted(entry: os.DirEntry[str], path: Path) -> str | None:
    """Why something in the folder is no file to import."""
    try:
        entry.name.encode()
    except UnicodeEncodeError:
        return "Its name is not UTF-8."
    if entry.is_symlink():
        return "It is a symbolic link."
    if entry.name == ".git":
        return "It belongs to Git."
    if "\\" in entry.name:
        return "Its name holds a backslash, which paths read as a slash."
    if entry.is_dir(follow_symlinks=False):
        return None
    if not entry.is_file(follow_symlinks=False):
        return "It is no plain file."
    if entry.stat(follow_symlinks=False).st_size > LARGEST:
        return f"It is larger than {LARGEST // 1_000_000} MB."
    if belongs_to_database(path):
        return "It is a SQLite database, or belongs to one; import that by itself."
    return None


def _batches(files: list[_File]) -> Iterator[list[_File]]:
    batch: list[_File] = []
    size = 0
    for file in files:
        if batch and (len(batch) == _BATCH_FILES or size + file.size > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += file.size
    if batch:
        yield batch
