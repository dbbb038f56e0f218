"""Trees of files held in memory: listing, globbing, searching, and joining the changes of parallel branches.

Everything here is a pure function of a mapping from canonical paths to file values, with the answers that files in a
`MemoryStore` give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, cast

from memoranda.backends.places import Place
from memoranda.backends.protocol import FileInfo, GrepMatch, GrepResult
from memoranda.errors import InvalidValueError
from memoranda.files.format import FileData, file_bytes, read_file_data
from memoranda.files.globbing import Glob, compile_glob
from memoranda.files.matching import split_lines
from memoranda.files.merge import merge_text
from memoranda.files.path import folder_prefix
from memoranda.store.keys import folder_of

Files = Mapping[str, FileData]


def digest_of(content: bytes) -> str:
    """The state of a file that has no revision numbers: a digest of its content.

    Example:
        >>> digest_of(b"green")
        'sha256:ba4788b226aa8dc2'
    """
    return f"sha256:{sha256(content).hexdigest()[:16]}"


def content_of(data: FileData) -> bytes:
    """A file's bytes; where it claims to be base64 and is not, the text that stands there."""
    try:
        return file_bytes(data)
    except InvalidValueError:
        return data["content"].encode("utf-8", "replace")


def revision_of(data: FileData) -> str:
    """The digest of a file value's bytes."""
    return digest_of(content_of(data))


# --- listing ---------------------------------------------------------------------------------------------------


def paths_below(files: Iterable[str], path: str) -> list[str]:
    """The file at a path, if there is one, and every file below it, folder by folder.

    Example:
        >>> paths_below(["/a/c", "/ab", "/a"], "/a")
        ['/a', '/a/c']
    """
    prefix = folder_prefix(path)
    return sorted((file for file in files if file == path or file.startswith(prefix)), key=in_order)


def in_order(path: str) -> tuple[str, str]:
    """Sorts paths folder by folder, as a store gives them."""
    return folder_of(path), path


def file_info(path: str, data: FileData) -> FileInfo:
    """The entry of a file in a listing."""
    content = content_of(data)
    return {
        "path": path,
        "is_dir": False,
        "size": len(content),
        "modified_at": data.get("modified_at", ""),
        "revision": digest_of(content),
    }


def folder_info(path: str) -> FileInfo:
    """The entry of a folder in a listing; its path ends with a slash."""
    return {"path": path, "is_dir": True, "size": 0, "modified_at": ""}


def list_folder(files: Files, place: Place) -> list[FileInfo]:
    """The files and folders directly in a folder, by path."""
    prefix = folder_prefix(place.path)
    found: dict[str, FileInfo] = {}
    for path, data in files.items():
        if not path.startswith(prefix):
            continue
        name, slash, _ = path[len(prefix) :].partition("/")
        shown = place.show(prefix + name + slash)
        if shown not in found:
            found[shown] = folder_info(shown) if slash else file_info(shown, data)
    return [found[path] for path in sorted(found)]


def glob_files(files: Files, place: Place, pattern: str) -> list[FileInfo]:
    """The files below a folder that match a pattern, the last changed first.

    Raises:
        InvalidGlobError: See `compile_glob`.
    """
    matcher = compile_glob(pattern)
    prefix = folder_prefix(place.path)
    found = [
        file_info(place.show(path), data)
        for path, data in files.items()
        if path.startswith(prefix) and matcher.matches(path[len(prefix) :])
    ]
    return sorted(found, key=newest_first)


def newest_first(entry: FileInfo) -> tuple[float, str]:
    """Sorts entries by the time of their last change."""
    return -_seconds(entry.get("modified_at", "")), entry["path"]


def _seconds(moment: str) -> float:
    try:
        return datetime.fromisoformat(moment).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


# --- searching -------------------------------------------------------------------------------------------------


class Search:
    """One `grep`: which files it reads, and the lines it has found.

    Args:
        place: The file or folder to look in.
        pattern: The literal text.
        glob: Only files that match this pattern.
        max_count: At most so many lines; None: all.

    Raises:
        InvalidValueError: The text is empty.
        InvalidGlobError: See `compile_glob`.
    """

    def __init__(self, place: Place, pattern: str, glob: str | None, max_count: int | None) -> None:
        if not isinstance(pattern, str):  # pyright: ignore[reportUnnecessaryIsInstance] - models send anything
            raise InvalidValueError(f"{type(pattern).__name__} is no text to look for.", "Pass a string.")
        if not pattern:
            raise InvalidValueError("The text to look for is empty.", "Give at least one character.")
        self._place = place
        self._pattern = pattern
        self._matcher: Glob | None = compile_glob(glob) if glob is not None else None
        self._most = None if max_count is None else max(max_count, 0)
        self.matches: list[GrepMatch] = []
        self.truncated = False
        self.needle = pattern.encode("utf-8", "replace")
        """What the bytes of a file must hold to be of interest."""

    @property
    def is_hopeless(self) -> bool:
        """Whether no line can hold the text."""
        return "\n" in self._pattern

    def wants(self, path: str) -> bool:
        """Whether a file lies where this search looks."""
        if not self._place.holds(path):
            return False
        if self._matcher is None:
            return True
        alone = path == self._place.path
        relative = path.rpartition("/")[2] if alone else path[len(folder_prefix(self._place.path)) :]
        return self._matcher.matches(relative)

    def read(self, path: str, text: str) -> bool:
        """Look through a file; False when enough is found."""
        if self._pattern not in text:
            return True
        shown = self._place.show(path)
        for number, line in enumerate(_lines(text), 1):
            if self._pattern in line:
                if len(self.matches) == self._most:
                    self.truncated = True
                    return False
                self.matches.append({"path": shown, "line": number, "text": line})
        return True

    def result(self, warnings: Iterable[str] = ()) -> GrepResult:
        """What was found."""
        return GrepResult(matches=self.matches, truncated=self.truncated, warnings=tuple(warnings))


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def grep_files(files: Files, search: Search) -> GrepResult:
    """Look through files, folder by folder; binary ones hold no lines."""
    if not search.is_hopeless:
        for path in sorted(filter(search.wants, files), key=in_order):
            data = files[path]
            if data["encoding"] == "utf-8" and not search.read(path, data["content"]):
                break
    return search.result()


