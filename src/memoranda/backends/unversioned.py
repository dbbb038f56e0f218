"""Files without revision numbers: what a change makes of them, decided once for the state, disks and foreign stores.

A file's state is a digest of its content. A backend that derives from `UnversionedFiles` only has to load files and
to keep what a change made of them; all rules about bases, conflicts and what a thread has seen are here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from memoranda.backends.base import Backend
from memoranda.backends.places import Place, PlacedChange
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
    ReadResult,
    WriteFile,
    WriteResult,
)
from memoranda.backends.runtime import last_seen, saw
from memoranda.backends.steps import Steps
from memoranda.backends.tree import Files, paths_below, revision_of
from memoranda.backends.windows import read_whole, read_window_of
from memoranda.backends.wording import exists_unread, not_found, refused_as_deleted, refused_with
from memoranda.errors import EditError, InvalidKeyError
from memoranda.files.edit import replace
from memoranda.files.format import FileData, create_file_data, file_text, update_file_data
from memoranda.files.path import folder_prefix

R = TypeVar("R")
C = TypeVar("C", bound=ChangeResult)


@dataclass(slots=True)
class Plan(Generic[R]):
    """What a change would do to the files that were loaded for it.

    Args:
        result: What its caller is told.
        updates: The new value of every file that changes; None for one that goes.
        overwrites: The files that are set whatever they held, so that no branch of a graph has to be merged in.
        seen: What the thread has seen thereby: path, and state.
        followed: Files where the thread has seen the new state only if it had seen the old one: path, old, new.
    """

    result: R
    updates: dict[str, FileData | None] = field(default_factory=dict[str, "FileData | None"])
    overwrites: frozenset[str] = frozenset()
    seen: list[tuple[str, Base | None]] = field(default_factory=list[tuple[str, "Base | None"]])
    followed: list[tuple[str, Base, Base]] = field(default_factory=list[tuple[str, Base, Base]])


class Unreadable(str):
    """Why a file cannot be read, as a sentence.

    Args:
        text: The sentence.
        code: What a download answers instead, where Deep Agents has a code for it.
    """

    code: str | None

    def __new__(cls, text: str, code: str | None = None) -> Unreadable:
        found = super().__new__(cls, text)
        found.code = code
        return found


Planner = Callable[[Files], Plan[R]]


# --- what a change makes of files ------------------------------------------------------------------------------


def plan_write(
    files: Files, place: Place, content: str | bytes, base: Base | None, *, merge: bool
) -> Plan[WriteResult]:
    """Set a file; a base that is not its state any more is refused, unless the file already holds just this."""
    before = files.get(place.path)
    after = _written(before, content)
    revision = revision_of(after)
    if is_stale(before, base) and (before is None or not merge or revision_of(before) != revision):
        return _conflict(WriteResult, place, before, base)
    return Plan(
        WriteResult(path=place.shown, revision=revision),
        {place.path: after},
        frozenset([place.path] if base is None else []),
        [(place.path, revision)],
    )


def plan_edit(files: Files, place: Place, old: str, new: str, replace_all: bool, base: Base | None) -> Plan[EditResult]:
    """Replace text in a file."""
    before = files.get(place.path)
    if is_stale(before, base):
        return Plan(EditResult(error=changed_since(place, before is not None, "edit"), conflict=True))
    if before is None:
        return Plan(EditResult(error="Error: " + not_found(place)))
    text = file_text(before)
    if text is None:
        cause = f"{place.shown} is a binary file, which has no text to edit."
        return Plan(EditResult(error=f"Error: {cause} Write it whole."))
    try:
        edited = replace(text, old, new, replace_all=replace_all, path=place.shown)
    except EditError as error:
        return Plan(EditResult(error=f"Error: {error}"))
    after = _written(before, edited.text)
    revision = revision_of(after)
    return Plan(
        EditResult(path=place.shown, occurrences=edited.occurrences, revision=revision),
        {place.path: after},
        followed=[(place.path, revision_of(before), revision)],
    )


def plan_append(files: Files, place: Place, text: str, base: Base | None) -> Plan[WriteResult]:
    """Add text at the end of a file, on a new line."""
    before = files.get(place.path)
    if is_stale(before, base):
        return Plan(WriteResult(error=changed_since(place, before is not None, "append to"), conflict=True))
    held = "" if before is None else file_text(before)
    if held is None:
        cause = f"{place.shown} is no text file, so nothing can be appended to it."
        return Plan(WriteResult(error=f"Error: {cause} Edit the document, or append to another file."))
    separator = "\n" if held and not held.endswith("\n") else ""
    after = _written(before, held + separator + text)
    revision = revision_of(after)
    return Plan(
        WriteResult(path=place.shown, revision=revision),
        {place.path: after},
        followed=[(place.path, 0 if before is None else revision_of(before), revision)],
    )


def plan_delete(files: Files, place: Place, base: Base | None) -> Plan[DeleteResult]:
    """Delete a file and everything below it; with a base only the file."""
    before = files.get(place.path)
    if base is not None:
        paths = [place.path] if before is not None else []
        if paths and is_stale(before, base):
            return Plan(DeleteResult(error=changed_since(place, before is not None, "delete"), conflict=True))
    else:
        paths = paths_below(files, place.path)
    if not paths:
        return Plan(DeleteResult(error="Error: " + not_found(place)))
    return Plan(
        DeleteResult(path=place.shown, paths=tuple(map(place.show, paths)), revision=0),
        dict.fromkeys(paths, None),
        seen=[(path, None) for path in paths],
    )


def plan_move(files: Files, place: Place, to: Place, *, overwrite: bool) -> Plan[MoveResult]:
    """Give a file, or every file below a folder, another path."""
    if (refusal := cannot_move(place, to)) is not None:
        return Plan(MoveResult(error=refusal))
    # A file and a folder of one name can both be there; the file is what moves, as in a store.
    paths = [place.path] if place.path in files else paths_below(files, place.path)
    if not paths:
        return Plan(MoveResult(error="Error: " + not_found(place)))
    plan = Plan(MoveResult(path=to.shown))
    targets = [to.path + path[len(place.path) :] for path in paths]
    for path, target in zip(paths, targets, strict=True):
        if target in files and not overwrite:
            return Plan(MoveResult(error=occupied(to.show(target))))
        plan.updates[path] = None
        plan.seen.append((path, None))
    for path, target in zip(paths, targets, strict=True):
        data: FileData = {**files[path]}
        plan.updates[target] = data
        plan.seen.append((target, revision_of(data)))
    plan.result.paths = tuple(map(to.show, targets))
    plan.result.revision = plan.seen[-1][1]
    return plan


def cannot_move(place: Place, to: Place) -> str | None:
    """Why a move makes no sense, whatever the files."""
    if place.path == to.path:
        return f"Error: {place.shown} is moved onto itself. Choose another target."
    if to.path.startswith(folder_prefix(place.path)):
        return f"Error: {place.shown} is moved into {to.shown}, which lies below it. Choose a target outside it."
    return None


def occupied(shown: str) -> str:
    """What is said where the target of a move exists."""
    return f"Error: {shown} exists already. Choose another target, or overwrite it."


def plan_changes(files: Files, changes: Sequence[PlacedChange]) -> Plan[FilesCommitResult]:
    """Apply several changes one after the other; if one cannot be applied, none is."""
    present = dict(files)
    whole: Plan[FilesCommitResult] = Plan(FilesCommitResult())
    errors: list[str] = []
    conflicts: list[str] = []
    revisions: list[Base | None] = []
    for change in changes:
        plan = _plan_change(present, change)
        if plan.result.error is not None:
            errors.append(plan.result.error.removeprefix("Error: "))
            if plan.result.conflict:
                conflicts.append(errors[-1])
            continue
        for path, data in plan.updates.items():
            if data is None:
                present.pop(path, None)
            else:
                present[path] = data
        whole.overwrites = (whole.overwrites | plan.overwrites) - (plan.updates.keys() - plan.overwrites)
        whole.updates |= plan.updates
        whole.seen += plan.seen
        whole.followed += plan.followed
        revisions.append(plan.result.revision)
    if errors:
        # Nothing lands, so nothing was seen either.
        return Plan(FilesCommitResult(error="Error: " + " ".join(errors), conflicts=tuple(conflicts)))
    whole.result.paths = tuple((change.to or change.place).shown for change in changes)
    whole.result.revisions = tuple(revisions)
    return whole


def _plan_change(files: Files, placed: PlacedChange) -> Plan[Any]:
    place, change, to = placed
    match change:
        case WriteFile(_, content, base, merge):
            return plan_write(files, place, content, base, merge=merge)
        case EditFile(_, old, new, replace_all, base):
            return plan_edit(files, place, old, new, replace_all, base)
        case AppendFile(_, text, base):
            return plan_append(files, place, text, base)
        case DeleteFile(_, base):
            alone = {place.path: files[place.path]} if place.path in files else {}
            return plan_delete(alone, place, base)
        case MoveFile(_, _, overwrite):
            assert to is not None
            if place.path not in files:
                return Plan(MoveResult(error="Error: " + not_found(place)))
            return plan_move(files, place, to, overwrite=overwrite)


def _written(before: FileData | None, content: str | bytes) -> FileData:
    if isinstance(content, str):
        return create_file_data(content) if before is None else update_file_data(before, content)
    return create_file_data(content, None if before is None else before.get("created_at"))


def is_stale(before: FileData | None, base: Base | None) -> bool:
    """Whether a file is not, or no longer, in the state that a change was made from.

    Raises:
        InvalidKeyError: The base is a revision number, which these files do not have.
    """
    if base is None:
        return False
    if not isinstance(base, str) and base != 0:
        raise InvalidKeyError(f"{base!r} is no state of this file.", "Pass the revision that reading the file gave.")
    return base != (0 if before is None else revision_of(before))


def _conflict(kind: type[C], place: Place, before: FileData | None, base: Base | None) -> Plan[C]:
    """A refused write; the thread has seen the current text then."""
    if before is None:
        return Plan(refused_write(kind, place, None, base), seen=[(place.path, None)])
    text = file_text(before)
    refused = refused_write(kind, place, b"" if text is None else text, base)
    return Plan(refused, seen=[(place.path, revision_of(before))])


def refused_write(kind: type[C], place: Place, current: str | bytes | None, base: Base | None) -> C:
    """The answer to a write whose base is not the file's state.

    Args:
        kind: The kind of the result.
        place: The file.
        current: What it holds now; None: it does not exist.
        base: What the write was based on.
    """
    if current is None:
        return kind(error=refused_as_deleted(f"{place.shown} was deleted since you read it."), conflict=True)
    cause = exists_unread(place) if base == 0 else f"{place.shown} was changed since you read it."
    if isinstance(current, str):
        return kind(error=refused_with(cause, current), conflict=True)
    remedy = "It is a binary file now. Nothing was written. Choose another path, or read it first."
    return kind(error=f"Error: {cause} {remedy}", conflict=True)


def changed_since(place: Place, exists: bool, verb: str) -> str:
    """What is said where an edit, an append or a deletion insists on a state that is past."""
    what = "was changed since you read it" if exists else "does not exist now"
    return f"Error: {place.shown} {what}. Read it again before you {verb} it."


# --- a backend made of it --------------------------------------------------------------------------------------


class UnversionedFiles(Backend):
    """A backend whose files have digests for revisions.

    A subclass brings `load_steps`, `change_steps` and the listings.
    """

    keeps_seen_with_state = False
    """Whether the notes of what was seen belong to the state of the graph, as the files themselves do."""

    def load_steps(self, places: Sequence[Place]) -> Steps[list[FileData | Unreadable | None]]:
        """The files at these places; None where there is none; a sentence where one cannot be read."""
        raise NotImplementedError

    def change_steps(self, alone: Sequence[Place], planner: Planner[R], below: Sequence[Place] = ()) -> Steps[Plan[R]]:
        """Load files, let a planner decide, and keep what came of it, with nothing in between where that can be.

        Args:
            alone: Files that the change may read or write.
            planner: Decides what happens; may be asked again with newer files.
            below: Folders of which every file is loaded.
        """
        raise NotImplementedError

    def file_id(self, path: str) -> str:
        """What identifies a file in the notes of a thread."""
        raise NotImplementedError

    def location(self, place: Place) -> str | None:
        return None if self.keeps_seen_with_state else self.file_id(place.path)

    # --- reading --------------------------------------------------------------------------------------------

    def read_steps(self, place: Place, offset: int, limit: int) -> Steps[ReadResult]:
        (data,) = yield from self.load_steps([place])
        if isinstance(data, Unreadable):
            return ReadResult(error=str(data))
        if data is None:
            return ReadResult(error=not_found(place))
        revision = revision_of(data)
        self._saw(place.path, revision)
        return read_window_of(data, place, offset, limit, revision)

    def download_steps(self, places: Sequence[Place]) -> Steps[list[FileDownloadResponse]]:
        files = yield from self.load_steps(places)
        answers: list[FileDownloadResponse] = []
        for place, data in zip(places, files, strict=True):
            if data is None or isinstance(data, Unreadable):
                error = FILE_NOT_FOUND if data is None else data.code or str(data)
                answers.append(FileDownloadResponse(place.shown, None, error))
                continue
            revision = revision_of(data)
            self._saw(place.path, revision)
            answers.append(read_whole(data, place, revision))
        return answers

    # --- changing -------------------------------------------------------------------------------------------

    def write_steps(self, place: Place, content: str | bytes, base: Base | None, merge: bool) -> Steps[WriteResult]:
        settled = self._base(place, base)
        return (
            yield from self._changed([place], lambda files: plan_write(files, place, content, settled, merge=merge))
        )

    def edit_steps(self, place: Place, old: str, new: str, replace_all: bool, base: Base | None) -> Steps[EditResult]:
        settled = self._strict_base(place, base)
        return (
            yield from self._changed([place], lambda files: plan_edit(files, place, old, new, replace_all, settled))
        )

    def append_steps(self, place: Place, text: str, base: Base | None) -> Steps[WriteResult]:
        settled = self._strict_base(place, base)
        return (yield from self._changed([place], lambda files: plan_append(files, place, text, settled)))

    def delete_steps(self, place: Place, base: Base | None) -> Steps[DeleteResult]:
        settled = self._strict_base(place, base)
        below = [place] if base is None else []
        return (yield from self._changed([place], lambda files: plan_delete(files, place, settled), below))

    def move_steps(self, place: Place, to: Place, overwrite: bool) -> Steps[MoveResult]:
        return (
            yield from self._changed(
                [place, to], lambda files: plan_move(files, place, to, overwrite=overwrite), [place, to]
            )
        )

    def upload_steps(self, files: Sequence[tuple[Place, bytes]]) -> Steps[list[FileUploadResponse]]:
        bases = [self._base(place, None) for place, _ in files]

        def planner(present: Files) -> Plan[list[FileUploadResponse]]:
            whole: Plan[list[FileUploadResponse]] = Plan([])
            now = dict(present)
            for (place, content), base in zip(files, bases, strict=True):
                # The second of two uploads to one path is made by the same hand, not by somebody else.
                plan = plan_write(now, place, content, None if place.path in whole.updates else base, merge=True)
                whole.result.append(FileUploadResponse(place.shown, plan.result.error, plan.result.revision))
                now |= cast("dict[str, FileData]", plan.updates)
                whole.overwrites = (whole.overwrites | plan.overwrites) - (plan.updates.keys() - plan.overwrites)
                whole.updates |= plan.updates
                whole.seen += plan.seen
            return whole

        return (yield from self._changed([place for place, _ in files], planner))

    def commit_steps(self, changes: Sequence[PlacedChange]) -> Steps[FilesCommitResult]:
        settled = [self._settled(change) for change in changes]
        places = [place for change in changes for place in (change.place, change.to) if place is not None]
        return (yield from self._changed(places, lambda files: plan_changes(files, settled)))

    def _changed(self, alone: Sequence[Place], planner: Planner[R], below: Sequence[Place] = ()) -> Steps[R]:
        plan = yield from self.change_steps(alone, planner, below)
        for path, before, after in plan.followed:
            if self._last_seen(path) in (None, before):
                self._saw(path, after)
        for path, revision in plan.seen:
            self._saw(path, revision)
        return plan.result

    # --- what a thread has seen -----------------------------------------------------------------------------

    def _saw(self, path: str, revision: Base | None) -> None:
        saw(self.file_id(path), revision, with_state=self.keeps_seen_with_state)

    def _last_seen(self, path: str) -> Base | None:
        return last_seen(self.file_id(path), with_state=self.keeps_seen_with_state)

    def _base(self, place: Place, base: Base | None) -> Base | None:
        """The state that a whole write is based on."""
        if base == SEEN or base is None:
            seen = self._last_seen(place.path)
            return 0 if seen is None and base == SEEN else seen
        return base

    def _strict_base(self, place: Place, base: Base | None) -> Base | None:
        """The state that an edit, an append or a deletion insists on."""
        return None if base is None else self._base(place, base)

    def _settled(self, placed: PlacedChange) -> PlacedChange:
        """A change with the state that it is based on in place of `SEEN`."""
        place, change, to = placed
        match change:
            case WriteFile(path, content, base, merge):
                change = WriteFile(path, content, self._base(place, base), merge)
            case EditFile(path, old, new, replace_all, base):
                change = EditFile(path, old, new, replace_all, self._strict_base(place, base))
            case AppendFile(path, text, base):
                change = AppendFile(path, text, self._strict_base(place, base))
            case DeleteFile(path, base):
                change = DeleteFile(path, self._strict_base(place, base))
            case MoveFile():
                pass
        return PlacedChange(place, change, to)


def applied(files: Mapping[str, FileData], updates: Mapping[str, FileData | None]) -> dict[str, FileData]:
    """The files after a plan."""
    present = {**files, **updates}
    return {path: data for path, data in present.items() if data is not None}
