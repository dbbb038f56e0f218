"""`GuardedBackend`: rules and hooks below everything that reaches a file."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import datetime
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from memoranda.backends.base import Backend
from memoranda.backends.disk.judging import as_judged
from memoranda.backends.finding.parts import Findable, Question
from memoranda.backends.guard import reading
from memoranda.backends.guard.changing import change, marked, write_modes
from memoranda.backends.guard.folders import delete_folder, move_folder
from memoranda.backends.guard.layers import Layers, layer_of
from memoranda.backends.guard.outcomes import committed, operation_of, result_of, told_of, uploaded
from memoranda.backends.guard.planning import Asked
from memoranda.backends.guard.telling import Change, inside_guard, tell
from memoranda.backends.guard.tracing import note_read
from memoranda.backends.guard.waiting import approved as approved
from memoranda.backends.hooks.events import ChangeOperation
from memoranda.backends.permissions import FilesystemPermission
from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.protocol import (
    PERMISSION_DENIED,
    AppendFile,
    Base,
    BlameResult,
    ChangeResult,
    DeleteFile,
    DeleteResult,
    DiffResult,
    EditFile,
    EditResult,
    FileDownloadResponse,
    FilesCommitResult,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    HistoryResult,
    LsResult,
    MoveResult,
    ReadResult,
    WriteFile,
    WriteResult,
)
from memoranda.backends.steps import Steps
from memoranda.store.changes import Change as StoreChange
from memoranda.store.store import MemoryStore

C = TypeVar("C", bound=ChangeResult)
R = TypeVar("R")
P = ParamSpec("P")


def _judged(operation: Callable[P, Steps[R]]) -> Callable[P, Steps[R]]:
    """Let an operation reach only what the rules were asked about, even if links are swapped meanwhile."""

    @wraps(operation)
    def steps(*args: P.args, **kwargs: P.kwargs) -> Steps[R]:
        return as_judged(operation(*args, **kwargs))

    return steps


class GuardedBackend(Backend):
    """A backend behind rules and hooks. Whatever reaches its files through this reaches them through these.

    Tools, memory and skills in the prompt, uploads, subagents, blocking and async calls: all of them end in the
    methods here. Rules are about canonical paths, so that `//`, `.` and look-alike Unicode forms change nothing, and
    about every name that a file has, so that links and twin routes change nothing either; the strictest decision
    about any of its names counts. What may not be read is in no listing and no search.

    A guard around a guard can only narrow it: a change has to pass the rules and hooks of both.

    Args:
        backend: What is guarded; ours, Deep Agents' or the user's.
        permissions: Rules in the order in which they decide; see `FilesystemPermission`.
        hooks: Functions of a `WriteEvent` that allow, refuse, replace or hold a change, and objects with
            `after_write`; ready ones are in `memoranda.backends.hooks`.

    Raises:
        InvalidPermissionError: A rule or a hook is none.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.backends import StoreBackend
        >>> with open_store("memory://") as store:
        ...     files = StoreBackend(namespace=("ann",), store=store)
        ...     files = GuardedBackend(files, [FilesystemPermission(["write"], ["/policies/**"], "deny")])
        ...     files.write("/policies/travel.md", "none").error
        "Error: permission denied for write on '/policies/travel.md'. A rule of this agent forbids it; use another \
path, or go on without it."
    """

    def __init__(self, backend: Any, permissions: Iterable[Any] | None = (), hooks: Iterable[Any] | None = ()) -> None:
        own = layer_of(permissions, hooks)
        self.backend: Backend = _as_backend(backend)
        # A guard around a guard is one guard with both their rules: hooks of both see what the other's replaced.
        below = self.backend.guard if type(self.backend) is GuardedBackend else Layers(self.backend, [])
        self.guard = Layers(below.inner, [*below.layers, own])

    def __repr__(self) -> str:
        return f"GuardedBackend({self.backend!r})"

    @property
    def permissions(self) -> tuple[FilesystemPermission, ...]:
        """The rules in force, those of narrowed guards first."""
        return self.guard.permissions

    @property
    def hooks(self) -> tuple[Any, ...]:
        """The hooks in force, those of narrowed guards first."""
        return tuple(hook for layer in self.guard.layers for hook in layer.hooks)

    @property
    def artifacts_root(self) -> str:
        """Where large results go, as the guarded backend says."""
        return getattr(self.guard.inner, "artifacts_root", "/")

    # --- reading --------------------------------------------------------------------------------------------

    @_judged
    def ls_steps(self, place: Place) -> Steps[LsResult]:
        return reading.ls(self.guard, place)

    @_judged
    def glob_steps(self, place: Place, pattern: str) -> Steps[GlobResult]:
        return reading.glob(self.guard, place, pattern)

    @_judged
    def grep_steps(self, place: Place, pattern: str, glob: str | None, max_count: int | None) -> Steps[GrepResult]:
        return reading.grep(self.guard, place, pattern, glob, max_count)

    @_judged
    def search_steps(self, place: Place, question: Question) -> Steps[Findable]:
        return reading.search(self.guard, place, question)

    @_judged
    def download_steps(self, places: Sequence[Place]) -> Steps[list[FileDownloadResponse]]:
        return reading.download(self.guard, places)

    @_judged
    def read_steps(self, place: Place, offset: int, limit: int) -> Steps[ReadResult]:
        return self._reading(ReadResult, place, lambda: self.guard.inner.read_steps(place, offset, limit))

    @_judged
    def history_steps(self, place: Place, limit: int | None) -> Steps[HistoryResult]:
        return self._reading(HistoryResult, place, lambda: self.guard.inner.history_steps(place, limit))

    @_judged
    def diff_steps(self, place: Place, older: int | None, newer: int | None) -> Steps[DiffResult]:
        return self._reading(DiffResult, place, lambda: self.guard.inner.diff_steps(place, older, newer))

    @_judged
    def blame_steps(self, place: Place) -> Steps[BlameResult]:
        return self._reading(BlameResult, place, lambda: self.guard.inner.blame_steps(place))

    @_judged
    def at_steps(self, place: Place, when: int | datetime) -> Steps[ReadResult]:
        return self._reading(ReadResult, place, lambda: self.guard.inner.at_steps(place, when))

    def _reading(self, kind: Callable[..., Any], place: Place, operation: Callable[[], Steps[Any]]) -> Steps[Any]:
        error = yield from reading.refusal(self.guard, place)
        if error is not None:
            return kind(error=error)
        yield from note_read(self.guard, [place])
        return (yield from operation())

    # --- changing -------------------------------------------------------------------------------------------

    @_judged
    def write_steps(self, place: Place, content: str | bytes, base: Base | None, merge: bool) -> Steps[WriteResult]:
        return self._change(
            WriteResult,
            "write",
            PlacedChange(place, WriteFile(place.shown, content, base, merge)),
            lambda: self.guard.inner.write_steps(place, content, base, merge),
        )

    @_judged
    def edit_steps(self, place: Place, old: str, new: str, replace_all: bool, base: Base | None) -> Steps[EditResult]:
        return self._change(
            EditResult,
            "edit",
            PlacedChange(place, EditFile(place.shown, old, new, replace_all, base)),
            lambda: self.guard.inner.edit_steps(place, old, new, replace_all, base),
        )

    @_judged
    def append_steps(self, place: Place, text: str, base: Base | None) -> Steps[WriteResult]:
        return self._change(
            WriteResult,
            "append",
            PlacedChange(place, AppendFile(place.shown, text, base)),
            lambda: self.guard.inner.append_steps(place, text, base),
        )

    @_judged
    def restore_steps(self, place: Place, revision: int) -> Steps[WriteResult]:
        # What comes back is not known here; the plan finds out.
        return self._change(
            WriteResult,
            "restore",
            PlacedChange(place, WriteFile(place.shown, "")),
            lambda: self.guard.inner.restore_steps(place, revision),
            revision,
        )

    @_judged
    def delete_steps(self, place: Place, base: Base | None) -> Steps[DeleteResult]:
        if base is None:
            return delete_folder(self.guard, place)
        return self._change(
            DeleteResult,
            "delete",
            PlacedChange(place, DeleteFile(place.shown, base)),
            lambda: self.guard.inner.delete_steps(place, base),
        )

    @_judged
    def move_steps(self, place: Place, to: Place, overwrite: bool) -> Steps[MoveResult]:
        return move_folder(self.guard, place, to, overwrite=overwrite)

    @_judged
    def upload_steps(self, files: Sequence[tuple[Place, bytes]]) -> Steps[list[FileUploadResponse]]:
        guard = self.guard
        modes = yield from guard.modes("write", [place for place, _ in files])
        readable = yield from guard.modes("read", [place for place, _ in files])
        answers: list[FileUploadResponse | None] = [None] * len(files)
        freely: list[int] = []
        for at, ((place, content), mode) in enumerate(zip(files, modes, strict=True)):
            if mode == "deny":
                answers[at] = FileUploadResponse(place.shown, PERMISSION_DENIED)
            elif mode == "allow" and not guard.deciding and readable[at] != "deny":
                freely.append(at)
            else:
                asked = Asked("upload", PlacedChange(place, WriteFile(place.shown, content)))
                outcome = yield from change(guard, [asked], [mode])
                answers[at] = uploaded(place, outcome)
        if freely:
            with inside_guard():
                given = yield from guard.inner.upload_steps([files[at] for at in freely])
            for at, answer in zip(freely, given, strict=True):
                answers[at] = answer
            landed = [
                Change(files[at][0], "upload", answer.revision)
                for at, answer in zip(freely, given, strict=True)
                if answer.error is None
            ]
            yield from tell(guard, landed)
        return [answer for answer in answers if answer is not None]

    @_judged
    def commit_steps(self, changes: Sequence[PlacedChange]) -> Steps[FilesCommitResult]:
        guard = self.guard
        asked = [Asked(operation_of(placed.change), placed) for placed in changes]
        modes, refusal = yield from write_modes(guard, asked)
        if refusal is not None:
            return FilesCommitResult(error=refusal.error)
        moves = (guard.restrict_writing or guard.restrict_reading) and any(placed.to is not None for placed in changes)
        hidden = any(one.hidden for one in (yield from marked(guard, asked)))
        if guard.deciding or moves or hidden or any(mode != "allow" for mode in modes):
            return committed(asked, (yield from change(guard, asked, modes)))
        with inside_guard():
            landed = yield from guard.inner.commit_steps(changes)
        if landed.error is None:
            revisions = landed.revisions if len(landed.revisions) == len(asked) else [None] * len(asked)
            yield from tell(guard, told_of(asked, revisions))
        return landed

    def _change(
        self,
        kind: type[C],
        operation: ChangeOperation,
        placed: PlacedChange,
        freely: Callable[[], Steps[C]],
        revision: int | None = None,
    ) -> Steps[C]:
        """One change of one file: freely where no rule and no hook has a say, and otherwise checked."""
        guard, asked = self.guard, Asked(operation, placed, revision)
        modes, refusal = yield from write_modes(guard, [asked])
        if refusal is not None:
            return kind(error=refusal.error)
        (marked_so,) = yield from marked(guard, [asked])
        if guard.deciding or marked_so.hidden or modes != ["allow"]:
            return result_of(kind, (yield from change(guard, [asked], modes)))
        with inside_guard():
            result = yield from freely()
        if result.error is None and not result.unchanged:
            yield from tell(guard, [Change(placed.place, operation, result.revision, result.merged)])
        return result

    # --- what backends around this one ask ------------------------------------------------------------------

    def names_steps(self, places: Sequence[Place]) -> Steps[list[tuple[str, ...]]]:
        return self.guard.inner.names_steps(places)

    def scope_key(self) -> Hashable | None:
        return self.guard.inner.scope_key()

    def is_lasting(self, place: Place) -> bool:
        return self.guard.inner.is_lasting(place)

    def location(self, place: Place) -> str | None:
        return self.guard.inner.location(place)

    def is_read_only(self, place: Place) -> bool:
        return self.guard.inner.is_read_only(place)

    def store_changes(self, changes: Sequence[PlacedChange]) -> tuple[MemoryStore, list[StoreChange]] | None:
        """The changes for the store itself, for those that no rule and no hook here has a say in; None for others.

        Whoever asks this applies them to the store directly, past this guard.
        """
        if self.guard.deciding or not self._lets_all(changes):
            return None
        return self.guard.inner.store_changes(changes)

    def _lets_all(self, changes: Sequence[PlacedChange]) -> bool:
        if not (self.guard.restrict_writing or self.guard.restrict_reading):
            return True
        if any(placed.to is not None for placed in changes):
            return False
        asked = [Asked(operation_of(placed.change), placed) for placed in changes]
        steps = self._lets(asked)
        try:
            next(steps)
        except StopIteration as settled:
            return settled.value
        steps.close()  # the names of the files are not known without asking
        return False

    def _lets(self, asked: Sequence[Asked]) -> Steps[bool]:
        modes, refusal = yield from write_modes(self.guard, asked)
        if refusal is not None or any(mode != "allow" for mode in modes):
            return False
        return not any(one.hidden for one in (yield from marked(self.guard, asked)))


def _as_backend(backend: Any) -> Backend:
    if type(backend) is GuardedBackend:
        return backend
    from memoranda.backends.foreign import as_backend

    return as_backend(backend)
