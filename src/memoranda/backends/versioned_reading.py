"""Reading files and their history in one namespace of a `MemoryStore`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from datetime import datetime
from functools import wraps
from typing import Any, TypeVar, cast

from langgraph.store.base import GetOp

from memoranda.backends.base import Backend
from memoranda.backends.finding.in_store import findable_in_store
from memoranda.backends.finding.parts import Findable, Question
from memoranda.backends.places import Place, location_in
from memoranda.backends.protocol import (
    FILE_NOT_FOUND,
    Base,
    BlameResult,
    ChangeResult,
    DiffResult,
    FileDownloadResponse,
    FileInfo,
    GlobResult,
    GrepMatch,
    GrepResult,
    HistoryResult,
    LsResult,
    ReadResult,
    Result,
)
from memoranda.backends.runtime import knows, last_seen, saw
from memoranda.backends.steps import Steps, ask
from memoranda.backends.windows import read_whole, read_window_of, shows_all
from memoranda.backends.wording import is_failure, not_found, with_shown_paths
from memoranda.errors import MemorandaError
from memoranda.files.format import FileData, read_file_data
from memoranda.store.changes import Namespace
from memoranda.store.keys import checked_key
from memoranda.store.namespaces import encode_namespace
from memoranda.store.store import MemoryStore
from memoranda.store.types import KeyEntry, StoredItem
from memoranda.store.values import encode_value

F = TypeVar("F", bound=Callable[..., Steps[Any]])


def told(kind: Callable[..., Result]) -> Callable[[F], F]:
    """Make an operation answer what the store refuses, with the path by which the agent knows the file."""

    def decorate(operation: F) -> F:
        @wraps(operation)
        def answered(self: Any, place: Place, *args: Any, **kwargs: Any) -> Steps[Any]:
            try:
                return (yield from operation(self, place, *args, **kwargs))
            except MemorandaError as error:
                answer = kind(error="Error: " + with_shown_paths(place, str(error)))
                if isinstance(answer, (ReadResult, ChangeResult)):
                    answer.failed = is_failure(error)
                return answer

        return cast("F", answered)

    return decorate


class VersionedReading(Backend):
    """The reading half of `VersionedFiles`.

    Args:
        store: The store.
        namespace: Where; exactly this one.
    """

    def __init__(self, store: MemoryStore, namespace: Namespace) -> None:
        self.store = store
        self.namespace = namespace

    def scope_key(self) -> Hashable:
        return (self.store.identity, self.store.context.tenant, self.namespace)

    def location(self, place: Place) -> str:
        return self._file(place)

    # --- reading --------------------------------------------------------------------------------------------

    @told(LsResult)
    def ls_steps(self, place: Place) -> Steps[LsResult]:
        entries = yield from ask(self.store.list_keys, self.namespace, place.path)
        return LsResult(entries=[_info(place, entry) for entry in entries])

    def glob_steps(self, place: Place, pattern: str) -> Steps[GlobResult]:
        entries = yield from ask(self.store.glob, self.namespace, pattern, place.path)
        return GlobResult(matches=[_info(place, entry) for entry in entries])

    def grep_steps(self, place: Place, pattern: str, glob: str | None, max_count: int | None) -> Steps[GrepResult]:
        found = yield from ask(self.store.grep, self.namespace, pattern, place.path, glob=glob, limit=max_count)
        matches = [GrepMatch(path=place.show(m.key), line=m.line, text=m.text) for m in found.matches]
        return GrepResult(matches=matches, truncated=found.truncated)

    @told(Findable)
    def search_steps(self, place: Place, question: Question) -> Steps[Findable]:
        if not self.store.context.indexing:
            return (yield from super().search_steps(place, question))
        if place.path != "/" and not _can_be_kept(place.path):
            return Findable()
        return (yield from findable_in_store(self.store, self.namespace, place, question))

    @told(ReadResult)
    def read_steps(self, place: Place, offset: int, limit: int) -> Steps[ReadResult]:
        item = yield from ask(self.store.get, self.namespace, place.path)
        if item is None:
            return ReadResult(error=not_found(place))
        result = read_window_of(_file_data(item), place, offset, limit, item.revision)
        if shows_all(result):
            self._saw(place.path, item.revision)
        return result

    def download_steps(self, places: Sequence[Place]) -> Steps[list[FileDownloadResponse]]:
        items = yield from self._get(places)
        answers: list[FileDownloadResponse] = []
        for place, item in zip(places, items, strict=True):
            if item is None:
                answers.append(FileDownloadResponse(place.shown, None, FILE_NOT_FOUND))
                continue
            self._saw(place.path, item.revision)
            answers.append(read_whole(_file_data(item), place, item.revision))
        return answers

    def _get(self, places: Sequence[Place]) -> Steps[list[StoredItem | None]]:
        # A path that no store can keep is not there; it must not keep the others from being read.
        asked = [place.path for place in places if _can_be_kept(place.path)]
        found = yield from ask(self.store.batch, [GetOp(self.namespace, path) for path in asked])
        items = dict(zip(asked, cast("list[StoredItem | None]", found), strict=True))
        return [items.get(place.path) for place in places]

    # --- history --------------------------------------------------------------------------------------------

    @told(HistoryResult)
    def history_steps(self, place: Place, limit: int | None) -> Steps[HistoryResult]:
        return HistoryResult(revisions=(yield from ask(self.store.history, self.namespace, place.path, limit=limit)))

    @told(DiffResult)
    def diff_steps(self, place: Place, older: int | None, newer: int | None) -> Steps[DiffResult]:
        return DiffResult(diff=(yield from ask(self.store.diff, self.namespace, place.path, older, newer)))

    @told(BlameResult)
    def blame_steps(self, place: Place) -> Steps[BlameResult]:
        return BlameResult(lines=(yield from ask(self.store.blame, self.namespace, place.path)))

    @told(ReadResult)
    def at_steps(self, place: Place, when: int | datetime) -> Steps[ReadResult]:
        asked: dict[str, Any] = {"at": when} if isinstance(when, datetime) else {"revision": when}
        item = yield from ask(self.store.get_at, self.namespace, place.path, **asked)
        return ReadResult(file_data=_file_data(item), revision=item.revision)

    # --- what a thread has seen -----------------------------------------------------------------------------

    def _file(self, place: Place) -> str:
        """What identifies a file in the notes of a thread."""
        in_store = location_in(self.store.identity, self.store.context.tenant)
        return f"{in_store}{encode_namespace(self.namespace)}|{place.path}"

    def _saw(self, path: str, revision: Base | None) -> None:
        saw(self._file(Place(path, path)), revision)

    def _last_seen(self, place: Place, *, or_elsewhere: bool = False) -> Base | None:
        return last_seen(self._file(place), or_elsewhere=or_elsewhere)

    def _knows(self, path: str, revision: Base | None) -> bool:
        return knows(self._file(Place(path, path)), revision)


def _can_be_kept(path: str) -> bool:
    try:
        checked_key(path)
    except MemorandaError:
        return False
    return True


def _info(place: Place, entry: KeyEntry) -> FileInfo:
    if entry.is_folder:
        return {"path": place.show(entry.key), "is_dir": True, "size": 0, "modified_at": ""}
    changed = entry.updated_at.isoformat() if entry.updated_at else ""
    return {
        "path": place.show(entry.key),
        "is_dir": False,
        "size": entry.size,
        "modified_at": changed,
        "revision": entry.revision,
    }


def _file_data(item: StoredItem) -> FileData:
    """An item as a file; a document that is none is shown as the JSON text that edits work on."""
    try:
        return read_file_data(item.value, lenient=True)
    except MemorandaError:
        text = encode_value(item.value).text or ""
        return {
            "content": text,
            "encoding": "utf-8",
            "created_at": item.created_at.isoformat(),
            "modified_at": item.updated_at.isoformat(),
        }
