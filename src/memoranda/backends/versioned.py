"""Files in one namespace of a `MemoryStore`: each operation is one call to the store, each change has a history."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.plans import cannot_move, occupied, refused_write
from memoranda.backends.protocol import (
    SEEN,
    AppendFile,
    Base,
    DeleteFile,
    DeleteResult,
    EditFile,
    EditResult,
    FilesCommitResult,
    FileUploadResponse,
    MoveFile,
    MoveResult,
    WriteFile,
    WriteResult,
)
from memoranda.backends.runtime import forget, running_author
from memoranda.backends.sameness import Applied, apply_unless_there, holds
from memoranda.backends.steps import Steps, ask
from memoranda.backends.versioned_reading import VersionedReading, told
from memoranda.backends.wording import (
    exists_unread,
    is_failure,
    not_found,
    refused_as_deleted,
    refused_with,
    with_shown_paths,
)
from memoranda.errors import (
    EditError,
    InvalidChangeError,
    InvalidKeyError,
    ItemExistsError,
    ItemNotFoundError,
    MemorandaError,
)
from memoranda.files.edit import replace
from memoranda.store.changes import (
    Append,
    Change,
    ChangeSet,
    CommitResult,
    Committed,
    Conflict,
    Delete,
    Edit,
    Move,
    Write,
)
from memoranda.store.keys import file_key
from memoranda.store.store import MemoryStore
from memoranda.store.types import StoredItem


class VersionedFiles(VersionedReading):
    """The files of one namespace, in one store.

    Args:
        store: The store.
        namespace: Where; exactly this one.
    """

    # --- changing -------------------------------------------------------------------------------------------

    @told(WriteResult)
    def write_steps(self, place: Place, content: str | bytes, base: Base | None, merge: bool) -> Steps[WriteResult]:
        settled = self._base(place, base)
        write = Write(self.namespace, place.path, content, settled, merge=merge)
        try:
            if base == SEEN and settled:  # the whole of a file that the thread knows: perhaps as it is
                item = yield from ask(self.store.get, self.namespace, place.path)
                if item is not None and holds(item, content):
                    self._saw(place.path, item.revision)
                    return WriteResult(path=place.shown, revision=item.revision, unchanged=True)
            result, unchanged = yield from self._apply_unless_there([write])
        except InvalidChangeError:
            if settled == base:
                raise
            # What this thread saw is ahead of the store, such as one that was restored from a backup.
            return (yield from self._refused_as_unknown(place, settled))
        if result.conflicts:
            return WriteResult(error=self._refusal(place, result.conflicts[0]), conflict=True)
        self._saw_landed(result)
        (landed,) = result.revisions
        return WriteResult(path=place.shown, revision=landed.revision, merged=landed.merged, unchanged=bool(unchanged))

    @told(EditResult)
    def edit_steps(self, place: Place, old: str, new: str, replace_all: bool, base: Base | None) -> Steps[EditResult]:
        edit = Edit(self.namespace, place.path, old, new, replace_all, self._strict_base(place, base))
        if old == new and (item := (yield from self._text_now(place, edit.base))) is not None:
            text = item.value["content"]
            occurrences = text.count(old) if old else 0
            if occurrences == 1 or (occurrences and replace_all):
                return EditResult(path=place.shown, occurrences=occurrences, revision=item.revision, unchanged=True)
        result = yield from self._apply([edit])
        if result.conflicts:
            conflict = result.conflicts[0]
            return EditResult(error="Error: " + _said(place, conflict, edit), conflict=conflict.reason == "changed")
        self._saw_landed(result)
        landed = result.revisions[-1]
        return EditResult(path=place.shown, occurrences=landed.occurrences, revision=landed.revision)

    @told(WriteResult)
    def append_steps(self, place: Place, text: str, base: Base | None) -> Steps[WriteResult]:
        append = Append(self.namespace, place.path, text, self._strict_base(place, base))
        if not text:
            item = yield from self._text_now(place, append.base)
            if item is not None and (not (held := item.value["content"]) or held.endswith("\n")):
                return WriteResult(path=place.shown, revision=item.revision, unchanged=True)
        result = yield from self._apply([append])
        if result.conflicts:
            conflict = result.conflicts[0]
            return WriteResult(error="Error: " + _said(place, conflict, append), conflict=conflict.reason == "changed")
        self._saw_landed(result)
        landed = result.revisions[-1]
        return WriteResult(path=place.shown, revision=landed.revision)

    @told(DeleteResult)
    def delete_steps(self, place: Place, base: Base | None) -> Steps[DeleteResult]:
        if base is not None:
            delete = Delete(self.namespace, place.path, self._strict_base(place, base), missing_ok=False)
            result = yield from self._apply([delete])
        else:
            result = yield from ask(self.store.delete_prefix, self.namespace, place.path, author=running_author())
        if result.conflicts:
            conflict = result.conflicts[0]
            return DeleteResult(error="Error: " + _said(place, conflict), conflict=conflict.reason == "changed")
        if not result.revisions:
            return DeleteResult(error="Error: " + not_found(place))
        self._saw_landed(result)
        paths = tuple(place.show(gone.key) for gone in result.revisions)
        return DeleteResult(path=place.shown, paths=paths, revision=0)

    @told(MoveResult)
    def move_steps(self, place: Place, to: Place, overwrite: bool) -> Steps[MoveResult]:
        if (refusal := cannot_move(place, to)) is not None:
            return MoveResult(error=refusal)
        try:
            result = yield from ask(
                self.store.move, self.namespace, place.path, to.path, overwrite=overwrite, author=running_author()
            )
        except ItemNotFoundError:
            return MoveResult(error="Error: " + not_found(place))
        except ItemExistsError as error:
            return MoveResult(error=occupied(with_shown_paths(to, error.cause.removesuffix(" exists already."))))
        except MemorandaError as error:
            said = "Error: " + with_shown_paths(to, with_shown_paths(place, str(error)))
            return MoveResult(error=said, failed=is_failure(error))
        for moved in result.revisions:
            yield from self._saw_moved(place.path + moved.key[len(to.path) :], moved)
        paths = tuple(to.show(moved.key) for moved in result.revisions)
        return MoveResult(path=to.shown, paths=paths, revision=result.revisions[-1].revision)

    @told(WriteResult)
    def restore_steps(self, place: Place, revision: int) -> Steps[WriteResult]:
        landed = yield from ask(self.store.restore, self.namespace, place.path, revision, author=running_author())
        return WriteResult(path=place.shown, revision=landed.revision)

    def upload_steps(self, files: Sequence[tuple[Place, bytes]]) -> Steps[list[FileUploadResponse]]:
        """All files that can have a place land together, or none does."""
        answers: list[FileUploadResponse] = []
        writes: dict[int, Write] = {}
        based: set[str] = set()
        for at, (place, content) in enumerate(files):
            answers.append(FileUploadResponse(place.shown))
            try:
                file_key(place.path)
            except MemorandaError as error:
                answers[at].error = "Error: " + with_shown_paths(place, str(error))
                continue
            # The second of two uploads to one path is made by the same hand, not by somebody else.
            base = None if place.path in based else self._base(place, None)
            based.add(place.path)
            writes[at] = Write(self.namespace, place.path, content, base)
        if not writes:
            return answers
        try:
            result, _ = yield from self._apply_unless_there(list(writes.values()))
        except InvalidChangeError as error:
            for at in writes:  # seen in a store that has gone back since; from here on nothing is taken as seen
                forget(self._file(files[at][0]))
                answers[at].error = f"Error: {with_shown_paths(files[at][0], error.cause)} Read it again."
            return answers
        positions = list(writes)
        if result.conflicts:
            refused = {positions[conflict.index]: conflict for conflict in result.conflicts}
            cause = ", ".join(files[at][0].shown for at in refused)
            for at in writes:
                conflict = refused.get(at)
                answers[at].error = (
                    self._refusal(files[at][0], conflict)
                    if conflict is not None
                    else f"Error: nothing was written, because {cause} changed meanwhile. Try this file again."
                )
            return answers
        self._saw_landed(result)
        for at, landed in zip(positions, result.revisions, strict=True):
            answers[at].revision = landed.revision
        return answers

    def commit_steps(self, changes: Sequence[PlacedChange]) -> Steps[FilesCommitResult]:
        placed = self._changes(changes)
        try:
            if (missing := (yield from self._no_file_to_move(changes))) is not None:
                return FilesCommitResult(error="Error: " + not_found(missing))
            result, _ = yield from self._apply_unless_there(placed)
        except MemorandaError as error:
            said = str(error)
            for place in {place for change in changes for place in (change.place, change.to) if place is not None}:
                said = with_shown_paths(place, said)
            return FilesCommitResult(error=f"Error: {said}", failed=is_failure(error))
        if result.conflicts:
            sentences = tuple(
                # One about a cursor, which what travels with the commit was to move, is about no change.
                _said(changes[c.index].to or changes[c.index].place, c, placed[c.index]) if c.index >= 0 else c.message
                for c in result.conflicts
            )
            return FilesCommitResult(
                error="Error: " + " ".join(sentences), conflicts=() if result.is_lasting else sentences
            )
        self._saw_landed(result)
        for (place, _, to), landed in zip(changes, result.revisions, strict=False):
            if to is not None:
                yield from self._saw_moved(place.path, landed)
        return FilesCommitResult(
            paths=tuple((change.to or change.place).shown for change in changes),
            revisions=tuple(landed.revision for landed in result.revisions),
        )

    def _no_file_to_move(self, changes: Sequence[PlacedChange]) -> Steps[Place | None]:
        """The first move of a commit whose source is no file: the store would move the folder of that name."""
        sources = [place for place, _, to in changes if to is not None]
        items = (yield from self._get(sources)) if sources else []
        is_there = {place.path: item is not None for place, item in zip(sources, items, strict=True)}
        for place, change, to in changes:
            if to is not None:
                if not is_there[place.path]:
                    return place
                is_there[to.path] = True
            if to != place:
                is_there[place.path] = to is None and not isinstance(change, DeleteFile)
        return None

    def store_changes(self, changes: Sequence[PlacedChange]) -> tuple[MemoryStore, list[Change]]:
        return self.store, self._changes(changes)

    def _changes(self, changes: Sequence[PlacedChange]) -> list[Change]:
        found: list[Change] = []
        for place, change, to in changes:
            match change:
                case WriteFile(_, content, base, merge):
                    found.append(Write(self.namespace, place.path, content, self._base(place, base), merge=merge))
                case EditFile(_, old, new, replace_all, base):
                    strict = self._strict_base(place, base)
                    found.append(Edit(self.namespace, place.path, old, new, replace_all, strict))
                case AppendFile(_, text, base):
                    found.append(Append(self.namespace, place.path, text, self._strict_base(place, base)))
                case DeleteFile(_, base):
                    strict = self._strict_base(place, base)
                    found.append(Delete(self.namespace, place.path, strict, missing_ok=False))
                case MoveFile(_, _, overwrite):
                    assert to is not None
                    found.append(Move(self.namespace, place.path, to.path, overwrite=overwrite))
        return found

    def _text_now(self, place: Place, base: int | None) -> Steps[StoredItem | None]:
        """A text file as it is, for a change that changes nothing; None where anything else has to be said."""
        item = yield from ask(self.store.get, self.namespace, place.path)
        if item is None or not (base is None or item.revision == base) or item.value.get("encoding") != "utf-8":
            return None
        return item if isinstance(item.value.get("content"), str) else None

    def _apply_unless_there(self, changes: Sequence[Change]) -> Steps[Applied]:
        return (yield from apply_unless_there(self.store, changes, running_author()))

    def _apply(self, changes: Sequence[Change]) -> Steps[CommitResult]:
        return (yield from ask(self.store.commit, ChangeSet(changes, running_author()), on_conflict="return"))

    # --- what a thread has seen -----------------------------------------------------------------------------

    def _base(self, place: Place, base: Base | None) -> int | None:
        """The revision that a whole write is based on, for the store."""
        if base == SEEN or base is None:
            seen = self._last_seen(place, or_elsewhere=base is None)
            base = 0 if seen is None and base == SEEN else seen
        if isinstance(base, str):
            raise InvalidKeyError(
                f"{base!r} is no revision of {place.path}.", "Pass the revision that reading the file gave."
            )
        return base

    def _strict_base(self, place: Place, base: Base | None) -> int | None:
        """The revision that an edit, an append or a deletion insists on."""
        return None if base is None else self._base(place, base)

    def _saw_landed(self, result: CommitResult) -> None:
        """Note what the thread has seen by making these changes; moves are another matter."""
        for landed in result.revisions:
            if landed.operation == "delete":
                self._saw(landed.key, None)
            elif landed.operation in ("edit", "append"):
                if self._knows(landed.key, landed.revision - 1):  # then nothing unseen is left
                    self._saw(landed.key, landed.revision)
            elif landed.operation != "move" and not landed.merged:  # what was merged in, the thread has not seen
                self._saw(landed.key, landed.revision)

    def _saw_moved(self, source: str, moved: Committed) -> Steps[None]:
        """Note a move: who had seen the file where it was knows it where it is."""
        if self._last_seen(Place(source, source)):
            history = yield from ask(self.store.history, self.namespace, source, limit=1)
            if history and self._knows(source, history[0].revision - 1):  # the newest one is that it went away
                self._saw(moved.key, moved.revision)
        self._saw(source, None)

    def _refusal(self, place: Place, conflict: Conflict) -> str:
        """The sentence about a refused write, with the text as it is now; the thread has seen it then."""
        cause = with_shown_paths(place, conflict.cause)
        self._saw(place.path, conflict.revision or None)
        if conflict.reason == "deleted":
            return refused_as_deleted(cause)
        if conflict.theirs is None:
            return f"Error: {cause} {conflict.remedy}".rstrip()
        return refused_with(exists_unread(place) if conflict.reason == "exists" else cause, conflict.theirs)

    def _refused_as_unknown(self, place: Place, base: Base | None) -> Steps[WriteResult]:
        (found,) = yield from self.download_steps([place])
        if found.content is None:
            self._saw(place.path, None)
            return refused_write(WriteResult, place, None, base)
        try:
            current: str | bytes = found.content.decode()
        except UnicodeDecodeError:
            current = found.content
        return refused_write(WriteResult, place, current, base)


def _said(place: Place, conflict: Conflict, change: Change | None = None) -> str:
    """What stood in the way of a change, with the path by which the agent knows the file."""
    if conflict.reason == "missing":
        return not_found(place)
    if isinstance(change, Edit) and conflict.reason in ("text_not_found", "text_not_unique"):
        try:  # the same sentence, which quotes texts that may hold anything, paths included
            replace(conflict.theirs or "", change.old, change.new, replace_all=change.replace_all, path=place.shown)
        except EditError as error:
            return str(error)
    if conflict.reason == "occupied":
        return occupied(with_shown_paths(place, conflict.key)).removeprefix("Error: ")
    return with_shown_paths(place, conflict.message)
