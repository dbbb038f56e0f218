"""What backends answer: the result objects of Deep Agents' `BackendProtocol` (0.7), with what versions add.

Every operation returns one of these with `error` set instead of raising. Names, order and meaning of the fields are
Deep Agents', so that their middleware reads ours; fields that only ours have come last and have defaults. Once
`deepagents` is imported, each class here is also a subclass of its namesake there (see `recognition`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from memoranda.files.format import FileData
from memoranda.store.types import BlameLine, Revision

Base: TypeAlias = int | str
"""What a change was made from: the revision number of a versioned file, or the digest of any other."""

SEEN: Final = "seen"
"""As a base: the state in which this thread last saw the file; a file that it never saw must not exist yet."""

FILE_NOT_FOUND: Final = "file_not_found"
PERMISSION_DENIED: Final = "permission_denied"
IS_DIRECTORY: Final = "is_directory"
INVALID_PATH: Final = "invalid_path"


class FileInfo(TypedDict):
    """One entry of a listing; a folder's path ends with a slash."""

    path: str
    is_dir: NotRequired[bool]
    size: NotRequired[int]
    modified_at: NotRequired[str]
    revision: NotRequired[Base]


class ContextLine(TypedDict):
    """A line beside a match."""

    line: int
    text: str


class GrepMatch(TypedDict):
    """A line that holds the text looked for; lines count from 1."""

    path: str
    line: int
    text: str
    context_before: NotRequired[list[ContextLine]]
    context_after: NotRequired[list[ContextLine]]


class Result:
    """The root of all results."""

    error: str | None


@dataclass
class LsResult(Result):
    """What a folder holds.

    Args:
        error: Why there is no listing.
        entries: Its files and folders.
        warnings: What could not be listed although the rest could.
    """

    error: str | None = None
    entries: list[FileInfo] | None = None
    warnings: tuple[str, ...] = ()


@dataclass
class ReadResult(Result):
    """A window of a file.

    Args:
        error: Why there is none.
        file_data: The window's text; a binary file whole, as base64.
        total_lines: How many lines the file has.
        start_line: The first line of the window, from 1.
        end_line: The last line of the window, from 1.
        next_offset: The offset that reads on from here.
        no_lines_requested: No lines were asked for, so the file was not looked at.
        revision: The state of the file that was read.
        failed: Whether `error` is about the storage, so that the same may work later.
    """

    error: str | None = None
    file_data: FileData | None = None
    total_lines: int | None = None
    start_line: int | None = None
    end_line: int | None = None
    next_offset: int | None = None
    no_lines_requested: bool = False
    revision: Base | None = None
    failed: bool = field(default=False, kw_only=True)


@dataclass
class GrepResult(Result):
    """The lines that hold a text.

    Args:
        error: Why there are none.
        matches: The lines found.
        truncated: Whether there are more.
        warnings: What could not be searched although the rest could.
    """

    error: str | None = None
    matches: list[GrepMatch] | None = None
    truncated: bool = False
    warnings: tuple[str, ...] = ()


@dataclass
class GlobResult(Result):
    """The files that match a pattern.

    Args:
        error: Why there are none.
        matches: The files, the last changed first.
        truncated: Whether some are missing.
        truncation_reason: Why they are.
        warnings: What could not be searched although the rest could.
    """

    error: str | None = None
    matches: list[FileInfo] | None = None
    truncated: bool = False
    truncation_reason: Literal["budget", "unreadable", "transport"] | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """A passage that answers a query.

    Args:
        path: The file.
        first_line: Its first line, from 1.
        last_line: Its last line, included.
        text: The passage; a part of the line where a line is very long.
        heading: The headings above it, outermost first, joined by ` > `.
        revision: The state of the file that was read.
        score: How well it answers; higher is better, comparable within one answer only.
        at: When the passage was written, or its file where there is no history; None: unknown.
    """

    path: str
    first_line: int
    last_line: int
    text: str
    heading: str
    revision: Base | None
    score: float
    at: datetime | None = None

    @property
    def place(self) -> str:
        """Where to read on, such as `/notes/tea.md:3-7`."""
        lines = f"{self.first_line}" if self.first_line == self.last_line else f"{self.first_line}-{self.last_line}"
        return f"{self.path}:{lines}"