# --- changes of parallel branches ------------------------------------------------------------------------------


def merge_file_states(current: Mapping[str, Any] | None, update: Mapping[str, Any] | None) -> dict[str, FileData]:
    r"""Apply changes to the files of a thread, so that what two branches changed side by side both lands.

    Besides a file value an entry may carry `base`, the value that it was made from (None: the file did not exist). If
    the file is no longer that, the two are merged by line; where both changed the same lines, both stay in the text,
    between conflict markers, since a reducer can ask nobody. It works off one update after the other, so updates may
    be replayed in any grouping.

    Args:
        current: The files so far.
        update: For each path the new value, None for one that is gone, or a value with `base`.

    Returns:
        The files afterwards, as plain file values.

    Example:
        >>> start = {"/a": {"content": "1\n2\n3\n", "encoding": "utf-8"}}
        >>> one = {"/a": {"content": "one\n2\n3\n", "encoding": "utf-8", "base": start["/a"]}}
        >>> other = {"/a": {"content": "1\n2\nthree\n", "encoding": "utf-8", "base": start["/a"]}}
        >>> merge_file_states(merge_file_states(start, one), other)["/a"]["content"]
        'one\n2\nthree\n'
    """
    files: dict[str, FileData] = {path: _plain(value) for path, value in (current or {}).items()}
    for path, value in (update or {}).items():
        if value is None:
            files.pop(path, None)
        elif "base" in value and path in files:
            files[path] = _joined(value["base"], files[path], _plain(value))
        else:
            files[path] = _plain(value)
    return files


def changed_files(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a branch changed, as an update for `merge_file_states`: the files it left alone are not in it.

    Args:
        before: The files that the branch started with.
        after: The files that it ended with.

    Returns:
        The changed files with their bases, and None for those that are gone.

    Example:
        >>> changed_files({"/a": {"content": "1", "encoding": "utf-8"}}, {})
        {'/a': None}
    """
    old, new = before or {}, after or {}
    update: dict[str, Any] = {path: None for path in old if path not in new}
    for path, value in new.items():
        if old.get(path) != value:
            update[path] = {**_plain(value), "base": old.get(path)}
    return update


def _plain(value: Mapping[str, Any] | str) -> FileData:
    """A file value as it is kept: without a base, and in the present form."""
    if isinstance(value, str):
        return {"content": value, "encoding": "utf-8"}
    if "base" not in value and isinstance(value.get("content"), str) and "encoding" in value:
        return cast("FileData", value)
    return read_file_data(value, lenient=True)


def _joined(base: Mapping[str, Any] | None, theirs: FileData, yours: FileData) -> FileData:
    was = None if base is None else _plain(base)
    if _same(theirs, yours) or (was is not None and _same(was, theirs)):
        return _from_first(theirs, yours)
    if was is not None and _same(was, yours):
        return theirs
    if "base64" in (theirs["encoding"], yours["encoding"], "utf-8" if was is None else was["encoding"]):
        return _from_first(theirs, yours)  # bytes cannot be joined: the later one stands, as without a base
    text = _join_text("" if was is None else was["content"], theirs["content"], yours["content"])
    return _from_first(theirs, {**yours, "content": text})


def _same(one: FileData, other: FileData) -> bool:
    return one["content"] == other["content"] and one["encoding"] == other["encoding"]


def _from_first(theirs: FileData, yours: FileData) -> FileData:
    created = theirs.get("created_at")
    return yours if created is None else {**yours, "created_at": created}


def _join_text(base: str, theirs: str, yours: str) -> str:
    if base and theirs.startswith(base) and yours.startswith(base):
        added = yours[len(base) :]  # both only appended, such as to a log
        return theirs + ("" if theirs.endswith("\n") or added.startswith("\n") else "\n") + added
    merged = merge_text(base, theirs, yours).text
    return _with_markers(theirs, yours) if merged is None else merged


def _with_markers(theirs: str, yours: str) -> str:
    """Both texts in one: what they share once, and the rest of each between markers that every reader knows."""
    one, other = split_lines(theirs), split_lines(yours)
    head = _shared(one, other, lambda lines, at: lines[at])
    one, other, before = one[head:], other[head:], one[:head]
    tail = _shared(one, other, lambda lines, at: lines[-1 - at])
    after = one[len(one) - tail :]
    one, other = one[: len(one) - tail], other[: len(other) - tail]
    marked = [
        "<<<<<<< one change\n",
        *_ended(one),
        "=======\n",
        *_ended(other),
        ">>>>>>> another change, made at the same time\n",
    ]
    return "".join([*before, *marked, *after])


def _shared(one: list[str], other: list[str], line: Callable[[list[str], int], str]) -> int:
    count = 0
    while count < min(len(one), len(other)) and line(one, count) == line(other, count):
        count += 1
    return count


def _ended(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1].removesuffix("\n") + "\n"] if lines else []
