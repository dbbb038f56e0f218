"""What a guard answers: the results of single changes, uploads and commits from what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from memoranda.backends.guard.changing import Outcome
from memoranda.backends.guard.planning import Asked
from memoranda.backends.guard.telling import Change
from memoranda.backends.hooks.events import ChangeOperation
from memoranda.backends.places import Place
from memoranda.backends.protocol import (
    AppendFile,
    Base,
    ChangeResult,
    DeleteFile,
    EditFile,
    FileChange,
    FilesCommitResult,
    FileUploadResponse,
    MoveFile,
    WriteFile,
)

C = TypeVar("C", bound=ChangeResult)


def result_of(kind: type[C], outcome: Outcome) -> C:
    """The result of one change."""
    if outcome.error is None and outcome.results:
        (result,) = outcome.results
        if isinstance(result, kind):
            return result
        return kind(path=result.path, revision=result.revision, merged=result.merged, unchanged=result.unchanged)
    approval = outcome.approvals[0] if outcome.approvals else None
    return kind(
        error=outcome.error,
        proposal=outcome.proposal,
        approval=approval,
        conflict=outcome.conflict,
        failed=outcome.failed,
    )


def uploaded(place: Place, outcome: Outcome) -> FileUploadResponse:
    """The answer to one uploaded file."""
    if outcome.error is None:
        return FileUploadResponse(place.shown, revision=outcome.results[0].revision)
    approval = outcome.approvals[0] if outcome.approvals else None
    return FileUploadResponse(place.shown, outcome.error, proposal=outcome.proposal, approval=approval)


def committed(asked: Sequence[Asked], outcome: Outcome) -> FilesCommitResult:
    """The answer to several changes at once."""
    paths = [(one.placed.to or one.placed.place).shown for one in asked]
    if outcome.error is not None:
        return FilesCommitResult(
            error=outcome.error,
            conflicts=outcome.conflicts,
            proposal=outcome.proposal,
            approvals=outcome.approvals,
            failed=outcome.failed,
        )
    known = {result.path: result.revision for result in outcome.results}
    return FilesCommitResult(paths=tuple(paths), revisions=tuple(known.get(path) for path in paths))


def operation_of(change: FileChange) -> ChangeOperation:
    """What a change does."""
    match change:
        case WriteFile():
            return "write"
        case EditFile():
            return "edit"
        case AppendFile():
            return "append"
        case DeleteFile():
            return "delete"
        case MoveFile():
            return "move"


def told_of(asked: Sequence[Asked], revisions: Sequence[Base | None]) -> list[Change]:
    """What those who take note are told of changes that landed."""
    told: list[Change] = []
    for one, revision in zip(asked, revisions, strict=True):
        if one.placed.to is not None:
            told.append(Change(one.placed.place, "move", 0))
        told.append(Change(one.placed.to or one.placed.place, one.operation, revision))
    return told
