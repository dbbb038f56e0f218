"""Vector blocks: the vectors that one embedder gave to passages, a byte per dimension.

A vector is brought to length one and rounded to whole numbers of -127 to 127. Its scale is not kept: it is whatever
makes the rounded vector's length one again. A query is rounded to whole numbers too, so finely that every sum of
products stays below 2**24: there float32 is exact, in whichever order a processor adds. So a cosine is the same to
the last bit on every machine and however the vectors lie in blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memoranda.errors import InvalidValueError
from memoranda.search.envelope import corrupt, head_of, read_u32, seal, sections, u32_planes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_DIMENSIONS = 4_096

_VECTORS = b"V"
_TOP = 127
_EXACT = (1 << 24) - 1
EXACT_DIMENSIONS = _EXACT // _TOP**2
"""In no more dimensions the products of two vectors of blocks add up exactly in float32."""

# How many rows are turned into float32 at a time: the piece stays in the processor's cache.
_ROWS = 256


def pack_vectors(
    numbers: Sequence[int] | NDArray[np.uint32], vectors: Sequence[Sequence[float]] | NDArray[np.floating]
) -> bytes:
    """Pack the vectors of passages into a vectors block.

    Args:
        numbers: The passages' numbers.
        vectors: As many vectors of one size, up to `MAX_DIMENSIONS`; a vector of zeros is like nothing.

    Raises:
        InvalidValueError: The vectors are not numbers, not finite, or not all of one size.

    Example:
        >>> block = VectorBlock.unpack(pack_vectors([7, 9], [[3.0, 4.0], [-1.0, 0.0]]))
        >>> block.cosines(rounded_query([1.0, 0.0])).round(2).tolist()
        [0.6, -1.0]
    """
    import numpy as np

    table = _numbers(vectors)
    if table.ndim != 2 or len(table) != len(numbers) or not 0 < table.shape[1] <= MAX_DIMENSIONS:
        raise InvalidValueError(
            f"{len(numbers)} passages need as many vectors of 1 to {MAX_DIMENSIONS:,} dimensions, not an array of the "
            f"shape {table.shape}.",
            "Check the embedder.",
        )
    if not np.isfinite(table).all():
        raise InvalidValueError("The embedder gave a vector that holds NaN or infinity.", "Check the embedder.")
    top = np.abs(table).max(axis=1, keepdims=True)
    rounded = np.rint(np.divide(table, top, out=np.zeros_like(table), where=top > 0) * _TOP).astype(np.int8)
    return _sealed(np.asarray(numbers, np.uint32), rounded)


@dataclass(slots=True)
class VectorBlock:
    """A vectors block as arrays.

    Attributes:
        number: The passages' numbers.
        rounded: Their vectors, a row each, as whole numbers.
    """

    number: NDArray[np.uint32]
    rounded: NDArray[np.int8]
    _scale: NDArray[np.float64] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.number)

    @property
    def dims(self) -> int:
        """How many dimensions the vectors have."""
        return self.rounded.shape[1]

    @property
    def nbytes(self) -> int:
        """How many bytes of memory the block takes."""
        return self.rounded.nbytes + 12 * len(self.number) + 1_000

    @property
    def scale(self) -> NDArray[np.float64]:
        """What each row is to be multiplied by to have the length one; 0 for a vector of zeros."""
        import numpy as np

        if self._scale is None:
            squares = np.empty(len(self.number), np.int64)
            for start in range(0, len(squares), _ROWS):
                piece = self.rounded[start : start + _ROWS].astype(np.int32)
                squares[start : start + _ROWS] = np.einsum("ij,ij->i", piece, piece)
            lengths = np.sqrt(squares)
            self._scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=squares > 0)
        return self._scale

    @classmethod
    def unpack(cls, body: bytes) -> VectorBlock:
        """Read a block that `pack_vectors` or `merge_vectors` made.

        Raises:
            StoreCorruptError: The body is damaged.
        """
        import numpy as np

        count, dims, _ = head_of(_VECTORS, body)
        if not count or not 0 < dims <= MAX_DIMENSIONS:
            raise corrupt("has counts that cannot be")
        dense, loose = sections(body, count * dims, 4 * count)
        return cls(read_u32(loose, 1, count)[0], np.frombuffer(dense, np.int8).reshape(count, dims))

    def cosines(self, query: RoundedQuery) -> NDArray[np.float64]:
        """Return each vector's cosine with a query (`rounded_query`)."""
        import numpy as np

        # Turning a piece into float32 that stays in the processor's cache is as fast as reading a whole matrix of
        # float32 from memory, which would be four times as large.
        piece = np.empty((min(_ROWS, len(self)), self.dims), np.float32)
        products = np.empty(len(self), np.float32)
        for start in range(0, len(self), _ROWS):
            rows = self.rounded[start : start + _ROWS]
            np.copyto(piece[: len(rows)], rows)
            np.dot(piece[: len(rows)], query.whole, out=products[start : start + len(rows)])
        return products * (self.scale * query.scale)


