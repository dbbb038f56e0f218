"""When a cron line is due, in a time zone. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from cronsim import CronSim, CronSimError

from memoranda.errors import InvalidScheduleError

_LONGEST_LINE = 200
_FIELDS = ("minute", "hour", "day-of-month", "month", "day-of-week")
_RANGES: Final = {
    "second": "0 to 59",
    "minute": "0 to 59",
    "hour": "0 to 23",
    "day-of-month": "1 to 31, L for the last day, or LW for the last weekday",
    "month": "1 to 12 or JAN to DEC",
    "day-of-week": "0 to 7 or SUN to SAT, 5L for the last Friday, or MON#1 for the first Monday",
}
_SIZES: Final = {"second": 60, "minute": 60, "hour": 24, "day-of-month": 31, "month": 12, "day-of-week": 7}
_NICKNAMES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
# How far to look back for the latest of many due times that were missed, from short to long.
_BACK = (timedelta(minutes=1), timedelta(hours=1), timedelta(days=1), timedelta(days=31), timedelta(days=366))


def checked_line(line: str) -> str:
    """Return a cron line as it is kept, with single spaces, if it is due at some time.

    Raises:
        InvalidScheduleError: It is none; the error says which field is wrong, and what it may be.

    Example:
        >>> checked_line(" 0  */6 * * * ")
        '0 */6 * * *'
    """
    if not isinstance(line, str) or len(line) > _LONGEST_LINE:  # pyright: ignore[reportUnnecessaryIsInstance] - callers are untyped too
        raise InvalidScheduleError(f"{str(line)[:80]!r} is no cron line.", 'Write for example "0 */6 * * *".')
    parts = line.split()
    tidy = " ".join(parts)
    if tidy.lower() in _NICKNAMES:
        raise InvalidScheduleError(
            f"The cron line {line!r} is a nickname, which is not read.", f"Write {_NICKNAMES[tidy.lower()]!r}."
        )
    if len(parts) not in (5, 6):
        raise InvalidScheduleError(
            f"The cron line {line!r} has {len(parts)} fields.",
            f'Write five, {", ".join(_FIELDS)}, for example "0 */6 * * *"; a sixth in front stands for seconds.',
        )
    try:
        next(CronSim(tidy, datetime(2024, 1, 1, tzinfo=UTC)))
    except CronSimError as error:
        if str(error) == "Bad day-of-month" and _is_day_of_no_month(parts):
            raise InvalidScheduleError(
                f"The cron line {line!r} is never due: none of its months has such a day.",
                "Choose a day that one of the months has; L is the last one of each.",
            ) from None
        raise _wrong_field(line, parts, str(error)) from None
    except StopIteration:
        raise InvalidScheduleError(
            f"The cron line {line!r} is never due within 50 years.", "Choose a day that the months have."
        ) from None
    except (ValueError, AssertionError, OverflowError):  # what its parser does not expect
        raise InvalidScheduleError(
            f"The cron line {line!r} is malformed.", 'Write for example "0 */6 * * *".'
        ) from None
    _check_steps(line, parts)
    return tidy


def _check_steps(line: str, parts: list[str]) -> None:
    """Refuse a step beyond its field, which would be due once in each round of the field instead."""
    for name, part in zip(_names(parts), parts, strict=True):
        for piece in part.split(","):
            step = piece.rpartition("/")[2] if "/" in piece else "1"
            if int(step) > _SIZES[name]:
                raise InvalidScheduleError(
                    f"The {name} of the cron line {line!r} has the step {step}, and only {_SIZES[name]} values.",
                    f"Use a step up to {_SIZES[name]}: a field begins anew whenever the next larger one goes on.",
                )


def _names(parts: list[str]) -> tuple[str, ...]:
    return _FIELDS if len(parts) == len(_FIELDS) else ("second", *_FIELDS)


def _is_day_of_no_month(parts: list[str]) -> bool:
    """Whether a line is well without its months."""
    try:
        CronSim(" ".join([*parts[:-2], "*", parts[-1]]), datetime(2024, 1, 1, tzinfo=UTC))
    except (CronSimError, ValueError, AssertionError, OverflowError):
        return False
    return True


def _wrong_field(line: str, parts: list[str], message: str) -> InvalidScheduleError:
    name = message.removeprefix("Bad ")
    fields = _names(parts)
    if name not in fields:
        return InvalidScheduleError(f"The cron line {line!r} is wrong: {message}.", 'Write for example "0 */6 * * *".')
    return InvalidScheduleError(
        f"The {name} of the cron line {line!r} is wrong: {parts[fields.index(name)]!r}.",
        f"Use {_RANGES[name]}; * for all, lists as 1,2, ranges as 1-3 from low to high, and steps as */2.",
    )


def checked_zone(zone: str) -> str:
    """Return the name of a time zone as it is, if it is known.

    Raises:
        InvalidScheduleError: It is not; the error names those that are spelled much like it.

    Example:
        >>> checked_zone("Europe/Berlin")
        'Europe/Berlin'
    """
    known = _zones()
    if isinstance(zone, str) and zone in known:  # pyright: ignore[reportUnnecessaryIsInstance]
        return zone
    asked = str(zone)[:80]
    by_case = {name.lower(): name for name in known}
    by_place = {name.rpartition("/")[2].lower(): name for name in known if "/" in name}
    wanted = asked.strip().lower().replace(" ", "_")
    near = [by_case[name] for name in difflib.get_close_matches(wanted, by_case, 3, 0.7)]
    near += [by_place[name] for name in difflib.get_close_matches(wanted, by_place, 2, 0.7)]
    names = " or ".join(repr(name) for name in dict.fromkeys(near[:4]))
    raise InvalidScheduleError(
        f"There is no time zone {asked!r}.", f"Did you mean {names}?" if names else 'Write "UTC" or "Europe/Berlin".'
    )


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    return frozenset(available_timezones() | {"UTC"})


def next_due(line: str, zone: str, after: datetime) -> datetime:
    """The first time behind a moment at which a cron line is due.

    A time that the clock skips when it is put forward is due when it has been; one that comes twice when it is put
    back is due the first time, unless the line says "every" (`*`) of its minutes or hours.

    Args:
        line: A cron line, checked.
        zone: The time zone in which it is read.
        after: The moment, aware.

    Returns:
        When it is due, in UTC.

    Example:
        >>> next_due("30 2 * * *", "Europe/Berlin", datetime(2026, 3, 28, 12, tzinfo=UTC)).isoformat()
        '2026-03-29T01:00:00+00:00'
    """
    return next(_due(line, zone, after))


def latest_due(line: str, zone: str, first: datetime, now: datetime) -> datetime:
    """The last time up to now at which a cron line was due.

    Args:
        line: A cron line, checked.
        zone: The time zone in which it is read.
        first: A time at which it was due, not later than now.
        now: The moment, aware.
    """
    for span in _BACK:
        latest = None
        if now - span <= first:
            break
        for due in _due(line, zone, now - span):
            if due > now:
                break
            latest = due
        if latest is not None:
            return max(latest, first)
    latest = first
    for due in _due(line, zone, first):
        if due > now:
            break
        latest = due
    return latest


def _due(line: str, zone: str, after: datetime) -> Iterator[datetime]:
    """The times behind a moment at which a line is due, in UTC, in order."""
    last = after.astimezone(UTC)
    try:
        here = ZoneInfo(zone)
    except ZoneInfoNotFoundError:
        raise InvalidScheduleError(
            f"The time zone {zone!r} is not known on this machine.", "Install the package tzdata there."
        ) from None
    # The seconds behind the point belong to what has passed.
    for local in CronSim(line, last.astimezone(here)):
        # On the day on which a clock is put back, what its wall says has been already.
        due = local.astimezone(UTC)
        if due > last:
            last = due
            yield due
