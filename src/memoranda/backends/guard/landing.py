"""Applying a checked change: exactly it lands, or nothing does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memoranda.backends.base import Backend
from memoranda.backends.guard.planning import Plan
from memoranda.backends.guard.telling import inside_guard
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
from memoranda.backends.steps import Steps


class Landed(NamedTuple):
    """What came of applying changes.

    Args:
        results: A result for each change that landed.
        error: Why not all of them landed.
        conflict: Whether `error` is about what somebody else wrote.
        conflicts: The sentences of a commit about that.
        failed: Whether `error` is about the storage.
    """

    results: tuple[ChangeResult, ...] = ()
    error: str | None = None
    conflict: bool = False
    conflicts: tuple[str, ...] = ()
    failed: bool = False


def land(inner: Backend, plans: Sequence[Plan], *, apart: bool = False) -> Steps[Landed]:
    """Apply changes, each on exactly the state that it was made from.

    Args:
        inner: The backend.
        plans: The changes; several go in one commit.
        apart: Whether they may land one after the other where they lie in different places.
    """
    if any(plan.changes_nothing for plan in plans):
        return (yield from _land_the_rest(inner, plans, apart=apart))
    with inside_guard():
        if len(plans) == 1 and not isinstance(plans[0].exact.change, MoveFile):
            result = yield from _land_one(inner, plans[0])
            if result.error is None:
                return Landed((result,))
            return Landed((), result.error, result.conflict, failed=result.failed)
        landed = yield from _land_together(inner, plans)
        if landed.error is None or landed.conflict or landed.failed or not apart:
            return landed
        return (yield from _land_apart(inner, plans))


def _land_the_rest(inner: Backend, plans: Sequence[Plan], *, apart: bool) -> Steps[Landed]:
    """Apply those of the changes that change something; the others land by being there already."""
    rest = [plan for plan in plans if not plan.changes_nothing]
    landed = (yield from land(inner, rest, apart=apart)) if rest else Landed()
    if landed.error is not None:
        return landed
    results = iter(landed.results)
    return Landed(tuple(_is_there(plan) if plan.changes_nothing else next(results) for plan in plans))


def _is_there(plan: Plan) -> ChangeResult:
    main = plan.main
    shown, revision = main.place.shown, main.state.base
    if plan.asked.operation == "edit":
        return EditResult(path=shown, revision=revision, occurrences=plan.occurrences, unchanged=True)
    if main.operation != "append" and not plan.merged:
        main.state.note()
    return WriteResult(path=shown, revision=revision, merged=plan.merged, unchanged=True)


def _land_apart(inner: Backend, plans: Sequence[Plan]) -> Steps[Landed]:
    """Apply changes one after the other; the first that fails ends it."""
    results: list[ChangeResult] = []
    for plan in plans:
        result = yield from _land_one(inner, plan)
        if result.error is not None:
            error = result.error
            if results:
                error += f" {len(results)} of {len(plans)} files were changed before that."
            return Landed(tuple(results), error, result.conflict, failed=result.failed)
        results.append(result)
    return Landed(tuple(results))


def _move_apart(inner: Backend, plan: Plan) -> Steps[ChangeResult]:
    """A move from one place of storage to another: there first, and gone from there again if it cannot leave here."""
    source, target = plan.touches
    assert source.state.content is not None
    after = source.state.content if target.after is None else target.after
    written = yield from inner.write_steps(target.place, after, target.state.base, False)
    if written.error is not None:
        return written
    gone = yield from _delete(inner, source.place, source.state.base)
    if gone.error is not None:
        if target.state.content is None:
            yield from _delete(inner, target.place, written.revision)
        else:
            yield from inner.write_steps(target.place, target.state.content, written.revision, False)
        return gone
    shown = target.place.shown
    return MoveResult(path=shown, paths=(shown,), revision=written.revision)


def _land_one(inner: Backend, plan: Plan) -> Steps[ChangeResult]:
    place = plan.exact.place
    change = plan.exact.change if _keeps_operations(inner, plan) else _whole(plan)
    match change:
        case EditFile(_, old, new, replace_all, base):
            return (yield from inner.edit_steps(place, old, new, replace_all, base))
        case AppendFile(_, text, base):
            return (yield from inner.append_steps(place, text, base))
        case DeleteFile(_, base):
            return (yield from _delete(inner, place, base))
        case WriteFile(_, content, base, _):
            if plan.asked.revision is not None and _keeps_operations(inner, plan):
                # A revision is what it is, whatever the file holds meanwhile.
                return (yield from inner.restore_steps(place, plan.asked.revision))
            written = yield from inner.write_steps(place, content, base, False)
            if plan.asked.operation == "edit" and written.error is None:
                return EditResult(path=written.path, occurrences=plan.occurrences, revision=written.revision)
            written.merged = written.merged or plan.merged
            return written
        case MoveFile():
            return (yield from _move_apart(inner, plan))


def _delete(inner: Backend, place: Place, base: Base | None) -> Steps[DeleteResult]:
    """Delete a file and nothing below it, which a deletion without a base would do."""
    if base is not None:
        return (yield from inner.delete_steps(place, base))
    landed = yield from inner.commit_steps([PlacedChange(place, DeleteFile(place.shown))])
    if landed.error is not None:
        return DeleteResult(error=landed.error, conflict=bool(landed.conflicts), failed=landed.failed)
    return DeleteResult(path=place.shown, paths=(place.shown,), revision=0)


def _land_together(inner: Backend, plans: Sequence[Plan]) -> Steps[Landed]:
    changes: list[PlacedChange] = []
    last: list[int] = []
    for plan in plans:
        changes += _exactly(inner, plan)
        last.append(len(changes) - 1)
    landed = yield from inner.commit_steps(changes)
    if landed.error is not None:
        return Landed((), landed.error, bool(landed.conflicts), tuple(landed.conflicts), landed.failed)
    return Landed(tuple(_result(plan, landed, at, len(changes)) for plan, at in zip(plans, last, strict=True)))


def _result(plan: Plan, landed: FilesCommitResult, at: int, count: int) -> ChangeResult:
    revision: Base | None = landed.revisions[at] if len(landed.revisions) == count else None
    shown = plan.main.place.shown
    match plan.asked.operation:
        case "delete":
            return DeleteResult(path=shown, paths=(shown,), revision=0)
        case "move":
            return MoveResult(path=shown, paths=(shown,), revision=revision)
        case "edit":
            return EditResult(path=shown, occurrences=plan.occurrences, revision=revision)
        case _:
            return WriteResult(path=shown, revision=revision, merged=plan.merged)


def _exactly(inner: Backend, plan: Plan) -> list[PlacedChange]:
    """The changes that make just this; a move names no base, so what it moves is held fast first."""
    if not isinstance(plan.exact.change, MoveFile):
        kept = _keeps_operations(inner, plan) and not isinstance(plan.exact.change, WriteFile)
        return [plan.exact if kept else PlacedChange(plan.exact.place, _whole(plan))]
    source, target = plan.touches
    place, to = source.place, target.place
    content = source.state.content
    assert content is not None
    if target.after != content or not _keeps_operations(inner, plan):
        after = content if target.after is None else target.after
        return [
            PlacedChange(place, DeleteFile(place.shown, source.state.base)),
            PlacedChange(to, WriteFile(to.shown, after, target.state.base, merge=False)),
        ]
    held = (
        EditFile(place.shown, content, content, base=source.state.base)
        if isinstance(content, str) and content
        else WriteFile(place.shown, content, source.state.base, merge=False)
    )
    changes = [PlacedChange(place, held)]
    if target.state.content is not None:
        changes.append(PlacedChange(to, DeleteFile(to.shown, target.state.base)))
    return [*changes, PlacedChange(place, MoveFile(place.shown, to.shown), to)]


def _whole(plan: Plan) -> WriteFile | DeleteFile | EditFile | AppendFile | MoveFile:
    """The change as a write of the whole file, for backends whose edits may not be quite ours."""
    change, main = plan.exact.change, plan.main
    if main.after is None or isinstance(change, (WriteFile, MoveFile)):
        return change
    return WriteFile(main.place.shown, main.after, main.state.base, merge=False)


def _keeps_operations(inner: Backend, plan: Plan) -> bool:
    """Whether an edit is worth making as one: a history tells it apart from a write, and the rules are known."""
    return inner.store_changes([plan.exact]) is not None
