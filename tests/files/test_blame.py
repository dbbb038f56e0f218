"""Every line has the revision that wrote it."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.files import LineSplice, matching_blocks, splice_between, split_lines
from memoranda.files.blame import blame

some_lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\r\n", b"d\n", b"e\n"]), max_size=8)
versions = st.lists(
    st.tuples(some_lines, st.booleans()).map(
        lambda drawn: [*drawn[0][:-1], *(line.rstrip(b"\n") if drawn[1] else line for line in drawn[0][-1:])]
    ),
    min_size=1,
    max_size=8,
)


def texts(lines: Sequence[bytes]) -> list[bytes]:
    return [line.rstrip(b"\r\n") for line in lines]


def steps(history: list[list[bytes]]) -> Iterator[tuple[int, LineSplice | None]]:
    for revision in range(len(history), 1, -1):
        yield revision, splice_between(b"".join(history[revision - 2]), b"".join(history[revision - 1]))
    yield 1, None


def naive(history: list[list[bytes]]) -> list[int]:
    """Carry the revisions forward over whole texts, from the oldest to the newest."""
    written = [1] * len(history[0])
    for revision, (before, after) in enumerate(pairwise(history), 2):
        splice = splice_between(b"".join(before), b"".join(after))
        tail = len(after) - splice.start - splice.count
        middle = [revision] * splice.count
        region = after[splice.start : splice.start + splice.count]
        for at, older, size in matching_blocks(texts(region), texts(splice.lines)):
            for offset in range(size):
                middle[at + offset] = written[splice.start + older + offset]
        written = written[: splice.start] + middle + written[len(written) - tail :]
    return written


@given(versions)
def test_agrees_with_the_naive_way(history: list[list[bytes]]) -> None:
    assert blame(history[-1], steps(history)) == naive(history)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 20), st.integers(0, 3), st.integers(0, 3), st.sampled_from([b"\n", b"\r\n"]), st.booleans()
        ),
        max_size=20,
    )
)
def test_lines_that_never_repeat_are_told_exactly(edits: list[tuple[int, int, int, bytes, bool]]) -> None:
    history = [[b"1 %d\n" % number for number in range(10)]]
    for revision, (at, removed, added, end, is_ended) in enumerate(edits, 2):
        lines = texts(history[-1])
        at = min(at, len(lines))
        lines[at : at + removed] = [b"%d %d" % (revision, number) for number in range(added)]
        last = len(lines) - 1
        history.append([line + (end if number < last or is_ended else b"") for number, line in enumerate(lines)])
    assert blame(history[-1], steps(history)) == [int(line.split()[0]) for line in history[-1]]


def test_unchanged_lines_within_a_region_are_not_blamed() -> None:
    history = [split_lines(b"a\nb\nc\n"), split_lines(b"A\nb\nC\n")]
    assert blame(history[-1], steps(history)) == [2, 1, 2]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_is_not_blamed_on_who_ended_it(end: str) -> None:
    history = [split_lines(text.encode()) for text in ("one", f"one{end}two", f"one{end}two{end}")]
    assert blame(history[-1], steps(history)) == [1, 2]


def test_other_ends_of_lines_are_not_other_lines() -> None:
    history = [split_lines(b"a\nb\nc"), split_lines(b"a\r\nB\r\nc\r\n")]
    assert blame(history[-1], steps(history)) == [1, 2, 1]


def test_stops_reading_when_all_is_known() -> None:
    def endless() -> Iterator[tuple[int, LineSplice | None]]:
        yield 9, LineSplice(0, 1, ())
        raise AssertionError("read on")

    assert blame([b"a\n"], endless()) == [9]
    assert blame([], iter(())) == []


def test_history_that_is_cut_off() -> None:
    assert blame([b"a\n", b"b\n"], [(7, LineSplice(1, 1, ()))]) == [7, 7]
    with pytest.raises(ValueError):
        blame([b"a\n"], [])


@pytest.mark.parametrize("splice", [LineSplice(2, 0, ()), LineSplice(0, 2, ()), LineSplice(-1, 1, ())])
def test_a_splice_that_does_not_fit(splice: LineSplice) -> None:
    with pytest.raises(ValueError):
        blame([b"a\n"], [(2, splice), (1, None)])


def test_a_thousand_revisions_are_quick() -> None:
    chance = random.Random(1)
    lines = [b"line %d\n" % number for number in range(2_000)]
    current, history = list(lines), list[tuple[int, LineSplice | None]]()
    for revision in range(1_001, 1, -1):
        at, count = chance.randrange(1_900), chance.randrange(4)
        older = tuple(b"older %d %d\n" % (revision, number) for number in range(chance.randrange(4)))
        history.append((revision, LineSplice(at, count, older)))
        current[at : at + count] = older
    start = time.process_time()
    blame(lines, [*history, (1, None)])
    assert time.process_time() - start < 0.1  # 5 ms where this was written
