"""The JSON form of a file, as Deep Agents writes and reads it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from deepagents.backends.utils import create_file_data as their_create
from deepagents.backends.utils import slice_read_response
from hypothesis import example, given
from hypothesis import strategies as st

from memoranda.errors import InvalidValueError
from memoranda.files import (
    create_file_data,
    file_bytes,
    file_text,
    is_file_value,
    read_file_data,
    read_window,
    update_file_data,
)

EARLY = "2020-01-01T00:00:00+00:00"
texts = st.text(st.sampled_from("ab \t\n\r\x0b\u2028é"), max_size=40)


@given(st.binary())
def test_bytes_survive(data: bytes) -> None:
    value = create_file_data(data)
    assert file_bytes(value) == data
    assert is_file_value(value) and read_file_data(value) == value
    assert (value["encoding"] == "utf-8") == (file_text(value) is not None)


def test_deep_agents_call() -> None:
    ours, theirs = create_file_data("hi", EARLY, "utf-8"), their_create("hi", EARLY, "utf-8")
    assert ours.keys() == theirs.keys()
    assert ours["content"] == "hi" and ours["created_at"] == EARLY
    modified = datetime.fromisoformat(ours["modified_at"])
    assert modified.utcoffset() == timedelta(0)
    assert create_file_data(content="/wA=", created_at=None, encoding="base64")["content"] == "/wA="


@pytest.mark.parametrize(
    ("content", "encoding"),
    [("x", "latin-1"), ("no base64!", "base64"), (b"\xff", "utf-8"), ("\ud800", None)],
)
def test_create_refuses(content: str | bytes, encoding: str | None) -> None:
    with pytest.raises(InvalidValueError):
        create_file_data(content, encoding=encoding)


def test_forced_base64() -> None:
    value = create_file_data(b"plain", encoding="base64")
    assert value["encoding"] == "base64" and file_bytes(value) == b"plain" and file_text(value) is None


def test_update_keeps_creation_and_becomes_text() -> None:
    old = create_file_data(b"\xff", created_at=EARLY)
    new = update_file_data(old, "text")
    assert new["created_at"] == EARLY and new["encoding"] == "utf-8" and new["content"] == "text"
    assert new["modified_at"] > EARLY
    assert "created_at" not in update_file_data({"content": "", "encoding": "utf-8"}, "x")


@pytest.mark.parametrize(
    ("value", "is_file"),
    [
        ({"content": "x", "encoding": "utf-8"}, True),
        ({"content": "", "encoding": "base64", "modified_at": EARLY}, True),
        ({"content": ["a", "b"], "created_at": EARLY}, True),
        ({"content": [], "modified_at": EARLY}, True),
        ({"content": "x", "type": "fact"}, False),
        ({"content": "x", "encoding": "latin-1"}, False),
        ({"content": ["a"]}, False),
        ({"content": ["a", 1], "created_at": EARLY}, False),
        ({"content": {"a": 1}, "encoding": "utf-8"}, False),
        ({"text": "x"}, False),
        ({}, False),
    ],
)
def test_what_is_a_file(value: dict[str, object], is_file: bool) -> None:
    assert is_file_value(value) is is_file
    if is_file:
        assert is_file_value(read_file_data(value))
    else:
        with pytest.raises(InvalidValueError):
            read_file_data(value)


def test_first_version_is_read() -> None:
    value = {"content": ["a", "", "b"], "created_at": EARLY, "modified_at": EARLY}
    assert read_file_data(value) == {
        "content": "a\n\nb",
        "encoding": "utf-8",
        "created_at": EARLY,
        "modified_at": EARLY,
    }
    assert file_text(value) == "a\n\nb" and file_bytes(value) == b"a\n\nb"


def test_lenient_reading() -> None:
    assert read_file_data({"content": "x"}, lenient=True) == {"content": "x", "encoding": "utf-8"}
    assert read_file_data({"content": ["x", "y"]}, lenient=True)["content"] == "x\ny"
    for value in ({"content": 1}, {"content": "x", "encoding": "latin-1"}, {}):
        with pytest.raises(InvalidValueError):
            read_file_data(value, lenient=True)


@given(texts, st.integers(-3, 12), st.integers(-3, 12))
@example("a\r\nb\rc", 1, 1)
@example(" \n ", 5, 0)
@example("a", 1, 1)
def test_windows_are_those_of_deep_agents(text: str, offset: int, limit: int) -> None:
    theirs = slice_read_response({"content": text, "encoding": "utf-8"}, offset, limit)
    ours = read_window(text, offset, limit)
    assert ours.error == theirs.error
    if theirs.file_data is not None:
        assert ours.content == theirs.file_data["content"]
    for name in ("start_line", "end_line", "total_lines", "next_offset", "no_lines_requested"):
        assert getattr(ours, name) == getattr(theirs, name)


@given(texts, st.integers(1, 5))
def test_windows_follow_each_other(text: str, limit: int) -> None:
    read: list[str] = []
    offset: int | None = 0
    while offset is not None:
        window = read_window(text, offset, limit)
        read.append(window.content)
        offset = window.next_offset
    if text.strip():
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    assert "".join(read) == text
