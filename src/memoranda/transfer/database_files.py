"""Looking at SQLite files that this process may have open elsewhere.

POSIX drops all locks that a process holds on a file as soon as it closes any descriptor of it, also the locks of a
SQLite connection that knows nothing of that descriptor. So a descriptor of a database is kept for good if this process
has the file open elsewhere; and what a database holds is read from a copy, by one SQLite library only.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from memoranda.transfer.errors import SourceError

MAGIC = b"SQLite format 3\0"

_SIDES = ("-wal", "-shm", "-journal")
_COPIED = ("", "-wal", "-journal")
_PIECE = 1 << 20
_TRIES = 5
_kept: dict[tuple[int, int], int] = {}
_keeping = threading.Lock()


def is_database(path: Path) -> bool:
    """Whether a file is a SQLite database.

    Raises:
        OSError: It cannot be read.
    """
    with _keeping:
        descriptor, known = _open(path)
        if known is not None:
            return True
        found = False
        try:
            found = os.read(descriptor, len(MAGIC)) == MAGIC
        finally:
            if found:
                _close(descriptor)
            else:
                os.close(descriptor)
        return found


def belongs_to_database(path: Path) -> bool:
    """Whether a file is a SQLite database, or what SQLite keeps beside one.

    Raises:
        OSError: It cannot be read.
    """
    for side in _SIDES:
        if path.name.endswith(side):
            main = path.with_name(path.name.removesuffix(side))
            return main.is_file() and is_database(main)
    return is_database(path)


@contextmanager
def copied(path: Path) -> Generator[apsw.Connection]:
    """Open a copy of a database, with what its log holds.

    Raises:
        SourceError: It cannot be read, or is being written all the time.
    """
    with TemporaryDirectory(prefix="memoranda-") as folder:
        copy = Path(folder) / "copy.db"
        try:
            _copy_still(path, copy)
        except OSError as error:
            raise SourceError(
                f"{path} cannot be read: {error.strerror or error}.", "Give the path of a SQLite file."
            ) from error
        connection = apsw.Connection(str(copy))
        try:
            yield connection
        except (apsw.NotADBError, apsw.CorruptError) as error:
            raise SourceError(f"{path} is damaged: {error}.", "Restore a backup of it.") from error
        finally:
            connection.close()


def _copy_still(path: Path, copy: Path) -> None:
    for attempt in range(_TRIES):
        before = [_state(path, side) for side in _COPIED]
        for side in _COPIED:
            _copy(path.with_name(path.name + side), copy.with_name(copy.name + side), needed=not side)
        if before == [_state(path, side) for side in _COPIED]:
            return
        time.sleep(0.1 * 2**attempt)
    raise SourceError(f"{path} is being written all the time.", "Stop its writers for the import.")


def _state(path: Path, side: str) -> tuple[int, int] | None:
    try:
        found = path.with_name(path.name + side).stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns


def _copy(source: Path, target: Path, *, needed: bool) -> None:
    target.unlink(missing_ok=True)
    if not needed and not source.exists():
        return
    with _keeping, target.open("wb") as file:
        descriptor, known = _open(source)
        try:
            os.lseek(descriptor, 0, os.SEEK_SET)
            while piece := os.read(descriptor, _PIECE):
                file.write(piece)
        finally:
            if known is None:
                _close(descriptor)


def _open(path: Path) -> tuple[int, int | None]:
    """A descriptor of the file, and the same again if it was kept before."""
    found = path.stat()
    known = _kept.get((found.st_dev, found.st_ino))
    if known is not None:
        return known, known
    return os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)), None


def _close(descriptor: int) -> None:
    """Close a descriptor unless that could drop somebody's locks."""
    if os.name == "nt":  # locks are each handle's own there
        os.close(descriptor)
        return
    mine = os.fstat(descriptor)
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - numbers, no paths
        try:
            other = os.fstat(int(name))
        except OSError:
            continue  # the descriptor of this very listing
        if int(name) != descriptor and (other.st_dev, other.st_ino) == (mine.st_dev, mine.st_ino):
            _kept[mine.st_dev, mine.st_ino] = descriptor
            return
    os.close(descriptor)
