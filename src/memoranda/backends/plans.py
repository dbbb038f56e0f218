"""What a change makes of files without revision numbers: one set of rules for the state, disks and foreign stores.

A file's state is a digest of its content. Each plan is a pure function of the files that were loaded for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.protocol import (
    AppendFile,
    Base,
    ChangeResult,
    DeleteFile,
    DeleteResult,
    EditFile,
    EditResult,
    FilesCommitResult,
    MoveFile,
    MoveResult,
    WriteFile,
    WriteResult,
)
from memoranda.backends.tree import Files, paths_below, revision_of
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
        followed: Files where the thread has seen the new state only if it had seen the old one: the path and the state
            before, the path and the state after.
    """

    result: R
    updates: dict[str, FileData | None] = field(default_factory=dict[str, "FileData | None"])
    overwrites: frozenset[str] = frozenset()
    seen: list[tuple[str, Base | None]] = field(default_factory=list[tuple[str, "Base | None"]])
    followed: list[tuple[str, Base, str, Base]] = field(default_factory=list[tuple[str, Base, str, Base]])


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
    if before is not None and revision_of(before) == revision:
        return Plan(WriteResult(path=place.shown, revision=revision, unchanged=True), seen=[(place.path, revision)])
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
    if edited.text == text:
        found = EditResult(path=place.shown, occurrences=edited.occurrences, revision=revision_of(before))
        found.unchanged = True
        return Plan(found)
    after = _written(before, edited.text)
    revision = revision_of(after)
    return Plan(
        EditResult(path=place.shown, occurrences=edited.occurrences, revision=revision),
        {place.path: after},
        followed=[(place.path, revision_of(before), place.path, revision)],
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
    if before is not None and not separator + text:
        return Plan(WriteResult(path=place.shown, revision=revision_of(before), unchanged=True))
    after = _written(before, held + separator + text)
    revision = revision_of(after)
    return Plan(
        WriteResult(path=place.shown, revision=revision),
        {place.path: after},
        followed=[(place.path, 0 if before is None else revision_of(before), place.path, revision)],
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
        plan.followed.append((path, revision_of(data), target, revision_of(data)))
    plan.result.paths = tuple(map(to.show, targets))
    plan.result.revision = plan.followed[-1][3]
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


def applied(files: Mapping[str, FileData], updates: Mapping[str, FileData | None]) -> dict[str, FileData]:
    """The files after a plan."""
    present = {**files, **updates}
    return {path: data for path, data in present.items() if data is not None}
