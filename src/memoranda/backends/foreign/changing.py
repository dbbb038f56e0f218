"""Changing files through the public methods of a backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from memoranda.backends.foreign.answers import shown_error
from memoranda.backends.foreign.reading import ForeignFiles, file_id
from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.plans import cannot_move, changed_since, occupied, plan_append, refused_write
from memoranda.backends.protocol import (
    FILE_NOT_FOUND,
    SEEN,
    AppendFile,
    Base,
    ChangeResult,
    DeleteFile,
    DeleteResult,
    EditFile,
    EditResult,
    FileDownloadResponse,
    FilesCommitResult,
    FileUploadResponse,
    MoveFile,
    MoveResult,
    WriteFile,
    WriteResult,
)
from memoranda.backends.runtime import last_seen, unnoticed
from memoranda.backends.steps import Steps
from memoranda.backends.tree import digest_of
from memoranda.backends.wording import not_found
from memoranda.files.format import create_file_data

C = TypeVar("C", bound=ChangeResult)


class ForeignBackend(ForeignFiles):
    """A backend that is asked through its public methods, and whose answers are put into our words.

    Paths in results and in error texts become those that the agent knows, exceptions become errors, and what the
    backend cannot do by itself (deleting, uploading, a cap on matches, async methods) is done by other means or
    answered with an error. Where only one of `write` and `awrite` carries a rule, both forms go through that one.
    Bases are compared with the file right before a change, which leaves a moment for others in between.

    Args:
        backend: The backend.
    """

    def write_steps(self, place: Place, content: str | bytes, base: Base | None, merge: bool) -> Steps[WriteResult]:
        if (ours := self._direct("write")) is not None:
            return (yield from ours.write_steps(place, content, base, merge))
        if isinstance(content, str) and merge and self._takes("write", "base"):
            return _changed(WriteResult, place, (yield from self._call(place, "write", place.path, content, base=base)))
        settled = self._base(place, base)
        if settled is not None:
            current = yield from self._current(place)
            if _is_stale(current, settled):
                if merge and current.content == _bytes_of(content):
                    return WriteResult(path=place.shown, revision=current.revision, unchanged=True)
                return refused_write(WriteResult, place, _text_of(current), settled)
        if isinstance(content, bytes):
            (answer,) = yield from self.upload_steps([(place, content)])
            return WriteResult(error=answer.error, path=None if answer.error else place.shown, revision=answer.revision)
        result = _changed(WriteResult, place, (yield from self._call(place, "write", place.path, content)))
        return self._noted(place, result, digest_of(_bytes_of(content)))

    def edit_steps(self, place: Place, old: str, new: str, replace_all: bool, base: Base | None) -> Steps[EditResult]:
        if (ours := self._direct("edit")) is not None:
            return (yield from ours.edit_steps(place, old, new, replace_all, base))
        if self._takes("edit", "base"):
            return _edited(place, (yield from self._call(place, "edit", place.path, old, new, replace_all, base=base)))
        settled, seen = self._strict_base(place, base), self._last_seen(place)
        followed = False
        if settled is not None or seen is not None:
            current = yield from self._current_unseen(place)
            if settled is not None and _is_stale(current, settled):
                return EditResult(error=changed_since(place, current.content is not None, "edit"), conflict=True)
            followed = seen is not None and not _is_stale(current, seen)
        result = _edited(place, (yield from self._call(place, "edit", place.path, old, new, replace_all)))
        if result.error is None and followed:
            result.revision = (yield from self._current(place)).revision
        return result

    def append_steps(self, place: Place, text: str, base: Base | None) -> Steps[WriteResult]:
        if (ours := self._direct("append")) is not None:
            return (yield from ours.append_steps(place, text, base))
        if self._ours is not None and self._has_own("append"):
            return _changed(WriteResult, place, (yield from self._call(place, "append", place.path, text, base=base)))
        settled, seen = self._strict_base(place, base), self._last_seen(place)
        current = yield from self._current_unseen(place)
        if settled is not None and _is_stale(current, settled):
            return WriteResult(error=changed_since(place, current.content is not None, "append to"), conflict=True)
        if current.content is None and current.error != FILE_NOT_FOUND:
            return WriteResult(error=f"Error: {place.shown} could not be read: {current.error}.")
        held = {} if current.content is None else {place.path: create_file_data(current.content)}
        plan = plan_append(held, place, text, None)
        data = plan.updates.get(place.path)
        if data is None:
            return plan.result
        result = _changed(WriteResult, place, (yield from self._call(place, "write", place.path, data["content"])))
        if current.content is None or (seen is not None and not _is_stale(current, seen)):
            return self._noted(place, result, plan.result.revision)
        return result

    def delete_steps(self, place: Place, base: Base | None) -> Steps[DeleteResult]:
        if (ours := self._direct("delete")) is not None:
            return (yield from ours.delete_steps(place, base))
        if self._takes("delete", "base"):
            result = yield from self._call(place, "delete", place.path, base=base)
        else:
            settled = self._strict_base(place, base)
            if settled is not None and _is_stale((yield from self._current_unseen(place)), settled):
                return DeleteResult(error=changed_since(place, True, "delete"), conflict=True)
            try:
                result = yield from self._call(place, "delete", place.path)
            except NotImplementedError:
                return DeleteResult(error=f"Error: {place.shown} lies in a backend that cannot delete files.")
        changed = _changed(DeleteResult, place, result)
        if changed.error is None:
            changed.paths = tuple(getattr(result, "paths", ())) or (place.shown,)
            changed.revision = 0
            self._saw(place, None)
        return changed

    def move_steps(self, place: Place, to: Place, overwrite: bool) -> Steps[MoveResult]:
        if (ours := self._direct("move")) is not None:
            return (yield from ours.move_steps(place, to, overwrite))
        if self._ours is not None and self._has_own("move"):
            result = yield from self._call(place, "move", place.path, to.path, overwrite=overwrite)
            moved = _changed(MoveResult, to, result)
            moved.paths = tuple(to.show(path) for path in result.paths if to.holds(path))
            return moved
        if (refusal := cannot_move(place, to)) is not None:
            return MoveResult(error=refusal)
        seen, current = self._last_seen(place), (yield from self._current_unseen(place))
        if current.content is None:
            return MoveResult(error=f"Error: {not_found(place)}. Only single files can be moved here.")
        if not overwrite and (yield from self._current_unseen(to)).content is not None:
            return MoveResult(error=occupied(to.shown))
        with unnoticed() as notes:
            (written,) = yield from self.upload_steps([(to, current.content)])
        if written.error is not None:
            return MoveResult(error=written.error)
        if seen is not None and not _is_stale(current, seen):
            notes.keep()
        gone = yield from self.delete_steps(place, None)
        if gone.error is not None:
            return MoveResult(error=f"{gone.error} A copy of it is now at {to.shown}.")
        return MoveResult(path=to.shown, paths=(to.shown,), revision=written.revision)

    def upload_steps(self, files: Sequence[tuple[Place, bytes]]) -> Steps[list[FileUploadResponse]]:
        if (ours := self._direct("upload_files")) is not None:
            return (yield from ours.upload_steps(files))
        if not self._has_own("upload_files"):
            return (yield from self._write_each(files))  # a rule in `write` holds for uploads too
        try:
            found = yield from self._call(
                files[0][0], "upload_files", [(place.path, content) for place, content in files]
            )
        except NotImplementedError:
            return (yield from self._write_each(files))
        answers: list[FileUploadResponse] = []
        for (place, content), answer in zip(files, found, strict=True):
            error = shown_error(place, answer.error)
            revision = None
            if error is None:
                revision = getattr(answer, "revision", None) or digest_of(content)
                self._saw(place, revision)
            answers.append(FileUploadResponse(place.shown, error, revision))
        return answers

    def _write_each(self, files: Sequence[tuple[Place, bytes]]) -> Steps[list[FileUploadResponse]]:
        answers: list[FileUploadResponse] = []
        for place, content in files:
            try:
                text = content.decode()
            except UnicodeDecodeError:
                error = "Error: only text can be written here, and this is binary."
                answers.append(FileUploadResponse(place.shown, error))
                continue
            result = _changed(WriteResult, place, (yield from self._call(place, "write", place.path, text)))
            result = self._noted(place, result, digest_of(content))
            answers.append(FileUploadResponse(place.shown, result.error, result.revision))
        return answers

    def restore_steps(self, place: Place, revision: int) -> Steps[WriteResult]:
        if (ours := self._direct("restore")) is not None:
            return (yield from ours.restore_steps(place, revision))
        if self._ours is None or self._has_own("restore"):
            return (yield from self._past(place, super().restore_steps(place, revision), "restore", revision))
        old = yield from self.at_steps(place, revision)  # so that a rule in `write` sees what comes back
        if old.error is not None or old.file_data is None:
            return WriteResult(error=old.error)
        if old.file_data["encoding"] != "utf-8":
            return WriteResult(error=f"Error: {place.shown} is binary there, and only text can be written here.")
        return (yield from self.write_steps(place, old.file_data["content"], None, True))

    def commit_steps(self, changes: Sequence[PlacedChange]) -> Steps[FilesCommitResult]:
        """One change after the other; the first that fails ends it."""
        if (ours := self._direct("commit")) is not None:
            return (yield from ours.commit_steps(changes))
        revisions: list[Base | None] = []
        for number, change in enumerate(changes):
            result = yield from self._apply(change)
            if result.error is not None:
                landed = f" The first {number} of {len(changes)} changes had landed already." if number else ""
                conflicts = (result.error.removeprefix("Error: "),) if result.conflict else ()
                return FilesCommitResult(error=result.error + landed, conflicts=conflicts, failed=result.failed)
            revisions.append(result.revision)
        paths = tuple((change.to or change.place).shown for change in changes)
        return FilesCommitResult(paths=paths, revisions=tuple(revisions))

    def _apply(self, placed: PlacedChange) -> Steps[Any]:
        place, change, to = placed
        match change:
            case WriteFile(_, content, base, merge):
                return self.write_steps(place, content, base, merge)
            case EditFile(_, old, new, replace_all, base):
                return self.edit_steps(place, old, new, replace_all, base)
            case AppendFile(_, text, base):
                return self.append_steps(place, text, base)
            case DeleteFile(_, base):
                return self.delete_steps(place, base)
            case MoveFile(_, _, overwrite):
                assert to is not None
                return self.move_steps(place, to, overwrite)

    # --- what a thread has seen -----------------------------------------------------------------------------

    def _last_seen(self, place: Place, *, or_elsewhere: bool = False) -> Base | None:
        return last_seen(file_id(place), or_elsewhere=or_elsewhere) if self._ours is None else None

    def _base(self, place: Place, base: Base | None) -> Base | None:
        if base == SEEN or base is None:
            seen = self._last_seen(place, or_elsewhere=base is None)
            return 0 if seen is None and base == SEEN and self._ours is None else seen
        return base

    def _strict_base(self, place: Place, base: Base | None) -> Base | None:
        return None if base is None else self._base(place, base)

    def _current_unseen(self, place: Place) -> Steps[FileDownloadResponse]:
        """What a file holds now, for a comparison that shows it to nobody."""
        with unnoticed():
            return (yield from self._current(place))

    def _noted(self, place: Place, result: C, revision: Base | None) -> C:
        if result.error is None:
            result.revision = result.revision or revision
            self._saw(place, result.revision)
        return result


def _is_stale(current: FileDownloadResponse, base: Base) -> bool:
    return base != (0 if current.content is None else current.revision)


def _text_of(current: FileDownloadResponse) -> str | bytes | None:
    if current.content is None:
        return None
    try:
        return current.content.decode()
    except UnicodeDecodeError:
        return current.content


def _bytes_of(content: str | bytes) -> bytes:
    return content.encode("utf-8", "replace") if isinstance(content, str) else content


def _changed(kind: type[C], place: Place, result: Any) -> C:
    error = shown_error(place, result.error)
    found = kind(error=error, path=None if error is not None else place.shown)
    for name in ("revision", "merged", "proposal", "approval", "conflict", "unchanged"):
        if hasattr(result, name):
            setattr(found, name, getattr(result, name))
    return found


def _edited(place: Place, result: Any) -> EditResult:
    found = _changed(EditResult, place, result)
    found.occurrences = result.occurrences
    return found
