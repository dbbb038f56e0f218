"""Dates in a query, in the other ways that people write them."""

from __future__ import annotations

import re
from datetime import date

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_SHORT = {name[:3]: name for name in (*_MONTHS, *_DAYS)} | {"sept": "september", "tues": "tuesday", "thurs": "thursday"}
_SHORT_OF = {name: name[:3] for name in (*_MONTHS, *_DAYS) if name != "may"}

_YEAR_FIRST = re.compile(r"(?<!\d)(\d{4})\s?[-/.年년]\s?(\d{1,2})\s?[-/.月월]\s?(\d{1,2})(?!\d)")
_DAY_FIRST = re.compile(r"(?<!\d)(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?!\d)")
_DAY_MONTH = re.compile(
    r"(?<![\w])(\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?([a-z]{3,9})\.?,?\s+(\d{4})(?!\d)", re.IGNORECASE
)
_MONTH_DAY = re.compile(r"(?<![\w])([a-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})(?!\d)", re.IGNORECASE)


def dates_in(text: str) -> list[date]:
    """The full dates that a short text names, in order of how they are written.

    Example:
        >>> dates_in("from 8 May 2023 to 2023-05-10")
        [datetime.date(2023, 5, 10), datetime.date(2023, 5, 8)]
    """
    found = [(year, month, day) for year, month, day in _YEAR_FIRST.findall(text)]
    found += [(year, month, day) for day, month, year in _DAY_FIRST.findall(text)]
    found += [(year, _month(name), day) for day, name, year in _DAY_MONTH.findall(text)]
    found += [(year, _month(name), day) for name, day, year in _MONTH_DAY.findall(text)]
    dates: dict[date, None] = {}
    for year, month, day in found:
        try:
            dates[date(int(year), int(month), int(day))] = None
        except ValueError:  # no such day
            continue
    return list(dates)


def spelt(day: date) -> str:
    """A date as people say it.

    Example:
        >>> spelt(date(2023, 5, 8))
        '8 May 2023'
    """
    return f"{day.day} {_MONTHS[day.month - 1].capitalize()} {day.year}"


def other_name(word: str) -> str | None:
    """The short name of a month or day of the week for its long one, and the other way round.

    Example:
        >>> other_name("jan"), other_name("monday"), other_name("tea")
        ('january', 'mon', None)
    """
    return _SHORT_OF.get(word) or (_SHORT[word] if word in _SHORT and _SHORT[word] != word else None)


def _month(name: str) -> int:
    full = _SHORT.get(name.lower(), name.lower())
    return _MONTHS.index(full) + 1 if full in _MONTHS else 0
