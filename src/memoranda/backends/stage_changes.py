"""What a change makes of staged files, once everything that it needs has been read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.protocol import (
    SEEN,
    AppendFile,
    Base,
    ChangeResult,
    DeleteFile,
    DeleteResult,
    EditFile,
    EditResult,
    FileChange,
    MoveFile,
    MoveResult,
    WriteFile,
    WriteResult,
)
from memoranda.backends.staging import Staging
from memoranda.backends.tree import content_of, revision_of
from memoranda.backends.unversioned import (
    cannot_move,
    changed_since,
    occupied,
    plan_append,
    plan_edit,
    plan_write,
    refused_write,
)
from memoranda.backends.wording import not_found
from memoranda.files.format import FileData
from memoranda.files.merge import merge_text

C = TypeVar("C", bound=ChangeResult)


class Loaded(NamedTuple):
    """A file as it lies in the backend below.

    Args:
        place: The file.
        data: Its value; None: there is none.
        base: Its state.
        old: The text in the state that a change was made from, where that is another one and known.
        error: Why it could not be read.
    """

    place: Place
    data: FileData | None = None
    base: Base | None = None
    old: str | None = None
    error: str | None = None


@dataclass
class Stage:
    """Staged files, and which states of files have been seen through them."""

    staging: Staging = field(default_factory=Staging)
    seen: dict[str, Base] = field(default_factory=dict[str, Base])

    def copy(self) -> Stage:
        """The same, to be changed apart."""
        return Stage(self.staging.copy(), dict(self.seen))

    def wanted(self, place: Place, base: Base | None, *, strict: bool) -> Base | None:
        """The state that a change is made from; None: whatever it is."""
        if base == SEEN or (base is None and not strict):
            return self.seen.get(place.path, 0 if base == SEEN else None)
        return base

    def revision(self, place: Place, loaded: Loaded) -> Base:
        """The state of a file as it is to be seen; 0: there is none."""
        file = self.staging.find(place.path)
        if file is not None and file.is_changed and file.after is not None:
            return revision_of(file.after)
        if self.staging.knows(place.path):
            return 0 if file is None else (file.base or 0)
        return 0 if loaded.data is None else (loaded.base or 0)

    # --- changes of one file --------------------------------------------------------------------------------

    def apply(self, change: PlacedChange, loaded: Loaded, target: Loaded | None = None) -> ChangeResult:
        """Stage a change.

        Args:
            change: The change.
            loaded: Its file, as it lies in the backend below.
            target: Of a move, the file at its target.
        """
        failed = next((one for one in (loaded, target) if one is not None and one.error is not None), None)
        if failed is not None:
            return ChangeResult(error=failed.error)
        place = change.place
        match change.change:
            case WriteFile(_, content, base, merge):
                return self._write(place, content, base, merge, loaded)
            case EditFile() as edit:
                return self._edit(place, edit, loaded)
            case AppendFile() as append:
                return self._append(place, append, loaded)
            case DeleteFile(_, base):
                return self._delete(place, base, loaded)
            case MoveFile(_, _, overwrite):
                assert change.to is not None and target is not None
                return self.move(place, change.to, [(loaded, target)], overwrite)

    def _now(self, place: Place, loaded: Loaded) -> FileData | None:
        self.staging.load(place, loaded.data, loaded.base)
        file = self.staging.find(place.path)
        return None if file is None else file.after

    def _write(self, place: Place, content: str | bytes, base: Base | None, merge: bool, loaded: Loaded) -> WriteResult:
        wanted, current = self.wanted(place, base, strict=False), self.revision(place, loaded)
        now = self._now(place, loaded)
        merged = False
        plan = plan_write({} if now is None else {place.path: now}, place, content, None, merge=True)
        after = plan.updates.get(place.path, now)
        assert after is not None
        if wanted not in (None, current) and (now is None or not merge or revision_of(now) != revision_of(after)):
            joined = _joined(loaded, now, after) if merge and wanted else None
            if joined is None:
                self.seen[place.path] = current
                return refused_write(WriteResult, place, _text_or_bytes(now), wanted)
            after, merged = joined, True
        elif plan.result.unchanged:
            self.seen[place.path] = current
            return WriteResult(path=place.shown, revision=current, unchanged=True)
        self.staging.set(place, after)
        revision = revision_of(after)
        if not merged:
            self.seen[place.path] = revision
        return WriteResult(path=place.shown, revision=revision, merged=merged)

    def _edit(self, place: Place, edit: EditFile, loaded: Loaded) -> EditResult:
        wanted, current = self.wanted(place, edit.base, strict=True), self.revision(place, loaded)
        now = self._now(place, loaded)
        if wanted not in (None, current):
            return EditResult(error=changed_since(place, now is not None, "edit"), conflict=True)
        files = {} if now is None else {place.path: now}
        plan = plan_edit(files, place, edit.old, edit.new, edit.replace_all, None)
        if plan.result.unchanged:
            plan.result.revision = current
        elif plan.result.error is None:
            step = EditFile(place.shown, edit.old, edit.new, edit.replace_all, self._kept(wanted, loaded))
            self._stage_step(place, plan.updates[place.path], step, current)
        return plan.result

    def _append(self, place: Place, append: AppendFile, loaded: Loaded) -> WriteResult:
        wanted, current = self.wanted(place, append.base, strict=True), self.revision(place, loaded)
        now = self._now(place, loaded)
        if wanted not in (None, current):
            return WriteResult(error=changed_since(place, now is not None, "append to"), conflict=True)
        plan = plan_append({} if now is None else {place.path: now}, place, append.text, None)
        if plan.result.unchanged:
            plan.result.revision = current
        elif plan.result.error is None:
            step = AppendFile(place.shown, append.text, self._kept(wanted, loaded))
            self._stage_step(place, plan.updates[place.path], step, current)
        return plan.result

    def _kept(self, wanted: Base | None, loaded: Loaded) -> Base | None:
        """The state that a step insists on, if it means one of the backend below."""
        return wanted if wanted is not None and wanted == (loaded.base or 0) else None

    def _stage_step(self, place: Place, after: FileData | None, step: EditFile | AppendFile, current: Base) -> None:
        assert after is not None
        self.staging.set(place, after, step)
        if current == 0 or self.seen.get(place.path) == current:  # then nothing unseen is left
            self.seen[place.path] = revision_of(after)

    def _delete(self, place: Place, base: Base | None, loaded: Loaded) -> DeleteResult:
        wanted, current = self.wanted(place, base, strict=True), self.revision(place, loaded)
        now = self._now(place, loaded)
        if now is None:
            return DeleteResult(error="Error: " + not_found(place))
        if wanted not in (None, current):
            return DeleteResult(error=changed_since(place, exists=True, verb="delete"), conflict=True)
        self.staging.remove(place.path)
        self.seen.pop(place.path, None)
        return DeleteResult(path=place.shown, paths=(place.shown,), revision=0)

    # --- changes of folders ---------------------------------------------------------------------------------

    def delete(self, place: Place, files: Sequence[Loaded]) -> DeleteResult:
        """Let every one of some files go."""
        if not files:
            return DeleteResult(error="Error: " + not_found(place))
        for file in files:
            gone = self._delete(file.place, None, file)
            if gone.error is not None:
                return gone
        return DeleteResult(path=place.shown, paths=tuple(file.place.shown for file in files), revision=0)

    def move(self, place: Place, to: Place, files: Sequence[tuple[Loaded, Loaded]], overwrite: bool) -> MoveResult:
        """Let files lie elsewhere: each with what lies at its target below."""
        refused = cannot_move(place, to)
        if refused is not None or not files:
            return MoveResult(error=refused or "Error: " + not_found(place))
        for source, target in files:
            if self._now(source.place, source) is None:
                return MoveResult(error="Error: " + not_found(source.place))
            if self._now(target.place, target) is not None and not overwrite:
                return MoveResult(error=occupied(target.place.shown))
        revision: Base | None = None
        for source, target in files:
            before = self.revision(source.place, source)
            self.staging.move(source.place.path, target.place)
            moved = self.staging.find(target.place.path)
            assert moved is not None and moved.after is not None
            seen = self.seen.pop(source.place.path, None)
            revision = revision_of(moved.after)
            if seen == before:  # who had seen it where it was knows it where it is
                self.seen[target.place.path] = revision
        paths = tuple(target.place.shown for _, target in files)
        return MoveResult(path=to.shown, paths=paths, revision=revision)


def _joined(loaded: Loaded, now: FileData | None, after: FileData) -> FileData | None:
    """What is to be written, joined with what others wrote since; None where that cannot be."""
    if loaded.old is None or now is None or "base64" in (now["encoding"], after["encoding"]):
        return None
    text = merge_text(loaded.old, now["content"], after["content"]).text
    return None if text is None else {**after, "content": text}


def _text_or_bytes(data: FileData | None) -> str | bytes | None:
    if data is None:
        return None
    return data["content"] if data["encoding"] == "utf-8" else content_of(data)


def base_of(change: FileChange) -> Base | None:
    """The state that a change was made from."""
    return None if isinstance(change, MoveFile) else change.base


def paths_of(changes: Sequence[PlacedChange]) -> tuple[str, ...]:
    """Where the changed files lie afterwards, as the agent knows them."""
    return tuple((change.to or change.place).shown for change in changes)
