"""Conversations in words, as a consolidator reads them: who said what, on which day, in its own time zone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Final

from memoranda.store.turns import RecordedTurn

if TYPE_CHECKING:
    from memoranda.consolidation.events import Event

# The names of a locale would be those of whoever runs the program.
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_INDENT: Final = "    "

_LATE: Final = (
    "This comes late: what was said after it may be in the memory already. Where the memory says otherwise, it holds, "
    "unless it is dated earlier than this."
)


@dataclass(frozen=True, slots=True)
class Rendered:
    """What was said, in words.

    Args:
        text: The words.
        turns: The turns in the order in which they are shown.
        labels: How each turn is called, such as `t12`.
    """

    text: str
    turns: tuple[RecordedTurn, ...] = ()
    labels: Mapping[str, RecordedTurn] = field(default_factory=dict[str, RecordedTurn])


def day_and_time(at: datetime, zone: tzinfo) -> str:
    """A moment as it is written beside a turn: the date, the day of the week and the time, in a zone.

    Example:
        >>> from datetime import UTC, timedelta, timezone
        >>> day_and_time(datetime(2026, 3, 4, 16, 30, tzinfo=UTC), timezone(timedelta(hours=8)))
        '2026-03-05 Thursday 00:30'
    """
    local = at.astimezone(zone)
    return f"{local:%Y-%m-%d} {_DAYS[local.weekday()]} {local:%H:%M}"


def rendered(
    turns: Iterable[RecordedTurn], events: Sequence[Event], now: datetime, zone: tzinfo, *, is_late: bool = False
) -> Rendered:
    """Put what was said into words.

    Turns stand by conversation, in the order in which they were said. Each line of a longer text is set in, so that no
    text can pass for another turn.

    Args:
        turns: The turns.
        events: What agents noted.
        now: The present.
        zone: The time zone in which dates and times are written.
        is_late: Whether what was said later may have been worked through already.
    """
    shown = _by_thread(turns)
    labels: dict[str, RecordedTurn] = {}
    lines = [
        f"Now it is {day_and_time(now, zone)} ({_name(zone, now)}). All dates and times here are in this time zone.",
        'Words such as "yesterday" or "next week" count from the date of the turn that they stand in, not from today.',
    ]
    if is_late:
        lines.append(_LATE)
    thread: str | None = None
    for number, turn in enumerate(shown, 1):
        if turn.thread_id != thread:
            thread = turn.thread_id
            lines += ["", f"Conversation {_in_one_line(thread)}"]
        labels[f"t{number}"] = turn
        lines.append(_set_in(f"[t{number}] {day_and_time(turn.at, zone)}, {_speaker(turn)}: {turn.text}"))
    for event in events:
        when = f" {day_and_time(event.at, zone)}" if event.at is not None else ""
        by = f", {_in_one_line(event.actor)}" if event.actor else ""
        lines += ["", f"Noted in {_in_one_line(event.path)}{when}{by}:", _INDENT + _set_in(event.text.rstrip("\n"))]
    return Rendered("\n".join(lines) + "\n", tuple(shown), labels)


def _by_thread(turns: Iterable[RecordedTurn]) -> list[RecordedTurn]:
    """The turns by conversation, the one that began first before the others; each as it went."""
    threads: dict[str, list[RecordedTurn]] = {}
    for turn in turns:
        threads.setdefault(turn.thread_id, []).append(turn)
    for said in threads.values():
        said.sort(key=lambda turn: (turn.place, turn.position))
    return [turn for said in sorted(threads.values(), key=lambda said: said[0].at) for turn in said]


def _speaker(turn: RecordedTurn) -> str:
    if turn.role == "tool":
        return f"tool {_in_one_line(turn.tools[0])}" if turn.tools else "tool"
    name = f" {_in_one_line(turn.speaker)}" if turn.speaker else ""
    called = f" (called {', '.join(map(_in_one_line, turn.tools))})" if turn.tools else ""
    return f"{turn.role}{name}{called}"


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _set_in(text: str) -> str:
    return f"\n{_INDENT}".join(text.splitlines())


def _name(zone: tzinfo, now: datetime) -> str:
    return getattr(zone, "key", None) or str(now.astimezone(zone).tzname())
