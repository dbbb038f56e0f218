"""An open folder: everything is done relative to it, so that a link put in its path meanwhile leads nowhere else."""

# ruff: noqa: PTH102, PTH105, PTH116, PTH118, PTH208
# (pathlib knows no paths relative to an open folder)
from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from types import TracebackType
from typing import Any, NamedTuple

from memoranda.backends.disk.names import other_case, path_name

_BY_DESCRIPTOR = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
"""Whether this system opens files relative to an open folder; Windows goes by whole paths."""

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)


class Entry(NamedTuple):
    """Something in a folder.

    Args:
        name: Its name on disk.
        status: What the system says of it, links not followed.
    """

    name: str
    status: os.stat_result

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return stat.S_ISLNK(self.status.st_mode)

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.status.st_mode)


class Folder:
    """A folder, held open.

    Args:
        path: Its whole path, for systems that know no better.
        descriptor: It, opened; None on those systems.
    """

    def __init__(self, path: str, descriptor: int | None) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def open(cls, path: str) -> Folder:
        """Open a folder by its path.

        Raises:
            OSError: It is not there, or may not be opened.
        """
        if _BY_DESCRIPTOR:
            return cls(path, os.open(path, os.O_RDONLY | _DIRECTORY | _CLOEXEC))
        os.listdir(path)
        return cls(path, None)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _at(self, name: str) -> tuple[str, dict[str, Any]]:
        if self._descriptor is not None:
            return name, {"dir_fd": self._descriptor}
        return os.path.join(self.path, name), {}

    # --- looking --------------------------------------------------------------------------------------------

    def entry(self, name: str) -> Entry | None:
        """What a name in a path stands for; None if nothing does.

        A disk that does not tell upper from lower case, or one Unicode form from another, would answer to names that
        nobody gave: only the name that a listing shows counts.
        """
        status = self._status(name)
        if status is None:
            return None if name.isascii() else self._scan_for(name)
        other = other_case(name)
        if other != name:
            twin = self._status(other)
            if twin is not None and (twin.st_ino, twin.st_dev) == (status.st_ino, status.st_dev):
                return self._scan_for(name)
        return Entry(name, status) if path_name(name) == name else None

    def answers_to(self, name: str) -> bool:
        """Whether the disk has something under this name, in whatever spelling."""
        return self._status(name) is not None

    def _status(self, name: str) -> os.stat_result | None:
        at, where = self._at(name)
        try:
            return os.stat(at, follow_symlinks=False, **where)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno in (errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ):  # no file can have such a name
                return None
            raise

    def _scan_for(self, name: str) -> Entry | None:
        found = [entry for entry in self.scan() if path_name(entry.name) == name]
        exact = [entry for entry in found if entry.name == name]
        return (exact or found or [None])[0]

    def scan(self) -> Iterator[Entry]:
        """Everything in the folder, in no order."""
        target: Any = self.path if self._descriptor is None else self._descriptor
        with os.scandir(target) as entries:
            for entry in entries:
                try:
                    yield Entry(entry.name, entry.stat(follow_symlinks=False))
                except FileNotFoundError:  # gone since
                    continue

    def link_target(self, name: str) -> str:
        """Where a symbolic link leads, as it is written there."""
        at, where = self._at(name)
        return os.readlink(at, **where)

    def sub(self, name: str) -> Folder:
        """Open a folder in this one, which must not be a link."""
        at, where = self._at(name)
        path = os.path.join(self.path, name)
        if self._descriptor is None:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                raise NotADirectoryError(path)
            return Folder(path, None)
        return Folder(path, os.open(at, os.O_RDONLY | _DIRECTORY | _NO_FOLLOW | _CLOEXEC, **where))

    def open_file(self, name: str) -> int:
        """Open a file for reading, which must not be a link; a pipe does not make anybody wait."""
        at, where = self._at(name)
        return os.open(at, os.O_RDONLY | _NO_FOLLOW | _NO_WAIT | _CLOEXEC | _BINARY, **where)

    # --- changing -------------------------------------------------------------------------------------------

    def create_file(self, name: str) -> int:
        """Make a new file and open it for writing."""
        at, where = self._at(name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _CLOEXEC | _BINARY
        return os.open(at, flags, 0o666, **where)

    def make_folder(self, name: str) -> None:
        """Make a folder in this one."""
        at, where = self._at(name)
        os.mkdir(at, **where)

    def unlink(self, name: str) -> None:
        """Remove a file or a link."""
        at, where = self._at(name)
        os.unlink(at, **where)

    def remove_folder(self, name: str) -> None:
        """Remove an empty folder."""
        at, where = self._at(name)
        os.rmdir(at, **where)

    def replace(self, name: str, target: Folder, target_name: str) -> None:
        """Give something another place, at once; a file there is replaced."""
        if self._descriptor is not None and target._descriptor is not None:
            os.replace(name, target_name, src_dir_fd=self._descriptor, dst_dir_fd=target._descriptor)
        else:
            os.replace(self._at(name)[0], target._at(target_name)[0])

    def may_write(self, name: str) -> bool:
        """Whether a file may be written; one that is marked as read-only may not, whoever asks."""
        status = self._status(name)
        at, where = self._at(name)
        return status is None or (bool(status.st_mode & 0o222) and os.access(at, os.W_OK, **where))

    def sync(self) -> None:
        """See to it that what was renamed here survives a loss of power."""
        if self._descriptor is not None:
            try:
                os.fsync(self._descriptor)
            except OSError:  # some file systems cannot sync a folder
                pass
