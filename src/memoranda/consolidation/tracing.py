"""A stage that knows which turns each of its lines came from, and that lets nothing lie outside the store."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from memoranda.backends.places import Place
from memoranda.backends.protocol import Base, FilesCommitResult
from memoranda.backends.stage_changes import Loaded, Stage
from memoranda.backends.staged import StagedBackend
from memoranda.backends.staging import StagedFile, Staging
from memoranda.backends.steps import Steps
from memoranda.files.format import FileData
from memoranda.store.changes import Author

_LANDS_BY_ITSELF: Final = (
    "Error: what a consolidator changes lands by itself when its work is done, together with what it has read. "
    "Return instead."
)

_because: ContextVar[tuple[int, ...] | None] = ContextVar("memoranda_because", default=None)


@contextmanager
def from_turns(positions: tuple[int, ...]) -> Generator[None]:
    """Say which turns the changes inside the block come from, by their positions."""
    token = _because.set(positions)
    try:
        yield
    finally:
        _because.reset(token)


def line_digest(line: str) -> str:
    """What stands for a line in a run's record, which must not hold the text itself."""
    return hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(slots=True)
class Trace:
    """What one file's changes came from.

    Args:
        sources: Positions of turns, for the file as a whole.
        lines: Digests of added lines, with the positions of the turns that each came from.
    """

    sources: dict[int, None] = field(default_factory=dict[int, None])
    lines: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])

    def add(self, old: str, new: str, positions: tuple[int, ...]) -> None:
        """Note a change of the file's text."""
        self.sources.update(dict.fromkeys(positions))
        for line in Counter(new.splitlines()) - Counter(old.splitlines()):
            self.lines[line_digest(line)] = positions


class TracedStage(StagedBackend):
    """A stage over the target of a consolidator.

    Args:
        backend: The target.
        everything: The positions of the turns that changes come from where nothing else is said.
        foreign: Says why a file is not the consolidator's to change; None: it is.

    Attributes:
        outside: Why changes were refused that are not the consolidator's to make.
    """

    def __init__(
        self, backend: Any, everything: Sequence[int] = (), foreign: Callable[[Place], str | None] | None = None
    ) -> None:
        super().__init__(backend)
        self.outside: list[str] = []
        self._everything = tuple(dict.fromkeys(everything))
        self._foreign = foreign
        self._traces: dict[str, Trace] = {}

    def trace(self, path: str) -> Trace:
        """What the changes of a file came from, by its path as it is staged."""
        return self._traces.get(path) or Trace(dict.fromkeys(self._everything))

    def discard(self) -> None:
        """Forget everything that is staged."""
        super().discard()
        self._traces = {}

    def stray(self) -> str | None:
        """Why something of what is staged is not the consolidator's to change; None: all of it is.

        A folder that is deleted or moved takes files along that were not named.
        """
        if self._foreign is not None:
            for file in self.pending().files:
                for place in (file.origin, file.place):
                    if place is not None and (why := self._foreign(place)) is not None:
                        return why
        return None

    def commit_staged(self, *, author: Author | None = None) -> FilesCommitResult:
        """Refused: a run lands when its work is done, with the cursor and its record."""
        return FilesCommitResult(error=_LANDS_BY_ITSELF)

    async def acommit_staged(self, *, author: Author | None = None) -> FilesCommitResult:
        """Refused, likewise."""
        return FilesCommitResult(error=_LANDS_BY_ITSELF)

    def propose_staged(
        self, *, author: Author | None = None, reason: str | None = None, source: str | None = None
    ) -> FilesCommitResult:
        """Refused, likewise."""
        return FilesCommitResult(error=_LANDS_BY_ITSELF)

    async def apropose_staged(
        self, *, author: Author | None = None, reason: str | None = None, source: str | None = None
    ) -> FilesCommitResult:
        """Refused, likewise."""
        return FilesCommitResult(error=_LANDS_BY_ITSELF)

    def _refusal(self, places: Sequence[Place]) -> str | None:
        if self._foreign is not None:
            for place in places:
                if (why := self._foreign(place)) is not None:
                    self.outside.append(why)
                    return f"Error: {why}"
        return super()._refusal(places)

    def _load(self, wanted: Sequence[tuple[Place, Base | None]]) -> Steps[list[Loaded]]:
        """Files as they were when they were read here: what others changed since is met when all of it lands."""
        loaded = yield from super()._load(wanted)
        found: list[Loaded] = []
        for (place, base), now in zip(wanted, loaded, strict=True):
            read = self._stage.wanted(place, base, strict=False)
            if isinstance(read, int) and read and now.error is None and now.base != read:
                before = yield from self.backend.at_steps(place, read)
                if before.file_data is not None:
                    now = Loaded(place, before.file_data, read)
            found.append(now)
        return found

    def _take(self, trial: Stage) -> None:
        before = _Earlier(self._stage.staging)
        super()._take(trial)
        said = _because.get()
        positions = self._everything if said is None else said
        for file in trial.staging.files:
            self._note(file, before, positions)

    def _note(self, file: StagedFile, before: _Earlier, positions: tuple[int, ...]) -> None:
        earlier = before.of(file)
        was, path = (file.before if earlier is None else earlier.after), file.place.path
        if earlier is not None and earlier.place.path != path:
            self._traces[path] = self._traces.pop(earlier.place.path, Trace())
        elif earlier is not None and was is file.after:
            return
        self._traces.setdefault(path, Trace()).add(_text(was), _text(file.after), positions)


class _Earlier:
    """Files as they were staged before a change, found without looking through all of them each time."""

    def __init__(self, before: Staging) -> None:
        self._files = before.files
        self._by_path = {file.place.path: file for file in reversed(before.files) if file.after is not None}
        self._by_origin = {file.origin.path: file for file in reversed(before.files) if file.origin is not None}

    def of(self, file: StagedFile) -> StagedFile | None:
        """The same file as it was."""
        if file.origin is not None:
            return self._by_origin.get(file.origin.path)
        found = self._by_path.get(file.place.path)
        if found is None and file.after is not None:  # a new file that was moved
            found = next((one for one in self._files if one.origin is None and one.after is file.after), None)
        return found


def _text(data: FileData | None) -> str:
    return "" if data is None or data["encoding"] != "utf-8" else data["content"]
