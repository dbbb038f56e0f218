"""Changes that concern more than one route: several at once, moves between two, folders with routes inside."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.protocol import (
    DeleteFile,
    DeleteResult,
    FileDownloadResponse,
    FilesCommitResult,
    MoveFile,
    MoveResult,
    WriteFile,
)
from memoranda.backends.routes import Route, Routes, asked, failure, files_below
from memoranda.backends.runtime import in_graph, running_author
from memoranda.backends.seeded import SeededFiles, delete_files
from memoranda.backends.steps import Steps, ask, together
from memoranda.backends.unversioned import cannot_move, occupied
from memoranda.backends.wording import not_found, refused_read_only
from memoranda.errors import MemorandaError
from memoranda.store.changes import Change, ChangeSet, CommitResult, Conflict, Delete, Move, Write
from memoranda.store.store import MemoryStore


def mount_refusal(place: Place) -> str:
    """What is said of a change to a path that is a mount, or on the way to one."""
    return f"Error: {place.shown} is a folder. Name a file in it, such as {place.shown}/notes.md."


# --- several changes at once ------------------------------------------------------------------------------------


def commit(routes: Routes, changes: Sequence[PlacedChange]) -> Steps[FilesCommitResult]:
    """Apply changes together: by the one backend that owns all the files, or in one transaction of the one store."""
    owners: list[Route] = []
    for change in changes:
        for place in _places(change):
            if routes.is_mount(place.path):
                return FilesCommitResult(error=mount_refusal(place))
            owners.append(routes.find(place.path))
    if not owners:
        return FilesCommitResult()
    if all(owner is owners[0] for owner in owners):
        return (yield from owners[0].backend.commit_steps([inside(owners[0], change) for change in changes]))
    refused = _read_only(routes, changes)
    if refused is not None:
        return FilesCommitResult(error=refused)
    found = yield from _settled_changes(routes, changes)
    if found is None:
        return FilesCommitResult(error=_apart(owners))
    for change in changes:  # what may not be read where it lies may not be carried to where it can be
        owner = routes.find(change.place.path)
        if change.to is not None and routes.find(change.to.path) is not owner:
            look = yield from owner.backend.read_steps(owner.inside(change.place), 0, 1)
            if look.error is not None:
                return FilesCommitResult(error=f"Error: {look.error.removeprefix('Error: ')}", failed=look.failed)
    store, settled = found
    result = yield from ask(store.commit, ChangeSet(settled, running_author()), on_conflict="return")
    return _committed(changes, result)


def _committed(changes: Sequence[PlacedChange], result: CommitResult) -> FilesCommitResult:
    if result.conflicts:
        # One about a cursor, which what travels with the commit was to move, is about no change.
        said = tuple(_said(changes[c.index], c) if c.index >= 0 else c.message for c in result.conflicts)
        return FilesCommitResult(error="Error: " + " ".join(said), conflicts=() if result.is_lasting else said)
    return FilesCommitResult(
        paths=tuple((change.to or change.place).shown for change in changes),
        revisions=tuple(landed.revision for landed in result.revisions),
    )


def _said(change: PlacedChange, conflict: Conflict) -> str:
    place = change.to if change.to is not None and conflict.reason == "occupied" else change.place
    text = conflict.message.replace(conflict.key, place.shown, 1)
    return text.replace("pass overwrite=True", "overwrite it")


def _read_only(routes: Routes, changes: Sequence[PlacedChange]) -> str | None:
    """Why a model may not make these changes; the backends are not asked, so their own refusal has to be repeated."""
    if not in_graph():
        return None
    for change in changes:
        for place in _places(change):
            owner = routes.find(place.path)
            if owner.backend.is_read_only(owner.inside(place)):
                return refused_read_only(place)
    return None


def _places(change: PlacedChange) -> list[Place]:
    return [change.place] if change.to is None else [change.place, change.to]


def inside(route: Route, change: PlacedChange) -> PlacedChange:
    """A change of which both ends belong to a route, in the tree of its backend."""
    to = None if change.to is None else route.inside(change.to)
    return PlacedChange(route.inside(change.place), change.change, to)


def _apart(owners: Sequence[Route]) -> str:
    distinct = {owner.prefix: owner for owner in owners}
    where = ", ".join(f"{owner.folder} in {_store_name(owner)}" for _, owner in sorted(distinct.items()))
    return (
        f"Error: these changes cannot land together, since they lie apart: {where}. "
        "Nothing was changed. Make the changes of each folder by themselves."
    )


def _store_name(route: Route) -> str:
    found = _store_changes(route, [PlacedChange(Place("/x", "/x"), DeleteFile("/x"))])
    if found is not None:
        return str(found[0])
    backend = route.backend.inner if isinstance(route.backend, SeededFiles) else route.backend
    return type(backend).__name__


# --- changes as those of one store ------------------------------------------------------------------------------


def store_changes(routes: Routes, changes: Sequence[PlacedChange]) -> tuple[MemoryStore, list[Change]] | None:
    """The changes as changes of the store that all the files lie in; None where there is no such store."""
    store: MemoryStore | None = None
    settled: list[Change] = []
    for change in changes:
        found = _one_store_change(routes, change)
        if found is None or (store is not None and not _is_one(store, found[0])):
            return None
        store = store or found[0]
        settled.append(found[1])
    return None if store is None else (store, settled)


def _one_store_change(routes: Routes, change: PlacedChange) -> tuple[MemoryStore, Change] | None:
    owner = routes.find(change.place.path)
    if change.to is None or routes.find(change.to.path) is owner:
        found = _store_changes(owner, [inside(owner, change)])
        return None if found is None or len(found[1]) != 1 else (found[0], found[1][0])
    target = routes.find(change.to.path)
    assert isinstance(change.change, MoveFile)
    # Where a file lies in its store is what its deletion or its creation there would name.
    gone = _store_changes(owner, [PlacedChange(owner.inside(change.place), DeleteFile(change.place.shown))])
    made = _store_changes(target, [PlacedChange(target.inside(change.to), WriteFile(change.to.shown, ""))])
    match gone, made:
        case (store, [Delete() as old]), (other, [Write() as new]) if _is_one(store, other):
            return store, Move(old.namespace, old.key, new.key, new.namespace, overwrite=change.change.overwrite)
        case _:
            return None


def _store_changes(route: Route, changes: Sequence[PlacedChange]) -> tuple[MemoryStore, list[Change]] | None:
    try:
        return route.backend.store_changes(changes)
    except MemorandaError:  # no store, or no scope, at present
        return None


def _is_one(store: MemoryStore, other: MemoryStore) -> bool:
    """Whether two stores are one database, so that one transaction reaches both."""
    if store is other or store.engine is other.engine:
        return store.context.tenant == other.context.tenant
    return store.url == other.url != "memory://" and store.context.tenant == other.context.tenant


def _settled_changes(routes: Routes, changes: Sequence[PlacedChange]) -> Steps[tuple[MemoryStore, list[Change]] | None]:
    """As `store_changes`, with seeded files looked up anew."""
    for route in routes.all():
        if isinstance(route.backend, SeededFiles):
            own = [place for change in changes for place in _places(change) if routes.find(place.path) is route]
            if own:
                yield from route.backend.seeds.real_steps([route.inside(place) for place in own])
    return store_changes(routes, changes)


# --- whole folders, and moves between routes ---------------------------------------------------------------------


def delete(routes: Routes, place: Place) -> Steps[DeleteResult]:
    """Delete a file, or everything below a folder; a folder that holds other mounts only if those are empty."""
    owner = routes.find(place.path)
    refused = yield from _mounts_refusal(routes, place, "Deleting")
    if refused is not None:
        return DeleteResult(error=refused)
    if not routes.below(place.path):
        return (yield from owner.backend.delete_steps(owner.inside(place), None))
    files = yield from _files(routes, place)
    return (yield from delete_files(owner.backend, place, [owner.inside(file) for file in files]))


def move(routes: Routes, place: Place, to: Place, overwrite: bool) -> Steps[MoveResult]:
    """Move a file, or everything below a folder, also into another route."""
    owner, target = routes.find(place.path), routes.find(to.path)
    refused = cannot_move(place, to) or (yield from _mounts_refusal(routes, place, "Moving"))
    if refused is not None:
        return MoveResult(error=refused)
    if owner is target and not routes.is_mount(place.path) and not routes.is_mount(to.path):
        return (yield from owner.backend.move_steps(owner.inside(place), owner.inside(to), overwrite))
    files = yield from _files(routes, place)
    if not files:
        return MoveResult(error="Error: " + not_found(place))
    ends = [(file, to.below(to.path + file.path[len(place.path) :])) for file in files]
    for _, end in ends:
        if routes.is_mount(end.path):
            return MoveResult(error=mount_refusal(end))
    moves = [PlacedChange(file, MoveFile(file.shown, end.shown, overwrite), end) for file, end in ends]
    refused = _read_only(routes, moves)
    if refused is not None:
        return MoveResult(error=refused)
    routed = {id(routes.find(end.path)) for pair in ends for end in pair}
    if len(routed) == 1 or (yield from _settled_changes(routes, moves)) is not None:
        answer = yield from commit(routes, moves)
        if answer.error is not None:
            return MoveResult(error=answer.error, conflict=bool(answer.conflicts))
        return MoveResult(path=to.shown, paths=answer.paths, revision=(answer.revisions or (None,))[-1])
    return (yield from _copy_and_delete(routes, to, ends, overwrite))


def _mounts_refusal(routes: Routes, place: Place, doing: str) -> Steps[str | None]:
    """Why a folder is left alone: files of other mounts lie in it."""
    below = routes.below(place.path)
    if not below:
        return None
    answers = yield from together(
        [asked(lambda route=route: route.backend.ls_steps(Place("/", place.show(route.prefix)))) for route in below]
    )
    holding = [
        place.show(route.prefix) + "/"
        for route, answer in zip(below, answers, strict=True)
        if isinstance(answer, Exception) or failure(answer) is not None or answer.entries
    ]
    if not holding:
        return None
    return (
        f"Error: {place.shown} holds other mounts: {', '.join(holding)}. {doing} it would empty them too, so nothing "
        "was changed. Name the files or the folders inside it one by one."
    )


def _files(routes: Routes, place: Place) -> Steps[list[Place]]:
    """The file at a place, or every file below it that its owner shows."""
    owner = routes.find(place.path)
    start = owner.inside(place)
    if start.path != "/":
        folder = start.path.rpartition("/")[0] or "/"
        answer = yield from owner.backend.ls_steps(Place(folder, folder))
        if any(entry["path"] == start.path and not entry.get("is_dir") for entry in answer.entries or []):
            return [place]

    def hidden(path: str) -> bool:
        return routes.find(owner.outside(path)) is not owner

    found = yield from files_below(owner.backend, start, skipping=hidden)
    return [Place(owner.outside(file.path), file.shown) for file in found]


def _copy_and_delete(
    routes: Routes, to: Place, ends: Sequence[tuple[Place, Place]], overwrite: bool
) -> Steps[MoveResult]:
    """Move between backends that share no store: every copy first, then the originals as they were copied."""
    read: list[FileDownloadResponse] = []
    for file, _ in ends:
        owner = routes.find(file.path)
        read += yield from owner.backend.download_steps([owner.inside(file)])
    for (file, _), answer in zip(ends, read, strict=True):
        if answer.content is None:
            return MoveResult(error=f"Error: {file.shown} could not be read: {answer.error}. Nothing was moved.")
    written: list[tuple[Place, MoveResult, FileDownloadResponse]] = []
    for (file, end), answer in zip(ends, read, strict=True):
        target = routes.find(end.path)
        assert answer.content is not None
        (before,) = yield from target.backend.download_steps([target.inside(end)])
        base = before.revision if overwrite and before.content is not None else 0
        made = yield from target.backend.write_steps(target.inside(end), _text_or_bytes(answer.content), base, False)
        if made.error is not None:
            yield from _take_back(routes, written)
            error = occupied(end.shown) if made.conflict and not overwrite else made.error
            return MoveResult(error=f"{error} Nothing was moved.", conflict=made.conflict, proposal=made.proposal)
        written.append((end, MoveResult(path=file.shown, revision=made.revision), before))
    kept: list[str] = []
    for (file, _), answer in zip(ends, read, strict=True):
        owner = routes.find(file.path)
        gone = yield from owner.backend.delete_steps(owner.inside(file), answer.revision)
        if gone.error is not None:
            kept.append(gone.error.removeprefix("Error: "))
    paths = tuple(end.shown for end, _, _ in written)
    if kept:
        return MoveResult(
            error=f"Error: copied to {', '.join(paths)}, but not taken away: {' '.join(kept)}", paths=paths
        )
    return MoveResult(path=to.shown, paths=paths, revision=written[-1][1].revision)


def _take_back(routes: Routes, written: Sequence[tuple[Place, MoveResult, FileDownloadResponse]]) -> Steps[None]:
    """Bring the targets back into the state before, as far as nobody else has touched them since."""
    for end, made, before in written:
        target = routes.find(end.path)
        place = target.inside(end)
        if before.content is None:
            yield from target.backend.delete_steps(place, made.revision)
        else:
            yield from target.backend.write_steps(place, _text_or_bytes(before.content), made.revision, False)


def _text_or_bytes(content: bytes) -> str | bytes:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content
