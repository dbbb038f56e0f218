"""The changes that a `StagedBackend` holds back: for each file what it was, what it is to be, and how it came to that.

From this the fewest changes are made that lead there: edits and appends stay what they are, so that they apply to
whatever the file is by then; a whole new text carries the state that it was made from; a moved file is moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.protocol import AppendFile, Base, DeleteFile, EditFile, FileChange, MoveFile, WriteFile
from memoranda.backends.tree import content_of
from memoranda.files.diff import unified_diff
from memoranda.files.format import FileData


@dataclass(slots=True, eq=False)
class StagedFile:
    """One file with what is to become of it.

    Args:
        place: Where it is to lie, or did before it was to go.
        origin: Where it lies now; None: nowhere.
        base: The state that it was read in; None: it did not exist.
        before: Its value as it was read.
        after: Its value as it is to be; None: it is to go.
        steps: The edits and appends that lead there; None: its whole content is new.
    """

    place: Place
    origin: Place | None = None
    base: Base | None = None
    before: FileData | None = None
    after: FileData | None = None
    steps: list[EditFile | AppendFile] | None = field(default_factory=list["EditFile | AppendFile"])
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def is_moved(self) -> bool:
        """Whether it is to lie elsewhere than it does."""
        return self.after is not None and self.origin is not None and self.origin.path != self.place.path

    @property
    def is_changed(self) -> bool:
        """Whether anything is to become of it."""
        if self.after is None:
            return self.origin is not None
        return self.origin is None or self.is_moved or self.steps is None or bool(self.steps)


class Staging:
    """Files with what is to become of them."""

    def __init__(self) -> None:
        self.files: list[StagedFile] = []

    def copy(self) -> Staging:
        """The same, to be changed apart."""
        other = Staging()
        other.files = [copy(file) for file in self.files]
        for file in other.files:
            file.steps = None if file.steps is None else list(file.steps)
        return other

    def find(self, path: str) -> StagedFile | None:
        """The file that is to lie at a path."""
        return next((file for file in self.files if file.after is not None and file.place.path == path), None)

    def origin(self, path: str) -> StagedFile | None:
        """The file that lies at a path now, if anything is to become of it."""
        return next((file for file in self.files if file.origin is not None and file.origin.path == path), None)

    def knows(self, path: str) -> bool:
        """Whether what is to be seen at a path is decided here."""
        return self.find(path) is not None or self.origin(path) is not None

    def present(self) -> dict[str, FileData]:
        """Every file that is to be there, by path."""
        return {file.place.path: file.after for file in self.files if file.after is not None}

    # --- staging --------------------------------------------------------------------------------------------

    def load(self, place: Place, data: FileData | None, base: Base | None) -> StagedFile | None:
        """The file at a path, taken in from where it lies if it is not known here yet."""
        if self.knows(place.path) or data is None:
            return self.find(place.path)
        file = StagedFile(place, place, base, data, data)
        self.files.append(file)
        return file

    def set(self, place: Place, data: FileData, step: EditFile | AppendFile | None = None) -> StagedFile:
        """Give a file another value.

        Args:
            place: Where it is.
            data: Its value.
            step: The edit or append that made it; None: the value is new as a whole.
        """
        file = self.find(place.path)
        if file is not None:
            if step is None:
                file.steps = None
            elif file.steps is not None:
                file.steps.append(step)
        else:
            # What is written where something goes is that thing's next state, unless that moves elsewhere.
            file = next((f for f in self.files if f.after is None and f.place.path == place.path), None)
            if file is None:
                file = StagedFile(place, steps=[step] if isinstance(step, AppendFile) else None)
                self.files.append(file)
            else:
                file.steps = None
        file.after, file.at = data, datetime.now(UTC)
        return file

    def remove(self, path: str) -> None:
        """Let a file go."""
        file = self.find(path)
        if file is None:
            return
        file.after, file.steps, file.at = None, [], datetime.now(UTC)
        if file.origin is None:
            self.files.remove(file)
        else:
            file.place = file.origin

    def move(self, path: str, to: Place) -> None:
        """Let a file lie elsewhere; what is there goes."""
        file = self.find(path)
        if file is None:
            return
        self.remove(to.path)
        file.place, file.at = to, datetime.now(UTC)

    def tidy(self) -> None:
        """Forget the files that are as they were."""
        self.files = [file for file in self.files if file.is_changed]

    # --- what comes of it -----------------------------------------------------------------------------------

    def changes(self) -> list[PlacedChange]:
        """The changes, in an order in which each finds what it needs."""
        kept = [file for file in self.files if file.after is not None and file.is_changed]
        in_place = [file for file in kept if file.origin is not None and not file.is_moved]
        moved, rewritten = self._moves([file for file in kept if file.is_moved])
        gone = [file for file in self.files if file.after is None and file.origin is not None] + rewritten
        new = [file for file in kept if file.origin is None] + rewritten
        found = [change for file in (*in_place, *moved) for change in _content(file)]
        found += [_deletion(file) for file in gone if not self._is_replaced(file, new)]
        found += [PlacedChange(_origin(file), _move(file), file.place) for file in moved]
        found += [change for file in new for change in self._creation(file, moved)]
        return found

    def _moves(self, files: list[StagedFile]) -> tuple[list[StagedFile], list[StagedFile]]:
        """The moved files in an order in which every target is free, and those that have to be written anew."""
        # A store moves nothing below itself, since it moves folders too.
        below = [file for file in files if file.place.path.startswith(_origin(file).path + "/")]
        rewritten = [file for file in files if file.steps is None or file in below]
        waiting = [file for file in files if file not in rewritten]
        moved: list[StagedFile] = []
        while waiting:
            occupied = {_origin(file).path for file in waiting}
            free = next((file for file in waiting if file.place.path not in occupied), None)
            if free is None:  # they change places with each other
                rewritten.append(waiting.pop())
            else:
                waiting.remove(free)
                moved.append(free)
        return moved, rewritten

    def _is_replaced(self, gone: StagedFile, new: list[StagedFile]) -> bool:
        """Whether something else is written where a file goes, which carries its state as base."""
        return any(file.place.path == _origin(gone).path for file in new)

    def _creation(self, file: StagedFile, moved: list[StagedFile]) -> Iterator[PlacedChange]:
        replaced = self.origin(file.place.path)
        if file.origin is None and file.steps and replaced is None:  # begun by appending, such as a log
            for step in file.steps:
                yield PlacedChange(file.place, replace(step, path=file.place.shown))
        else:
            base = 0 if replaced is None or replaced in moved else replaced.base
            yield PlacedChange(file.place, WriteFile(file.place.shown, _whole(file), base))

    def diff(self) -> str:
        """Everything as one unified diff."""
        return "".join(_diff(file) for file in self.files if file.is_changed)


def _origin(file: StagedFile) -> Place:
    assert file.origin is not None
    return file.origin


def _whole(file: StagedFile) -> str | bytes:
    assert file.after is not None
    return file.after["content"] if file.after["encoding"] == "utf-8" else content_of(file.after)


def _content(file: StagedFile) -> Iterator[PlacedChange]:
    place = _origin(file)
    if file.steps is None:
        yield PlacedChange(place, WriteFile(place.shown, _whole(file), file.base))
    else:
        for step in file.steps:
            yield PlacedChange(place, replace(step, path=place.shown))


def _deletion(file: StagedFile) -> PlacedChange:
    place = _origin(file)
    return PlacedChange(place, DeleteFile(place.shown, file.base))


def _move(file: StagedFile) -> FileChange:
    return MoveFile(_origin(file).shown, file.place.shown)


def _diff(file: StagedFile) -> str:
    old, new = file.before, file.after
    before_label = "/dev/null" if file.origin is None else file.origin.shown
    after_label = "/dev/null" if new is None else file.place.shown
    if any(data is not None and data["encoding"] != "utf-8" for data in (old, new)):
        return f"Binary files {before_label} and {after_label} differ\n"
    before, after = "" if old is None else old["content"], "" if new is None else new["content"]
    if before == after:
        return f"--- {before_label}\n+++ {after_label}\n"
    return unified_diff(before, after, before_label=before_label, after_label=after_label)
