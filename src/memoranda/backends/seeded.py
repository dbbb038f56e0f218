"""Files that were put into a store under the path by which the agent knows them, prefix of the route included.

Behind the route `/memories/` the agent's `/memories/AGENTS.md` has the key `/AGENTS.md`; many programs seed it under
the key `/memories/AGENTS.md` all the same. Where the first is missing and the second is there, the second is the file.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import datetime

from memoranda.backends.base import Backend
from memoranda.backends.finding.parts import Findable, Question
from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.protocol import (
    FILE_NOT_FOUND,
    Base,
    BlameResult,
    DeleteFile,
    DeleteResult,
    DiffResult,
    EditResult,
    FileDownloadResponse,
    FilesCommitResult,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    HistoryResult,
    LsResult,
    MoveFile,
    MoveResult,
    ReadResult,
    WriteResult,
)
from memoranda.backends.routes import files_below, tree_path
from memoranda.backends.seeds import Seeds
from memoranda.backends.steps import Steps
from memoranda.backends.tree import folder_info, in_order, newest_first
from memoranda.backends.wording import not_found
from memoranda.files.globbing import compile_glob
from memoranda.files.path import folder_prefix
from memoranda.store.changes import Change
from memoranda.store.store import MemoryStore


class SeededFiles(Backend):
    """The files of a store behind a route, those seeded with the route's prefix in their key among them.

    Args:
        inner: The files as the store keeps them.
        prefix: The route's canonical path.
    """

    def __init__(self, inner: Backend, prefix: str) -> None:
        self.inner = inner
        self.seeds = Seeds(inner, prefix)

    # --- reading --------------------------------------------------------------------------------------------

    def ls_steps(self, place: Place) -> Steps[LsResult]:
        answer = yield from self.inner.ls_steps(place)
        if answer.error is not None or not (yield from self.seeds.any_steps()):
            return answer
        seeds, others = yield from self.seeds.all_steps()
        entries = {entry["path"]: entry for entry in answer.entries or []}
        for shown in list(entries):
            if (yield from self.seeds.hidden_steps(tree_path(place, shown), seeds, others)):
                del entries[shown]
        inside = folder_prefix(place.path)
        for path, info in seeds.items():
            if path.startswith(inside):
                name, slash, _ = path[len(inside) :].partition("/")
                shown = place.show(inside + name + slash)
                entries.setdefault(shown, folder_info(shown) if slash else {**info, "path": shown})
        return LsResult(entries=[entries[path] for path in sorted(entries)], warnings=answer.warnings)

    def glob_steps(self, place: Place, pattern: str) -> Steps[GlobResult]:
        answer = yield from self.inner.glob_steps(place, pattern)
        if answer.error is not None or not (yield from self.seeds.any_steps()):
            return answer
        seeds, _ = yield from self.seeds.all_steps()
        found = answer.matches or []
        matches = [entry for entry in found if not self.seeds.is_seed(tree_path(place, entry["path"]), seeds)]
        matcher, inside = compile_glob(pattern), folder_prefix(place.path)
        for path, info in seeds.items():
            if path.startswith(inside) and matcher.matches(path[len(inside) :]):
                matches.append({**info, "path": place.show(path)})
        answer.matches = sorted(matches, key=newest_first)
        return answer

    def grep_steps(self, place: Place, pattern: str, glob: str | None, max_count: int | None) -> Steps[GrepResult]:
        if not (yield from self.seeds.any_steps()):
            return (yield from self.inner.grep_steps(place, pattern, glob, max_count))
        seeds, _ = yield from self.seeds.all_steps()
        own = yield from self.inner.grep_steps(place, pattern, glob, None)
        if own.error is not None:
            return own
        seeded = yield from self.inner.grep_steps(self.seeds.seeded(place), pattern, glob, None)
        matches = [m for m in own.matches or [] if not self.seeds.is_seed(tree_path(place, m["path"]), seeds)]
        matches += [m for m in seeded.matches or [] if tree_path(place, m["path"]) in seeds]
        matches.sort(key=lambda match: (in_order(match["path"]), match["line"]))
        most = len(matches) if max_count is None else max(max_count, 0)
        return GrepResult(matches=matches[:most], truncated=len(matches) > most, warnings=own.warnings)

    def search_steps(self, place: Place, question: Question) -> Steps[Findable]:
        if not (yield from self.seeds.any_steps()):
            return (yield from self.inner.search_steps(place, question))
        seeds, _ = yield from self.seeds.all_steps()
        own = question.where(lambda path: not self.seeds.is_seed(path, seeds))
        found = yield from self.inner.search_steps(place, own)
        if found.error is not None:
            return found
        seeded = question.where(lambda path: path in seeds).inside(self.seeds.unseeded)
        others = yield from self.inner.search_steps(self.seeds.seeded(place), seeded)
        if others.error is not None:
            return others
        found.add(others)
        return found

    def read_steps(self, place: Place, offset: int, limit: int) -> Steps[ReadResult]:
        answer = yield from self.inner.read_steps(place, offset, limit)
        if answer.error is not None:
            (real,) = yield from self.seeds.real_steps([place], anew=True)
            if real != place:
                return (yield from self.inner.read_steps(real, offset, limit))
        return answer

    def download_steps(self, places: Sequence[Place]) -> Steps[list[FileDownloadResponse]]:
        answers = yield from self.inner.download_steps(places)
        missing = [at for at, answer in enumerate(answers) if answer.error == FILE_NOT_FOUND]
        if missing:
            seeded = yield from self.inner.download_steps([self.seeds.seeded(places[at]) for at in missing])
            for at, answer in zip(missing, seeded, strict=True):
                if answer.content is not None:
                    self.seeds.remember(places[at], self.seeds.seeded(places[at]))
                    answers[at] = answer
        return answers

    def history_steps(self, place: Place, limit: int | None) -> Steps[HistoryResult]:
        (real,) = yield from self.seeds.real_steps([place], anew=True)
        return (yield from self.inner.history_steps(real, limit))

    def diff_steps(self, place: Place, older: int | None, newer: int | None) -> Steps[DiffResult]:
        (real,) = yield from self.seeds.real_steps([place], anew=True)
        return (yield from self.inner.diff_steps(real, older, newer))

    def blame_steps(self, place: Place) -> Steps[BlameResult]:
        (real,) = yield from self.seeds.real_steps([place], anew=True)
        return (yield from self.inner.blame_steps(real))

    def at_steps(self, place: Place, when: int | datetime) -> Steps[ReadResult]:
        (real,) = yield from self.seeds.real_steps([place], anew=True)
        return (yield from self.inner.at_steps(real, when))

    # --- changing -------------------------------------------------------------------------------------------

    def write_steps(self, place: Place, content: str | bytes, base: Base | None, merge: bool) -> Steps[WriteResult]:
        (real,) = yield from self.seeds.real_steps([place])
        return (yield from self.inner.write_steps(real, content, base, merge))

    def edit_steps(self, place: Place, old: str, new: str, replace_all: bool, base: Base | None) -> Steps[EditResult]:
        (real,) = yield from self.seeds.real_steps([place])
        return (yield from self.inner.edit_steps(real, old, new, replace_all, base))

    def append_steps(self, place: Place, text: str, base: Base | None) -> Steps[WriteResult]:
        (real,) = yield from self.seeds.real_steps([place])
        return (yield from self.inner.append_steps(real, text, base))

    def restore_steps(self, place: Place, revision: int) -> Steps[WriteResult]:
        (real,) = yield from self.seeds.real_steps([place])
        return (yield from self.inner.restore_steps(real, revision))

    def upload_steps(self, files: Sequence[tuple[Place, bytes]]) -> Steps[list[FileUploadResponse]]:
        real = yield from self.seeds.real_steps([place for place, _ in files])
        contents = [content for _, content in files]
        return (yield from self.inner.upload_steps(list(zip(real, contents, strict=True))))

    def delete_steps(self, place: Place, base: Base | None) -> Steps[DeleteResult]:
        if base is not None:
            (real,) = yield from self.seeds.real_steps([place])
            return (yield from self.inner.delete_steps(real, base))
        if place.path == "/" or not (yield from self.seeds.any_steps()):
            return (yield from self.inner.delete_steps(place, base))
        return (yield from delete_files(self.inner, place, (yield from self._files(place))))

    def move_steps(self, place: Place, to: Place, overwrite: bool) -> Steps[MoveResult]:
        if not (yield from self.seeds.any_steps()):
            return (yield from self.inner.move_steps(place, to, overwrite))
        files = yield from self._files(place)
        ends = [(file, to.below(to.path + tree_path(place, file.shown)[len(place.path) :])) for file in files]
        return (yield from move_files(self, place, to, ends, overwrite))

    def _files(self, place: Place) -> Steps[list[Place]]:
        """A file and every file below it as they are shown, each where it lies in the store."""
        seeds, _ = yield from self.seeds.all_steps()
        there = yield from self.seeds.existing_steps([place])
        own = [*([place] if place.path in there else []), *(yield from files_below(self.inner, place))]
        own = [file for file in own if not self.seeds.is_seed(file.path, seeds)]
        return own + [self.seeds.seeded(place.below(path)) for path in seeds if place.holds(path)]

    def commit_steps(self, changes: Sequence[PlacedChange]) -> Steps[FilesCommitResult]:
        return (yield from self.inner.commit_steps((yield from self.settled_steps(changes))))

    def settled_steps(self, changes: Sequence[PlacedChange]) -> Steps[list[PlacedChange]]:
        """Changes with the places that their files have in the store."""
        targets = [change.to for change in changes if change.to is not None]
        real = yield from self.seeds.real_steps([change.place for change in changes] + targets)
        to = iter(real[len(changes) :])
        return [
            PlacedChange(place, change.change, None if change.to is None else next(to))
            for place, change in zip(real, changes, strict=False)
        ]

    # --- what backends around this one ask ------------------------------------------------------------------

    def names_steps(self, places: Sequence[Place]) -> Steps[list[tuple[str, ...]]]:
        real = yield from self.seeds.real_steps(places, anew=True)  # as reading does
        aliases = yield from self.seeds.aliases_steps([place.path for place in real])
        return [tuple(dict.fromkeys((place.path, *names))) for place, names in zip(places, aliases, strict=True)]

    def scope_key(self) -> Hashable | None:
        return self.inner.scope_key()

    def is_lasting(self, place: Place) -> bool:
        return self.inner.is_lasting(place)

    def location(self, place: Place) -> str | None:
        return self.inner.location(self.seeds.known(place))

    def is_read_only(self, place: Place) -> bool:
        return self.inner.is_read_only(place)

    def store_changes(self, changes: Sequence[PlacedChange]) -> tuple[MemoryStore, list[Change]] | None:
        """As the last look at each file has shown where it lies; see `settled_steps`."""
        known = self.seeds.known
        return self.inner.store_changes(
            [PlacedChange(known(c.place), c.change, None if c.to is None else known(c.to)) for c in changes]
        )


def delete_files(backend: Backend, place: Place, files: Sequence[Place]) -> Steps[DeleteResult]:
    """Delete some files of a folder, together where the backend can."""
    if not files:
        return DeleteResult(error="Error: " + not_found(place))
    answer = yield from backend.commit_steps([PlacedChange(file, DeleteFile(file.shown)) for file in files])
    if answer.error is not None:
        return DeleteResult(error=answer.error, conflict=bool(answer.conflicts), failed=answer.failed)
    return DeleteResult(path=place.shown, paths=tuple(file.shown for file in files), revision=0)


def move_files(
    backend: Backend, place: Place, to: Place, ends: Sequence[tuple[Place, Place]], overwrite: bool
) -> Steps[MoveResult]:
    """Move some files of a folder, together where the backend can."""
    if not ends:
        return MoveResult(error="Error: " + not_found(place))
    moves = [PlacedChange(file, MoveFile(file.shown, target.shown, overwrite), target) for file, target in ends]
    answer = yield from backend.commit_steps(moves)
    if answer.error is not None:
        return MoveResult(error=answer.error, conflict=bool(answer.conflicts), failed=answer.failed)
    return MoveResult(path=to.shown, paths=answer.paths, revision=answer.revisions[-1] if answer.revisions else None)
