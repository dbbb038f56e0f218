"""How superseded values are stored: as a delta that turns the newer value back into the older.

Three kinds. A *splice* replaces one run of lines and is what nearly every edit becomes: a few bytes of header
and the old lines. A *patch* is the old value compressed with the newer as dictionary (zstd, RFC 8878, raw
content dictionary), for rewrites in several places. A *full* delta stands on its own: a keyframe.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from memoranda.files.matching import split_lines

if TYPE_CHECKING:
    import zstandard

# A middle this short is stored as it is, at once: compressing it would save less than it costs.
_SMALL = 512
_LEVEL = 3
# No value is larger; a damaged length is refused before anything is allocated.
_MAX_SIZE = 1 << 30
_PIECE = 1 << 20
_FAR = 1 << 24
_SAMPLES, _SAMPLE = 8, 16
_RAW, _ZSTD = 0, 1
_local = threading.local()


class DeltaKind(IntEnum):
    """How a superseded value is stored; the numbers are stored too and never change."""

    FULL = 1
    """The whole value."""
    SPLICE = 2
    """One run of lines to put back into the newer value."""
    PATCH = 3
    """The whole value, compressed against the newer one."""


class Delta(NamedTuple):
    """A superseded value as it is stored."""

    kind: DeltaKind
    payload: bytes


@dataclass(frozen=True, slots=True)
class LineSplice:
    """What turns a newer text into the older: some lines are replaced by others."""

    start: int
    """Index of the first line to replace in the newer text, from 0."""
    count: int
    """How many lines of the newer text to replace."""
    lines: tuple[bytes, ...]
    """The older lines, each with its end."""


class _Edges(NamedTuple):
    """How much two texts share: whole lines, in bytes, from the start and from the end."""

    prefix: int
    suffix: int


def encode_previous(previous: bytes, current: bytes | None) -> Delta:
    r"""Store a value that was just superseded.

    Args:
        previous: The value until now.
        current: The value that takes its place; None if the item is deleted.

    Returns:
        The smallest of the three kinds, or nearly so: a short splice is taken unseen.

    Example:
        >>> delta = encode_previous(b"a\nb\nc\n", b"a\nB\nc\n")
        >>> delta.kind.name, apply_delta(*delta, b"a\nB\nc\n")
        ('SPLICE', b'a\nb\nc\n')
    """
    if not current:
        return _full(previous)
    edges = _shared(previous, current)
    middle = previous[edges.prefix : len(previous) - edges.suffix]
    header = _splice_header(edges, current)
    if len(middle) <= _SMALL:
        return Delta(DeltaKind.SPLICE, header + b"\0" + middle)
    if not _related(previous, current):
        return _full(previous)
    patch = Delta(DeltaKind.PATCH, _patch(previous, current))
    if len(patch.payload) < len(middle) >> 3:
        return patch  # compressing the middle alone would hardly beat this, so it is not tried
    # Where nothing is shared, a splice would hold the whole value too, and still need the newer one.
    alone = Delta(DeltaKind.SPLICE, header + _packed(middle)) if len(middle) < len(previous) else _full(previous)
    best = patch if len(patch.payload) < len(alone.payload) else alone
    # Only a value that is mostly new can be smaller alone than beside the one that replaces it.
    if best.kind != DeltaKind.FULL and 2 * len(middle) > len(previous):
        full = _full(previous)
        if len(full.payload) <= len(best.payload):
            best = full
    return best


def apply_delta(kind: int, payload: bytes, current: bytes | None) -> bytes:
    """Get a superseded value back.

    Args:
        kind: The kind of the delta.
        payload: The delta.
        current: The value that it was encoded against; not needed for a full delta.

    Returns:
        The older value.

    Raises:
        ValueError: The delta is damaged, or does not belong to this value.

    Example:
        >>> apply_delta(*encode_previous(b"old", None), None)
        b'old'
    """
    if kind == DeltaKind.FULL:
        return _unpacked(payload)
    if current is None:
        raise ValueError(f"A delta of kind {kind} needs the newer value.")
    if kind == DeltaKind.SPLICE:
        _, _, edges, middle = _read_splice(payload, current)
        return b"".join((current[: edges.prefix], middle, current[len(current) - edges.suffix :]))
    if kind == DeltaKind.PATCH:
        return _decompressed(payload, current)
    raise ValueError(f"There is no delta of kind {kind}.")


def splice_of(kind: int, payload: bytes, current: bytes | None) -> LineSplice | None:
    r"""Describe a delta as a change of lines; a splice is read off without building the older text.

    Args:
        kind: The kind of the delta.
        payload: The delta.
        current: The value that it was encoded against.

    Returns:
        The splice that turns the newer text into the older; None if there is no newer text.

    Raises:
        ValueError: The delta is damaged, or does not belong to this value.

    Example:
        >>> splice_of(*encode_previous(b"a\nb\n", b"a\n"), b"a\n")
        LineSplice(start=1, count=0, lines=(b'b\n',))
    """
    if current is None:
        return None
    if kind == DeltaKind.SPLICE:
        start, count, _, middle = _read_splice(payload, current)
        return LineSplice(start, count, tuple(split_lines(middle)))
    return splice_between(apply_delta(kind, payload, current), current)


def splice_between(previous: bytes, current: bytes) -> LineSplice:
    r"""Find the one run of lines by which two texts differ.

    Args:
        previous: The older text.
        current: The newer text.

    Returns:
        The splice that turns the newer text into the older.

    Example:
        >>> splice_between(b"a\nb\n", b"a\nc\nd\n")
        LineSplice(start=1, count=2, lines=(b'b\n',))
    """
    edges = _shared(previous, current)
    start, count = _line_range(edges, current)
    return LineSplice(start, count, tuple(split_lines(previous[edges.prefix : len(previous) - edges.suffix])))


# --- what two texts share -----------------------------------------------------------------------------------


def _shared(a: bytes, b: bytes) -> _Edges:
    """Measure the whole lines that two texts share at both ends, without counting any byte twice."""
    limit = min(len(a), len(b))
    prefix = _prefix_size(a, b, limit)
    if prefix == len(a) == len(b):
        return _Edges(prefix, 0)
    prefix = a.rfind(b"\n", 0, prefix) + 1
    suffix = _suffix_size(a, b, limit - prefix)
    at_a, at_b = len(a) - suffix, len(b) - suffix
    if _starts_line(a, at_a) and _starts_line(b, at_b):
        return _Edges(prefix, suffix)
    end = a.find(b"\n", at_a)
    return _Edges(prefix, len(a) - end - 1 if end >= 0 else 0)


def _related(previous: bytes, current: bytes) -> bool:
    """Whether any of a few samples of the older value stands in the newer: if none does, it was written anew."""
    step = len(previous) // (_SAMPLES + 1)
    return any(previous[at * step : at * step + _SAMPLE] in current for at in range(1, _SAMPLES + 1))


def _starts_line(text: bytes, at: int) -> bool:
    return at == 0 or text[at - 1] == 10


def _prefix_size(a: bytes, b: bytes, high: int) -> int:
    # Halving: each step compares half of what is left, at the speed of memcmp.
    low = 0
    while low < high:
        middle = (low + high + 1) >> 1
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _suffix_size(a: bytes, b: bytes, high: int) -> int:
    end_a, end_b, low = len(a), len(b), 0
    while low < high:
        middle = (low + high + 1) >> 1
        if a[end_a - middle : end_a - low] == b[end_b - middle : end_b - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _line_range(edges: _Edges, current: bytes) -> tuple[int, int]:
    """Return the index of the first line after the prefix, and how many lines lie before the suffix."""
    end = len(current) - edges.suffix
    count = current.count(b"\n", edges.prefix, end)
    if end > edges.prefix and current[end - 1] != 10:
        count += 1
    return current.count(b"\n", 0, edges.prefix), count


# --- splices ------------------------------------------------------------------------------------------------


def _splice_header(edges: _Edges, current: bytes) -> bytes:
    out = bytearray()
    for number in (*_line_range(edges, current), *edges):
        while number > 127:
            out.append(number & 127 | 128)
            number >>= 7
        out.append(number)
    return bytes(out)


def _read_splice(payload: bytes, current: bytes) -> tuple[int, int, _Edges, bytes]:
    numbers: list[int] = []
    at = 0
    for _ in range(4):
        number = shift = 0
        while True:
            if at >= len(payload) or shift > 56:
                raise ValueError("The delta is damaged: its header is cut short.")
            byte = payload[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        numbers.append(number)
    start, count, prefix, suffix = numbers
    # The lines are not counted again: a line has at least one byte, which bounds what a reader can be told.
    if prefix + suffix > len(current) or start > prefix or count > len(current) - prefix - suffix:
        raise ValueError("The delta is damaged, or belongs to another value.")
    return start, count, _Edges(prefix, suffix), _unpacked(payload[at:])


# --- compression --------------------------------------------------------------------------------------------


def _full(value: bytes) -> Delta:
    return Delta(DeltaKind.FULL, _packed(value))


def _packed(value: bytes) -> bytes:
    """Compress bytes if that makes them smaller; the first byte tells."""
    if len(value) > 64:
        packed = _compressor().compress(value)
        if len(packed) < len(value):
            return b"\1" + packed
    return b"\0" + value


def _compressor() -> zstandard.ZstdCompressor:
    """This thread's compressor; making one costs as much as compressing two kilobytes."""
    compressor: zstandard.ZstdCompressor | None = getattr(_local, "compressor", None)
    if compressor is None:
        import zstandard

        compressor = _local.compressor = zstandard.ZstdCompressor(level=_LEVEL)
    return compressor


