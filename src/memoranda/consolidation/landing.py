"""The end of a run: what it changed, its record and the cursor land in one transaction, or nothing does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from memoranda.backends.guarded import GuardedBackend
from memoranda.backends.hooks.events import Hold, WriteEvent
from memoranda.backends.operations import sentence
from memoranda.backends.protocol import AppendFile, FilesCommitResult
from memoranda.backends.staged import commit_staged, propose_staged
from memoranda.backends.staging import StagedFile
from memoranda.backends.steps import Steps, ask
from memoranda.backends.wording import is_failure
from memoranda.consolidation.places import home
from memoranda.consolidation.tracing import TracedStage
from memoranda.errors import LeaseLostError, RunSettledError
from memoranda.store.changes import Author, ChangeSet, acting_as
from memoranda.store.companions import Companion, Landed, accompanied
from memoranda.store.effects import Body, Sql
from memoranda.store.operations.context import Context
from memoranda.store.runs import RunChange
from memoranda.store.store import MemoryStore

LandingMode: TypeAlias = Literal["apply", "propose"]

_REASON = "What a consolidator changed waits for a reviewer."


class Landing(NamedTuple):
    """What came of landing a run.

    Args:
        outcome: `landed`; `conflict`: others changed the same meanwhile; `refused`: by a rule or a hook, because it
            cannot wait as a proposal, or because the file holds no text; `lost`: another has taken the work over;
            `failed`: the storage did.
        error: Why it did not land.
    """

    outcome: Literal["landed", "conflict", "refused", "lost", "failed"]
    error: str = ""


class _Travelling(Companion):
    """A companion that tells why it could not land: between here and the store all that goes wrong becomes a sentence.

    Attributes:
        lost: Why the record could not land.
    """

    def __init__(self, inner: Companion, also: Callable[[], Body[object]] | None) -> None:
        super().__init__(self._body, inner.advance, inner.store)
        self._inner = inner
        self._also = also
        self.lost: str | None = None

    def _body(self, context: Context, landed: Landed) -> Body[list[Sql]]:
        try:
            statements = yield from self._inner.body(context, landed)
        except (LeaseLostError, RunSettledError) as error:
            self.lost = str(error)
            raise
        if self._also is not None:
            yield from self._also()
        return statements


def changes_of(files: TracedStage, store: MemoryStore) -> tuple[RunChange, ...]:
    """What a stage would change, for the record of the run."""
    found: list[RunChange] = []
    for file in files.pending().files:
        if file.is_changed:
            found += _changes(files, store, file)
    return tuple(found)


def _changes(files: TracedStage, store: MemoryStore, file: StagedFile) -> list[RunChange]:
    trace = files.trace(file.place.path)
    sources = tuple(trace.sources)
    old = None if file.origin is None else home(store, files.backend, file.origin)
    before = file.base if isinstance(file.base, int) else 0
    if file.after is None:
        assert old is not None
        return [RunChange(*old, "delete", before=before, sources=sources)]
    new = home(store, files.backend, file.place)
    if old is not None and file.is_moved:
        if old[0] == new[0] and file.steps is not None:
            return [RunChange(*old, "move", before=before, to=new[1], sources=sources, lines=trace.lines)]
        return [
            RunChange(*old, "delete", before=before, sources=sources, lines=trace.lines),
            RunChange(*new, "write", sources=sources, lines=trace.lines),
        ]
    operation = "write"
    if file.steps:
        operation = "append" if all(isinstance(step, AppendFile) for step in file.steps) else "edit"
    return [RunChange(*new, operation, before=before, sources=sources, lines=trace.lines)]


def land(
    files: TracedStage,
    store: MemoryStore,
    companion: Companion,
    *,
    author: Author,
    mode: LandingMode,
    also: Callable[[], Body[object]] | None = None,
    reason: str | None = None,
) -> Steps[Landing]:
    """Let everything that is staged land, or wait as a proposal, with what records it.

    Args:
        files: The staged files.
        store: The consolidator's store.
        companion: What records the run.
        author: Who makes the changes.
        mode: Whether they apply, or wait for a reviewer.
        also: What else belongs into the same transaction, behind the lock of the job.
        reason: Why they wait for a reviewer; None: the consolidator proposes all that it changes.
    """
    travelling = _Travelling(companion, also)
    result = FilesCommitResult()
    try:
        with accompanied(travelling):
            if files.pending().changes():
                result = yield from (
                    _propose(files, author, reason or _REASON)
                    if mode == "propose"
                    else commit_staged(files, author=author)
                )
            if result.error is None and not travelling.taken:  # nothing changes, or it was there already
                yield from ask(store.commit, ChangeSet((), author), on_conflict="return")
    except (LeaseLostError, RunSettledError) as error:
        return Landing("lost", str(error))
    if travelling.taken:
        return Landing("landed")
    return (yield from _why_not(store, travelling, result))


def _propose(files: TracedStage, author: Author, reason: str) -> Steps[FilesCommitResult]:
    """Let it wait; where a guard has a say, on its terms."""
    changes = files.pending().changes()
    try:
        is_free = files.backend.store_changes(changes) is not None
    except Exception:  # noqa: BLE001 - the same is answered below
        is_free = True
    if is_free:
        return (yield from propose_staged(files, author=author, reason=reason, source="consolidation"))

    def hold(event: WriteEvent) -> Hold:
        return Hold(reason, "consolidation")

    try:
        with files.held(), acting_as(author):
            return (yield from GuardedBackend(files.backend, hooks=[hold]).commit_steps(changes))
    except Exception as error:  # noqa: BLE001 - answered, as by `propose_staged`
        return FilesCommitResult(error=sentence(error), failed=is_failure(error))


def _why_not(store: MemoryStore, travelling: _Travelling, result: FilesCommitResult) -> Steps[Landing]:
    if travelling.lost is not None:
        return Landing("lost", travelling.lost)
    for move in travelling.advance:
        position = yield from ask(store.runs.cursor, move.consumer, move.scope)
        if position != move.expect:
            return Landing("lost", f"The cursor of {'/'.join(move.scope)} has moved from {move.expect} to {position}.")
    error = (result.error or "Nothing landed.").removeprefix("Error: ")
    if result.conflicts:
        return Landing("conflict", error)
    return Landing("failed" if result.failed or result.error is None else "refused", error)
