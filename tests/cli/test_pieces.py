"""The small pieces: namespaces as text, text for terminals, times, and the examples in docstrings."""

from __future__ import annotations

import doctest
from datetime import UTC, datetime
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.cli.commands.reading import moment
from memoranda.cli.failures import UsageError
from memoranda.cli.names import format_namespace, parse_namespace
from memoranda.cli.output import human_time, printable

labels = st.lists(
    st.text(st.sampled_from("aA/%25fF\\.:*-_ é日") | st.characters(codec="utf-8"), min_size=1), min_size=1
)


@given(labels.map(tuple))
def test_a_namespace_is_read_as_it_was_written(namespace: tuple[str, ...]) -> None:
    assert parse_namespace(format_namespace(namespace)) == namespace


@given(st.lists(labels.map(tuple), min_size=2, max_size=2, unique=True))
def test_two_namespaces_never_look_the_same(two: list[tuple[str, ...]]) -> None:
    assert format_namespace(two[0]) != format_namespace(two[1])


@pytest.mark.parametrize("text", ["", "/", "a/", "/a", "a//b"])
def test_empty_labels_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_namespace(text)


@given(st.text())
def test_printable_text_leaves_a_terminal_alone(text: str) -> None:
    shown = printable(text)
    assert not any((ord(character) < 32 and character != "\t") or 0x7F <= ord(character) < 0xA0 for character in shown)
    assert "\u202e" not in shown and "\u2028" not in shown
    assert shown == text or not text.isprintable()


def test_ordinary_text_is_shown_as_it_is() -> None:
    for text in ("日记 🍵 naïve", "wide\u3000space", "family 👨\u200d👩\u200d👧", "a\tb", "no\u00a0break"):
        assert printable(text) == text


@given(st.datetimes(timezones=st.just(UTC), min_value=datetime(1970, 1, 1)))
def test_a_time_shown_names_the_end_of_its_second(at: datetime) -> None:
    assert 0 <= (moment(human_time(at)) - at).total_seconds() < 1


@pytest.mark.parametrize("name", ["names", "output"])
def test_examples(name: str) -> None:
    failed, tried = doctest.testmod(import_module(f"memoranda.cli.{name}"))
    assert tried and not failed
