"""Times as they are typed, where a span of time is meant."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, TypeAlias

import typer

from memoranda.cli.failures import UsageError

Since: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Only from this time on: 2026-03-01, 2026-03-01T12:30Z, or 3h, 14d, 6w ago; UTC if no zone is given.",
        show_default=False,
    ),
]
Until: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="TIME",
        help="Only before this time, written as for --since; a day without a time is included.",
        show_default=False,
    ),
]

_AGO = re.compile(r"(\d{1,6})\s*([hdw])", re.ASCII)
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_DAY = re.compile(r"\d{4}-?\d\d-?\d\d", re.ASCII)


def span(since: str | None, until: str | None) -> tuple[datetime | None, datetime | None]:
    """The time from which on, and the one before which.

    Raises:
        UsageError: One of them is no time, or nothing lies between them.

    Example:
        >>> [f"{at:%d %H:%M}" for at in span("2026-03-01", "2026-03-01") if at]
        ['01 00:00', '02 00:00']
    """
    first, last = _time("--since", since), _time("--until", until)
    if until is not None and last is not None and _DAY.fullmatch(until):
        last += timedelta(days=1)
    if first is not None and last is not None and first >= last:
        raise UsageError(f"Nothing lies between --since {since} and --until {until}.", "Give them the other way round.")
    return first, last


def _time(option: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        if ago := _AGO.fullmatch(text.strip()):
            return datetime.now(UTC) - int(ago[1]) * _UNITS[ago[2]]
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{text!r} is no time for {option}.",
            "Write it as 2026-03-01 or 2026-03-01T12:30Z, or as 3h, 14d or 6w for so long ago.",
        ) from None
