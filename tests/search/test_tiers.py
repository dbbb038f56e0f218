"""When blocks are merged: few remain, and no passage is rewritten often."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memoranda.search.blocks import due


def test_nothing_is_due_of_few_blocks() -> None:
    assert due([]) == []
    assert due([(at, 8) for at in range(31)]) == []
    assert due([(at, 32) for at in range(31)]) == []


def test_32_small_blocks_become_one_oldest_first() -> None:
    counts = [(100, 32), *((at, 1) for at in range(40)), (200, 1_024)]

    assert due(counts) == [list(range(32))]


def test_a_large_backlog_is_merged_at_once() -> None:
    assert due([(at, 1) for at in range(70)]) == [list(range(32)), list(range(32, 64))]


def test_middle_blocks_become_large_when_they_hold_enough() -> None:
    assert due([(1, 500), (2, 24), (3, 500), (4, 24)]) == []
    assert due([(1, 500), (2, 24), (3, 500), (4, 32), (5, 40)]) == [[1, 3, 4]]
    assert due([(1, 512), (2, 511), (3, 511)]) == []
    assert due([(at, 32) for at in range(32)]) == [list(range(32))]


def test_the_count_decides_and_not_the_age() -> None:
    """A large block that shrank to a few passages is a small one again."""
    assert due([(1, 5), *((at, 1) for at in range(2, 33))]) == [list(range(1, 33))]


def test_much_that_is_dead_has_a_block_written_anew() -> None:
    counts = [(1, 1_024), (2, 1_024), (3, 200)]

    assert due(counts, {1: 257, 2: 256}) == [[1]]
    assert due(counts, {3: 64}) == []
    assert due(counts, {3: 65}) == [[3]]


WRITES = st.lists(st.integers(1, 40) | st.integers(1, 600), max_size=120)


@given(WRITES, st.sampled_from([0.0, 0.3, 0.9]))
def test_few_blocks_remain_and_little_is_rewritten(writes: list[int], share: float) -> None:
    """Of every write a share is dead by the time of its first merge."""
    blocks: dict[int, tuple[int, int]] = {}
    names = written = copied = 0
    for count in writes:
        blocks[names] = (count, int(count * share))
        names += 1
        written += count
        while merges := due([(block, held) for block, (held, _) in blocks.items()]):
            assert len({block for merge in merges for block in merge}) == sum(map(len, merges))
            for merge in merges:
                gone = [blocks.pop(block) for block in merge]
                left = sum(held - dead for held, dead in gone)
                copied += left
                if left:
                    blocks[names] = (left, 0)
                    names += 1
        sizes = [held for held, _ in blocks.values()]
        assert sum(size < 32 for size in sizes) < 32
        assert sum(size for size in sizes if 32 <= size < 512) < 1_024
        assert all(size < 1_536 for size in sizes)

    assert copied <= (3 if share else 2) * written
