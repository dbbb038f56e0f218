"""Two changes of one base: both land, or somebody is told where they meet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.files import merge_json, merge_text, split_lines

texts = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=10).flatmap(
    lambda lines: st.sampled_from(["\n".join(lines), "".join(line + "\n" for line in lines)])
)


def text(lines: str) -> str:
    return "".join(letter + "\n" for letter in lines)


@given(st.integers(0, 30), st.integers(2, 30), st.data())
def test_disjoint_edits_both_land(first: int, gap: int, data: st.DataObject) -> None:
    base = [f"line {number}\n" for number in range(70)]
    second = first + gap
    # An edit replaces, deletes or inserts; neither reaches the other's line.
    edits = [data.draw(st.lists(st.text("xyz", max_size=3).map(lambda word: word + "\n"), max_size=3)) for _ in "12"]
    theirs = [*base[:first], *edits[0], *base[first + 1 :]]
    yours = [*base[:second], *edits[1], *base[second + 1 :]]
    both = [*base[:first], *edits[0], *base[first + 1 : second], *edits[1], *base[second + 1 :]]
    assert merge_text("".join(base), "".join(theirs), "".join(yours)).text == "".join(both)
    assert merge_text("".join(base), "".join(yours), "".join(theirs)).text == "".join(both)


@given(texts, texts, texts)
def test_laws(base: str, theirs: str, yours: str) -> None:
    assert merge_text(base, base, yours).text == yours
    assert merge_text(base, theirs, base).text == theirs
    assert merge_text(base, yours, yours).text == yours
    one, other = merge_text(base, theirs, yours), merge_text(base, yours, theirs)
    assert (one.text is None) == (other.text is None) == bool(one.conflicts)
    assert one.text == other.text
    if one.text is not None:
        # A clean merge makes up no lines and glues none together.
        ends = {line.rstrip("\n") for line in split_lines(base + "\n" + theirs + "\n" + yours)}
        assert {line.rstrip("\n") for line in split_lines(one.text)} <= ends


@given(texts, texts, texts)
def test_conflicts_can_be_put_together(base: str, theirs: str, yours: str) -> None:
    lines = split_lines(base)
    end = 0
    for overlap in merge_text(base, theirs, yours).conflicts:
        assert overlap.base_start >= end
        end = overlap.base_start + len(overlap.base_lines)
        assert tuple(lines[overlap.base_start : end]) == overlap.base_lines
        assert overlap.theirs_lines != overlap.yours_lines
        assert "".join(overlap.theirs_lines) in theirs and "".join(overlap.yours_lines) in yours


@pytest.mark.parametrize(
    ("base", "theirs", "yours", "merged"),
    [
        ("abc", "Abc", "abC", "AbC"),
        ("abc", "Abc", "aBc", "ABc"),  # neighbouring lines are different lines
        ("abc", "abcd", "xabc", "xabcd"),
        ("abc", "abC", "abcd", "abCd"),  # the last line is changed, another is appended
        ("abc", "ab", "Abc", "Ab"),
        ("abc", "axbc", "axbc", "axbc"),
        ("abcde", "axcde", "axcdE", "axcdE"),  # the same change counts once
        ("", "ab", "ab", "ab"),
        ("abc", "", "abc", ""),
    ],
)
def test_clean(base: str, theirs: str, yours: str, merged: str) -> None:
    assert merge_text(text(base), text(theirs), text(yours)).text == text(merged)
    assert merge_text(text(base), text(yours), text(theirs)).text == text(merged)


@pytest.mark.parametrize(
    ("base", "theirs", "yours"),
    [
        ("abc", "aXc", "aYc"),
        ("abc", "abcx", "abcy"),  # two different insertions at one place
        ("abc", "", "aBc"),  # deleted here, changed there
        ("", "x", "y"),
        ("ab", "axXb", "aYb"),
    ],
)
def test_conflict(base: str, theirs: str, yours: str) -> None:
    merged = merge_text(text(base), text(theirs), text(yours))
    assert merged.text is None and len(merged.conflicts) == 1


def test_a_last_line_without_end_is_not_run_into() -> None:
    assert merge_text("a\n", "a", "a\nb").text is None
    assert merge_text("a\nb", "A\nb", "a\nb\nc").text == "A\nb\nc"


def test_conflict_says_where() -> None:
    (overlap,) = merge_text(text("abc"), text("aXc"), text("aYc")).conflicts
    assert (overlap.base_start, overlap.base_lines) == (1, ("b\n",))
    assert (overlap.theirs_lines, overlap.yours_lines) == (("X\n",), ("Y\n",))


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(0, 2), st.sampled_from(["", "x"]), st.lists(st.integers(0, 1))
)
objects = st.recursive(
    st.dictionaries(st.sampled_from("abc"), scalars, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), st.one_of(scalars, inner), max_size=3),
    max_leaves=8,
)


@given(objects, objects, objects)
def test_json_laws(base: dict[str, object], theirs: dict[str, object], yours: dict[str, object]) -> None:
    assert repr(merge_json(base, theirs, base).value) == repr(theirs)
    assert merge_json(base, base, yours).value == yours
    assert merge_json(base, yours, yours).value == yours
    one, other = merge_json(base, theirs, yours), merge_json(base, yours, theirs)
    assert one.value == other.value and set(one.conflicts) == set(other.conflicts)
    assert (one.value is None) == bool(one.conflicts)


@pytest.mark.parametrize(
    ("base", "theirs", "yours", "merged", "conflicts"),
    [
        ({"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 2}, ()),
        ({"p": {"x": 1, "y": 1}}, {"p": {"x": 2, "y": 1}}, {"p": {"x": 1}}, {"p": {"x": 2}}, ()),
        ({}, {"p": {"x": 1}}, {"p": {"y": 2}}, {"p": {"x": 1, "y": 2}}, ()),
        ({"a": 1}, {}, {"a": 2}, None, ("/a",)),
        ({"a": 1}, {}, {"a": 1}, {}, ()),
        ({"a": [1]}, {"a": [1, 2]}, {"a": [0, 1]}, None, ("/a",)),
        ({"a": 1}, {"a": True}, {"a": 1}, {"a": True}, ()),
        ({"a": 0}, {"a": 1}, {"a": True}, None, ("/a",)),
        (
            {"p": {"a/b": 0, "~": 0}},
            {"p": {"a/b": 1, "~": 1}},
            {"p": {"a/b": 2, "~": 2}},
            None,
            ("/p/a~1b", "/p/~0"),
        ),
        ({"p": {"x": 1}}, {"p": 1}, {"p": {"x": 2}}, None, ("/p",)),
    ],
)
def test_json(
    base: dict[str, object],
    theirs: dict[str, object],
    yours: dict[str, object],
    merged: dict[str, object] | None,
    conflicts: tuple[str, ...],
) -> None:
    outcome = merge_json(base, theirs, yours)
    assert repr(outcome.value) == repr(merged) and outcome.conflicts == conflicts
