"""Exact replacement, and errors that say what to send instead."""

from __future__ import annotations

import time

import pytest
from deepagents.backends.utils import perform_string_replacement
from hypothesis import given
from hypothesis import strategies as st

from memoranda.errors import EditError, TextNotFoundError, TextNotUniqueError
from memoranda.files import replace

small = st.text("ab\n ", max_size=12)


@given(small, small, small, st.booleans())
def test_same_outcome_as_deep_agents(text: str, old: str, new: str, replace_all: bool) -> None:
    theirs = perform_string_replacement(text, old, new, replace_all)
    try:
        ours = replace(text, old, new, replace_all=replace_all)
    except EditError:
        assert isinstance(theirs, str)
    else:
        assert (ours.text, ours.occurrences) == theirs


@given(st.text("ab\n", max_size=20), st.text("ab\n", min_size=1, max_size=4), st.integers(0, 20))
def test_an_edit_and_its_inverse(text: str, old: str, at: int) -> None:
    text = text[:at] + old + text[at:]
    new = "\N{SNOWMAN}"
    edited = replace(text, old, new, replace_all=True)
    assert replace(edited.text, new, old, replace_all=True) == type(edited)(text, edited.occurrences)


def message(text: str, old: str, **options: object) -> str:
    with pytest.raises(EditError) as caught:
        replace(text, old, "new", path="/notes.md", **options)  # type: ignore[arg-type]
    return str(caught.value)


def test_rules() -> None:
    assert replace("a a", "a", "a", replace_all=True).occurrences == 2
    assert replace("a", "a", "a").occurrences == 1
    with pytest.raises(EditError):
        replace("a", "", "b")
    with pytest.raises(TextNotUniqueError, match=r"appears 2 times in file /notes\.md"):
        replace("a a", "a", "b", path="/notes.md")
    with pytest.raises(TextNotFoundError, match=r"String not found in file /notes\.md: 'x'"):
        replace("a a", "x", "b", path="/notes.md")


def test_trailing_newline() -> None:
    assert "does not end with a newline" in message("a\nb", "b\n")
    assert "Retry with the trailing newline removed from old_string" in message("a\nb", "b\n")


def test_trailing_newline_that_is_ambiguous() -> None:
    assert "would appear 2 times in the file" in message("b b", "b\n")


@pytest.mark.parametrize(
    ("text", "old", "line", "difference"),
    [
        ("x\ndef f():\n\treturn 1\n", "def f():\n    return 1", 2, "whitespace"),
        ("one\r\ntwo\r\nthree\r\n", "two\nthree", 2, "line endings"),
        ("a\nb\ncafe\u0301 noir\n", "caf\u00e9 noir", 3, "Unicode normal form"),
        ("a\nLikes Tea\n", "likes tea", 2, "upper and lower case"),
        ("a\nAnn\u2019s dog\n", "Ann's dog", 2, "curly quotes or dashes"),
        ("a\n\nAnn\u2019s   Dog\n", "ann's dog", 3, "whitespace, case or special characters"),
        ("a\nfirst line\nchanged line\n", "first line\nsecond line", 2, "shares a line with it"),
    ],
)
def test_nearest_text_is_shown(text: str, old: str, line: int, difference: str) -> None:
    said = message(text, old)
    assert f"at line {line}, " in said and difference in said
    shown = text.split("\n")[line - 1]
    assert shown.rstrip("\r") in said


def test_what_was_shown_can_be_sent() -> None:
    text = "# Notes\n\n-  Likes   tea\n"
    said = message(text, "- likes tea")
    retry = said.split(":\n")[1].split("\nRetry")[0]
    assert replace(text, retry, "- Likes coffee").text == "# Notes\n\n- Likes coffee\n"


def test_messages_are_short() -> None:
    old = "long line " * 10_000
    assert len(message("x", old)) < 1_000
    assert len(message(old.upper(), old)) < 1_500
    assert len(message(old + old, "long line ")) < 1_000


@pytest.mark.parametrize(
    "old", ["nothing like\nthis at all", "a" * 5_000 + "b", "\n" * 1_000 + "z", " \n" * 400_000 + "z"]
)
def test_a_large_file_is_searched_in_linear_time(old: str) -> None:
    text = ("a" * 99 + "\n") * 10_000
    start = time.perf_counter()
    message(text, old)
    assert time.perf_counter() - start < 2
