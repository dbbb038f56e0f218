"""Reading through the public methods of a backend, and what it may be asked besides."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from memoranda.backends.base import Backend
from memoranda.backends.finding.parts import Findable, Question
from memoranda.backends.foreign.answers import (
    findable_answers,
    glob_result,
    grep_result,
    ls_result,
    read_result,
    shown_error,
)
from memoranda.backends.foreign.asking import is_overridden, mode_of, spoken_in_public, takes
from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.protocol import (
    FILE_NOT_FOUND,
    Base,
    BlameResult,
    DiffResult,
    FileDownloadResponse,
    GlobResult,
    GrepResult,
    HistoryResult,
    LsResult,
    ReadResult,
    Result,
)
from memoranda.backends.runtime import in_graph, saw, unnoticed
from memoranda.backends.steps import Steps, ask, block, consult, is_control_flow
from memoranda.backends.tree import digest_of
from memoranda.backends.windows import read_whole
from memoranda.errors import MemorandaError
from memoranda.files.format import file_bytes
from memoranda.store.changes import Change
from memoranda.store.store import MemoryStore

logger = logging.getLogger(__name__)
R = TypeVar("R", bound=Result)
_ALL_LINES = 1 << 30


class ForeignFailureError(MemorandaError):
    """A backend that is not ours raised an exception."""


class ForeignFiles(Backend):
    """The reading half of `ForeignBackend`.

    Args:
        backend: The backend.
    """

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self._ours = backend if isinstance(backend, Backend) else None
        self._public = spoken_in_public(backend)

    def __repr__(self) -> str:
        return f"ForeignBackend({self.backend!r})"

    def __getattr__(self, name: str) -> Any:
        # Settings of the backend around which this is, such as `artifacts_root`.
        if name.startswith("_") or name == "backend":
            raise AttributeError(name)
        return getattr(self.backend, name)

    def _direct(self, name: str) -> Backend | None:
        """Our own backend, for an operation that nobody has overridden."""
        return None if name in self._public else self._ours

    def _has_own(self, name: str) -> bool:
        """Whether the backend itself says what this operation does."""
        return self._ours is None or is_overridden(self._ours, name)

    def _takes(self, name: str, argument: str) -> bool:
        return takes(cast("type[Any]", type(self.backend)), name, argument)

    def _call(self, place: Place, name: str, *args: Any, **kwargs: Any) -> Steps[Any]:
        """Ask a public method, in whichever form carries the backend's own rules.

        Raises:
            NotImplementedError: It has no such method.
            ForeignFailureError: It raised something.
        """
        method, twin = getattr(self.backend, name, None), getattr(self.backend, "a" + name, None)
        mode = mode_of(self.backend, name)
        try:
            if mode == "both" and method is not None:
                return (yield from ask(method, *args, **kwargs))
            if mode == "async" and twin is not None:
                return (yield from consult(twin, *args, **kwargs))
            if mode == "blocking" and method is not None:
                return (yield from block(lambda: method(*args, **kwargs)))
        except (NotImplementedError, MemorandaError):
            raise
        except Exception as error:
            if is_control_flow(error):
                raise
            logger.warning("A backend failed.", exc_info=error)
            said = shown_error(place, error) or ""
            raise ForeignFailureError(
                f"The backend behind {place.shown} failed with {type(error).__name__}: {said.rstrip('.')}.",
                "Try again, or go on without it.",
            ) from error
        raise NotImplementedError(f"{type(self.backend).__name__} has no {name}")

    # --- reading --------------------------------------------------------------------------------------------

    def ls_steps(self, place: Place) -> Steps[LsResult]:
        if (ours := self._direct("ls")) is not None:
            return (yield from ours.ls_steps(place))
        return ls_result(place, (yield from self._call(place, "ls", place.path)))

    def glob_steps(self, place: Place, pattern: str) -> Steps[GlobResult]:
        if (ours := self._direct("glob")) is not None:
            return (yield from ours.glob_steps(place, pattern))
        return glob_result(place, (yield from self._call(place, "glob", pattern, place.path)))

    def grep_steps(self, place: Place, pattern: str, glob: str | None, max_count: int | None) -> Steps[GrepResult]:
        if (ours := self._direct("grep")) is not None:
            return (yield from ours.grep_steps(place, pattern, glob, max_count))
        cap: dict[str, Any] = {"max_count": max_count} if self._takes("grep", "max_count") else {}
        return grep_result(place, (yield from self._call(place, "grep", pattern, place.path, glob, **cap)), max_count)

    def search_steps(self, place: Place, question: Question) -> Steps[Findable]:
        if (ours := self._direct("search")) is not None:
            return (yield from ours.search_steps(place, question))
        if self._ours is None or not is_overridden(self._ours, "search"):
            return (yield from super().search_steps(place, question))  # a rule in `read` holds for passages too
        return (yield from findable_answers(lambda k: self._searched(place, question, k), place, question))

    def _searched(self, place: Place, question: Question, k: int) -> Steps[Any]:
        return self._call(place, "search", question.text, place.path, k=k, since=question.since, until=question.until)

    def read_steps(self, place: Place, offset: int, limit: int) -> Steps[ReadResult]:
        if (ours := self._direct("read")) is not None:
            return (yield from ours.read_steps(place, offset, limit))
        result = read_result(place, (yield from self._call(place, "read", place.path, offset, limit)))
        if self._ours is None and result.error is None and in_graph():
            # A window says nothing about the whole file, and the whole is what a later write is based on.
            with unnoticed() as notes:
                current = yield from self._current(place)
            result.revision = current.revision
            if _is_all(result, current):
                notes.keep()
        return result

    def download_steps(self, places: Sequence[Place]) -> Steps[list[FileDownloadResponse]]:
        if (ours := self._direct("download_files")) is not None:
            return (yield from ours.download_steps(places))
        if not self._has_own("download_files"):
            return (yield from self._read_whole(places))  # a rule in `read` holds for whole files too
        try:
            found = yield from self._call(places[0], "download_files", [place.path for place in places])
        except NotImplementedError:
            return (yield from self._read_whole(places))
        return [
            self._downloaded(
                place,
                FileDownloadResponse(
                    place.shown,
                    answer.content,
                    shown_error(place, answer.error),
                    getattr(answer, "revision", None),
                    getattr(answer, "author", None),
                ),
            )
            for place, answer in zip(places, found, strict=True)
        ]

    def _read_whole(self, places: Sequence[Place]) -> Steps[list[FileDownloadResponse]]:
        """Whole files from a backend that only reads windows."""
        answers: list[FileDownloadResponse] = []
        for place in places:
            result = read_result(place, (yield from self._call(place, "read", place.path, 0, _ALL_LINES)))
            if result.file_data is None:
                missing = result.error is not None and "not found" in result.error
                answers.append(FileDownloadResponse(place.shown, None, FILE_NOT_FOUND if missing else result.error))
                continue
            answers.append(self._downloaded(place, read_whole(result.file_data, place, result.revision)))
        return answers

    def _downloaded(self, place: Place, answer: FileDownloadResponse) -> FileDownloadResponse:
        if answer.content is not None and answer.revision is None:
            answer.revision = digest_of(answer.content)
        if answer.revision is not None:
            self._saw(place, answer.revision)
        return answer

    def _current(self, place: Place) -> Steps[FileDownloadResponse]:
        """What a file holds now."""
        (answer,) = yield from self.download_steps([place])
        return answer

    # --- what only some have --------------------------------------------------------------------------------

    def history_steps(self, place: Place, limit: int | None) -> Steps[HistoryResult]:
        if (ours := self._direct("history")) is not None:
            return (yield from ours.history_steps(place, limit))
        return (yield from self._past(place, super().history_steps(place, limit), "history", limit=limit))

    def diff_steps(self, place: Place, older: int | None, newer: int | None) -> Steps[DiffResult]:
        if (ours := self._direct("diff")) is not None:
            return (yield from ours.diff_steps(place, older, newer))
        return (yield from self._past(place, super().diff_steps(place, older, newer), "diff", older, newer))

    def blame_steps(self, place: Place) -> Steps[BlameResult]:
        if (ours := self._direct("blame")) is not None:
            return (yield from ours.blame_steps(place))
        return (yield from self._past(place, super().blame_steps(place), "blame"))

    def at_steps(self, place: Place, when: int | datetime) -> Steps[ReadResult]:
        if (ours := self._direct("at")) is not None:
            return (yield from ours.at_steps(place, when))
        return (yield from self._past(place, super().at_steps(place, when), "at", when))

    def _past(self, place: Place, without: Steps[R], name: str, *args: Any, **kwargs: Any) -> Steps[R]:
        if self._ours is None:
            return (yield from without)
        result = yield from self._call(place, name, place.path, *args, **kwargs)
        result.error = shown_error(place, result.error)
        return cast("R", result)

    # --- what backends around this one ask ------------------------------------------------------------------

    def names_steps(self, places: Sequence[Place]) -> Steps[list[tuple[str, ...]]]:
        if self._ours is not None:
            return (yield from self._ours.names_steps(places))
        root: Any = getattr(self.backend, "cwd", None)
        if not isinstance(root, Path):
            return [(place.path,) for place in places]
        return (yield from block(lambda: [_real_names(root, place.path) for place in places]))

    def scope_key(self) -> Hashable | None:
        return ("object", id(self.backend)) if self._ours is None else self._ours.scope_key()

    def is_lasting(self, place: Place) -> bool:
        if self._ours is not None:
            return self._ours.is_lasting(place)
        return not any(kind.__name__ == "StateBackend" for kind in type(self.backend).__mro__)

    def is_read_only(self, place: Place) -> bool:
        return self._ours is not None and self._ours.is_read_only(place)

    def store_changes(self, changes: Sequence[PlacedChange]) -> tuple[MemoryStore, list[Change]] | None:
        return None if self._ours is None else self._ours.store_changes(changes)

    # --- what a thread has seen -----------------------------------------------------------------------------

    def _saw(self, place: Place, revision: Base | None) -> None:
        if self._ours is None:  # ours take notes themselves
            saw(file_id(place), revision)


def _is_all(result: ReadResult, current: FileDownloadResponse) -> bool:
    """Whether a window holds every line of a file, however a backend numbers them."""
    if result.file_data is None or current.content is None:
        return False
    if result.file_data["encoding"] == "base64":
        return file_bytes(result.file_data) == current.content
    shown, held = result.file_data["content"].splitlines(), current.content.decode("utf-8", "replace").splitlines()
    return len(shown) == len(held) and all(map(str.endswith, shown, held))


def file_id(place: Place) -> str:
    """What identifies a file in the notes of a thread: its path as the agent knows it, all that is certain here."""
    return f"foreign|{place.shown}"


def _real_names(root: Path, path: str) -> tuple[str, ...]:
    """The path itself, and where it leads on disk, for a foreign backend on a real folder."""
    try:
        real_root = root.resolve()
        real = (real_root / path.lstrip("/")).resolve()
        name = "/" + real.relative_to(real_root).as_posix()
    except (OSError, ValueError, RuntimeError):
        return (path,)
    return (path,) if name in (path, "/.") else (path, name)