def _unpacked(payload: bytes) -> bytes:
    if not payload or payload[0] not in (_RAW, _ZSTD):
        raise ValueError("The delta is damaged: it does not say how it is packed.")
    if payload[0] == _RAW:
        return payload[1:]
    return _decompressed(payload[1:], None)


def _patch(previous: bytes, current: bytes) -> bytes:
    import zstandard

    # zstd indexes no more of a dictionary than eight times its table, so the table grows with it; and its
    # fast strategies no more than 16 MB of it, so beyond that the next one is taken, which searches further.
    bits = len(current).bit_length()
    if len(current) < _FAR:
        search = {"hash_log": max(bits - 3, 17)}
    else:
        search = {
            "hash_log": min(bits - 2, 26),
            "strategy": zstandard.STRATEGY_GREEDY,
            "search_log": 3,
            "min_match": 6,
        }
    parameters = zstandard.ZstdCompressionParameters.from_level(  # pyright: ignore[reportUnknownMemberType]
        _LEVEL,
        source_size=len(previous),
        dict_size=len(current),
        # The dictionary is only seen through the window, which therefore spans both.
        window_log=_window_log(len(previous) + len(current)),
        **search,
    )
    compressor = zstandard.ZstdCompressor(dict_data=_dictionary(current), compression_params=parameters)
    return compressor.compress(previous)


