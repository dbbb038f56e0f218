"""Blocks of numbers: passages that are gone, and passages that wait for an embedder."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from memoranda.search.envelope import U32, head_of, little, read_u32, seal, sections, u32_planes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NUMBERS, _WAITING = b"D", b"Q"


def pack_numbers(numbers: Iterable[int]) -> bytes:
    """Pack the numbers of passages that are gone into a dead block; they come back ascending, each once.

    Example:
        >>> unpack_numbers(pack_numbers([9, 4, 9])).tolist()
        [4, 9]
    """
    ordered = sorted({int(number) for number in numbers})
    return seal(_NUMBERS, (len(ordered), 0, 0), b"", u32_planes((ordered,)))


def unpack_numbers(body: bytes) -> NDArray[np.uint32]:
    """Read a block that `pack_numbers` made.

    Raises:
        StoreCorruptError: The body is damaged.
    """
    count, _, _ = head_of(_NUMBERS, body)
    _, loose = sections(body, 0, 4 * count)
    return read_u32(loose, 1, count)[0]


class Waiting(NamedTuple):
    """A passage that an embedder still has to embed: its number, its source's number, and its text's digest."""

    number: int
    source: int
    digest: int


def pack_waiting(entries: Iterable[tuple[int, int, int]]) -> bytes:
    """Pack passages (number, source, digest) into a waiting block; they come back in the same order."""
    listed = list(entries)
    number, source, digest = zip(*listed, strict=True) if listed else ((), (), ())
    return seal(_WAITING, (len(listed), 0, 0), little(array(U32, digest)), u32_planes((number, source)))


def unpack_waiting(body: bytes) -> list[Waiting]:
    """Read a block that `pack_waiting` made.

    Raises:
        StoreCorruptError: The body is damaged.
    """
    import numpy as np

    count, _, _ = head_of(_WAITING, body)
    dense, loose = sections(body, 4 * count, 8 * count)
    number, source = read_u32(loose, 2, count).tolist()
    digest = np.frombuffer(dense, "<u4", count).tolist()
    return [Waiting(*row) for row in zip(number, source, digest, strict=True)]
