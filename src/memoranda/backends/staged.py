"""`StagedBackend`: changes that are seen at once and land together later, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from threading import RLock
from typing import Any, TypeVar

from memoranda.backends import stage_reading
from memoranda.backends.base import Backend
from memoranda.backends.finding.parts import Findable, Question
from memoranda.backends.foreign import as_backend
from memoranda.backends.operations import sentence
from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.protocol import (
    FILE_NOT_FOUND,
    IS_DIRECTORY,
    AppendFile,
    Base,
    BlameResult,
    ChangeResult,
    DeleteFile,
    DeleteResult,
    DiffResult,
    EditFile,
    EditResult,
    FileChange,
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
from memoranda.backends.routes import files_below
from memoranda.backends.runtime import in_graph, running_author
from memoranda.backends.stage_changes import Loaded, Stage, base_of, paths_of
from memoranda.backends.staging import Staging
from memoranda.backends.steps import Steps, ask, awaiting, blocking, done
from memoranda.backends.windows import shows_all
from memoranda.backends.wording import is_failure, refused_read_only
from memoranda.errors import MemorandaError
from memoranda.files.format import create_file_data
from memoranda.store.changes import Author, Change, ChangeSet, acting_as
from memoranda.store.store import MemoryStore

C = TypeVar("C", bound=ChangeResult)


def staged_diff(backend: StagedBackend) -> Steps[DiffResult]:
    """Show everything that is staged as one unified diff.

    Args:
        backend: The backend.

    Returns:
        The diff; empty if nothing is staged.
    """
    return done(DiffResult(diff=backend.pending().diff()))


def commit_staged(backend: StagedBackend, *, author: Author | None = None) -> Steps[FilesCommitResult]:
    """Let everything that is staged land, as one commit of the backend below.

    Args:
        backend: The backend.
        author: Who makes the changes; None takes `acting_as`, and the running agent.

    Returns:
        What landed; or what stood in the way, and then nothing landed and all stays staged.
    """
    changes = backend.pending().changes()
    if not changes:
        backend.discard()
        return FilesCommitResult()
    try:
        with backend.held(), acting_as(author) if author is not None else nullcontext():
            result = yield from backend.backend.commit_steps(changes)
    except Exception as error:  # noqa: BLE001 - the contract: answered, never raised
        return FilesCommitResult(error=sentence(error), failed=is_failure(error))
    if result.error is None or result.proposal is not None:
        backend.discard()
    return result


def propose_staged(
    backend: StagedBackend, *, author: Author | None = None, reason: str | None = None, source: str | None = None
) -> Steps[FilesCommitResult]:
    """Let everything that is staged wait as one proposal for a reviewer.

    Args:
        backend: The backend.
        author: Who makes the changes; None takes `acting_as`, and the running agent.
        reason: Why they wait.
        source: What makes them wait, for example `consolidation`.

    Returns:
        The proposal's id in `proposal`, after which nothing is staged any more; or why there is none.
    """
    changes = backend.pending().changes()
    if not changes:
        return FilesCommitResult(error="Error: nothing is staged, so there is nothing to propose.")
    try:
        with backend.held(), acting_as(author) if author is not None else nullcontext():
            found = backend.backend.store_changes(changes)
            if found is None:
                return FilesCommitResult(error=_NO_STORE)
            store, settled = found
            wanted = ChangeSet(settled, running_author())
            proposal = yield from ask(store.propose, wanted, reason=reason, source=source)
    except Exception as error:  # noqa: BLE001 - the contract: answered, never raised
        return FilesCommitResult(error=sentence(error), failed=is_failure(error))
    backend.discard()
    return FilesCommitResult(paths=paths_of(changes), proposal=proposal.id)


class StagedBackend(Backend):
    """A backend whose changes are held back: reads show them, and nothing is written until they are committed.

    Everything that reads (listings, searches, history and diffs too) shows the files as they are below with the
    staged changes on top. `commit_staged` lets all of them land as one commit: edits and appends apply to whatever
    the files are by then, whole texts carry the state they were made from and are merged or refused, and if anything
    stands in the way nothing lands and all stays staged. `commit`, as on every backend, stages several changes at
    once. A guard around this one checks while changes are staged, a guard below when they are committed.

    A staged file's `revision` is a digest of its content. One object is one set of changes: give each its own.

    Args:
        backend: What lies below; ours, Deep Agents' or your own.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.backends import StoreBackend
        >>> with open_store("memory://") as store:
        ...     files = StoreBackend(namespace=("ann",), store=store)
        ...     staged = StagedBackend(files)
        ...     _ = staged.write("/tea.md", "green")
        ...     before = files.read("/tea.md").error
        ...     _ = staged.commit_staged()
        ...     before, files.read("/tea.md").file_data["content"]
        ("File '/tea.md' not found", 'green')
    """

    def __init__(self, backend: Any) -> None:
        self.backend: Backend = as_backend(backend)
        self._stage = Stage()
        self._lock = RLock()
        self._is_held = False

    def __repr__(self) -> str:
        return f"StagedBackend({self.backend!r})"

    # --- what is staged -------------------------------------------------------------------------------------

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """The staged changes, as few as lead to what is staged, in the order in which they would apply."""
        return tuple(change.change for change in self.pending().changes())

    def pending(self) -> Staging:
        """A copy of what is staged."""
        with self._lock:
            return self._stage.staging.copy()

    @contextmanager
    def held(self) -> Generator[None]:
        """Let nothing be staged within the block, which would be lost with what lands there."""
        with self._lock:
            if self._is_held:
                raise MemorandaError("The staged changes are landing at this moment.", "Wait for it.")
            self._is_held = True
        try:
            yield
        finally:
            self._is_held = False

    def discard(self) -> None:
        """Forget everything that is staged."""
        with self._lock:
            self._stage = Stage()

    staged_diff, astaged_diff = blocking(staged_diff), awaiting(staged_diff)
    commit_staged, acommit_staged = blocking(commit_staged), awaiting(commit_staged)
    propose_staged, apropose_staged = blocking(propose_staged), awaiting(propose_staged)

    # --- reading --------------------------------------------------------------------------------------------

    def ls_steps(self, place: Place) -> Steps[LsResult]:
        return stage_reading.ls(self.backend, self._stage.staging, place)

    def glob_steps(self, place: Place, pattern: str) -> Steps[GlobResult]:
        return stage_reading.glob(self.backend, self._stage.staging, place, pattern)

    def grep_steps(self, place: Place, pattern: str, glob: str | None, max_count: int | None) -> Steps[GrepResult]:
        return stage_reading.grep(self.backend, self._stage.staging, place, pattern, glob, max_count)

    def search_steps(self, place: Place, question: Question) -> Steps[Findable]:
        return stage_reading.search(self.backend, self._stage.staging, place, question)

    def read_steps(self, place: Place, offset: int, limit: int) -> Steps[ReadResult]:
        answer = yield from stage_reading.read(self.backend, self._stage.staging, place, offset, limit)
        if shows_all(answer):
            self._saw(place, answer.revision)
        return answer

    def download_steps(self, places: Sequence[Place]) -> Steps[list[FileDownloadResponse]]:
        answers = yield from stage_reading.download(self.backend, self._stage.staging, places)
        for place, answer in zip(places, answers, strict=True):
            self._saw(place, answer.revision)
        return answers

    def history_steps(self, place: Place, limit: int | None) -> Steps[HistoryResult]:
        return stage_reading.history(self.backend, self._stage.staging, place, limit)

    def diff_steps(self, place: Place, older: int | None, newer: int | None) -> Steps[DiffResult]:
        return stage_reading.diff(self.backend, self._stage.staging, place, older, newer)

    def blame_steps(self, place: Place) -> Steps[BlameResult]:
        return stage_reading.blame(self.backend, self._stage.staging, place)

    def at_steps(self, place: Place, when: int | datetime) -> Steps[ReadResult]:
        return self.backend.at_steps(stage_reading.landed(self._stage.staging, place), when)

    def _saw(self, place: Place, revision: Base | None) -> None:
        if revision is not None:
            with self._lock:
                self._stage.seen[place.path] = revision

    # --- changing -------------------------------------------------------------------------------------------

    def write_steps(self, place: Place, content: str | bytes, base: Base | None, merge: bool) -> Steps[WriteResult]:
        return self._change(WriteResult, PlacedChange(place, WriteFile(place.shown, content, base, merge)))

    def edit_steps(self, place: Place, old: str, new: str, replace_all: bool, base: Base | None) -> Steps[EditResult]:
        return self._change(EditResult, PlacedChange(place, EditFile(place.shown, old, new, replace_all, base)))

    def append_steps(self, place: Place, text: str, base: Base | None) -> Steps[WriteResult]:
        return self._change(WriteResult, PlacedChange(place, AppendFile(place.shown, text, base)))

    def restore_steps(self, place: Place, revision: int) -> Steps[WriteResult]:
        answer = yield from self.at_steps(place, revision)
        if answer.error is not None or answer.file_data is None:
            return WriteResult(error=answer.error or f"Error: {place.shown} held nothing at revision {revision}.")
        content = stage_reading.text_or_bytes(answer.file_data)
        (loaded,) = yield from self._load([(place, None)])
        with self._lock:
            base = self._stage.revision(place, loaded)
        return (yield from self.write_steps(place, content, base, False))

    def delete_steps(self, place: Place, base: Base | None) -> Steps[DeleteResult]:
        if base is not None:
            return (yield from self._change(DeleteResult, PlacedChange(place, DeleteFile(place.shown, base))))
        if (refused := self._refusal([place])) is not None:
            return DeleteResult(error=refused)
        files = yield from self._load([(file, None) for file in (yield from self._files(place))])
        return self._staged(DeleteResult, lambda stage: stage.delete(place, files))

    def move_steps(self, place: Place, to: Place, overwrite: bool) -> Steps[MoveResult]:
        if (refused := self._refusal([place, to])) is not None:
            return MoveResult(error=refused)
        files = yield from self._files(place)
        if any(file.path == place.path for file in files):  # of a file and a folder of one name the file moves
            files = [place]
        targets = [to.below(to.path + file.path[len(place.path) :]) for file in files]
        loaded = yield from self._load([(file, None) for file in (*files, *targets)])
        pairs = list(zip(loaded[: len(files)], loaded[len(files) :], strict=True))
        return self._staged(MoveResult, lambda stage: stage.move(place, to, pairs, overwrite))

    def upload_steps(self, files: Sequence[tuple[Place, bytes]]) -> Steps[list[FileUploadResponse]]:
        answers: list[FileUploadResponse] = []
        for place, content in files:
            made = yield from self.write_steps(place, content, None, True)
            answers.append(FileUploadResponse(place.shown, made.error, made.revision))
        return answers

    def commit_steps(self, changes: Sequence[PlacedChange]) -> Steps[FilesCommitResult]:
        places = [place for change in changes for place in (change.place, change.to) if place is not None]
        if (refused := self._refusal(places)) is not None:
            return FilesCommitResult(error=refused)
        wanted = [(c.place, base_of(c.change)) for c in changes] + [(c.to, None) for c in changes if c.to is not None]
        loaded = yield from self._load(wanted)
        targets = iter(loaded[len(changes) :])
        with self._lock:
            trial = self._stage.copy()
            results = [
                trial.apply(change, here, None if change.to is None else next(targets))
                for change, here in zip(changes, loaded, strict=False)
            ]
            errors = [result.error.removeprefix("Error: ") for result in results if result.error is not None]
            if errors:
                said = [result.error.removeprefix("Error: ") for result in results if result.error and result.conflict]
                return FilesCommitResult(error="Error: " + " ".join(errors), conflicts=tuple(said))
            self._take(trial)
        return FilesCommitResult(paths=paths_of(changes), revisions=tuple(result.revision for result in results))

    def _change(self, kind: type[C], change: PlacedChange) -> Steps[C]:
        if (refused := self._refusal([change.place])) is not None:
            return kind(error=refused)
        (loaded,) = yield from self._load([(change.place, base_of(change.change))])
        return self._staged(kind, lambda stage: stage.apply(change, loaded))

    def _staged(self, kind: type[C], change: Callable[[Stage], ChangeResult]) -> C:
        with self._lock:
            trial = self._stage.copy()
            result = change(trial)
            if result.error is None:
                self._take(trial)
            else:
                self._stage.seen = trial.seen  # a refusal shows the current text
        return result if isinstance(result, kind) else kind(error=result.error)

    def _take(self, trial: Stage) -> None:
        trial.staging.tidy()
        self._stage = trial

    def _refusal(self, places: Sequence[Place]) -> str | None:
        if self._is_held:
            return "Error: what was staged before is landing at this moment. Nothing was changed; try again."
        if in_graph():
            for place in places:
                if self.backend.is_read_only(place):
                    return refused_read_only(place)
        return None

    def _files(self, place: Place) -> Steps[list[Place]]:
        """The file at a place and every file below it, as they are to be seen."""
        found = {file.path: file for file in (yield from files_below(self.backend, place))}
        (here,) = yield from self.backend.download_steps([place])
        if here.content is not None:
            found[place.path] = place
        staging = self._stage.staging
        present = {path for path in staging.present() if place.holds(path)}
        paths = [path for path in found if not staging.knows(path)] + [path for path in present if path not in found]
        paths += [path for path in found if path in present]
        return [place.below(path) for path in sorted(paths)]

    def _load(self, wanted: Sequence[tuple[Place, Base | None]]) -> Steps[list[Loaded]]:
        """Files as they lie below, with the text that a change was made from where that is an older one."""
        places = [place for place, _ in wanted]
        answers = yield from self.backend.download_steps(places)
        loaded: list[Loaded] = []
        for (place, base), answer in zip(wanted, answers, strict=True):
            if answer.content is None:
                missing = answer.error in (FILE_NOT_FOUND, IS_DIRECTORY, None)
                loaded.append(Loaded(place, error=None if missing else _as_error(place, answer.error or "")))
                continue
            old: str | None = None
            made_from = self._stage.wanted(place, base, strict=False)
            if isinstance(made_from, int) and made_from not in (0, answer.revision):
                before = yield from self.backend.at_steps(place, made_from)
                if before.file_data is not None and before.file_data["encoding"] == "utf-8":
                    old = before.file_data["content"]
            loaded.append(Loaded(place, create_file_data(answer.content), answer.revision, old))
        return loaded

    # --- what backends around this one ask ------------------------------------------------------------------

    def names_steps(self, places: Sequence[Place]) -> Steps[list[tuple[str, ...]]]:
        return self.backend.names_steps(places)

    def scope_key(self) -> Hashable | None:
        return ("staged", id(self))  # nobody else shows the same files

    def is_lasting(self, place: Place) -> bool:
        return False  # what is staged is gone with this object

    def location(self, place: Place) -> str | None:
        return self.backend.location(place)

    def is_read_only(self, place: Place) -> bool:
        return self.backend.is_read_only(place)

    def store_changes(self, changes: Sequence[PlacedChange]) -> tuple[MemoryStore, list[Change]] | None:
        """As the backend below, for files of which nothing is staged."""
        places = [place for change in changes for place in (change.place, change.to) if place is not None]
        if any(self._stage.staging.knows(place.path) for place in places):
            return None
        return self.backend.store_changes(changes)


_NO_STORE = (
    "Error: the staged files do not all lie in one Memoranda store, or a guard has a say in them, so they cannot wait "
    "as a proposal. Commit them instead."
)


def _as_error(place: Place, error: str) -> str:
    return error if error.startswith("Error") else f"Error: {error.replace('_', ' ')}: {place.shown}."
