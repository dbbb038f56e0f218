"""`FilesystemBackend`: a real folder as a tree of files."""

from __future__ import annotations

import os
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from memoranda.backends.disk import files as disk
from memoranda.backends.disk import searching
from memoranda.backends.disk.lock import writing_below
from memoranda.backends.disk.root import DiskRefusalError, Problem, Root, reason, too_large
from memoranda.backends.finding.in_memory import chosen_steps, findable_texts
from memoranda.backends.finding.parts import Findable, Question
from memoranda.backends.places import Place
from memoranda.backends.plans import (
    Plan,
    Planner,
    R,
    Unreadable,
    cannot_move,
    occupied,
    plan_delete,
    plan_write,
)
from memoranda.backends.protocol import (
    Base,
    DeleteResult,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    MoveResult,
)
from memoranda.backends.steps import Steps, block
from memoranda.backends.tree import Search, content_of, digest_of, folder_info, newest_first
from memoranda.backends.unversioned import UnversionedFiles
from memoranda.backends.wording import not_found
from memoranda.errors import MemorandaError
from memoranda.files.format import FileData, create_file_data
from memoranda.files.globbing import Glob, compile_glob
from memoranda.files.path import folder_prefix

T = TypeVar("T")
_MOST_DIGESTS = 10_000
_SETTLED_NS = 100_000_000
"""A file changed less long ago may change again without its times telling; nanoseconds."""
_REACHES_DOTS = re.compile(r"(^|[/{,|(])\.|\[")


class FileError(MemorandaError):
    """A file of a real folder that cannot be read or changed."""


