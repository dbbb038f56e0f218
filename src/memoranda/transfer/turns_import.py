"""Recording the turns of a bundle, each once, in the order of their conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memoranda.store.changes import Namespace
from memoranda.store.store import MemoryStore
from memoranda.store.turns import RecordedTurn, Turn

BATCH_TURNS = 200
BATCH_BYTES = 1_000_000


class TurnsImport:
    """Takes turns one after the other, those of a conversation together and in order.

    Args:
        store: The store to write to.
        target: Gives the namespace that the turns of a namespace shall live in.
    """

    def __init__(self, store: MemoryStore, target: Callable[[Namespace], Namespace]) -> None:
        self._store = store
        self._target = target
        self._thread: tuple[Namespace, str] | None = None
        self._known: frozenset[str] = frozenset()
        self._who: dict[str, Any] = {}
        self._turns: list[Turn] = []
        self._size = 0
        self._last: str | None = None
        self.new = 0
        self.namespaces: set[Namespace] = set()

    def look(self, turn: RecordedTurn) -> None:
        """Count a turn if it is new, and record nothing."""
        self._follow(turn)
        self._count(turn.message_id not in self._known)

    def record(self, turn: RecordedTurn) -> None:
        """Record a turn, or keep it to be recorded together with those that follow."""
        who = {"user": turn.user, "org": turn.org, "agent": turn.agent, "run_id": turn.run_id}
        if who != self._who or len(self._turns) == BATCH_TURNS or self._size > BATCH_BYTES:
            self._flush()
        self._follow(turn)
        self._who = who
        self._turns.append(
            Turn(
                turn.message_id,
                turn.role,
                turn.text,
                turn.speaker,
                turn.at,
                turn.tools,
                turn.other_blocks,
                turn.size,
            )
        )
        self._size += len(turn.text)

    def end(self) -> None:
        """Record what was kept."""
        self._flush()
        self._thread = None

    def _follow(self, turn: RecordedTurn) -> None:
        """Note which conversation this is about."""
        thread = (self._target(turn.namespace), turn.thread_id)
        if thread == self._thread:
            return
        self._flush()
        self._thread, self._last = thread, None
        self._known = self._store.known_messages(*thread).recorded

    def _flush(self) -> None:
        if self._thread is None or not self._turns:
            return
        # The one before says where they belong, whatever the times are.
        order = [] if self._last is None else [self._last]
        order += [turn.message_id for turn in self._turns]
        recorded = self._store.record_turns(*self._thread, self._turns, order=order, **self._who)
        self._last = self._turns[-1].message_id
        self._turns, self._size = [], 0
        self._count(recorded.new)

    def _count(self, new: int) -> None:
        if new and self._thread is not None:
            self.new += new
            self.namespaces.add(self._thread[0])
