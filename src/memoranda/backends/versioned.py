"""Files in one namespace of a `MemoryStore`: each operation is one call to the store, each change has a history."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import datetime
from typing import Any, cast

from langgraph.store.base import GetOp

from memoranda.backends.base import Backend
from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.protocol import (
    FILE_NOT_FOUND,
    SEEN,
    AppendFile,
    Base,
    BlameResult,
    DeleteFile,
    DeleteResult,
    DiffResult,
    EditFile,
    EditResult,
    FileDownloadResponse,
    FileInfo,
    FilesCommitResult,
    FileUploadResponse,
    GlobResult,
    GrepMatch,
    GrepResult,
    HistoryResult,
    LsResult,
    MoveFile,
    MoveResult,
    ReadResult,
    WriteFile,
    WriteResult,
)
from memoranda.backends.runtime import last_seen, running_author, saw
from memoranda.backends.steps import Steps, ask
from memoranda.backends.windows import read_whole, read_window_of
from memoranda.backends.wording import exists_unread, not_found, refused_as_deleted, refused_with
from memoranda.errors import InvalidKeyError, ItemNotFoundError, MemorandaError
from memoranda.files.format import FileData
from memoranda.store.changes import (
    Append,
    Change,
    ChangeSet,
    CommitResult,
    Conflict,
    Delete,
    Edit,
    Move,
    Namespace,
    Write,
)
from memoranda.store.keys import file_key
from memoranda.store.store import MemoryStore
from memoranda.store.types import KeyEntry, StoredItem
from memoranda.store.values import encode_value


class VersionedFiles(Backend):
    """The files of one namespace, in one store.

    Args:
        store: The store.
        namespace: Where; exactly this one.
    """

    def __init__(self, store: MemoryStore, namespace: Namespace) -> None:
        self.store = store
        self.namespace = namespace

    def scope_key(self) -> Hashable:
        return (self.store.url, self.store.context.tenant, self.namespace)

    # --- reading --------------------------------------------------------------------------------------------

    def ls_steps(self, place: Place) -> Steps[LsResult]:
        entries = yield from ask(self.store.list_keys, self.namespace, place.path)
        return LsResult(entries=[_info(place, entry) for entry in entries])

    def glob_steps(self, place: Place, pattern: str) -> Steps[GlobResult]:
        entries = yield from ask(self.store.glob, self.namespace, pattern, place.path)
        return GlobResult(matches=[_info(place, entry) for entry in entries])

    def grep_steps(self, place: Place, pattern: str, glob: str | None, max_count: int | None) -> Steps[GrepResult]:
        found = yield from ask(self.store.grep, self.namespace, pattern, place.path, glob=glob, limit=max_count)
        matches = [GrepMatch(path=place.show(m.key), line=m.line, text=m.text) for m in found.matches]
        return GrepResult(matches=matches, truncated=found.truncated)

    def read_steps(self, place: Place, offset: int, limit: int) -> Steps[ReadResult]:
        item = yield from ask(self.store.get, self.namespace, place.path)
        if item is None:
            return ReadResult(error=not_found(place))
        saw(self._file(place), item.revision)
        return read_window_of(_file_data(item), place, offset, limit, item.revision)

    def download_steps(self, places: Sequence[Place]) -> Steps[list[FileDownloadResponse]]:
        items = yield from self._get(places)
        answers: list[FileDownloadResponse] = []
        for place, item in zip(places, items, strict=True):
            if item is None:
                answers.append(FileDownloadResponse(place.shown, None, FILE_NOT_FOUND))
                continue
            saw(self._file(place), item.revision)
            answers.append(read_whole(_file_data(item), place, item.revision))
        return answers

    def _get(self, places: Sequence[Place]) -> Steps[list[StoredItem | None]]:
        found = yield from ask(self.store.batch, [GetOp(self.namespace, place.path) for place in places])
        return cast("list[StoredItem | None]", found)

    # --- changing -------------------------------------------------------------------------------------------

    def write_steps(self, place: Place, content: str | bytes, base: Base | None, merge: bool) -> Steps[WriteResult]:
        write = Write(self.namespace, place.path, content, self._base(place, base), merge=merge)
        result = yield from self._apply([write])
        if result.conflicts:
            return WriteResult(error=self._refusal(place, result.conflicts[0]), conflict=True)
        (landed,) = result.revisions
        if not landed.merged:  # what was merged in, the thread has not seen
            saw(self._file(place), landed.revision)
        return WriteResult(path=place.shown, revision=landed.revision, merged=landed.merged)

    def edit_steps(self, place: Place, old: str, new: str, replace_all: bool, base: Base | None) -> Steps[EditResult]:
        edit = Edit(self.namespace, place.path, old, new, replace_all, self._base(place, base, changing=False))
        result = yield from self._apply([edit])
        if result.conflicts:
            conflict = result.conflicts[0]
            if conflict.reason == "missing":
                return EditResult(error="Error: " + not_found(place))
            return EditResult(
                error=f"Error: {_shown(place, conflict.message, conflict.key)}", conflict=conflict.reason == "changed"
            )
        (landed,) = result.revisions
        self._saw_own(place, landed.revision)
        return EditResult(path=place.shown, occurrences=landed.occurrences, revision=landed.revision)

    def append_steps(self, place: Place, text: str, base: Base | None) -> Steps[WriteResult]:
        result = yield from self._apply(
            [Append(self.namespace, place.path, text, self._base(place, base, changing=False))]
        )
        if result.conflicts:
            conflict = result.conflicts[0]
            return WriteResult(
                error=f"Error: {_shown(place, conflict.message, conflict.key)}", conflict=conflict.reason == "changed"
            )
        (landed,) = result.revisions
        self._saw_own(place, landed.revision)
        return WriteResult(path=place.shown, revision=landed.revision)

    def delete_steps(self, place: Place, base: Base | None) -> Steps[DeleteResult]:
        if base is not None:
            delete = Delete(self.namespace, place.path, self._base(place, base, changing=False), missing_ok=False)
            result = yield from self._apply([delete])
        else:
            result = yield from ask(self.store.delete_prefix, self.namespace, place.path, author=running_author())
        if result.conflicts:
            conflict = result.conflicts[0]
            if conflict.reason == "missing":
                return DeleteResult(error="Error: " + not_found(place))
            return DeleteResult(error=f"Error: {_shown(place, conflict.message, conflict.key)}", conflict=True)
        if not result.revisions:
            return DeleteResult(error="Error: " + not_found(place))
        for gone in result.revisions:
            saw(self._file(Place(gone.key, gone.key)), None)
        paths = tuple(place.show(gone.key) for gone in result.revisions)
        return DeleteResult(path=place.shown, paths=paths, revision=0)

    def move_steps(self, place: Place, to: Place, overwrite: bool) -> Steps[MoveResult]:
        try:
            result = yield from ask(
                self.store.move, self.namespace, place.path, to.path, overwrite=overwrite, author=running_author()
            )
        except ItemNotFoundError:
            return MoveResult(error="Error: " + not_found(place))
        except MemorandaError as error:
            text = _shown(to, str(error), to.path).replace("pass overwrite=True", "overwrite it")
            return MoveResult(error=f"Error: {text}")
        for moved in result.revisions:
            saw(self._file(Place(moved.key, moved.key)), moved.revision)
        paths = tuple(to.show(moved.key) for moved in result.revisions)
        return MoveResult(path=to.shown, paths=paths, revision=result.revisions[-1].revision)

    def upload_steps(self, files: Sequence[tuple[Place, bytes]]) -> Steps[list[FileUploadResponse]]:
        answers: list[FileUploadResponse] = []
        writes: list[Change] = []
        for place, content in files:
            try:
                file_key(place.path)
            except InvalidKeyError as error:
                answers.append(FileUploadResponse(place.shown, f"Error: {error}"))
                continue
            answers.append(FileUploadResponse(place.shown))
            writes.append(Write(self.namespace, place.path, content, self._base(place, None)))
        result = yield from self._apply(writes) if writes else _nothing()
        if result.conflicts:
            # All land together or none does; each file hears of its own obstacle, the others of the first.
            refused = {conflict.key: conflict for conflict in result.conflicts}
            first = result.conflicts[0]
            return [
                answer
                if answer.error
                else FileUploadResponse(place.shown, self._refusal(place, refused.get(place.path, first)))
                for answer, (place, _) in zip(answers, files, strict=True)
            ]
        landed = iter(result.revisions)
        for answer, (place, _) in zip(answers, files, strict=True):
            if answer.error is None:
                answer.revision = next(landed).revision
                saw(self._file(place), answer.revision)
        return answers

    def commit_steps(self, changes: Sequence[PlacedChange]) -> Steps[FilesCommitResult]:
        result = yield from self._apply(self._changes(changes))
        if result.conflicts:
            sentences = tuple(
                _shown(changes[c.index].place, c.message, c.key) for c in result.conflicts if c.index < len(changes)
            )
            return FilesCommitResult(error="Error: " + " ".join(sentences), conflicts=sentences)
        return FilesCommitResult(
            paths=tuple((change.to or change.place).shown for change in changes),
            revisions=tuple(landed.revision for landed in result.revisions),
        )

    def store_changes(self, changes: Sequence[PlacedChange]) -> tuple[MemoryStore, list[Change]]:
        return self.store, self._changes(changes)

    def _changes(self, changes: Sequence[PlacedChange]) -> list[Change]:
        found: list[Change] = []
        for place, change, to in changes:
            match change:
                case WriteFile(_, content, base, merge):
                    found.append(Write(self.namespace, place.path, content, self._base(place, base), merge=merge))
                case EditFile(_, old, new, replace_all, base):
                    strict = self._base(place, base, changing=False)
                    found.append(Edit(self.namespace, place.path, old, new, replace_all, strict))
                case AppendFile(_, text, base):
                    found.append(Append(self.namespace, place.path, text, self._base(place, base, changing=False)))
                case DeleteFile(_, base):
                    strict = self._base(place, base, changing=False)
                    found.append(Delete(self.namespace, place.path, strict, missing_ok=False))
                case MoveFile(_, _, overwrite):
                    assert to is not None
                    found.append(Move(self.namespace, place.path, to.path, overwrite=overwrite))
        return found

    def _apply(self, changes: Sequence[Change]) -> Steps[CommitResult]:
        return (yield from ask(self.store.commit, ChangeSet(changes, running_author()), on_conflict="return"))

    # --- history --------------------------------------------------------------------------------------------

    def history_steps(self, place: Place, limit: int | None) -> Steps[HistoryResult]:
        try:
            return HistoryResult(
                revisions=(yield from ask(self.store.history, self.namespace, place.path, limit=limit))
            )
        except MemorandaError as error:
            return HistoryResult(error=self._said(place, error))

    def diff_steps(self, place: Place, older: int | None, newer: int | None) -> Steps[DiffResult]:
        try:
            return DiffResult(diff=(yield from ask(self.store.diff, self.namespace, place.path, older, newer)))
        except MemorandaError as error:
            return DiffResult(error=self._said(place, error))

    def blame_steps(self, place: Place) -> Steps[BlameResult]:
        try:
            return BlameResult(lines=(yield from ask(self.store.blame, self.namespace, place.path)))
        except MemorandaError as error:
            return BlameResult(error=self._said(place, error))

    def restore_steps(self, place: Place, revision: int) -> Steps[WriteResult]:
        try:
            landed = yield from ask(self.store.restore, self.namespace, place.path, revision, author=running_author())
        except MemorandaError as error:
            return WriteResult(error=self._said(place, error))
        saw(self._file(place), landed.revision)
        return WriteResult(path=place.shown, revision=landed.revision)

    def at_steps(self, place: Place, when: int | datetime) -> Steps[ReadResult]:
        asked: dict[str, Any] = {"at": when} if isinstance(when, datetime) else {"revision": when}
        try:
            item = yield from ask(self.store.get_at, self.namespace, place.path, **asked)
        except MemorandaError as error:
            return ReadResult(error=self._said(place, error))
        return ReadResult(file_data=_file_data(item), revision=item.revision)

    # --- what a thread has seen -----------------------------------------------------------------------------

    def _file(self, place: Place) -> str:
        """What identifies a file in the notes of a thread."""
        return f"{self.store.url}|{self.store.context.tenant}|{'/'.join(self.namespace)}|{place.path}"

    def _base(self, place: Place, base: Base | None, *, changing: bool = True) -> int | None:
        """The revision that a change is based on, for the store."""
        if base == SEEN or (base is None and changing):
            seen = last_seen(self._file(place))
            base = 0 if seen is None and base == SEEN else seen
        if isinstance(base, str):
            raise InvalidKeyError(
                f"{base!r} is no revision of {place.shown}.", "Pass the revision that reading the file gave."
            )
        return base

    def _saw_own(self, place: Place, revision: int) -> None:
        """An edit that follows directly on what the thread saw leaves nothing unseen."""
        seen = last_seen(self._file(place))
        if seen in (None, revision - 1):
            saw(self._file(place), revision)

    def _refusal(self, place: Place, conflict: Conflict) -> str:
        """The sentence about a refused write, with the text as it is now; the thread has seen it then."""
        cause = _shown(place, conflict.cause, conflict.key)
        saw(self._file(place), conflict.revision or None)
        if conflict.reason == "deleted":
            return refused_as_deleted(cause)
        if conflict.theirs is None:
            return f"Error: {cause} {conflict.remedy}".rstrip()
        return refused_with(exists_unread(place) if conflict.reason == "exists" else cause, conflict.theirs)

    def _said(self, place: Place, error: MemorandaError) -> str:
        return "Error: " + _shown(place, str(error), place.path)


def _shown(place: Place, text: str, key: str) -> str:
    """A sentence of the store about a key, about the path by which the agent knows it."""
    return text if place.shown == place.path else text.replace(key, place.show(key) if place.holds(key) else key, 1)


def _info(place: Place, entry: KeyEntry) -> FileInfo:
    if entry.is_folder:
        return {"path": place.show(entry.key), "is_dir": True, "size": 0, "modified_at": ""}
    changed = entry.updated_at.isoformat() if entry.updated_at else ""
    return {
        "path": place.show(entry.key),
        "is_dir": False,
        "size": entry.size,
        "modified_at": changed,
        "revision": entry.revision,
    }


def _file_data(item: StoredItem) -> FileData:
    """An item as a file; a document that is none is shown as the JSON text that edits work on."""
    from memoranda.files.format import read_file_data

    try:
        return read_file_data(item.value, lenient=True)
    except MemorandaError:
        text = encode_value(item.value).text or ""
        return {
            "content": text,
            "encoding": "utf-8",
            "created_at": item.created_at.isoformat(),
            "modified_at": item.updated_at.isoformat(),
        }


def _nothing() -> Steps[CommitResult]:
    return CommitResult()
    yield  # pragma: no cover - makes this a generator