class FilesystemBackend(UnversionedFiles):
    """The files of a real folder, which nothing leads out of.

    A path is always taken below the folder. Symbolic links are followed as long as they stay inside; folders that
    are links are not entered by searches. A file is replaced at once, so that no reader ever finds half of it, and
    changes are made one at a time among all processes that use this class on the folder. A file's state is a digest
    of its content.

    Args:
        root_dir: The folder; made at the first write where it is missing.
        virtual_mode: Always true; it is there because Deep Agents has it.
        max_file_size_mb: Files larger than so many MiB are neither read nor written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     files = FilesystemBackend(folder)
        ...     _ = files.write("/tea.md", "green")
        ...     Path(folder, "tea.md").read_text()
        'green'
    """

    def __init__(
        self, root_dir: str | os.PathLike[str] = ".", virtual_mode: bool = True, max_file_size_mb: float = 10
    ) -> None:
        if not virtual_mode:
            raise FileError(
                "A FilesystemBackend is always confined to its folder.", "Leave virtual_mode out, and choose root_dir."
            )
        if max_file_size_mb <= 0:
            raise FileError(f"The limit of {max_file_size_mb} MiB leaves no file to read.", "Pass a positive number.")
        self.root = Root(root_dir)
        if Path(self.root.path).exists() and not self.root.exists():
            raise FileError(f"{os.fspath(root_dir)} is a file, not a folder.", "Pass the path of a folder.")
        self.limit = int(max_file_size_mb * 1024 * 1024)
        self._digests: OrderedDict[tuple[int, int], tuple[tuple[int, int, int], str]] = OrderedDict()

    def __repr__(self) -> str:
        return f"FilesystemBackend({self.root.given!r})"

    @property
    def cwd(self) -> Path:
        """The folder, under the name that Deep Agents gives it."""
        return Path(self.root.path)

    def scope_key(self) -> Hashable:
        return ("disk", self.root.path)

    def file_id(self, path: str) -> str:
        return f"disk|{self.root.path}|{path}"

    def location(self, place: Place) -> str:
        """Where a file lies, links followed: what was approved for it is not approved for what a link leads to."""
        return f"disk|{self.root.path}|{self.root.real(place.path)}"

    def names_steps(self, places: Sequence[Place]) -> Steps[list[tuple[str, ...]]]:
        return (yield from block(lambda: [self.root.names(place.path) for place in places]))

    # --- reading --------------------------------------------------------------------------------------------

    def ls_steps(self, place: Place) -> Steps[LsResult]:
        return (yield from block(lambda: self._ls(place)))

    def _ls(self, place: Place) -> LsResult:
        try:
            entries, problems = self.root.listing(place.path)
        except (DiskRefusalError, OSError) as error:
            return LsResult(error=f"Error: {place.shown} {reason(error)}.")
        infos = [
            folder_info(place.show(entry.path) + "/")
            if entry.is_folder
            else self._info(place.show(entry.path), entry.status)
            for entry in entries
        ]
        return LsResult(
            entries=sorted(infos, key=lambda info: info["path"]), warnings=searching.warnings_of(place, problems)
        )

    def glob_steps(self, place: Place, pattern: str) -> Steps[GlobResult]:
        matcher = compile_glob(pattern)
        return (yield from block(lambda: self._glob(place, pattern, matcher)))

    def _glob(self, place: Place, pattern: str, matcher: Glob) -> GlobResult:
        prefix = folder_prefix(place.path)
        start = (prefix + matcher.literal_prefix).rstrip("/") or "/"
        dots = "/" not in pattern or bool(_REACHES_DOTS.search(pattern))
        matches: list[FileInfo] = []
        problems: list[Problem] = []
        for item in self.root.walk(start, dots=dots):
            if isinstance(item, Problem):
                problems.append(item)
            elif matcher.matches(item.path[len(prefix) :]):
                matches.append(self._info(place.show(item.path), item.status))
        return GlobResult(matches=sorted(matches, key=newest_first), warnings=searching.warnings_of(place, problems))

    def grep_steps(self, place: Place, pattern: str, glob: str | None, max_count: int | None) -> Steps[GrepResult]:
        search = Search(place, pattern, glob, max_count)
        return (yield from block(lambda: searching.grep(self.root, self.limit, place, search)))

    def search_steps(self, place: Place, question: Question) -> Steps[Findable]:
        found, warnings = yield from block(lambda: searching.candidates(self.root, place))
        wanted, notices = yield from chosen_steps(place, question, found)
        offered = yield from findable_texts(lambda: searching.texts(self.root, self.limit, wanted), notices)
        offered.warnings = warnings
        return offered

    def load_steps(self, places: Sequence[Place]) -> Steps[list[FileData | Unreadable | None]]:
        return (yield from block(lambda: [self._load(place) for place in places]))

    def _load(self, place: Place) -> FileData | Unreadable | None:
        try:
            found = self.root.read(place.path, self.limit)
        except (DiskRefusalError, OSError) as error:
            return Unreadable(f"Error: {place.shown} {reason(error)}.", _code(error))
        if found is None:
            return None
        content, status = found
        data = create_file_data(content, _time(getattr(status, "st_birthtime", status.st_mtime)))
        data["modified_at"] = _time(status.st_mtime)
        self._note_digest(status, digest_of(content))
        return data

    def _info(self, shown: str, status: os.stat_result) -> FileInfo:
        info: FileInfo = {
            "path": shown,
            "is_dir": False,
            "size": status.st_size,
            "modified_at": _time(status.st_mtime),
        }
        known = self._digests.get((status.st_dev, status.st_ino))
        if known is not None and known[0] == _times(status):
            info["revision"] = known[1]
        return info

    def _note_digest(self, status: os.stat_result, digest: str) -> None:
        """Remember the state of a file, so that listings can tell it without reading the file again."""
        if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < _SETTLED_NS:
            return
        self._digests[status.st_dev, status.st_ino] = (_times(status), digest)
        while len(self._digests) > _MOST_DIGESTS:
            try:
                self._digests.popitem(last=False)
            except KeyError:
                break

    # --- changing -------------------------------------------------------------------------------------------

    def change_steps(self, alone: Sequence[Place], planner: Planner[R], below: Sequence[Place] = ()) -> Steps[Plan[R]]:
        def work() -> Plan[R]:
            if not self.root.exists():
                plan = planner({})
                if not plan.updates:
                    return plan
            return self._alone(change)

        def change() -> Plan[R]:
            self._check_apart(alone)
            plan = planner(self._loaded(alone))
            shown = {place.path: place for place in alone}
            # What is new comes first: if the disk fails halfway, a move leaves two files rather than none.
            for path, data in sorted(plan.updates.items(), key=lambda update: update[1] is None):
                self._set(shown.get(path, Place(path, path)), data)
            return plan

        return (yield from block(work))

    def delete_steps(self, place: Place, base: Base | None) -> Steps[DeleteResult]:
        settled = self._strict_base(place, base)

        def work() -> Plan[DeleteResult]:
            if settled is not None:
                plan = plan_delete(self._loaded([place]), place, settled)
                if plan.result.error is None:
                    _told(place, lambda: disk.remove(self.root, place.path))
                return plan
            gone = _told(place, lambda: disk.remove(self.root, place.path))
            if gone is None:
                return Plan(DeleteResult(error="Error: " + not_found(place)))
            result = DeleteResult(path=place.shown, paths=tuple(map(place.show, gone)), revision=0)
            return Plan(result, seen=[(path, None) for path in gone])

        return (yield from self._noting(lambda: self._alone(work, make=False)))

    def move_steps(self, place: Place, to: Place, overwrite: bool) -> Steps[MoveResult]:
        if (refusal := cannot_move(place, to)) is not None:
            return MoveResult(error=refusal)

        def work() -> Plan[MoveResult]:
            try:
                moved = _told(to, lambda: disk.move(self.root, place.path, to.path, overwrite=overwrite))
            except disk.Occupied as error:
                return Plan(MoveResult(error=occupied(to.show(error.path))))
            if moved is None:
                return Plan(MoveResult(error="Error: " + not_found(place)))
            plan = Plan(MoveResult(path=to.shown, paths=tuple(to.show(new) for _, new in moved)))
            plan.seen += [(old, None) for old, _ in moved]
            if moved:
                last = moved[-1][1]
                data = self._load(Place(last, last))
                if data is not None and not isinstance(data, Unreadable):
                    plan.result.revision = digest_of(content_of(data))
                    plan.followed.append((moved[-1][0], plan.result.revision, last, plan.result.revision))
            return plan

        return (yield from self._noting(lambda: self._alone(work, make=False)))

    def upload_steps(self, files: Sequence[tuple[Place, bytes]]) -> Steps[list[FileUploadResponse]]:
        """Each file by itself: one that cannot be written keeps none of the others from landing."""
        bases = [self._base(place, None) for place, _ in files]

        def work() -> Plan[list[FileUploadResponse]]:
            whole: Plan[list[FileUploadResponse]] = Plan([])
            written: set[str] = set()
            for (place, content), base in zip(files, bases, strict=True):
                settled = None if place.path in written else base
                try:
                    present = self._loaded([place]) if settled is not None else {}
                    plan = plan_write(present, place, content, settled, merge=True)
                    for path, data in plan.updates.items():
                        self._set(place, data)
                        written.add(path)
                except FileError as error:
                    code = getattr(error.__cause__, "code", None)
                    whole.result.append(FileUploadResponse(place.shown, code or f"Error: {error}"))
                    continue
                whole.seen += plan.seen
                whole.result.append(FileUploadResponse(place.shown, plan.result.error, plan.result.revision))
            return whole

        return (yield from self._noting(lambda: self._alone(work)))

    def _noting(self, work: Callable[[], Plan[R]]) -> Steps[R]:
        plan = yield from block(work)
        self._note(plan)
        return plan.result

    def _alone(self, work: Callable[[], T], *, make: bool = True) -> T:
        """Do something while no other process changes the folder; `make` it where it is missing."""
        with ExitStack() as lock:
            if not make and not self.root.exists():
                return work()
            try:
                Path(self.root.path).mkdir(parents=True, exist_ok=True)
                lock.enter_context(writing_below(self.root.path))
            except OSError as error:
                raise FileError(f"The folder of these files cannot be used: {error.strerror or error}.") from error
            return work()

    def _check_apart(self, places: Sequence[Place]) -> None:
        """Refuse changes of one file under two names, of which the second would undo the first."""
        known: dict[str, Place] = {}
        for place in places:
            other = known.setdefault(self.root.real(place.path), place)
            if other.path != place.path:
                raise FileError(
                    f"{other.shown} and {place.shown} are one file.", "Change it under one of these names only."
                )

    def _loaded(self, places: Sequence[Place]) -> dict[str, FileData]:
        files: dict[str, FileData] = {}
        for place in places:
            data = self._load(place)
            if isinstance(data, Unreadable):
                raise FileError(data.removeprefix("Error: ")) from _Coded(data.code)
            if data is not None and not isinstance(data, Unreadable):
                files[place.path] = data
        return files

    def _set(self, place: Place, data: FileData | None) -> None:
        if data is None:
            _told(place, lambda: disk.remove(self.root, place.path))
            return
        content = content_of(data)
        if len(content) > self.limit:
            raise FileError(f"{place.shown} {too_large(len(content), self.limit).text}", "Write a shorter text.")
        _told(place, lambda: disk.write(self.root, place.path, content))


class _Coded(Exception):  # noqa: N818 - only carries the code
    def __init__(self, code: str | None) -> None:
        super().__init__(code)
        self.code = code


def _told(place: Place, work: Callable[[], T]) -> T:
    """Do something on disk, and say what went wrong with the path that the agent knows."""
    try:
        return work()
    except disk.Occupied:
        raise
    except (DiskRefusalError, OSError) as error:
        raise FileError(f"{place.shown} {reason(error)}.") from _Coded(_code(error))


def _code(error: DiskRefusalError | OSError) -> str | None:
    if isinstance(error, DiskRefusalError):
        return error.code
    return "permission_denied" if isinstance(error, PermissionError) else None


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _times(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns
