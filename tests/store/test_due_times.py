"""When a cron line is due: in zones whose clocks are changed, after a pause, and never where it is none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.errors import InvalidScheduleError
from memoranda.store.due_times import checked_line, checked_zone, latest_due, next_due

BERLIN = ZoneInfo("Europe/Berlin")


def dues(line: str, zone: str, start: datetime, count: int) -> list[str]:
    found, after = [], start
    for _ in range(count):
        after = next_due(line, zone, after)
        found.append(f"{after.astimezone(ZoneInfo(zone)):%m-%d %H:%M}")
    return found


def test_a_time_that_the_clock_skips_is_due_when_it_has_been() -> None:
    start = datetime(2026, 3, 28, 0, tzinfo=BERLIN)
    assert dues("30 2 * * *", "Europe/Berlin", start, 3) == ["03-28 02:30", "03-29 03:00", "03-30 02:30"]
    assert dues("0,30 2,3 * * *", "Europe/Berlin", datetime(2026, 3, 29, 0, tzinfo=BERLIN), 3) == [
        "03-29 03:00",
        "03-29 03:30",
        "03-30 02:00",
    ], "two that fall together are one"


def test_a_time_that_comes_twice_is_due_once() -> None:
    start = datetime(2026, 10, 24, 12, tzinfo=BERLIN)
    assert dues("30 2 * * *", "Europe/Berlin", start, 2) == ["10-25 02:30", "10-26 02:30"]
    assert next_due("30 2 * * *", "Europe/Berlin", start) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    # Between the first and the second half past two, and behind the second.
    for minute in (5, 45):
        second = datetime(2026, 10, 25, 1, minute, tzinfo=UTC)
        assert dues("30 2 * * *", "Europe/Berlin", second, 1) == ["10-26 02:30"]


def test_every_hour_is_every_hour_that_passes() -> None:
    start = datetime(2026, 10, 25, 0, 1, tzinfo=BERLIN)
    assert dues("0 * * * *", "Europe/Berlin", start, 4) == ["10-25 01:00", "10-25 02:00", "10-25 02:00", "10-25 03:00"]


def test_another_zone_is_another_time() -> None:
    noon = datetime(2026, 5, 4, 12, tzinfo=UTC)
    assert next_due("0 0 * * *", "Asia/Kolkata", noon) == datetime(2026, 5, 4, 18, 30, tzinfo=UTC)
    assert next_due("0 */6 * * *", "UTC", noon) == datetime(2026, 5, 4, 18, tzinfo=UTC)
    assert next_due("0 */6 * * *", "UTC", noon - timedelta(microseconds=1)) == noon


def test_of_many_that_were_missed_the_latest_is_found() -> None:
    first, now = datetime(2020, 1, 1, tzinfo=UTC), datetime(2026, 5, 4, 12, 0, 30, tzinfo=UTC)
    expected = {
        "* * * * *": datetime(2026, 5, 4, 12, 0, tzinfo=UTC),
        "*/7 * * * * *": datetime(2026, 5, 4, 12, 0, 28, tzinfo=UTC),
        "0 3 * * *": datetime(2026, 5, 4, 3, tzinfo=UTC),
        "0 0 1 1 *": datetime(2026, 1, 1, tzinfo=UTC),
        "0 0 29 2 *": datetime(2024, 2, 29, tzinfo=UTC),
    }
    for line, due in expected.items():
        assert latest_due(line, "UTC", first, now) == due, line
    assert latest_due("0 0 29 2 *", "UTC", datetime(2024, 2, 29, tzinfo=UTC), now) == datetime(2024, 2, 29, tzinfo=UTC)


WRONG = [
    ("61 * * * *", "The minute of the cron line '61 * * * *' is wrong: '61'", "0 to 59"),
    ("* 24 * * *", "The hour", "0 to 23"),
    ("* * 0 * *", "The day-of-month", "1 to 31"),
    ("* * * 13 *", "The month", "JAN to DEC"),
    ("* * * * MO", "The day-of-week", "SUN to SAT"),
    ("70 * * * * *", "The second", "0 to 59"),
    ("5-1 * * * *", "The minute", "from low to high"),
    ("*/0 * * * *", "The minute", "steps as"),
    ("*/90 * * * *", "has the step 90, and only 60 values", "up to 60"),
    ("0 2,3-20/25 * * *", "The hour", "up to 24"),
    ("1,,2 * * * *", "The minute", "lists as"),
    ("0 0 31 2 *", "none of its months has such a day", "L is the last one"),
    ("0 0 0 30,31 feb *", "none of its months has such a day", "one of the months"),
    ("0 0 31 4,6,9,11 *", "none of its months has such a day", "one of the months"),
    ("0 0 32 2 *", "The day-of-month", "L for the last day"),
    ("* * * *", "has 4 fields", "Write five"),
    ("", "has 0 fields", "Write five"),
    ("@daily", "nickname", "0 0 * * *"),
    ("every day", "has 2 fields", "minute, hour, day-of-month, month, day-of-week"),
    ("9" * 5_000 + " * * * *", "is no cron line", "Write"),
    ("9" * 150 + " * * * *", "The minute", "0 to 59"),
]


@pytest.mark.parametrize(("line", "cause", "remedy"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_line_is_refused_with_the_field_and_what_it_may_be(line: str, cause: str, remedy: str) -> None:
    with pytest.raises(InvalidScheduleError) as caught:
        checked_line(line)
    assert cause in caught.value.cause
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("zone", "near"),
    [
        ("Berlin", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("Europe/Berlln", "Europe/Berlin"),
        ("New York", "America/New_York"),
        ("utc", "UTC"),
        ("../../etc/passwd", "UTC"),
        ("", "UTC"),
        (7, "UTC"),
    ],
)
def test_an_unknown_zone_is_refused_with_those_that_may_be_meant(zone: str, near: str) -> None:
    with pytest.raises(InvalidScheduleError, match=near):
        checked_zone(zone)


FIELD = st.one_of(
    st.just("*"),
    st.integers(0, 70).map(str),
    st.tuples(st.integers(0, 30), st.integers(0, 70)).map(lambda pair: f"{pair[0]}-{pair[1]}"),
    st.integers(0, 70).map(lambda step: f"*/{step}"),
    st.text("0123456789*/-,#LWMONJAN ²", max_size=8),
)


@given(st.one_of(st.lists(FIELD, min_size=5, max_size=6).map(" ".join), st.text(max_size=60)))
def test_any_line_is_due_in_order_or_refused_with_a_remedy(line: str) -> None:
    try:
        tidy = checked_line(line)
    except InvalidScheduleError as error:
        assert error.cause and error.remedy
        return
    assert checked_line(tidy) == tidy
    after = datetime(2026, 10, 25, 0, 20, 0, 5, tzinfo=UTC)
    for _ in range(3):
        due = next_due(tidy, "Europe/Berlin", after)
        assert due > after
        assert due.tzinfo is UTC
        after = due


LINES = st.sampled_from(["30 2 * * *", "0 * * * *", "*/20 * * * *", "0 3 * * MON", "15 0,2 * * *", "0 2 28-31 * *"])


@given(
    LINES, st.sampled_from(sorted(available_timezones())), st.integers(0, 366 * 24 * 60), st.integers(0, 3 * 24 * 60)
)
def test_the_latest_due_time_is_the_last_of_all(line: str, zone: str, minute: int, span: int) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)
    first = next_due(line, zone, now - timedelta(minutes=span))
    if first > now:
        return
    expected, due = first, first
    while due <= now:
        expected, due = due, next_due(line, zone, due)
    assert latest_due(line, zone, first, now) == expected
