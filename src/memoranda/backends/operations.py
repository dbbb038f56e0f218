"""The operations of every backend: settle the paths, ask the backend, and turn whatever fails into a result."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from memoranda.backends.finding.parts import Question
from memoranda.backends.finding.together import answer_steps
from memoranda.backends.places import Place, file_place_of, place_of, placed
from memoranda.backends.protocol import (
    INVALID_PATH,
    Base,
    BlameResult,
    ChangeResult,
    DeleteResult,
    DiffResult,
    EditResult,
    FileChange,
    FileDownloadResponse,
    FilesCommitResult,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    HistoryResult,
    LsResult,
    MoveResult,
    ReadResult,
    Result,
    SearchResult,
    WriteResult,
)
from memoranda.backends.steps import Steps, is_control_flow
from memoranda.backends.wording import is_failure
from memoranda.errors import InvalidPathError, MemorandaError

if TYPE_CHECKING:
    from memoranda.backends.base import Backend

logger = logging.getLogger(__name__)
R = TypeVar("R", bound=Result)


def ls(backend: Backend, path: str = "/") -> Steps[LsResult]:
    """List the files and folders directly in a folder.

    Args:
        backend: The backend.
        path: The folder; an absolute path.

    Returns:
        Its entries sorted by path, folders with a slash at the end; an empty or missing folder has none.
    """
    return (yield from _answered(LsResult, lambda: backend.ls_steps(place_of(path))))


def read(backend: Backend, file_path: str, offset: int = 0, limit: int = 2000) -> Steps[ReadResult]:
    """Read a window of a file.

    Args:
        backend: The backend.
        file_path: The file; an absolute path.
        offset: How many lines to skip; a negative number reads from the start.
        limit: At most so many lines.

    Returns:
        The window as it stands, without line numbers, and where it goes on; a binary file whole.
    """
    return (yield from _answered(ReadResult, lambda: backend.read_steps(file_place_of(file_path), offset, limit)))


def grep(
    backend: Backend, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
) -> Steps[GrepResult]:
    """Find the lines that hold a literal text.

    Args:
        backend: The backend.
        pattern: The text, as it stands, within single lines.
        path: A file or a folder; None: everything.
        glob: Only files that match this pattern, as in `glob`.
        max_count: At most so many lines; None: all.

    Returns:
        The lines, and whether there are more.
    """
    return (
        yield from _answered(GrepResult, lambda: backend.grep_steps(place_of(path or "/"), pattern, glob, max_count))
    )


def glob(backend: Backend, pattern: str, path: str | None = None) -> Steps[GlobResult]:
    """Find files by a glob pattern.

    Args:
        backend: The backend.
        pattern: Without a slash it matches the name at any depth, with one the path relative to `path`; `**`, braces
            and character classes work; a leading dot must be written out.
        path: The folder to look in; None: everything.

    Returns:
        The files that match, the last changed first.
    """
    return (yield from _answered(GlobResult, lambda: backend.glob_steps(place_of(path or "/"), pattern)))


def search(
    backend: Backend,
    query: str,
    path: str | None = None,
    *,
    k: int = 10,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Steps[SearchResult]:
    """Find the passages that answer a question best, by their words and, where there is an embedder, their meaning.

    Args:
        backend: The backend.
        query: Words, a question, a few sentences.
        path: A file or a folder; None: everything.
        k: At most so many passages.
        since: Only what was written at this time or later; a time without a zone is UTC.
        until: Only what was written before this time.

    Returns:
        The passages, the best first, in one ranking over everything below the path.
    """
    return (yield from _answered(SearchResult, lambda: _found(backend, query, path or "/", k, since, until)))


def _found(
    backend: Backend, query: str, path: str, k: int, since: datetime | None, until: datetime | None
) -> Steps[SearchResult]:
    wanted = Question.of(query, k, since, until)
    return (yield from answer_steps(wanted, (yield from backend.search_steps(place_of(path), wanted))))


def write(backend: Backend, file_path: str, content: str, *, base: Base | None = None) -> Steps[WriteResult]:
    """Create a file, or set the whole of it.

    Args:
        backend: The backend.
        file_path: The file; an absolute path.
        content: Its whole text.
        base: The state that the text was made from, as a read or a change gave it; 0: the file did not exist. If the
            file changed since, a versioned one is merged by line where that is possible, and otherwise the write is
            refused with the current text. `SEEN`: the state that this thread last saw. None: inside a graph that
            state too, if there is one; else the write overwrites, as the contract of backends says.

    Returns:
        The path and the new state, or what stood in the way.
    """
    return (
        yield from _answered(WriteResult, lambda: backend.write_steps(file_place_of(file_path), content, base, True))
    )


def edit(
    backend: Backend,
    file_path: str,
    old_string: str,
    new_string: str,
    replace_all: bool = False,  # noqa: FBT001, FBT002, RUF100 - the contract's signature
    *,
    base: Base | None = None,
) -> Steps[EditResult]:
    """Replace text in a file, in whatever state it is by then.

    Args:
        backend: The backend.
        file_path: The file; an absolute path.
        old_string: The text to replace, exactly; it has to occur once unless `replace_all`.
        new_string: The text to put there.
        replace_all: Replace every occurrence.
        base: Refuse if the file changed since this state.

    Returns:
        The path, the new state and the number of places, or what stood in the way.
    """
    return (
        yield from _answered(
            EditResult, lambda: backend.edit_steps(file_place_of(file_path), old_string, new_string, replace_all, base)
        )
    )


def append(backend: Backend, file_path: str, text: str, *, base: Base | None = None) -> Steps[WriteResult]:
    """Add text at the end of a file, on a new line; a missing file is created.

    Args:
        backend: The backend.
        file_path: The file; an absolute path.
        text: What to add.
        base: Refuse if the file changed since this state; 0: it must not exist.

    Returns:
        The path and the new state, or what stood in the way.
    """
    return (yield from _answered(WriteResult, lambda: backend.append_steps(file_place_of(file_path), text, base)))


def delete(backend: Backend, file_path: str, *, base: Base | None = None) -> Steps[DeleteResult]:
    """Delete a file, or a folder with everything below it.

    Args:
        backend: The backend.
        file_path: The file or folder; `/` is everything.
        base: Refuse if the file changed since this state.

    Returns:
        What went, or an error if there was nothing.
    """
    return (yield from _answered(DeleteResult, lambda: backend.delete_steps(place_of(file_path), base)))


def move(backend: Backend, file_path: str, to: str, *, overwrite: bool = False) -> Steps[MoveResult]:
    """Give a file another path, or a folder with everything below it.

    Args:
        backend: The backend.
        file_path: The file or folder.
        to: Its new path.
        overwrite: Whether a file that is there already may be replaced.

    Returns:
        The new paths, or what stood in the way.
    """
    return (
        yield from _answered(
            MoveResult, lambda: backend.move_steps(file_place_of(file_path), file_place_of(to), overwrite)
        )
    )


def upload_files(backend: Backend, files: Sequence[tuple[str, bytes]]) -> Steps[list[FileUploadResponse]]:
    """Set several files from bytes; those that are UTF-8 become text.

    Args:
        backend: The backend.
        files: Paths and contents.

    Returns:
        One answer for each, in order; `error` is `file_not_found`, `permission_denied`, `is_directory`,
        `invalid_path` or a sentence.
    """
    answers: list[FileUploadResponse | None] = []
    wanted: list[tuple[Place, bytes]] = []
    for path, content in files:
        place = _file_or_none(path)
        answers.append(FileUploadResponse(path, INVALID_PATH) if place is None else None)
        if place is not None:
            wanted.append((place, content))
    try:
        given = iter((yield from backend.upload_steps(wanted)) if wanted else ())
    except Exception as error:  # noqa: BLE001 - the contract: answered, never raised
        text = sentence(error)
        given = iter([FileUploadResponse(place.shown, text) for place, _ in wanted])
    return [answer or next(given) for answer in answers]


def download_files(backend: Backend, paths: Sequence[str]) -> Steps[list[FileDownloadResponse]]:
    """Read several whole files as bytes.

    Args:
        backend: The backend.
        paths: The files.

    Returns:
        One answer for each, in order; `error` is `file_not_found`, `permission_denied`, `is_directory`,
        `invalid_path` or a sentence.
    """
    answers: list[FileDownloadResponse | None] = []
    wanted: list[Place] = []
    for path in paths:
        place = _file_or_none(path)
        answers.append(FileDownloadResponse(path, None, INVALID_PATH) if place is None else None)
        if place is not None:
            wanted.append(place)
    try:
        given = iter((yield from backend.download_steps(wanted)) if wanted else ())
    except Exception as error:  # noqa: BLE001 - the contract: answered, never raised
        text = sentence(error)
        given = iter([FileDownloadResponse(place.shown, None, text) for place in wanted])
    return [answer or next(given) for answer in answers]


def history(backend: Backend, file_path: str, *, limit: int | None = None) -> Steps[HistoryResult]:
    """List the revisions of a file, the last first; a deleted file has a history too.

    Args:
        backend: The backend.
        file_path: The file.
        limit: At most so many; None: all.

    Returns:
        The revisions, or why this file has none.
    """
    return (yield from _answered(HistoryResult, lambda: backend.history_steps(file_place_of(file_path), limit)))


def diff(backend: Backend, file_path: str, older: int | None = None, newer: int | None = None) -> Steps[DiffResult]:
    """Show what changed between two revisions of a file.

    Args:
        backend: The backend.
        file_path: The file.
        older: From this revision; None: the one before `newer`.
        newer: To this revision; None: the current one.

    Returns:
        A unified diff.
    """
    return (yield from _answered(DiffResult, lambda: backend.diff_steps(file_place_of(file_path), older, newer)))


def blame(backend: Backend, file_path: str) -> Steps[BlameResult]:
    """Say for every line of a file which revision wrote it.

    Args:
        backend: The backend.
        file_path: The file.

    Returns:
        The lines.
    """
    return (yield from _answered(BlameResult, lambda: backend.blame_steps(file_place_of(file_path))))


def restore(backend: Backend, file_path: str, revision: int) -> Steps[WriteResult]:
    """Bring back an earlier revision of a file, as a new revision.

    Args:
        backend: The backend.
        file_path: The file.
        revision: The revision whose content is wanted.

    Returns:
        The path and the new state.
    """
    return (yield from _answered(WriteResult, lambda: backend.restore_steps(file_place_of(file_path), revision)))


def at(backend: Backend, file_path: str, when: int | datetime) -> Steps[ReadResult]:
    """Read a file as it was.

    Args:
        backend: The backend.
        file_path: The file.
        when: A revision, or a time.

    Returns:
        The whole file.
    """
    return (yield from _answered(ReadResult, lambda: backend.at_steps(file_place_of(file_path), when)))


def commit(backend: Backend, changes: Sequence[FileChange]) -> Steps[FilesCommitResult]:
    """Apply several changes. Where all of them fall into one `MemoryStore`, all land together or none does.

    Args:
        backend: The backend.
        changes: `WriteFile`, `EditFile`, `AppendFile`, `DeleteFile` and `MoveFile`, in the order in which they apply.

    Returns:
        What landed, or what stood in the way.
    """
    try:
        return (yield from backend.commit_steps([placed(change) for change in changes]))
    except Exception as error:  # noqa: BLE001 - the contract: answered, never raised
        return FilesCommitResult(error=sentence(error), failed=is_failure(error))


def _file_or_none(path: str) -> Place | None:
    try:
        return file_place_of(path)
    except InvalidPathError:
        return None


def _answered(kind: Callable[..., R], operation: Callable[[], Steps[R]]) -> Steps[R]:
    try:
        return (yield from operation())
    except Exception as error:  # noqa: BLE001 - the contract: answered, never raised
        answer = kind(error=sentence(error))
        if isinstance(answer, (ReadResult, ChangeResult)):
            answer.failed = is_failure(error)
        return answer


def sentence(error: Exception) -> str:
    """What a model is told about an exception. LangGraph's control flow is raised again."""
    if is_control_flow(error):
        raise error
    if isinstance(error, MemorandaError):
        return f"Error: {error}"
    logger.warning("A backend failed.", exc_info=error)
    return f"Error: the storage failed with {type(error).__name__}: {error}. Try again, or go on without it."
