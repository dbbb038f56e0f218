"""Finding files below one folder, whatever links there are, and never anything outside it."""

# ruff: noqa: PTH100, PTH112, PTH116, PTH117
# (pathlib knows no paths relative to an open folder)
from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from unicodedata import normalize

from memoranda.backends.disk.folder import Entry, Folder
from memoranda.backends.disk.judging import current_judging
from memoranda.backends.disk.names import TEMPORARY, path_name
from memoranda.files.path import folder_prefix, name_of

_MOST_LINKS = 40
_ATTEMPTS = 5


class Problem(NamedTuple):
    """Something that cannot be shown: its path, and the rest of a sentence that begins with it."""

    path: str
    text: str


class Listed(NamedTuple):
    """A file or folder in a listing.

    Args:
        path: Its canonical path.
        status: What the system says of it, links followed.
        is_link: Whether it is a symbolic link.
    """

    path: str
    status: os.stat_result
    is_link: bool

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.status.st_mode)


class DiskRefusalError(Exception):
    """A file that cannot be reached or used, in words that follow its path.

    Args:
        code: Deep Agents' code for uploads and downloads, or None.
        text: The rest of a sentence that begins with the file's path.
    """

    def __init__(self, code: str | None, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def outside() -> DiskRefusalError:
    """What is said of a link that leaves the folder."""
    return DiskRefusalError("permission_denied", "leads outside this folder, so permission is denied.")


@dataclass(slots=True)
class Found:
    """Where a path leads.

    Args:
        parents: The names on disk of the folders that lead there.
        entry: What is there; None if nothing is, or for the root folder itself.
        missing: The names that are not there yet.
        names: The canonical paths under which it is known, the asked one first.
        is_root: Whether it is the root folder.
    """

    parents: list[str]
    entry: Entry | None = None
    missing: list[str] = field(default_factory=list[str])
    names: list[str] = field(default_factory=list[str])
    is_root: bool = False

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.is_root or (self.entry is not None and self.entry.is_folder)

    @property
    def real(self) -> str:
        """The canonical path of where it really lies."""
        return "/" + "/".join(normalize("NFC", name) for name in (*self.folders, *self.missing))

    @property
    def folders(self) -> list[str]:
        """The names on disk that lead to it as a folder."""
        return self.parents if self.entry is None else [*self.parents, self.entry.name]


def led_elsewhere() -> DiskRefusalError:
    """What is said of a path that leads to something else than what the rules were asked about."""
    text = "leads elsewhere than it did a moment ago, so nothing was done. Try again."
    return DiskRefusalError("permission_denied", text)


class Root:
    """One folder of the disk, and what lies below it.

    Args:
        path: The folder; it need not exist yet.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.given: str = os.path.abspath(os.fsdecode(path))
        self.path: str = os.path.realpath(self.given)

    def exists(self) -> bool:
        """Whether the folder itself is there."""
        return os.path.isdir(self.path)

    def open(self, folders: list[str]) -> Folder:
        """Open a folder by the names on disk that lead to it, none of which may have become a link."""
        folder = Folder.open(self.path)
        for name in folders:
            with folder:
                inner = folder.sub(name)
            folder = inner
        return folder

    def find(self, path: str, *, follow_last: bool = True) -> Found:
        """Follow a canonical path to where it may lead as far as rules were asked about it.

        Args:
            path: The path.
            follow_last: Whether a link at its very end is followed too.

        Raises:
            DiskRefusalError: As `look`; or it leads elsewhere than when the rules were asked.
            OSError: Something may not be looked at.
        """
        found = self.look(path, follow_last=follow_last)
        judging = current_judging()
        if judging is not None and not judging.may_lead((self.path, path), found.real):
            raise led_elsewhere()
        return found

    def names(self, path: str) -> tuple[str, ...]:
        """The canonical paths under which something is known, the asked one first, where it really lies included."""
        try:
            found = self.look(path)
            names = [*found.names, found.real]
            if len(found.names) > 1:  # what is moved or deleted is the link
                names.append(self.look(path, follow_last=False).real)
        except (DiskRefusalError, OSError):
            names = [path]  # it will be refused
        judging = current_judging()
        return tuple(dict.fromkeys(names)) if judging is None else judging.ask((self.path, path), names)

    def real(self, path: str) -> str:
        """Where something really lies, as far as it can be told."""
        try:
            return self.look(path).real
        except (DiskRefusalError, OSError):
            return path  # it will be refused

    def look(self, path: str, *, follow_last: bool = True) -> Found:
        """Follow a canonical path, links inside the folder included.

        Args:
            path: The path.
            follow_last: Whether a link at its very end is followed too.

        Raises:
            DiskRefusalError: A link leads outside, or in circles; or a file is in the way.
            OSError: Something may not be looked at.
        """
        found = Found([], names=[path])
        pending = deque(path[1:].split("/") if path != "/" else ())
        if not self.exists():
            found.missing = list(pending)
            found.is_root = not pending
            return found
        opened = [Folder.open(self.path)]
        links = 0
        try:
            while pending:
                name = pending.popleft()
                if name in ("", "."):
                    continue
                if name == "..":  # only ever in the target of a link
                    if not found.parents:
                        raise outside()
                    found.parents.pop()
                    opened.pop().close()
                    continue
                entry = opened[-1].entry(name)
                if entry is None:
                    if ".." in pending:
                        raise outside()
                    found.missing = [name, *(part for part in pending if part not in ("", "."))]
                    return self._named(found)
                if entry.is_link and (pending or follow_last):
                    links += 1
                    if links > _MOST_LINKS:
                        raise DiskRefusalError("invalid_path", "is a link that leads in circles.")
                    parts, absolute = self._target(opened[-1].link_target(entry.name))
                    if absolute:
                        found.parents.clear()
                        while len(opened) > 1:
                            opened.pop().close()
                    pending.extendleft(reversed(parts))
                    self._also(found, [*found.parents, *pending])
                    continue
                if entry.is_folder and any(part not in ("", ".") for part in pending):
                    opened.append(opened[-1].sub(entry.name))
                    found.parents.append(entry.name)
                    continue
                if any(part not in ("", ".") for part in pending):
                    raise DiskRefusalError("invalid_path", "would lie below something that is no folder.")
                found.entry = entry
            found.is_root = found.entry is None and not found.parents
            if found.entry is None and found.parents:  # a link to a folder further up
                name = found.parents.pop()
                opened.pop().close()
                found.entry = opened[-1].entry(name)
            return self._named(found)
        finally:
            for folder in opened:
                folder.close()

    def _target(self, target: str) -> tuple[list[str], bool]:
        """Where a link leads: the parts of its target, and whether they begin at the root."""
        if not os.path.isabs(target):
            return target.replace(os.sep, "/").split("/"), False
        for root in (self.path, self.given):
            if target == root or target.startswith(root.rstrip(os.sep) + os.sep):
                return target[len(root) :].replace(os.sep, "/").split("/"), True
        raise outside()

    def _named(self, found: Found) -> Found:
        self._also(found, [*found.folders, *found.missing])
        return found

    def _also(self, found: Found, parts: list[str]) -> None:
        """Note another name for what is looked for."""
        settled: list[str] = []
        for part in parts:
            if part == "..":
                if settled:
                    settled.pop()
            elif part not in ("", "."):
                settled.append(normalize("NFC", part))
        name = "/" + "/".join(settled)
        if name not in found.names:
            found.names.append(name)

    # --- reading --------------------------------------------------------------------------------------------

    def read(self, path: str, limit: int) -> tuple[bytes, os.stat_result] | None:
        """A whole file, as it was at one moment.

        Args:
            path: The file.
            limit: The most bytes that are read.

        Returns:
            Its content and status; None if nothing is there.

        Raises:
            DiskRefusalError: It is no file, is too large, or lies outside.
            OSError: It may not be read.
        """
        found = self.find(path)
        if found.is_folder:
            raise DiskRefusalError("is_directory", "is a folder, not a file. List it instead.")
        if found.entry is None:
            return None
        try:
            with self.open(found.parents) as folder:
                descriptor = folder.open_file(found.entry.name)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            for attempt in range(_ATTEMPTS):
                before = os.fstat(descriptor)
                if not stat.S_ISREG(before.st_mode):
                    raise DiskRefusalError("invalid_path", "is no regular file.")
                if before.st_size > limit:
                    raise too_large(before.st_size, limit)
                file.seek(0)
                content = file.read(limit + 1)
                after = os.fstat(descriptor)
                # Ours replace a file at once; somebody else's program may be writing into this one.
                settled = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
                if settled or attempt == _ATTEMPTS - 1:
                    if len(content) > limit:
                        raise too_large(len(content), limit)
                    return content, after
        return None

    def listing(self, path: str) -> tuple[list[Listed], list[Problem]]:
        """What a folder holds, with links followed.

        Returns:
            Its files and folders by path, and what cannot be shown.

        Raises:
            DiskRefusalError: It lies outside.
            OSError: It may not be listed.
        """
        found = self.find(path)
        if not found.is_folder or not self.exists():
            return [], []
        with self.open(found.folders) as folder:
            # Where two names stand for one path, the one that is spelled like it comes first.
            entries = sorted(folder.scan(), key=lambda entry: (path_name(entry.name) != entry.name, entry.name))
        shown: dict[str, Listed] = {}
        problems: list[Problem] = []
        prefix = folder_prefix(path)
        for entry in entries:
            name = path_name(entry.name)
            if name is None or prefix + name in shown:
                if entry.name != TEMPORARY:
                    problems.append(Problem(_printable(prefix + entry.name), "has a name that no path can give"))
                continue
            try:
                status = self._followed(prefix + name) if entry.is_link else entry.status
            except (DiskRefusalError, OSError) as error:
                problems.append(Problem(prefix + name, reason(error)))
                continue
            if status is None:
                problems.append(Problem(prefix + name, "is a link to something that is not there"))
            elif stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
                shown[prefix + name] = Listed(prefix + name, status, entry.is_link)
        return [shown[found] for found in sorted(shown)], problems

    def _followed(self, path: str) -> os.stat_result | None:
        """The status of what a link leads to."""
        found = self.find(path)
        if found.is_root:
            return os.stat(self.path)
        return None if found.entry is None else found.entry.status

    def walk(self, path: str, *, dots: bool = True) -> Iterator[Listed | Problem]:
        """Every file below a folder, folder by folder; links to folders are not entered.

        Args:
            path: The folder.
            dots: Whether folders whose names begin with a dot are entered.

        Yields:
            Each file, and what cannot be looked at.
        """
        waiting = [path]
        while waiting:
            folder = waiting.pop()
            try:
                entries, problems = self.listing(folder)
            except (DiskRefusalError, OSError) as error:
                yield Problem(folder, reason(error))
                continue
            yield from problems
            yield from (entry for entry in entries if not entry.is_folder)
            inner = [
                entry.path + "/"
                for entry in entries
                if entry.is_folder and not entry.is_link and (dots or not name_of(entry.path).startswith("."))
            ]
            waiting += [name[:-1] for name in sorted(inner, reverse=True)]

    def files_below(self, path: str) -> list[str]:
        """The path of every file below a folder."""
        return [item.path for item in self.walk(path) if isinstance(item, Listed)]


def too_large(size: int, limit: int) -> DiskRefusalError:
    """What is said of a file over the limit."""
    return DiskRefusalError(None, f"takes {size:,} bytes, more than the {limit:,} that are read here.")


def reason(error: DiskRefusalError | OSError) -> str:
    """What went wrong, without any path of this machine."""
    if isinstance(error, DiskRefusalError):
        return error.text.rstrip(".")
    if isinstance(error, PermissionError):
        return "may not be used: permission denied"
    return f"cannot be used: {error.strerror or type(error).__name__}"


def _printable(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()