@dataclass(frozen=True, slots=True)
class RoundedQuery:
    """A query's vector as whole numbers, and what to multiply them by to have the length one."""

    whole: NDArray[np.float32]
    scale: float


def rounded_query(vector: Sequence[float] | NDArray[np.floating]) -> RoundedQuery:
    """Round a query's vector so that its products with a block's vectors are exact in float32.

    Raises:
        InvalidValueError: It is no vector of 1 to `MAX_DIMENSIONS` finite numbers.
    """
    import numpy as np

    values = _numbers(vector)
    if values.ndim != 1 or not 0 < len(values) <= MAX_DIMENSIONS or not np.isfinite(values).all():
        raise InvalidValueError(
            f"A query's vector must be 1 to {MAX_DIMENSIONS:,} finite numbers.", "Check the embedder."
        )
    top = float(np.abs(values).max())
    if not top:
        return RoundedQuery(values.astype(np.float32), 0.0)
    values = values / top
    # Every partial sum of products is at most 127 times the sum of the query's absolute values; rounding may add a
    # half to each of those.
    finest = (_EXACT / _TOP - len(values) / 2) / float(np.abs(values).sum())
    whole = np.rint(values * finest)
    return RoundedQuery(whole.astype(np.float32), 1.0 / float(np.sqrt((whole * whole).sum())))


def merge_vectors(blocks: Sequence[VectorBlock], dead: Collection[int] | NDArray[np.uint32]) -> bytes | None:
    """Merge vectors blocks of one index into one, without the passages that are dead.

    Args:
        blocks: The blocks, oldest first: of two vectors of one passage the later one stays.
        dead: Numbers of passages that are gone.

    Returns:
        The new block's body, or None when nothing is left.

    Raises:
        StoreCorruptError: The blocks' vectors are not of one size.
    """
    import numpy as np

    if not blocks:
        return None
    if len({block.dims for block in blocks}) > 1:
        raise corrupt("holds vectors of another size than its neighbours")
    numbers = np.concatenate([block.number for block in blocks])
    rows = np.concatenate([block.rounded for block in blocks])
    # The first of each number from the end is the latest.
    unique, last = np.unique(numbers[::-1], return_index=True)
    kept = np.isin(unique, np.fromiter(dead, np.uint32, len(dead)), invert=True)
    if not kept.any():
        return None
    return _sealed(unique[kept], rows[::-1][last[kept]])


def _sealed(numbers: NDArray[np.uint32], rounded: NDArray[np.int8]) -> bytes:
    loose = u32_planes((numbers.tolist(),))
    return seal(_VECTORS, (len(numbers), rounded.shape[1], 0), rounded.tobytes(), loose)


def _numbers(given: object) -> NDArray[np.float64]:
    import numpy as np

    try:
        return np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise InvalidValueError(
            "The embedder gave something that is no vector of finite numbers, or vectors that are not all of one size.",
            "Check the embedder.",
        ) from None
