"""Vectors blocks: a byte per dimension, exact sums, and nothing lost of what is near."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memoranda.errors import InvalidValueError, StoreCorruptError
from memoranda.search.blocks import VectorBlock, merge_vectors, pack_vectors
from memoranda.search.vectors import MAX_DIMENSIONS, rounded_query


def block_of(vectors: NDArray[np.floating], first: int = 0) -> VectorBlock:
    return VectorBlock.unpack(pack_vectors(range(first, first + len(vectors)), vectors))


def cosines(vectors: NDArray[np.floating], query: NDArray[np.floating]) -> NDArray[np.floating]:
    return vectors @ query / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(query))


def clustered(random: np.random.Generator, count: int, dims: int) -> NDArray[np.floating]:
    centres = random.normal(size=(20, dims))
    return centres[random.integers(20, size=count)] + 0.35 * random.normal(size=(count, dims))


def alike(random: np.random.Generator, count: int, dims: int) -> NDArray[np.floating]:
    """As e5 makes them: all within a narrow cone."""
    return 2 * random.normal(size=dims) + random.normal(size=(count, dims))


@pytest.mark.parametrize("make", [lambda r, n, d: r.normal(size=(n, d)), clustered, alike])
@pytest.mark.parametrize("dims", [64, 384, 1_536])
def test_the_ten_nearest_are_found_as_with_float32(make: object, dims: int) -> None:
    random = np.random.default_rng(dims)
    vectors = make(random, 1_000, dims)  # type: ignore[operator]
    block = block_of(vectors)
    queries = vectors[:20] + 0.3 * random.normal(size=(20, dims))
    found = 0
    for query in queries:
        exact = cosines(vectors, query)
        rounded = block.cosines(rounded_query(query))
        assert np.abs(exact - rounded).max() < 0.01
        found += len({*np.argsort(-exact)[:10].tolist()} & {*np.argsort(-rounded)[:10].tolist()})

    assert found / 200 >= 0.95


@pytest.mark.parametrize("dims", [1, 7, 384, 1_040, MAX_DIMENSIONS])
@pytest.mark.parametrize("shape", ["normal", "equal", "one"])
def test_cosines_are_exact_to_the_last_bit(dims: int, shape: str) -> None:
    """The sums are those of whole numbers, whatever adds them up, even where every product is as large as can be."""
    random = np.random.default_rng(1)
    query = random.normal(size=dims) if shape == "normal" else np.ones(dims)
    if shape == "one":
        query[1:] = 0.0
    vectors = np.vstack([random.normal(size=(300, dims)), np.ones(dims), -np.ones(dims)])
    block, asked = block_of(vectors), rounded_query(query)
    sums = block.rounded.astype(np.int64) @ asked.whole.astype(np.int64)
    squares = (block.rounded.astype(np.int64) ** 2).sum(axis=1)
    exact = sums.astype(np.float32) * (1.0 / np.sqrt(squares) * asked.scale)

    assert np.abs(asked.whole).sum() * 127 < 2**24
    assert block.cosines(asked).tolist() == exact.tolist()


def test_cosines_do_not_depend_on_how_vectors_lie_in_blocks() -> None:
    random = np.random.default_rng(2)
    vectors = random.normal(size=(600, 100)).astype(np.float32)
    asked = rounded_query(random.normal(size=100))
    whole = block_of(vectors).cosines(asked).tolist()
    apart = [value for at in range(0, 600, 7) for value in block_of(vectors[at : at + 7], at).cosines(asked).tolist()]

    assert apart == whole


def test_a_vector_takes_a_byte_per_dimension() -> None:
    random = np.random.default_rng(4)
    blocks = [block_of(random.normal(size=(32, 384)), 32 * at) for at in range(32)]
    merged = merge_vectors(blocks, [])

    assert merged is not None
    assert len(merged) / 1_024 < 384.5


def test_vectors_of_zeros_are_like_nothing() -> None:
    block = block_of(np.array([[0.0, 0.0], [3.0, 4.0]]))

    assert block.cosines(rounded_query([3.0, 4.0])).tolist() == [0.0, pytest.approx(1.0, abs=1e-3)]
    assert block.cosines(rounded_query([0.0, 0.0])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("length", [1e-300, 1.0, 1e300])
def test_the_length_of_a_vector_does_not_matter(length: float) -> None:
    block = block_of(np.array([[1.0, 2.0, -1.0]]) * length)

    assert block.cosines(rounded_query(np.array([1.0, 2.0, -1.0]) * length)) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1.0, float("nan")]], "NaN or infinity"),
        ([[1.0, float("-inf")]], "NaN or infinity"),
        ([[1.0], [2.0]], "as many vectors"),
        ([[]], "dimensions"),
        ([[0.0] * (MAX_DIMENSIONS + 1)], "4,096"),
        ([1.0], "shape"),
        ([["a"]], "no vector of finite"),
        ([None], "shape|no vector|NaN"),
    ],
)
def test_vectors_that_are_none_are_refused(vectors: list[list[float]], message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        pack_vectors([1], vectors)


def test_vectors_of_different_sizes_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="one size"):
        pack_vectors([1, 2], [[1.0], [1.0, 2.0]])


def test_no_vectors_are_refused() -> None:
    with pytest.raises(InvalidValueError):
        pack_vectors([], [])


@pytest.mark.parametrize("vector", [[], [float("nan")], [[1.0]], [float("inf"), 1.0], ["a"], None])
def test_queries_that_are_no_vector_are_refused(vector: list[float]) -> None:
    with pytest.raises(InvalidValueError, match="finite numbers"):
        rounded_query(vector)


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(-9, 9)), min_size=1, max_size=30), st.sets(st.integers(0, 20))
)
def test_merging_keeps_the_latest_vector_of_what_is_alive(rows: list[tuple[int, int]], dead: set[int]) -> None:
    blocks = [VectorBlock.unpack(pack_vectors([number], [[value, 10.0]])) for number, value in rows]
    latest = {number: value for number, value in rows if number not in dead}
    merged = merge_vectors(blocks, dead)

    if merged is None:
        assert not latest
        return
    block = VectorBlock.unpack(merged)
    assert block.number.tolist() == sorted(latest)
    assert [round(10 * row[0] / row[1]) for row in block.rounded.tolist()] == [
        latest[number] for number in sorted(latest)
    ]


def test_blocks_of_different_sizes_are_not_merged() -> None:
    with pytest.raises(StoreCorruptError, match="another size"):
        merge_vectors([block_of(np.ones((1, 2))), block_of(np.ones((1, 3)))], [])
