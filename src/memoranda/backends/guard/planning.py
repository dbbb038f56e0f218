"""What a change would make of a file, computed beforehand, and the exact change that makes just that of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from memoranda.backends.base import Backend
from memoranda.backends.guard.looking import State, look, text_or_bytes
from memoranda.backends.hooks.events import ChangeOperation
from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.protocol import (
    SEEN,
    AppendFile,
    Base,
    DeleteFile,
    EditFile,
    MoveFile,
    WriteFile,
)
from memoranda.backends.steps import Steps, done
from memoranda.backends.wording import exists_unread, not_found, refused_unseen, refused_with
from memoranda.errors import EditError
from memoranda.files.edit import replace as replace_text
from memoranda.files.merge import merge_text


class PlanError(Exception):
    """A change that cannot be made; its text is what the caller is told.

    Args:
        text: The error for the result.
        conflict: Whether it is about what somebody else wrote meanwhile.
        shows: The state whose text the error shows, so that the thread has seen it then.
    """

    def __init__(self, text: str, *, conflict: bool = False, shows: State | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.conflict = conflict
        self.shows = shows


@dataclass(frozen=True, slots=True)
class Asked:
    """A change as it was asked for."""

    operation: ChangeOperation
    placed: PlacedChange
    revision: int | None = None
    """For a restoration: the revision that comes back."""
    hidden: bool = False
    """Whether rules hide what the file holds from whoever asks; then no answer may tell anything of it."""
    mixed: bool = False
    """Whether the change was put together from hidden text, so that showing it would show that."""

    @property
    def main(self) -> Place:
        """The file that the change is about; of a move, its target."""
        return self.placed.to or self.placed.place


@dataclass(frozen=True, slots=True)
class Touch:
    """What happens to one file.

    Args:
        place: The file.
        operation: What is done.
        state: The file as it is.
        after: Its content afterwards; None: it is gone.
    """

    place: Place
    operation: ChangeOperation
    state: State
    after: str | bytes | None


@dataclass(frozen=True, slots=True)
class Plan:
    """A change with all that is needed to check it, to apply exactly it, and to put it off.

    Args:
        asked: What was asked for.
        touches: What happens to which file; the last one is the file that the change is about.
        exact: The change that lands if the files are as they were when the guard looked.
        later: The change for a proposal, which lands on whatever the file is by then, merged.
        merged: Whether `exact` holds what others wrote meanwhile.
        occurrences: How many places an edit replaces.
    """

    asked: Asked
    touches: tuple[Touch, ...]
    exact: PlacedChange
    later: PlacedChange
    merged: bool = False
    occurrences: int = 0

    @property
    def main(self) -> Touch:
        """What happens to the file that the change is about."""
        return self.touches[-1]

    @property
    def base(self) -> Base:
        """The state that the change was made from; of a move, that of its source."""
        return self.touches[0].state.base or 0

    @property
    def changes_nothing(self) -> bool:
        """Whether the file holds already what it would hold afterwards."""
        main = self.main
        whole = self.asked.operation in ("write", "edit", "append", "upload") and self.asked.revision is None
        return whole and main.after is not None and main.after == main.state.content

    def with_content(self, content: str | bytes) -> Plan:
        """The same with other content."""
        main, content = self.main, text_or_bytes(content)
        touches = (*self.touches[:-1], replace(main, after=content))
        if self.asked.hidden and self.asked.operation == "append":
            self = replace(self, asked=replace(self.asked, mixed=True))
        if isinstance(self.exact.change, MoveFile):  # the landing of a move writes the target itself
            return replace(self, touches=touches)
        base = self.exact.change.base if isinstance(self.exact.change, WriteFile) else main.state.base
        exact = PlacedChange(main.place, WriteFile(main.place.shown, content, base, merge=False))
        return replace(self, touches=touches, exact=exact, later=_later(exact))


Looking: TypeAlias = Callable[[Place], Steps[State]]


def plan(inner: Backend, asked: Asked, looking: Looking | None = None) -> Steps[Plan]:
    """Look at the files and work out what a change makes of them.

    Args:
        inner: The backend that will be asked to make it.
        asked: The change.
        looking: What tells the state of a file; None asks the backend.

    Raises:
        PlanError: The change cannot be made.
    """
    change, place = asked.placed.change, asked.placed.place
    looking = looking or partial(look, inner)
    state = yield from _known_state(looking, place)
    if isinstance(change, MoveFile):
        assert asked.placed.to is not None
        return _plan_move(asked, state, (yield from _known_state(looking, asked.placed.to)))
    if asked.revision is not None:
        return (yield from _plan_restore(inner, asked, state))
    if isinstance(change, WriteFile):
        return (yield from _plan_write(inner, asked, change, state))
    _check_base(place, state, change.base, change)
    if state.content is None and not isinstance(change, AppendFile):
        raise PlanError("Error: " + not_found(place))
    if isinstance(change, DeleteFile):
        exact = PlacedChange(place, replace(change, path=place.shown, base=state.base))
        return Plan(asked, (Touch(place, asked.operation, state, None),), exact, exact)
    return _plan_text(asked, change, state)


def _known_state(looking: Looking, place: Place) -> Steps[State]:
    state = yield from looking(place)
    if state.problem is not None:
        raise PlanError(_as_error(state.problem))
    return state


def _plan_text(asked: Asked, change: EditFile | AppendFile, state: State) -> Plan:
    place, held, occurrences = asked.placed.place, state.content or "", 0
    if isinstance(held, bytes):
        remedy = "Write it whole." if isinstance(change, EditFile) else "Append to another file."
        raise PlanError(f"Error: {place.shown} is a binary file, which has no text to change. {remedy}")
    if isinstance(change, EditFile):
        try:
            edited = replace_text(held, change.old, change.new, replace_all=change.replace_all, path=place.shown)
        except EditError as error:
            raise PlanError(f"Error: {error}") from error
        after, occurrences = edited.text, edited.occurrences
    else:
        after = held + ("\n" if held and not held.endswith("\n") else "") + change.text
    exact = PlacedChange(place, replace(change, path=place.shown, base=state.base))
    later = PlacedChange(place, replace(change, path=place.shown, base=None))
    return Plan(asked, (Touch(place, asked.operation, state, after),), exact, later, occurrences=occurrences)


def _plan_write(inner: Backend, asked: Asked, change: WriteFile, state: State) -> Steps[Plan]:
    place, content = asked.placed.place, text_or_bytes(change.content)
    base, merged = change.base, False
    if state.content is None:  # only the backend knows whether the thread has seen the file before it went
        pinned = base if base is not None else SEEN
    else:
        if base == SEEN or base is None:
            base = state.seen if state.seen is not None or base is None else 0
        pinned = state.base
        if not (base is None or state.base is None or base == state.base):
            if asked.hidden:
                raise PlanError(refused_unseen(place, exists=True), conflict=True)
            if state.content != content:
                content = yield from _merged(inner, place, content, base, state, merge=change.merge)
                merged = True
    exact = PlacedChange(place, WriteFile(place.shown, content, pinned, merge=False))
    return Plan(asked, (Touch(place, asked.operation, state, content),), exact, _later(exact), merged)


def _merged(
    inner: Backend, place: Place, content: str | bytes, base: Base, state: State, *, merge: bool
) -> Steps[str | bytes]:
    """The content joined with what others wrote since its base."""
    if base == 0:
        cause = exists_unread(place)
    else:
        cause = f"{place.shown} was changed since you read it."
        if merge and isinstance(base, int) and isinstance(content, str) and isinstance(state.content, str):
            old = yield from inner.at_steps(place, base)
            if old.error is None and old.file_data is not None and old.file_data["encoding"] == "utf-8":
                joined = merge_text(old.file_data["content"], state.content, content).text
                if joined is not None:
                    return joined
                cause = f"{place.shown} was changed since you read it, and the changes overlap."
    if isinstance(state.content, bytes):
        raise PlanError(f"Error: {cause} Read it again before you write it.", conflict=True)
    assert state.content is not None
    raise PlanError(refused_with(cause, state.content), conflict=True, shows=state)


def _plan_restore(inner: Backend, asked: Asked, state: State) -> Steps[Plan]:
    from base64 import b64decode

    place = asked.placed.place
    assert asked.revision is not None
    old = yield from inner.at_steps(place, asked.revision)
    if old.error is not None or old.file_data is None:
        raise PlanError(old.error or "Error: that revision has no content.")
    text = old.file_data["content"]
    content = text_or_bytes(b64decode(text)) if old.file_data["encoding"] == "base64" else text
    exact = PlacedChange(place, WriteFile(place.shown, content, state.base, merge=False))
    return Plan(asked, (Touch(place, "restore", state, content),), exact, _later(exact))


def _plan_move(asked: Asked, source: State, target: State) -> Plan:
    change, place, to = asked.placed.change, asked.placed.place, asked.placed.to
    assert isinstance(change, MoveFile) and to is not None
    if source.content is None:
        raise PlanError("Error: " + not_found(place))
    if place.path == to.path:
        raise PlanError(f"Error: {place.shown} is already there. Move it to another path.")
    if target.content is not None and not change.overwrite:
        raise PlanError(f"Error: {to.shown} exists already. Choose another path, or overwrite it.")
    exact = PlacedChange(place, MoveFile(place.shown, to.shown, change.overwrite), to)
    touches = (Touch(place, "move", source, None), Touch(to, "move", target, source.content))
    return Plan(asked, touches, exact, exact)


def _later(exact: PlacedChange) -> PlacedChange:
    """A write for a proposal: merged with what happens until a reviewer decides."""
    change = exact.change
    if not isinstance(change, WriteFile):
        return exact
    return exact._replace(change=replace(change, base=0 if change.base == SEEN else change.base, merge=True))


def _check_base(place: Place, state: State, base: Base | None, change: EditFile | AppendFile | DeleteFile) -> None:
    if base == SEEN:
        base = state.seen or (0 if state.content is None else None)
    if base is None or state.base is None or base == state.base:
        return
    verb = {EditFile: "edit", AppendFile: "append to", DeleteFile: "delete"}[type(change)]
    what = "does not exist now" if state.content is None else "was changed since you read it"
    raise PlanError(f"Error: {place.shown} {what}. Read it again before you {verb} it.", conflict=True)


def _as_error(problem: str) -> str:
    return problem if problem.startswith("Error") else f"Error: {problem.replace('_', ' ')}."


# --- several changes of one file ------------------------------------------------------------------------------


def paths_of(placed: PlacedChange) -> list[Place]:
    """The places that a change touches."""
    return [placed.place] if placed.to is None else [placed.place, placed.to]


def is_tangled(changes: Sequence[Asked]) -> bool:
    """Whether several of the changes touch one file, so that each depends on those before it."""
    paths = [place.path for asked in changes for place in paths_of(asked.placed)]
    return len(set(paths)) < len(paths)


def untangled(inner: Backend, changes: Sequence[Asked]) -> Steps[list[Asked]]:
    """Changes that build on each other, as one change of each file that comes to the same.

    Raises:
        PlanError: One of them cannot be made.
    """
    first: dict[str, State] = {}
    now: dict[str, str | bytes | None] = {}
    places: dict[str, Place] = {}
    mixed: set[str] = set()
    for asked in changes:
        for place in paths_of(asked.placed):
            if place.path not in first:
                state = yield from look(inner, place)
                if state.problem is not None:
                    raise PlanError(_as_error(state.problem))
                first[place.path], now[place.path], places[place.path] = state, state.content, place
        if asked.hidden and asked.operation == "append" and first[asked.main.path].content is not None:
            mixed.add(asked.main.path)
        planned = yield from plan(inner, asked, lambda place: done(replace(first[place.path], content=now[place.path])))
        for touch in planned.touches:
            now[touch.place.path] = touch.after
    found: list[Asked] = []
    for path, after in now.items():
        state, place = first[path], places[path]
        if after == state.content:
            continue
        if after is None:
            found.append(Asked("delete", PlacedChange(place, DeleteFile(place.shown, state.base))))
        else:
            write = WriteFile(place.shown, after, state.base, merge=False)
            found.append(Asked("write", PlacedChange(place, write), mixed=path in mixed))
    return found
