"""What the examples of this folder share with those above it, and conversations with dates."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.append(str(Path(__file__).resolve().parents[1]))

from _shared import Kit, run

from memoranda.store.turns import Turn

if TYPE_CHECKING:
    from memoranda.consolidation.reports import RunReport

__all__ = ["Kit", "record", "run", "show_report"]


def record(kit: Kit, namespace: tuple[str, ...], thread: str, at: str, *said: str, user: str | None = None) -> None:
    """Record a conversation as if it had been held on a certain day; an agent records its own with `episodes=True`.

    Args:
        kit: The kit.
        namespace: Whose conversation it is.
        thread: Its id.
        at: When it began, such as `2026-03-02T09:00+01:00`.
        *said: What was said, by the person and the assistant in turn.
        user: Who talked.
    """
    moment = datetime.fromisoformat(at)
    turns = [
        Turn(f"{thread}-{number}", "assistant" if number % 2 == 0 else "user", text, at=moment)
        for number, text in enumerate(said, 1)
    ]
    kit.store.record_turns(namespace, thread, turns, user=user)


def show_report(kit: Kit, report: RunReport) -> None:
    """Print what came of a run."""
    kit.console.print(
        f"        {report.status}: {report.summary or report.error or ''}", style="green", markup=False, soft_wrap=True
    )