@dataclass
class SearchResult(Result):
    """The passages that answer a query.

    Args:
        error: Why there are none.
        matches: The passages, the best first.
        notices: What the reader should know about the answer, such as a query that was cut.
        warnings: What could not be searched although the rest could.
    """

    error: str | None = None
    matches: list[SearchMatch] | None = None
    notices: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A change that a person has to decide on before it lands.

    Args:
        change: The change, with paths as the agent sees them.
        base: The state of the file that the diff was made from; 0: it did not exist.
        diff: What the change would do, as a unified diff.
        before: The file's text as it is; None: it does not exist, or is binary.
        after: Its text afterwards; None: it would be gone, or is binary.
        location: Where the file lies, whoever looks; None: unknown. An approval is good for that file alone.
        replaces: For a move, the state of what is at the target; 0: nothing.
    """

    change: FileChange
    base: Base
    diff: str
    before: str | None = None
    after: str | None = None
    location: str | None = None
    replaces: Base | None = None


@dataclass
class ChangeResult(Result):
    """What came of a change; the fields that every changing operation adds to Deep Agents'.

    Args:
        error: Why nothing was changed.
        path: The file that was changed.
        revision: Its state now.
        merged: Whether the change was merged with what others had written meanwhile.
        proposal: The id of the proposal that waits instead of a change that landed; `error` says so too.
        approval: What a person has to approve before it lands; `error` says so too.
        conflict: Whether `error` is about what somebody else wrote meanwhile.
        unchanged: Whether the file held just this already, so that nothing was changed; `revision` is as it was.
        failed: Whether `error` is about the storage, so that the same may work later.
    """

    error: str | None = None
    path: str | None = None
    revision: Base | None = field(default=None, kw_only=True)
    merged: bool = field(default=False, kw_only=True)
    proposal: str | None = field(default=None, kw_only=True)
    approval: ApprovalRequest | None = field(default=None, kw_only=True)
    conflict: bool = field(default=False, kw_only=True)
    unchanged: bool = field(default=False, kw_only=True)
    failed: bool = field(default=False, kw_only=True)


@dataclass
class WriteResult(ChangeResult):
    """What came of a write or an append."""


@dataclass
class EditResult(ChangeResult):
    """What came of an edit; `occurrences` says how many places it replaced."""

    occurrences: int | None = None


@dataclass
class DeleteResult(ChangeResult):
    """What came of a deletion; `paths` names every file that went."""

    paths: tuple[str, ...] = field(default=(), kw_only=True)


@dataclass
class MoveResult(ChangeResult):
    """What came of a move; `paths` names every file at its new place."""

    paths: tuple[str, ...] = field(default=(), kw_only=True)


@dataclass
class FileUploadResponse(Result):
    """What came of one uploaded file; `error` is a code for the common cases."""

    path: str
    error: str | None = None
    revision: Base | None = None
    proposal: str | None = None
    approval: ApprovalRequest | None = None


@dataclass
class FileDownloadResponse(Result):
    """One downloaded file; `error` is a code for the common cases."""

    path: str
    content: bytes | None = None
    error: str | None = None
    revision: Base | None = None
    author: str | None = None


@dataclass
class HistoryResult(Result):
    """The revisions of a file, the last first."""

    error: str | None = None
    revisions: list[Revision] | None = None


@dataclass
class DiffResult(Result):
    """A unified diff between two revisions."""

    error: str | None = None
    diff: str | None = None


@dataclass
class BlameResult(Result):
    """Every line of a file with the revision that wrote it."""

    error: str | None = None
    lines: list[BlameLine] | None = None


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Set a whole file. `base` as in `Backend.write`; `merge=False` refuses an older base instead of merging it."""

    path: str
    content: str | bytes
    base: Base | None = None
    merge: bool = True


@dataclass(frozen=True, slots=True)
class EditFile:
    """Replace text in a file; `base` refuses if the file has changed since."""

    path: str
    old: str
    new: str
    replace_all: bool = False
    base: Base | None = None


@dataclass(frozen=True, slots=True)
class AppendFile:
    """Add text at the end of a file; `base` refuses if the file has changed since."""

    path: str
    text: str
    base: Base | None = None


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Delete one file, not what lies below it; `base` refuses if the file has changed since."""

    path: str
    base: Base | None = None


@dataclass(frozen=True, slots=True)
class MoveFile:
    """Give one file another path."""

    path: str
    to: str
    overwrite: bool = False


FileChange: TypeAlias = WriteFile | EditFile | AppendFile | DeleteFile | MoveFile


@dataclass
class FilesCommitResult(Result):
    """What came of several changes at once: all landed and `paths` names them, or none did and `error` says why.

    Args:
        error: Why nothing landed.
        paths: The files changed, in the order of the changes.
        revisions: Their states now.
        conflicts: The changes that stood against what others wrote meanwhile, each as a sentence.
        proposal: The id of the proposal that waits instead.
        approvals: What a person has to approve before any of it lands.
        failed: Whether `error` is about the storage, so that the same may work later.
    """

    error: str | None = None
    paths: tuple[str, ...] = ()
    revisions: tuple[Base | None, ...] = ()
    conflicts: tuple[str, ...] = ()
    proposal: str | None = None
    approvals: Sequence[ApprovalRequest] = ()
    failed: bool = False
