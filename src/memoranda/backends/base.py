"""`Backend`: what every backend of ours is, and what one has to bring."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from datetime import datetime
from typing import Any

from memoranda.backends import operations
from memoranda.backends.finding.by_reading import findable_by_reading
from memoranda.backends.finding.parts import Findable, Question
from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.protocol import (
    Base,
    BlameResult,
    DeleteResult,
    DiffResult,
    EditResult,
    FileDownloadResponse,
    FilesCommitResult,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    HistoryResult,
    LsResult,
    MoveResult,
    ReadResult,
    WriteResult,
)
from memoranda.backends.steps import Steps, awaiting, blocking, consult, done, perform
from memoranda.store.changes import Change
from memoranda.store.store import MemoryStore

PAIRS = (
    "ls",
    "read",
    "grep",
    "glob",
    "search",
    "write",
    "edit",
    "append",
    "delete",
    "move",
    "upload_files",
    "download_files",
    "history",
    "diff",
    "blame",
    "restore",
    "at",
    "commit",
)
"""The operations with a public method in two forms: `read` and `aread`."""


class Backend:
    """A tree of files behind absolute paths, with the methods of Deep Agents' `BackendProtocol` and some more.

    Every method has an async twin with an `a` in front, native and not a thread. Nothing is raised: what goes wrong
    stands in the result's `error`, in words that a model can act on, naming paths as the caller gave them.

    A backend of your own brings the methods that end in `_steps`; each is a generator of steps (see
    `memoranda.backends.steps`), and from it come both public forms. A subclass that overrides a public method in one
    form alone gets another that calls it, so that a rule in `write` also holds for `awrite`.
    """

    ls, als = blocking(operations.ls), awaiting(operations.ls)
    read, aread = blocking(operations.read), awaiting(operations.read)
    grep, agrep = blocking(operations.grep), awaiting(operations.grep)
    glob, aglob = blocking(operations.glob), awaiting(operations.glob)
    search, asearch = blocking(operations.search), awaiting(operations.search)
    write, awrite = blocking(operations.write), awaiting(operations.write)
    edit, aedit = blocking(operations.edit), awaiting(operations.edit)
    append, aappend = blocking(operations.append), awaiting(operations.append)
    delete, adelete = blocking(operations.delete), awaiting(operations.delete)
    move, amove = blocking(operations.move), awaiting(operations.move)
    upload_files, aupload_files = blocking(operations.upload_files), awaiting(operations.upload_files)
    download_files, adownload_files = blocking(operations.download_files), awaiting(operations.download_files)
    history, ahistory = blocking(operations.history), awaiting(operations.history)
    diff, adiff = blocking(operations.diff), awaiting(operations.diff)
    blame, ablame = blocking(operations.blame), awaiting(operations.blame)
    restore, arestore = blocking(operations.restore), awaiting(operations.restore)
    at, aat = blocking(operations.at), awaiting(operations.at)
    commit, acommit = blocking(operations.commit), awaiting(operations.commit)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        order = cls.__mro__.index
        for name in PAIRS:
            blocking, twin = definer(cls, name), definer(cls, "a" + name)
            if blocking is None or twin is None or blocking is twin:
                continue
            if order(blocking) < order(twin):
                setattr(cls, "a" + name, _in_a_thread(name))
            else:
                setattr(cls, name, _awaited(name))

    # --- what a backend brings ------------------------------------------------------------------------------

    def ls_steps(self, place: Place) -> Steps[LsResult]:
        """List a folder; a folder that is not there has no entries."""
        raise NotImplementedError

    def read_steps(self, place: Place, offset: int, limit: int) -> Steps[ReadResult]:
        """Read a window of a file, and note its state with `runtime.saw`."""
        raise NotImplementedError

    def grep_steps(self, place: Place, pattern: str, glob: str | None, max_count: int | None) -> Steps[GrepResult]:
        """Find the lines below a place that hold a literal text."""
        raise NotImplementedError

    def glob_steps(self, place: Place, pattern: str) -> Steps[GlobResult]:
        """Find the files below a place that match a pattern, the last changed first."""
        raise NotImplementedError

    def search_steps(self, place: Place, question: Question) -> Steps[Findable]:
        """Offer the passages at or below a place that may be found; they are ranked with those of other backends.

        Without a definition of its own a backend is listed and read, up to 8 MiB of text.
        """
        return findable_by_reading(self, place, question)

    def write_steps(self, place: Place, content: str | bytes, base: Base | None, merge: bool) -> Steps[WriteResult]:
        """Set a file. `base` may be `SEEN`; `merge=False` refuses an older base instead of merging it."""
        raise NotImplementedError

    def edit_steps(self, place: Place, old: str, new: str, replace_all: bool, base: Base | None) -> Steps[EditResult]:
        """Replace text in a file as it is now; `base` refuses if it changed since."""
        raise NotImplementedError

    def append_steps(self, place: Place, text: str, base: Base | None) -> Steps[WriteResult]:
        """Add text at the end of a file; `base` refuses if it changed since."""
        raise NotImplementedError

    def delete_steps(self, place: Place, base: Base | None) -> Steps[DeleteResult]:
        """Delete a file or everything below a folder; with `base` only the file, if it did not change since."""
        raise NotImplementedError

    def move_steps(self, place: Place, to: Place, overwrite: bool) -> Steps[MoveResult]:
        """Move a file, or everything below a folder."""
        raise NotImplementedError

    def upload_steps(self, files: Sequence[tuple[Place, bytes]]) -> Steps[list[FileUploadResponse]]:
        """Set several files from bytes."""
        raise NotImplementedError

    def download_steps(self, places: Sequence[Place]) -> Steps[list[FileDownloadResponse]]:
        """Read several whole files as bytes, and note their states with `runtime.saw`."""
        raise NotImplementedError

    def commit_steps(self, changes: Sequence[PlacedChange]) -> Steps[FilesCommitResult]:
        """Apply several changes, together where the backend can."""
        raise NotImplementedError

    # --- what only versioned files have ---------------------------------------------------------------------

    def history_steps(self, place: Place, limit: int | None) -> Steps[HistoryResult]:
        """List the revisions of a file."""
        return done(HistoryResult(error=_no_history(place)))

    def diff_steps(self, place: Place, older: int | None, newer: int | None) -> Steps[DiffResult]:
        """Show what changed between two revisions."""
        return done(DiffResult(error=_no_history(place)))

    def blame_steps(self, place: Place) -> Steps[BlameResult]:
        """Say which revision wrote each line."""
        return done(BlameResult(error=_no_history(place)))

    def restore_steps(self, place: Place, revision: int) -> Steps[WriteResult]:
        """Bring back an earlier revision."""
        return done(WriteResult(error=_no_history(place)))

    def at_steps(self, place: Place, when: int | datetime) -> Steps[ReadResult]:
        """Read a file as it was."""
        return done(ReadResult(error=_no_history(place)))

    # --- what backends around this one ask ------------------------------------------------------------------

    def names_steps(self, places: Sequence[Place]) -> Steps[list[tuple[str, ...]]]:
        """Every canonical path of this tree under which each place is known, its own first (links, twin routes)."""
        return done([(place.path,) for place in places])

    def scope_key(self) -> Hashable | None:
        """What this backend's files live in, equal for two backends that show the same files; None: unknown."""
        return None

    def is_lasting(self, place: Place) -> bool:
        """Whether a file here outlives the thread."""
        return True

    def location(self, place: Place) -> str | None:
        """Where a file lies for this run, the same for every process and another for another user; None: unknown.

        Raises:
            ScopeError: The run does not say whose file it is.
        """
        return None

    def is_read_only(self, place: Place) -> bool:
        """Whether a model may not change a file here, whatever the permissions say."""
        return False

    def store_changes(self, changes: Sequence[PlacedChange]) -> tuple[MemoryStore, list[Change]] | None:
        """The changes as changes of a `MemoryStore`; None where the files live elsewhere, or in several stores."""
        return None


def _no_history(place: Place) -> str:
    return (
        f"Error: {place.shown} keeps no history. Only files under a StoreBackend on a Memoranda store do; "
        "work with the current text."
    )


def definer(kind: type, name: str) -> type | None:
    """The class that gives a class its method of this name."""
    return next((parent for parent in kind.__mro__ if name in vars(parent)), None)


def _in_a_thread(name: str) -> Any:
    async def method(self: Backend, *args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(getattr(self, name), *args, **kwargs)

    method.__name__ = "a" + name
    return method


def _awaited(name: str) -> Any:
    def method(self: Backend, *args: Any, **kwargs: Any) -> Any:
        return perform(consult(getattr(self, "a" + name), *args, **kwargs))

    method.__name__ = name
    return method
