"""What a line of memory came from: the turns behind it, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from memoranda.backends.steps import Steps, aperform, ask, perform
from memoranda.consolidation.tracing import line_digest
from memoranda.errors import InvalidValueError, RunNotFoundError
from memoranda.store.changes import Namespace
from memoranda.store.keys import file_key
from memoranda.store.runs import Run
from memoranda.store.store import MemoryStore
from memoranda.store.turns import RecordedTurn
from memoranda.store.types import BlameLine

_RUN: Final = "r-"


def tracing_back(
    store: MemoryStore, namespace: Namespace, path: str, line: int | None = None
) -> Steps[tuple[RecordedTurn, ...]]:
    """The turns that a file, or one line of it, came from.

    It is known of lines that consolidators wrote, whatever was merged into the file or changed around them since.

    Args:
        store: The store.
        namespace: Where the file is.
        path: The file.
        line: The line, from 1; None: all of it.

    Returns:
        The turns in the order in which they were said; none for what others wrote, or whose turns were forgotten.

    Raises:
        ItemNotFoundError: There is no such file.
        InvalidValueError: It has no such line.
    """
    key = file_key(path)
    lines = yield from ask(store.blame, namespace, key)
    if line is not None:
        if not 1 <= line <= len(lines):
            raise InvalidValueError(f"{key} has no line {line}.", f"It has {len(lines)}; the first is 1.")
        lines = [lines[line - 1]]
    runs: dict[str, Run | None] = {}
    found: dict[tuple[Namespace, int], RecordedTurn] = {}
    for one in lines:
        run_id = one.revision.author.run_id or ""
        if not run_id.startswith(_RUN):
            continue
        if run_id not in runs:
            runs[run_id] = yield from _run(store, run_id)
        run = runs[run_id]
        if run is not None:
            wanted = _sources(run, one)
            for turn in (yield from _turns(store, run, wanted)):
                found[turn.namespace, turn.position] = turn
    return tuple(sorted(found.values(), key=lambda turn: (turn.at, turn.position)))


def _run(store: MemoryStore, run_id: str) -> Steps[Run | None]:
    try:
        return (yield from ask(store.runs.get, run_id))
    except RunNotFoundError:  # the run of an agent, or one that was forgotten with its scope
        return None


def _sources(run: Run, line: BlameLine) -> Sequence[int]:
    """The positions of the turns that a line of a run came from."""
    for change in run.changes:
        lies_at = change.to or change.key
        if change.namespace == line.revision.namespace and line.revision.key in (lies_at, change.key):
            return change.lines.get(line_digest(line.text.rstrip("\r\n")), change.sources)
    return ()


def _turns(store: MemoryStore, run: Run, positions: Sequence[int]) -> Steps[list[RecordedTurn]]:
    if not positions or run.to <= run.after:
        return []
    found = yield from ask(store.turns, run.scope, None, after=run.after, limit=run.to - run.after)
    return [turn for turn in found if turn.position <= run.to and turn.position in positions]


def sources_of(
    store: MemoryStore, namespace: Namespace, path: str, line: int | None = None
) -> tuple[RecordedTurn, ...]:
    """The turns that a file, or one line of it, came from.

    It is known of lines that consolidators wrote, whatever was merged into the file or changed around them since.

    Args:
        store: The store.
        namespace: Where the file is.
        path: The file.
        line: The line, from 1; None: all of it.

    Returns:
        The turns in the order in which they were said; none for what others wrote, or whose turns were forgotten.

    Raises:
        ItemNotFoundError: There is no such file.
        InvalidValueError: It has no such line.
    """
    return perform(tracing_back(store, namespace, path, line))


async def asources_of(
    store: MemoryStore, namespace: Namespace, path: str, line: int | None = None
) -> tuple[RecordedTurn, ...]:
    """`sources_of` from an event loop."""
    return await aperform(tracing_back(store, namespace, path, line))
