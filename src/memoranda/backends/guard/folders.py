"""Deleting and moving, which may be about a whole folder: every file below is checked, and exactly those change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from memoranda.backends.composite import CompositeBackend
from memoranda.backends.guard.changing import Outcome, change, denied, write_modes
from memoranda.backends.guard.layers import Layers
from memoranda.backends.guard.looking import ListingError, files_below
from memoranda.backends.guard.planning import Asked
from memoranda.backends.guard.telling import Change, inside_guard, tell
from memoranda.backends.permissions import Mode
from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.protocol import ChangeResult, DeleteFile, DeleteResult, FilesCommitResult, MoveFile, MoveResult
from memoranda.backends.steps import Steps
from memoranda.backends.unversioned import cannot_move
from memoranda.backends.wording import not_found
from memoranda.files.path import folder_prefix

C = TypeVar("C", bound=ChangeResult)


def delete_folder(layers: Layers, place: Place) -> Steps[DeleteResult]:
    """Delete a file, or every file below a folder."""
    if not layers.deciding and not layers.restrict_writing:
        with inside_guard():
            gone = yield from layers.inner.delete_steps(place, None)
        if gone.error is None:
            paths = gone.paths or ((gone.path,) if gone.path else ())
            yield from tell(layers, [Change(_at(place, path), "delete", 0) for path in paths])
        return gone
    if (yield from layers.mode_of("write", place)) == "deny":
        return DeleteResult(error=denied(place, "write"))
    try:
        files = yield from files_below(layers.inner, place)
    except ListingError as error:
        return DeleteResult(error=str(error))
    asked = [Asked("delete", PlacedChange(file, DeleteFile(file.shown))) for file in files]
    if not asked:
        return DeleteResult(error="Error: " + not_found(place))
    modes, refusal = yield from write_modes(layers, asked)
    if refusal is not None:
        return DeleteResult(error=_denied_below(place, files))
    if (error := _other_mounts(layers, place, files, "Deleting")) is not None:
        return DeleteResult(error=error)
    outcome = yield from _together(layers, asked, modes)
    if outcome.error is not None:
        return _unchanged(DeleteResult(), outcome)
    return DeleteResult(path=place.shown, paths=tuple(file.shown for file in files), revision=0)


def move_folder(layers: Layers, place: Place, to: Place, *, overwrite: bool) -> Steps[MoveResult]:
    """Move a file, or every file below a folder."""
    if not layers.deciding and not layers.restrict_writing and not layers.restrict_reading:
        with inside_guard():
            moved = yield from layers.inner.move_steps(place, to, overwrite)
        if moved.error is None:
            told = [Change(_at(to, path), "move", moved.revision) for path in moved.paths or (to.shown,)]
            yield from tell(layers, [Change(place, "move", 0), *told])
        return moved
    whole = Asked("move", PlacedChange(place, MoveFile(place.shown, to.shown, overwrite), to))
    _, refusal = yield from write_modes(layers, [whole])
    if refusal is not None:
        return MoveResult(error=refusal.error)
    if (impossible := cannot_move(place, to)) is not None:
        return MoveResult(error=impossible)
    try:
        files = yield from files_below(layers.inner, place)
    except ListingError as error:
        return MoveResult(error=str(error))
    asked = [_moved(file, place, to, overwrite=overwrite) for file in files]
    if not asked:
        return MoveResult(error="Error: " + not_found(place))
    modes, refusal = yield from write_modes(layers, asked)
    if refusal is not None:
        return MoveResult(error=_denied_below(place, files))
    if (error := _other_mounts(layers, place, files, "Moving")) is not None:
        return MoveResult(error=error)
    outcome = yield from _together(layers, asked, modes)
    if outcome.error is not None:
        return _unchanged(MoveResult(), outcome)
    paths = tuple(one.placed.to.shown for one in asked if one.placed.to is not None)
    revision = outcome.results[-1].revision if outcome.results else None
    return MoveResult(path=to.shown, paths=paths, revision=revision)


def _moved(file: Place, place: Place, to: Place, *, overwrite: bool) -> Asked:
    target = to.below(to.path + file.path[len(place.path) :])
    return Asked("move", PlacedChange(file, MoveFile(file.shown, target.shown, overwrite), target))


def _together(layers: Layers, asked: Sequence[Asked], modes: Sequence[Mode]) -> Steps[Outcome]:
    """Make the changes of many files; without anything to check as plain changes of just these files."""
    moves = any(one.placed.to is not None for one in asked)
    if layers.deciding or moves or any(mode != "allow" for mode in modes):
        return (yield from change(layers, asked, modes, apart=True))
    with inside_guard():
        landed: FilesCommitResult = yield from layers.inner.commit_steps([one.placed for one in asked])
    if landed.failed:
        return Outcome(landed.error, failed=True)
    if landed.error is not None:  # such as in different places of storage
        return (yield from change(layers, asked, modes, apart=True))
    yield from tell(layers, [Change(one.placed.place, one.operation, 0) for one in asked])
    return Outcome()


def _unchanged(result: C, outcome: Outcome) -> C:
    result.error, result.proposal, result.conflict = outcome.error, outcome.proposal, outcome.conflict
    result.failed = outcome.failed
    result.approval = outcome.approvals[0] if outcome.approvals else None
    return result


def _denied_below(place: Place, files: Sequence[Place]) -> str:
    """The refusal of a folder; which of its files is protected may itself be hidden."""
    if list(files) == [place]:
        return denied(place, "write")
    return denied(place, "write").replace("A rule", "It holds files that must stay as they are: a rule", 1)


def _other_mounts(layers: Layers, place: Place, files: Sequence[Place], doing: str) -> str | None:
    """Why a folder is left alone as without a guard: files of other mounts lie in it."""
    composite: Any = layers.inner
    while composite is not None and not isinstance(composite, CompositeBackend):
        composite = getattr(composite, "backend", None)
    if composite is None:
        return None
    mounts = {composite.leaf_prefix(file.path) for file in files}
    others = sorted(place.show(mount) + "/" for mount in mounts if mount.startswith(folder_prefix(place.path)))
    if not others:
        return None
    return (
        f"Error: {place.shown} holds other mounts: {', '.join(others)}. {doing} it would empty them too, so nothing "
        "was changed. Name the files or the folders inside it one by one."
    )


def _at(place: Place, shown: str) -> Place:
    from memoranda.backends.guard.layers import place_below

    return place_below(place, shown) or place
