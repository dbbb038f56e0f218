"""Changing files below a folder; whoever calls these holds its lock."""

from __future__ import annotations

import os
import stat

from memoranda.backends.disk.folder import Folder
from memoranda.backends.disk.names import TEMPORARY, cannot_be_created
from memoranda.backends.disk.root import DiskRefusalError, Found, Root


def write(root: Root, path: str, content: bytes) -> None:
    """Set a whole file, so that every reader finds the old one or the new one.

    Raises:
        DiskRefusalError: Something is in the way, or the file is read-only.
        OSError: The disk does not take it.
    """
    found = root.find(path)
    if found.is_folder:
        raise DiskRefusalError("is_directory", "is a folder, not a file.")
    with _parent(root, found) as folder:
        name = found.missing[-1] if found.entry is None else found.entry.name
        mode: int | None = None
        if found.entry is not None:
            if not found.entry.is_file:
                raise DiskRefusalError("invalid_path", "is no regular file.")
            if not folder.may_write(name):
                raise DiskRefusalError("permission_denied", "is read-only on this disk, so permission is denied.")
            mode = stat.S_IMODE(found.entry.status.st_mode)
        _put(folder, name, content, mode)


def _put(folder: Folder, name: str, content: bytes, mode: int | None) -> None:
    try:
        descriptor = folder.create_file(TEMPORARY)
    except FileExistsError:  # left by a writer that was killed
        folder.unlink(TEMPORARY)
        descriptor = folder.create_file(TEMPORARY)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        folder.replace(TEMPORARY, folder, name)
    except BaseException:
        try:
            folder.unlink(TEMPORARY)
        except OSError:
            pass
        raise
    folder.sync()


def _parent(root: Root, found: Found) -> Folder:
    """Open the folder that something lies in, or is to lie in, and make it where it is missing."""
    for name in found.missing:
        if (problem := cannot_be_created(name)) is not None:
            raise DiskRefusalError("invalid_path", f"{problem}.")
    folder = root.open(found.parents)
    try:
        for at, name in enumerate(found.missing):
            if folder.answers_to(name):
                raise DiskRefusalError(
                    "invalid_path",
                    "differs only in its spelling from a name that is there, and this disk takes the two as one.",
                )
            if at < len(found.missing) - 1:
                folder.make_folder(name)
                folder.sync()
                inner = folder.sub(name)
                folder.close()
                folder = inner
    except BaseException:
        folder.close()
        raise
    return folder


def remove(root: Root, path: str) -> list[str] | None:
    """Remove a file or a link, or a folder with everything in it; of the root folder only what it holds.

    Returns:
        The files that went; None if nothing was there.

    Raises:
        DiskRefusalError: It lies outside.
        OSError: The disk does not let it go.
    """
    found = root.find(path, follow_last=False)
    if not found.is_folder:
        if found.entry is None:
            return None
        with root.open(found.parents) as folder:
            folder.unlink(found.entry.name)
            folder.sync()
        return [path]
    if not root.exists():
        return None
    files = root.files_below(path)
    if found.is_root:
        with root.open([]) as folder:
            empty = not any(True for _ in folder.scan())
            _empty(folder)
        return None if empty else files
    assert found.entry is not None
    with root.open(found.parents) as folder:
        with folder.sub(found.entry.name) as inner:
            _empty(inner)
        folder.remove_folder(found.entry.name)
        folder.sync()
    return files


def _empty(folder: Folder) -> None:
    for entry in list(folder.scan()):
        if entry.is_folder:
            with folder.sub(entry.name) as inner:
                _empty(inner)
            folder.remove_folder(entry.name)
        else:
            folder.unlink(entry.name)


def move(root: Root, path: str, to: str, *, overwrite: bool) -> list[tuple[str, str]] | None:
    """Give a file or a folder another place.

    Returns:
        The old and the new path of every file; None if nothing was there.

    Raises:
        DiskRefusalError: Something is in the way.
        OSError: The disk does not do it.
    """
    found = root.find(path, follow_last=False)
    if found.entry is None:
        return None
    if not found.entry.is_folder:
        _rename(root, path, to, overwrite=overwrite)
        return [(path, to)]
    files = root.files_below(path)
    pairs = [(file, to + file[len(path) :]) for file in files]
    target = root.find(to, follow_last=False)
    if target.entry is None:
        with _parent(root, target) as folder, root.open(found.parents) as source:
            source.replace(found.entry.name, folder, target.missing[-1])
            folder.sync()
            source.sync()
        return pairs
    if not overwrite:
        for _, new in pairs:
            if root.find(new).entry is not None:
                raise Occupied(new)
    for old, new in pairs:
        _rename(root, old, new, overwrite=overwrite)
    if not root.files_below(path):
        remove(root, path)
    return pairs


class Occupied(DiskRefusalError):  # noqa: N818 - told to the model as a refusal
    """The target of a move is there already."""

    def __init__(self, path: str) -> None:
        super().__init__(None, "exists already")
        self.path = path


def _rename(root: Root, path: str, to: str, *, overwrite: bool) -> None:
    found, target = root.find(path, follow_last=False), root.find(to)
    if target.is_folder:
        raise DiskRefusalError("is_directory", "is a folder that is there already. Choose another target.")
    if target.entry is not None and not overwrite:
        raise Occupied(to)
    assert found.entry is not None
    with _parent(root, target) as folder, root.open(found.parents) as source:
        name = target.missing[-1] if target.entry is None else target.entry.name
        if target.entry is not None and not folder.may_write(name):
            raise DiskRefusalError("permission_denied", "is read-only on this disk, so permission is denied.")
        source.replace(found.entry.name, folder, name)
        folder.sync()
        source.sync()
