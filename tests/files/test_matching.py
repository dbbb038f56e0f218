"""Lines are aligned correctly, well, and never in quadratic time."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.files import matching_blocks, opcodes, split_lines

lines = st.lists(st.sampled_from("abcdefgh"), max_size=25)
plenty = st.lists(st.integers(0, 40), max_size=60)


@given(st.text(st.sampled_from("ab\n\r\x0b\u2028\x85"), max_size=30))
def test_lines_join_to_the_text(text: str) -> None:
    split = split_lines(text)
    assert "".join(split) == text
    assert all(line.find("\n") in (-1, len(line) - 1) and line for line in split)
    assert all(line.endswith("\n") for line in split[:-1])
    assert [line.encode() for line in split] == split_lines(text.encode())


@given(st.one_of(lines, plenty), st.one_of(lines, plenty))
def test_blocks_are_valid(a: list[object], b: list[object]) -> None:
    end_a = end_b = 0
    touching = True
    for at_a, at_b, size in matching_blocks(a, b):
        assert size > 0 and at_a >= end_a and at_b >= end_b
        assert a[at_a : at_a + size] == b[at_b : at_b + size]
        assert touching or at_a > end_a or at_b > end_b
        end_a, end_b, touching = at_a + size, at_b + size, False
    assert end_a <= len(a) and end_b <= len(b)


@given(lines, lines)
def test_opcodes_turn_one_into_the_other(a: list[str], b: list[str]) -> None:
    made: list[str] = []
    i = j = 0
    for tag, i1, i2, j1, j2 in opcodes(a, b):
        assert (i1, j1) == (i, j)
        i, j = i2, j2
        made += a[i1:i2] if tag == "equal" else b[j1:j2]
        assert (tag == "insert") == (i1 == i2) and (tag == "delete") == (j1 == j2)
    assert (i, j) == (len(a), len(b)) and made == b


@given(st.permutations(range(12)), st.permutations(range(12)), st.integers(0, 12), st.integers(0, 12))
def test_as_many_as_possible_where_lines_are_unique(a: list[int], b: list[int], m: int, n: int) -> None:
    a, b = a[:m], b[:n]
    longest = [[0] * (n + 1) for _ in range(m + 1)]
    for i in range(m):
        for j in range(n):
            longest[i + 1][j + 1] = longest[i][j] + 1 if a[i] == b[j] else max(longest[i][j + 1], longest[i + 1][j])
    assert sum(block.size for block in matching_blocks(a, b)) == longest[m][n]


@given(st.lists(st.sampled_from("ab"), max_size=12), st.lists(st.sampled_from("ab"), max_size=12))
def test_something_is_matched_where_anything_can_be(a: list[str], b: list[str]) -> None:
    assert bool(matching_blocks(a, b)) == bool(set(a) & set(b))


def test_moved_function_keeps_its_unique_lines() -> None:
    a = ["def f", "{", "}", "", "def g", "{", "}", ""]
    b = ["def new", "{", "}", "", *a]
    assert opcodes(a, b)[0].tag == "insert" and len(opcodes(a, b)) == 2


def shuffled(count: int) -> list[str]:
    numbers = [str(number) for number in range(count)]
    random.Random(1).shuffle(numbers)
    return numbers


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (["x"] * 100_000, ["x"] * 90_000),
        (["x", "y"] * 50_000, ["y", "x", "x"] * 33_000),
        ([str(n % 300) for n in range(100_000)], [str(n * 7 % 300) for n in range(100_000)]),
        ([str(n) for n in range(100_000)], shuffled(100_000)),
        ([str(n) for n in range(50_000)], [str(n) for n in reversed(range(50_000))]),
        # Small gaps without anchors, many of them: the budget for difflib holds for all together.
        (
            [line for n in range(400) for line in (f"u{n}", *["p", "q"] * 100)],
            [line for n in range(400) for line in (f"u{n}", *["q", "q", "p"] * 70)],
        ),
    ],
    ids=["same", "two", "cycle", "shuffled", "reversed", "gaps"],
)
def test_large_inputs_finish_at_once(a: list[str], b: list[str]) -> None:
    start = time.process_time()
    matching_blocks(a, b)
    assert time.process_time() - start < 1.5
