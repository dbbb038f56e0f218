"""One writer at a time below a folder, among all processes of the machine."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from memoranda.errors import StoreBusyError

_PATIENCE = 60.0
"""Seconds to wait for other writers; each holds the lock for one change."""


@contextmanager
def writing_below(root: str) -> Generator[None]:
    """Hold the lock of a folder inside the block.

    The folder itself is what is locked, so that no file of ours appears in it. Where a file system or a system has no
    such locks, a file in the user's cache folder stands for it. The system lets go of either when a process dies.

    Args:
        root: The folder's real path.

    Raises:
        StoreBusyError: Others held it all the time.
        OSError: The folder cannot be opened.
    """
    descriptor = _open_lock(root)
    try:
        yield
    finally:
        os.close(descriptor)  # which lets go of the lock


def _open_lock(root: str) -> int:
    if sys.platform != "win32":
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if _taken(descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    descriptor = os.open(_stand_in(root), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if _taken(descriptor):
            return descriptor
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    raise OSError("no lock can be had on this system")


def _taken(descriptor: int) -> bool:
    """Wait for the lock; False where there are no such locks."""
    deadline = time.monotonic() + _PATIENCE
    pause = 0.000_5
    while True:
        try:
            _try(descriptor)
        except BlockingIOError:
            pass
        except OSError:
            return False
        else:
            return True
        if time.monotonic() > deadline:
            raise StoreBusyError("Other writers held this folder all the time.", "Try again.")
        time.sleep(pause * random.uniform(0.5, 1.5))
        pause = min(pause * 1.5, 0.01)


if sys.platform == "win32":

    def _try(descriptor: int) -> None:
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:  # how Windows says that it is held
            raise BlockingIOError from error

else:

    def _try(descriptor: int) -> None:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _stand_in(root: str) -> Path:
    import platformdirs

    folder = Path(platformdirs.user_cache_dir("memoranda")) / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{sha256(os.fsencode(root)).hexdigest()[:32]}.lock"
