"""A backend whose files have digests for revisions: the state of a thread, a disk, a foreign store.

A subclass only has to load files and to keep what a change made of them; the rules about bases, conflicts and what a
thread has seen are in `plans` and here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from memoranda.backends.base import Backend
from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.plans import (
    Plan,
    Planner,
    R,
    Unreadable,
    cannot_move,
    changed_since,
    occupied,
    plan_append,
    plan_changes,
    plan_delete,
    plan_edit,
    plan_move,
    plan_write,
    refused_write,
)
from memoranda.backends.protocol import (
    FILE_NOT_FOUND,
    SEEN,
    AppendFile,
    Base,
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
from memoranda.backends.runtime import knows, last_seen, saw
from memoranda.backends.steps import Steps
from memoranda.backends.tree import Files, revision_of
from memoranda.backends.windows import read_whole, read_window_of, shows_all
from memoranda.backends.wording import not_found
from memoranda.files.format import FileData

__all__ = [
    "UnversionedFiles",
    "cannot_move",
    "changed_since",
    "occupied",
    "plan_append",
    "plan_edit",
    "plan_write",
    "refused_write",
]


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
        result = read_window_of(data, place, offset, limit, revision)
        if shows_all(result):
            self._saw(place.path, revision)
        return result

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
        self._note(plan)
        return plan.result

    # --- what a thread has seen -----------------------------------------------------------------------------

    def _saw(self, path: str, revision: Base | None) -> None:
        saw(self.file_id(path), revision, with_state=self.keeps_seen_with_state)

    def _last_seen(self, path: str, *, or_elsewhere: bool = False) -> Base | None:
        return last_seen(self.file_id(path), with_state=self.keeps_seen_with_state, or_elsewhere=or_elsewhere)

    def _note(self, plan: Plan[Any]) -> None:
        """Note what the thread has seen by making a change; of what was edited or moved, if it knew it before."""
        for source, before, target, after in plan.followed:
            if knows(self.file_id(source), before, with_state=self.keeps_seen_with_state):
                self._saw(target, after)
        for path, revision in plan.seen:
            self._saw(path, revision)

    def _base(self, place: Place, base: Base | None) -> Base | None:
        """The state that a whole write is based on."""
        if base == SEEN or base is None:
            seen = self._last_seen(place.path, or_elsewhere=base is None)
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
