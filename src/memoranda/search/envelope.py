"""The envelope of every block: what it is, whether it is whole, and its bytes, squeezed where that pays.

A block is `header | dense | loose`. The header names the kind and three counts, from which the sizes of the two
sections follow; a checksum covers all of it. `dense` holds bytes that look random (hashes, vectors) and is kept as it
is; `loose` holds everything else and is squeezed with Zstandard when that makes it smaller. Integers wider than a byte
lie in planes, lowest byte first, so that the many zero bytes of small numbers stand together.

Nothing here needs numpy: a single small write packs its block without it.
"""

from __future__ import annotations

import sys
import threading
from array import array
from collections.abc import Iterable, Sequence
from struct import Struct
from typing import TYPE_CHECKING
from zlib import crc32

from memoranda.errors import StoreCorruptError

if TYPE_CHECKING:
    import numpy as np
    import zstandard
    from numpy.typing import NDArray

MAX_PASSAGES = 0xFFFF
"""How many passages one block can hold: a posting names its passage with 16 bits."""

# magic and kind, version, codec, three counts
_HEAD = Struct("<2sBBIII")
_CHECKSUM = Struct("<I")
_START = _HEAD.size + _CHECKSUM.size
_VERSION = 1
_PLAIN, _SQUEEZED = 0, 1
_LEVEL = 3
# Below this Zstandard's own frame costs more than it saves.
_WORTH_SQUEEZING = 48
# No honest block comes near; it keeps a forged header from asking for all of the memory.
_MOST_BYTES = 1 << 28

_local = threading.local()


def seal(kind: bytes, counts: tuple[int, int, int], dense: bytes, loose: bytes) -> bytes:
    """Wrap the two sections of a block of one kind (one byte, such as `b"W"`)."""
    codec = _PLAIN
    if len(loose) >= _WORTH_SQUEEZING:
        squeezed = _compressor().compress(loose)
        if len(squeezed) < len(loose):
            codec, loose = _SQUEEZED, squeezed
    head = _HEAD.pack(b"M" + kind, _VERSION, codec, *counts)
    return b"".join((head, _CHECKSUM.pack(crc32(loose, crc32(dense, crc32(head)))), dense, loose))


def head_of(kind: bytes, body: bytes) -> tuple[int, int, int]:
    """Check that a body is a whole block of this kind and return its three counts.

    Raises:
        StoreCorruptError: It is not.
    """
    if len(body) < _START:
        raise corrupt("is too short")
    magic, version, codec, first, second, third = _HEAD.unpack_from(body)
    if magic != b"M" + kind or codec not in (_PLAIN, _SQUEEZED):
        raise corrupt("is not of the kind that its row says")
    if version != _VERSION:
        raise corrupt(f"has the format {version}, which this version of Memoranda does not know")
    view = memoryview(body)
    if crc32(view[_START:], crc32(view[: _HEAD.size])) != _CHECKSUM.unpack_from(body, _HEAD.size)[0]:
        raise corrupt("does not match its checksum")
    return first, second, third


def sections(body: bytes, dense: int, loose: int) -> tuple[memoryview, bytes | memoryview]:
    """Open a block that `head_of` has checked, given the sizes in bytes that its counts ask for.

    Raises:
        StoreCorruptError: The sections have other sizes.
    """
    rest = len(body) - _START - dense
    if rest < 0 or loose > _MOST_BYTES:
        raise corrupt("is shorter than its counts say")
    view = memoryview(body)
    end = _START + dense
    opened: bytes | memoryview = view[end:]
    if body[3] == _SQUEEZED:
        opened = _decompress(body[end:], loose)
    if len(opened) != loose:
        raise corrupt("does not have the size that its counts say")
    return view[_START:end], opened


def corrupt(what: str) -> StoreCorruptError:
    """Say that a block of the search index cannot be used, and what to do about it."""
    return StoreCorruptError(f"A block of the search index {what}.", "Build the index anew with `memoranda reindex`.")


def planes(values: array[int]) -> list[bytes]:
    """Return the byte planes of an array of integers, lowest byte first."""
    if sys.byteorder == "big":  # pragma: no cover - no such machine among those tested
        values = array(values.typecode, values)
        values.byteswap()
    data = values.tobytes()
    width = values.itemsize
    return [data[at::width] for at in range(width)]


def u32_planes(columns: Sequence[Iterable[int]]) -> bytes:
    """Return columns of 32-bit integers as differences, in planes: the counterpart of `read_u32`."""
    flat = array(U32)
    for column in columns:
        before = 0
        for value in column:
            flat.append((value - before) & 0xFFFFFFFF)
            before = value
    return b"".join(planes(flat))


# The C type of four bytes differs between platforms.
U32 = "I" if array("I").itemsize == 4 else "L"


def little(values: array[int]) -> bytes:
    """Return the bytes of an array, lowest byte first."""
    if sys.byteorder == "big":  # pragma: no cover - no such machine among those tested
        values.byteswap()
    return values.tobytes()


def read_u32(
    data: bytes | memoryview, columns: int, count: int, out: NDArray[np.uint32] | None = None
) -> NDArray[np.uint32]:
    """Read columns of 32-bit integers (`u32_planes`) as the rows of an array."""
    import numpy as np

    flat = np.frombuffer(data, np.uint8, 4 * columns * count).reshape(4, columns * count)
    return flat.T.copy().view("<u4").reshape(columns, count).cumsum(axis=1, dtype=np.uint32, out=out)


def write_u32(columns: NDArray[np.uint32]) -> bytes:
    """Write columns of 32-bit integers, the rows of an array, as `u32_planes` does."""
    import numpy as np

    return write_planes(np.diff(columns, axis=1, prepend=np.uint32(0)).ravel(), "<u4").tobytes()


def write_planes(values: NDArray[np.integer], dtype: str) -> NDArray[np.uint8]:
    """Return the byte planes of an array, lowest byte first, as the rows of an array."""
    import numpy as np

    return values.astype(dtype).view(np.uint8).reshape(len(values), np.dtype(dtype).itemsize).T.copy()


def read_narrow(
    data: bytes | memoryview, width: int, count: int, offset: int
) -> NDArray[np.uint16] | NDArray[np.uint8]:
    """Read integers of one byte, or of two in planes."""
    import numpy as np

    flat = np.frombuffer(data, np.uint8, width * count, offset)
    if width == 1:
        return flat
    return flat.reshape(2, count).T.copy().view("<u2").ravel()


def _decompress(data: bytes, size: int) -> bytes:
    import zstandard

    decompressor: zstandard.ZstdDecompressor | None = getattr(_local, "decompressor", None)
    if decompressor is None:
        decompressor = _local.decompressor = zstandard.ZstdDecompressor()
    try:
        # A frame that states its own size could ask for any amount; ours never do.
        if zstandard.frame_content_size(data) != -1:
            raise corrupt("holds a frame of another maker")
        return decompressor.decompress(data, max_output_size=size)
    except zstandard.ZstdError:
        raise corrupt("cannot be decompressed") from None


def _compressor() -> zstandard.ZstdCompressor:
    # One per thread: a compressor is not safe to share, and making one costs more than a small block.
    compressor: zstandard.ZstdCompressor | None = getattr(_local, "compressor", None)
    if compressor is None:
        import zstandard

        compressor = _local.compressor = zstandard.ZstdCompressor(level=_LEVEL, write_content_size=False)
    return compressor
