"""`EventLog`: agents note what happens at the end of files, and a consolidator folds that into stable files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from memoranda.backends.base import Backend
from memoranda.backends.places import place_of
from memoranda.backends.protocol import FileInfo
from memoranda.backends.steps import Steps, ask
from memoranda.consolidation.errors import InvalidConsolidatorError, WorkFailedError
from memoranda.consolidation.sources import Conversations, Limits, Span
from memoranda.consolidation.tracing import from_turns
from memoranda.errors import MemorandaError
from memoranda.store.changes import Namespace
from memoranda.store.store import MemoryStore
from memoranda.store.types import Revision

if TYPE_CHECKING:
    from memoranda.consolidation.tracing import TracedStage

_MARK: Final = re.compile(r"^<!-- folded (r-[a-z0-9]+) -->[ \t]*$", re.MULTILINE)
_FEW: Final = 100


def mark(run_id: str) -> str:
    """The line that stands behind what a run has folded."""
    return f"<!-- folded {run_id} -->"


@dataclass(frozen=True, slots=True)
class Event:
    """What one agent noted, in one go, since the log was last folded.

    Args:
        path: The file of the log.
        text: What it noted.
        at: When, in UTC; None where its file does not tell, such as one that was edited.
        actor: Who, likewise.
    """

    path: str
    text: str
    at: datetime | None = None
    actor: str | None = None


@dataclass(frozen=True, slots=True)
class EventLog:
    """A folder in which agents note what happens, each at the end of a file, such as `/memories/events/2026-03-05.md`.

    A consolidator that reads it is given what was noted since the last run. What it makes of that lands together with
    a mark behind what it has read, `<!-- folded r-… -->`; agents may go on noting meanwhile, and nothing of it is lost.

    Give agents that append: a file that is written anew as a whole loses its marks. Where a run's changes wait for a
    reviewer, its marks do too, and no more events are read until that is decided; those of a run that is rejected are
    read again.

    Args:
        folder: The folder, as the target knows it.
        turns: Whether the turns behind the cursor are read as well. If so, events wait for the next turn; if not,
            what is noted is folded whether anything was recorded or not.
        keep_days: Files of which everything was folded so many days ago go; None: none goes.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.backends import StoreBackend
        >>> from memoranda.consolidation import Consolidator
        >>> def fold(task):
        ...     for event in task.events:
        ...         task.files.append("/facts.md", f"- {event.text.strip()}")
        >>> with open_store("memory://") as store:
        ...     files = StoreBackend(namespace=("ann",), store=store)
        ...     _ = files.append("/events/march.md", "Prefers trains.")
        ...     folding = Consolidator(fold, store=store, target=files, sources=EventLog("/events/"))
        ...     folding.run(("ann",)).status, folding.run(("ann",)).status, files.read("/facts.md").file_data["content"]
        ('applied', 'nothing', '- Prefers trains.')
    """

    folder: str = "/memories/events/"
    turns: bool = False
    keep_days: float | None = None

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "folder", place_of(self.folder).path)
        except MemorandaError as error:
            raise InvalidConsolidatorError(
                f"The folder of an event log is no path: {self.folder!r}.", "Name one, such as /memories/events/."
            ) from error

    @property
    def consumer(self) -> str:
        """Its cursor counts runs and not turns where it reads none, so it has one of its own."""
        return "consolidation" if self.turns else "events"

    @property
    def reads_turns(self) -> bool:
        """Whether turns are read as well."""
        return self.turns

    @property
    def reads_events(self) -> bool:
        """Yes."""
        return True

    def span(
        self, store: MemoryStore, consumer: str, scope: Namespace, after: int, limits: Limits
    ) -> Steps[Span | None]:
        """The range that the next run covers; without turns, as far as has been said anything, or one step."""
        if self.turns:
            return (yield from Conversations().span(store, consumer, scope, after, limits))
        unread = yield from ask(store.runs.unread, consumer, scope, None, 1)
        last = unread[0].turns if unread and unread[0].namespace == scope else 0
        return Span(after, max(last, after + 1), more=True, is_idle=last <= after)

    def events(self, files: Backend, limits: Limits) -> Steps[tuple[Event, ...]]:
        """What was noted since the last run, in the order of the files."""
        found: list[Event] = []
        left = limits.bytes
        for entry in (yield from self._files(files)):
            content = yield from _text(files, entry["path"])
            text = content[(yield from _folded_to(files, entry["path"], content)) :]
            if not text.strip():
                continue
            part = _first_lines(text, left)
            if not part:
                break
            left -= len(part.encode("utf-8", "surrogatepass"))
            found += yield from _events(files, entry["path"], text, len(part))
            if len(part) < len(text):
                break
        return tuple(found)

    def is_due(self, span: Span, events: Sequence[Event]) -> bool:
        """Whether anything was noted, or said."""
        return bool(events or span.turns)

    def fold(self, files: TracedStage, events: Sequence[Event], run_id: str) -> Steps[None]:
        """Put marks behind what was read, and let go of files that were folded long ago."""
        read: dict[str, str] = {}
        for event in events:
            read[event.path] = read.get(event.path, "") + event.text
        with from_turns(()):
            for path, text in read.items():
                yield from _mark(files, path, text, run_id)
            yield from self._tidy(files, read)

    def _tidy(self, files: TracedStage, read: dict[str, str]) -> Steps[None]:
        if self.keep_days is None:
            return
        before = datetime.now(UTC) - timedelta(days=self.keep_days)
        for entry in (yield from self._files(files)):
            changed = entry.get("modified_at")
            if entry["path"] in read or changed is None or datetime.fromisoformat(changed) >= before:
                continue
            text = yield from _text(files, entry["path"])
            folded = yield from _folded_to(files, entry["path"], text)
            if folded and not text[folded:].strip():
                yield from ask(files.delete, entry["path"], base=entry.get("revision"))

    def _files(self, files: Backend) -> Steps[list[FileInfo]]:
        found = yield from ask(files.glob, "**/*", self.folder)
        if found.error is not None:
            raise WorkFailedError(f"The event log could not be listed: {found.error}", "Look at the target's routes.")
        return sorted((one for one in found.matches or () if not one.get("is_dir")), key=lambda one: one["path"])


def _text(files: Backend, path: str) -> Steps[str]:
    """A file as it is, with the ends of its lines; empty for what is no text."""
    (found,) = yield from ask(files.download_files, [path])
    if found.content is None:
        raise WorkFailedError(f"{path} could not be read: {found.error}", "Look at the target's rules.")
    try:
        return found.content.decode()
    except UnicodeDecodeError:
        return ""


def _folded_to(files: Backend, path: str, text: str) -> Steps[int]:
    """Up to which character a file was folded: to behind the mark that the last run put there."""
    at = yield from _last_mark(files, path, text)
    return 0 if at is None else at.end() + text.startswith("\n", at.end())


def _last_mark(files: Backend, path: str, text: str) -> Steps[re.Match[str] | None]:
    """The mark of the last run that changed a file.

    A mark that an agent has written hides nothing: of marks counts whose run did write to this file, and of one that
    stands there twice the first.
    """
    marks: dict[str, re.Match[str]] = {}
    for found in _MARK.finditer(text):
        marks.setdefault(found[1], found)
    if not marks:
        return None
    history: list[Revision] = []
    for most in (_FEW, None):  # the last run has mostly written lately
        history = (yield from ask(files.history, path, limit=most)).revisions or []
        for revision in history:
            if revision.operation != "append" and revision.author.run_id in marks:
                return marks[revision.author.run_id]
        if len(history) < _FEW:
            break
    # What came from elsewhere has left its history there, and what is staged has none yet.
    is_told = bool(history) and history[-1].revision == 1 and history[-1].operation in ("append", "write")
    return None if is_told and history[0].operation != "staged" else [*marks.values()][-1]


def _first_lines(text: str, most: int) -> str:
    """The first lines of a text that have no more than so many bytes together; one at least, if there is any room."""
    if most <= 0:
        return ""
    taken: list[str] = []
    size = 0
    for line in text.splitlines(keepends=True):
        size += len(line.encode("utf-8", "surrogatepass"))
        if taken and size > most:
            break
        taken.append(line)
    return "".join(taken)


def _events(files: Backend, path: str, text: str, size: int) -> Steps[list[Event]]:
    """What was appended at once, each with its author and time; the first so many characters of it all."""
    history = yield from ask(files.history, path)
    starts = _starts(text.encode("utf-8", "surrogatepass"), history.revisions or [])
    if starts is None:
        return [Event(path, text[:size])]
    found: list[Event] = []
    for (at, revision), end in zip(starts, [at for at, _ in starts[1:]] + [len(text)], strict=True):
        if at < size:
            found.append(Event(path, text[at : min(end, size)], revision.at, revision.author.actor))
    return found


def _starts(text: bytes, history: Sequence[Revision]) -> list[tuple[int, Revision]] | None:
    """Where in a text each of the appends begins that it consists of; None where that cannot be told.

    Args:
        text: The end of a file.
        history: The file's revisions, the last first.
    """
    found: list[tuple[int, Revision]] = []
    end = len(text)
    for newer, older in zip_longest(history, history[1:]):
        if end == 0:
            break
        if newer.operation != "append":  # such as a mark, which lies before all this
            continue
        added = newer.size - (older.size if older is not None else 0)
        at = max(end - added, 0)
        if added <= 0 or (at and text[at : at + 1] != b"\n" and text[at - 1 : at] != b"\n"):
            return None
        end = at
        line = at + 1 if at and text[at : at + 1] == b"\n" else at
        found.append((len(text[:line].decode("utf-8", "surrogatepass")), newer))
    return None if end or not found else found[::-1]


def _mark(files: TracedStage, path: str, text: str, run_id: str) -> Steps[None]:
    """Put a mark behind a text as it was read, wherever what was appended since begins."""
    (now,) = yield from ask(files.download_files, [path])
    if now.content is None:  # the consolidator has cleared it away itself
        return
    content = now.content.decode("utf-8", "replace")
    last = yield from _last_mark(files, path, content)
    folded = yield from _folded_to(files, path, content)
    # What is appended next begins on a line of its own.
    marked = f"{text}{mark(run_id)}\n" if text.endswith("\n") else f"{text}\n{mark(run_id)}"
    # With the mark before it, which is there once, and all that follows it, the place is found for certain.
    old = content[0 if last is None else last.start() :]
    start = folded - (len(content) - len(old))
    new = old[:start] + old[start:].replace(text, marked, 1)
    if not old.startswith(text, start):
        old = new = text  # which is not there any more
    done = yield from ask(files.edit, path, old, new)
    if done.error is not None:
        raise WorkFailedError(
            f"What was read of {path} could not be marked: {done.error}", "Let consolidators leave the log alone."
        )
