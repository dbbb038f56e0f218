"""Reading files below with staged changes on top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memoranda.backends.base import Backend
from memoranda.backends.composite import CompositeBackend
from memoranda.backends.finding.in_memory import findable_files
from memoranda.backends.finding.parts import Findable, Question
from memoranda.backends.gathering import grep_without
from memoranda.backends.places import Place
from memoranda.backends.protocol import (
    FILE_NOT_FOUND,
    BlameResult,
    DiffResult,
    FileDownloadResponse,
    FileInfo,
    GlobResult,
    GrepResult,
    HistoryResult,
    LsResult,
    ReadResult,
)
from memoranda.backends.routes import files_below, tree_path
from memoranda.backends.runtime import running_author
from memoranda.backends.staging import StagedFile, Staging
from memoranda.backends.steps import Steps
from memoranda.backends.tree import (
    Search,
    content_of,
    glob_files,
    grep_files,
    in_order,
    list_folder,
    newest_first,
    revision_of,
)
from memoranda.backends.windows import read_whole, read_window_of
from memoranda.backends.wording import not_found
from memoranda.files.diff import unified_diff
from memoranda.files.format import FileData
from memoranda.files.matching import matching_blocks, split_lines
from memoranda.files.path import folder_prefix
from memoranda.store.types import BlameLine, Revision


def text_or_bytes(data: FileData) -> str | bytes:
    """A file's content."""
    return data["content"] if data["encoding"] == "utf-8" else content_of(data)


def landed(staging: Staging, place: Place) -> Place:
    """Where the file that is to be at a place lies now."""
    file = staging.find(place.path)
    return place if file is None or file.origin is None else Place(file.origin.path, place.shown)


# --- listing and searching --------------------------------------------------------------------------------------


def ls(backend: Backend, staging: Staging, place: Place) -> Steps[LsResult]:
    """List a folder as it is to be."""
    answer = yield from backend.ls_steps(place)
    if answer.error is not None:
        return answer
    entries: dict[str, FileInfo] = {}
    for entry in answer.entries or []:
        path = tree_path(place, entry["path"])
        if entry.get("is_dir"):
            hidden = yield from _is_emptied(backend, staging, place.below(path))
        else:
            hidden = staging.knows(path)
        if not hidden:
            entries[entry["path"]] = entry
    for entry in list_folder(staging.present(), place):
        if entry.get("is_dir"):
            entries.setdefault(entry["path"], entry)
        else:
            entries[entry["path"]] = entry
    return LsResult(entries=[entries[path] for path in sorted(entries)], warnings=answer.warnings)


def _is_emptied(backend: Backend, staging: Staging, folder: Place) -> Steps[bool]:
    """Whether nothing is left of what lies in a folder."""
    inside = folder_prefix(folder.path)
    if not any(file.origin is not None and file.origin.path.startswith(inside) for file in staging.files):
        return False
    if _is_mount(backend, folder.path):  # stays to be seen, as empty as it may be
        return False
    return all(staging.knows(file.path) for file in (yield from files_below(backend, folder)))


def _is_mount(backend: Any, path: str) -> bool:
    while backend is not None:
        if isinstance(backend, CompositeBackend):
            return backend.is_mount(path)
        backend = getattr(backend, "backend", None)
    return False


def glob(backend: Backend, staging: Staging, place: Place, pattern: str) -> Steps[GlobResult]:
    """Find files by a pattern, as they are to be."""
    answer = yield from backend.glob_steps(place, pattern)
    if answer.error is not None:
        return answer
    matches = [entry for entry in answer.matches or [] if not staging.knows(tree_path(place, entry["path"]))]
    matches += glob_files(staging.present(), place, pattern)
    return replace(answer, matches=sorted(matches, key=newest_first))


def grep(
    backend: Backend, staging: Staging, place: Place, pattern: str, glob: str | None, max_count: int | None
) -> Steps[GrepResult]:
    """Find lines in files as they are to be."""
    staged = grep_files(staging.present(), Search(place, pattern, glob, None)).matches or []
    answer = yield from grep_without(
        lambda most: backend.grep_steps(place, pattern, glob, most),
        lambda shown: staging.knows(tree_path(place, shown)),
        max_count,
    )
    if answer.error is not None:
        return answer
    matches = [*(answer.matches or []), *staged]
    matches.sort(key=lambda match: (in_order(match["path"]), match["line"]))
    most = len(matches) if max_count is None else max(max_count, 0)
    return GrepResult(
        matches=matches[:most], truncated=answer.truncated or len(matches) > most, warnings=answer.warnings
    )


