"""Conversations to be consolidated: the same sentences in every run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from benchmarks.support.texts import text_of
from memoranda import ChangeSet, CursorMove, MemoryStore, Turn

Namespace = tuple[str, ...]

_BYTES = 160
_THREAD = 10
_THREADS = 4
_CURSORS = 500


def scope_of(number: int) -> Namespace:
    """Whose conversations: one user of an organisation."""
    return ("acme", f"user-{number:06}")


def turns_of(number: int, count: int, start: int = 0) -> list[Turn]:
    """Turns of about 160 bytes, user and assistant in turn.

    Args:
        number: Of the scope; the same number always gives the same turns.
        count: How many.
        start: The first one's number.
    """
    return [
        Turn(
            f"m{number}-{turn}",
            "assistant" if turn % 2 else "user",
            " ".join(text_of(number * 1_009 + turn, _BYTES).split()),
        )
        for turn in range(start, start + count)
    ]


def talk(store: MemoryStore, number: int, count: int, start: int = 0) -> None:
    """Record turns of a scope, ten to a conversation."""
    turns = turns_of(number, count, start)
    for first in range(0, count, _THREAD):
        name = f"t{(start + first) // _THREAD}"
        store.record_turns(scope_of(number), name, turns[first : first + _THREAD], user=f"user-{number}", org="acme")


def fill(store: MemoryStore, scopes: int, turns: int, progress: Callable[[int], None]) -> None:
    """Record the conversations of many scopes.

    Args:
        store: Where.
        scopes: How many.
        turns: Turns of each.
        progress: Told of every hundred scopes.
    """

    def some(first: int) -> int:
        numbers = range(first, min(first + 100, scopes))
        for number in numbers:
            talk(store, number, turns)
        return len(numbers)

    with ThreadPoolExecutor(_THREADS) as pool:
        for done in pool.map(some, range(0, scopes, 100)):
            progress(done)


def read_on(store: MemoryStore, consumer: str, scopes: Iterable[tuple[int, int, int]]) -> None:
    """Move cursors as if what lies behind them had been consolidated.

    Args:
        store: Where.
        consumer: Whose cursors.
        scopes: The scope's number, where its cursor stands, and where it is to stand.
    """
    moves = [CursorMove(consumer, scope_of(number), at, to) for number, at, to in scopes]
    for first in range(0, len(moves), _CURSORS):
        store.commit(ChangeSet(advance=moves[first : first + _CURSORS]))
