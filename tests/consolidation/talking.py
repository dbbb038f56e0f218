"""What the tests of consolidation talk about: recorded turns, and files in the same store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from memoranda import MemoryStore
from memoranda.backends import StoreBackend
from memoranda.consolidation import Consolidator, Task
from memoranda.store.changes import Namespace
from memoranda.store.turns import Turn

ANN = ("ann",)
NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)


def say(
    store: MemoryStore,
    *texts: str,
    scope: Namespace = ANN,
    thread: str = "monday",
    user: str | None = "ann",
    first: int = 1,
    at: datetime = NOON,
    **who: Any,
) -> list[str]:
    """Record what somebody said, and return the ids of the messages."""
    turns = [Turn(f"{thread}-{number}", "user", text, at=at) for number, text in enumerate(texts, first)]
    store.record_turns(scope, thread, turns, user=user, **who)
    return [turn.message_id for turn in turns]


def files_of(store: MemoryStore, scope: Namespace = ANN) -> StoreBackend:
    """The files of a scope."""
    return StoreBackend(namespace=scope, store=store)


def noting(path: str = "/facts.md") -> Callable[[Task], str]:
    """A consolidator that notes every turn as a line, with the turn that it came from."""

    def work(task: Task) -> str:
        for turn in task.turns:
            with task.because(turn.message_id):
                result = task.files.append(path, f"- {turn.text}\n")
                assert result.error is None, result.error
        return f"Noted {len(task.turns)} turns."

    return work


def consolidator(store: MemoryStore, work: Any = None, **settings: Any) -> Consolidator:
    """A consolidator of the files of the scope `ANN`."""
    settings.setdefault("target", files_of(store))
    return Consolidator(noting() if work is None else work, store=store, **settings)


def text(store: MemoryStore, path: str = "/facts.md", scope: Namespace = ANN) -> str | None:
    """What a file holds."""
    item = store.get(scope, path)
    return None if item is None else item.value["content"]