def search(backend: Backend, staging: Staging, place: Place, question: Question) -> Steps[Findable]:
    """Offer what can be found in files as they are to be."""
    if not staging.files:
        return (yield from backend.search_steps(place, question))
    present = staging.present()
    decided = present.keys() | {file.origin.path for file in staging.files if file.origin is not None}
    found = yield from backend.search_steps(place, question.where(lambda path: path not in decided))
    if found.error is None:
        found.add((yield from findable_files(present, place, question)))
    return found


# --- single files -----------------------------------------------------------------------------------------------


def read(backend: Backend, staging: Staging, place: Place, offset: int, limit: int) -> Steps[ReadResult]:
    """Read a window of a file as it is to be."""
    file = staging.find(place.path)
    if file is not None and file.after is not None:
        return read_window_of(file.after, place, offset, limit, revision_of(file.after))
    if staging.knows(place.path):
        return ReadResult(error=not_found(place))
    return (yield from backend.read_steps(place, offset, limit))


def download(backend: Backend, staging: Staging, places: Sequence[Place]) -> Steps[list[FileDownloadResponse]]:
    """Read whole files as they are to be."""
    answers: dict[int, FileDownloadResponse] = {}
    below: list[int] = []
    for at, place in enumerate(places):
        file = staging.find(place.path)
        if file is not None and file.after is not None:
            answers[at] = read_whole(file.after, place, revision_of(file.after))
        elif staging.knows(place.path):
            answers[at] = FileDownloadResponse(place.shown, None, FILE_NOT_FOUND)
        else:
            below.append(at)
    if below:
        given = yield from backend.download_steps([places[at] for at in below])
        answers.update(zip(below, given, strict=True))
    return [answers[at] for at in range(len(places))]


def history(backend: Backend, staging: Staging, place: Place, limit: int | None) -> Steps[HistoryResult]:
    """The revisions of a file; what is staged stands first, as revision 0."""
    file = staging.find(place.path) or staging.origin(place.path)
    below = yield from backend.history_steps(landed(staging, place), limit)
    if file is None or (below.error is not None and file.origin is not None):
        return below
    revisions = [_revision(file, place, below.revisions or []), *(below.revisions or [])]
    return HistoryResult(revisions=revisions if limit is None else revisions[: max(limit, 0)])


def _revision(file: StagedFile, place: Place, landed_before: Sequence[Revision]) -> Revision:
    after = None if file.place.path != place.path else file.after
    return Revision(
        namespace=landed_before[0].namespace if landed_before else (),
        key=place.path,
        revision=0,
        operation="staged",
        author=running_author(),
        at=file.at,
        size=0 if after is None else len(content_of(after)),
        digest="",
        position=0,
    )


def diff(backend: Backend, staging: Staging, place: Place, older: int | None, newer: int | None) -> Steps[DiffResult]:
    """What changed between two revisions; without a newer one, up to what is staged."""
    file = staging.find(place.path) or staging.origin(place.path)
    if file is None or newer is not None:
        return (yield from backend.diff_steps(landed(staging, place), older, newer))
    before = file.before
    if older is not None:
        answer = yield from backend.at_steps(landed(staging, place), older)
        if answer.error is not None:
            return DiffResult(error=answer.error)
        before = answer.file_data
    after = file.after if file.place.path == place.path else None
    if any(data is not None and data["encoding"] != "utf-8" for data in (before, after)):
        return DiffResult(error=f"Error: {place.shown} is a binary file, which has no lines to compare.")
    name = "as it is" if older is None else f"revision {older}"
    text = unified_diff(
        "" if before is None else before["content"],
        "" if after is None else after["content"],
        before_label=f"{place.shown} ({name})",
        after_label=f"{place.shown} (staged)",
    )
    return DiffResult(diff=text)


def blame(backend: Backend, staging: Staging, place: Place) -> Steps[BlameResult]:
    """Which revision wrote each line; what is staged is revision 0."""
    file = staging.find(place.path)
    if file is None and not staging.knows(place.path):
        return (yield from backend.blame_steps(place))
    if file is None or file.after is None:
        return BlameResult(error="Error: " + not_found(place))
    if file.after["encoding"] != "utf-8":
        return BlameResult(error=f"Error: {place.shown} is a binary file, which has no lines.")
    known: list[BlameLine] = []
    if file.origin is not None:
        answer = yield from backend.blame_steps(landed(staging, place))
        if answer.error is not None:
            return answer
        known = answer.lines or []
    lines = [line.rstrip("\r\n") for line in split_lines(file.after["content"])]
    own = _revision(file, place, [])
    written = [own] * len(lines)
    for block in matching_blocks([line.text for line in known], lines):
        for offset in range(block.size):
            written[block.b + offset] = known[block.a + offset].revision
    return BlameResult(
        lines=[BlameLine(number, text, by) for number, (text, by) in enumerate(zip(lines, written, strict=True), 1)]
    )
