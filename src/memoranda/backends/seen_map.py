"""Which states of which files the threads of this process have seen, along the branch that each of them is on."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final, NamedTuple

from memoranda.backends.protocol import Base

LIMIT: Final = 100_000
"""How many files of how many threads are remembered."""

_DEPTH: Final = 8
"""How many notes of one file are kept, for a branch that begins before the newest of them."""

_THREADS: Final = 10_000


class Moment(NamedTuple):
    """Where in the checkpoints of its thread a run is.

    Args:
        step: How many steps lead there.
        checkpoint: The checkpoint that the present step began from; later ones have greater ids.
        origin: The checkpoint that the run was told to start from; None: the newest of the thread.
    """

    step: int
    checkpoint: str
    origin: str | None = None


class Viewer(NamedTuple):
    """Who sees: the thread and, inside it, the agent. What one subagent wrote another has not seen."""

    thread: str
    agent: str


class _Note(NamedTuple):
    base: Base
    moment: Moment | None


class SeenMap:
    """Notes of a process. A thread that starts again from an older checkpoint has not seen what it saw after that."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._notes: OrderedDict[tuple[Viewer, str], list[_Note]] = OrderedDict()
        self._last: OrderedDict[str, Moment] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._notes)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._notes.clear()
            self._last.clear()

    def note(self, viewer: Viewer, file: str, base: Base, moment: Moment | None) -> None:
        """Take down that a state was seen."""
        with self._lock:
            self._keep_to_branch(viewer.thread, moment)
            notes = self._notes.setdefault((viewer, file), [])
            notes.append(_Note(base, moment))
            del notes[:-_DEPTH]
            self._notes.move_to_end((viewer, file))
            if len(self._notes) > self._limit:
                self._notes.popitem(last=False)

    def find(self, viewer: Viewer, file: str, moment: Moment | None) -> Base | None:
        """The state that was seen last; None: no one was."""
        with self._lock:
            self._keep_to_branch(viewer.thread, moment)
            notes = self._notes.get((viewer, file))
            return notes[-1].base if notes else None

    def forget(self, viewer: Viewer, file: str) -> None:
        """Take a note back."""
        with self._lock:
            self._notes.pop((viewer, file), None)

    def _keep_to_branch(self, thread: str, now: Moment | None) -> None:
        """Drop what was noted on another branch, if the thread has changed to one."""
        if now is None:
            return
        last = self._last.get(thread)
        self._last[thread] = now
        self._last.move_to_end(thread)
        if len(self._last) > _THREADS:
            self._last.popitem(last=False)
        if last is None:
            return
        went_back = now.step < last.step or (now.step == last.step and now.checkpoint != last.checkpoint)
        if not went_back and now.origin in (None, last.origin):
            return
        for key in [key for key in self._notes if key[0].thread == thread]:
            kept = [note for note in self._notes[key] if note.moment is None or _is_before(note.moment, now)]
            if kept:
                self._notes[key] = kept
            else:
                del self._notes[key]


def _is_before(noted: Moment, now: Moment) -> bool:
    return noted.step < now.step and (now.origin is None or noted.checkpoint < now.origin)