def _dictionary(content: bytes) -> zstandard.ZstdCompressionDict:
    import zstandard

    return zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def _window_log(size: int) -> int:
    return min(max(size.bit_length(), 10), 31)


def _decompressed(frame: bytes, reference: bytes | None) -> bytes:
    import zstandard

    try:
        size = zstandard.frame_content_size(frame)
        if not 0 <= size <= _MAX_SIZE:
            raise ValueError(f"The delta is damaged: it claims a value of {size} bytes.")
        # No more memory than an honest frame of this size would need.
        window = 1 << max(_window_log(size + len(reference or b"")), 23)
        decompressor = zstandard.ZstdDecompressor(
            dict_data=_dictionary(reference) if reference else None, max_window_size=window
        )
        small = size <= _PIECE
        value = decompressor.decompress(frame) if small else _read_pieces(decompressor, frame, size)
    except (zstandard.ZstdError, MemoryError) as error:
        raise ValueError(f"The delta is damaged: {error}.") from None
    if len(value) != size:
        raise ValueError("The delta is damaged: its value has the wrong length.")
    return value


def _read_pieces(decompressor: zstandard.ZstdDecompressor, frame: bytes, size: int) -> bytes:
    """Decompress a large value, believing its claimed size only as far as bytes really come."""
    pieces: list[bytes] = []
    read = 0
    with decompressor.stream_reader(frame) as reader:
        while read <= size and (piece := reader.read(_PIECE)):
            pieces.append(piece)
            read += len(piece)
    return b"".join(pieces)
