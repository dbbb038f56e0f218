"""The lines of a bundle: text compressed with zstd.

They are written so that a part can be taken back, and read so that nothing missing goes unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from memoranda.transfer.errors import BundleCorruptError, BundleTruncatedError, NotABundleError

MAGIC = b"\x28\xb5\x2f\xfd"

_HELD = 1_000_000
_READ = 1 << 14
_FIRST_LINE = 1 << 16
_LONGEST_LINE = 1 << 31
_LEVEL = 3


class LineWriter:
    """Writes lines in parts, of which the last can be begun again.

    A small part is held back until it is complete; a larger one gets a zstd frame of its own, which is cut off the file
    if the part has to be begun again.

    Args:
        file: Where to write; it has to be seekable.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._frame = _new_frame()
        self._held: list[bytes] = []
        self._held_size = 0
        self._cut: int | None = None

    def begin(self) -> None:
        """Begin a part; what was written since the last `keep` is forgotten."""
        if self._cut is not None:
            self._file.seek(self._cut)
            self._file.truncate()
            self._frame = _new_frame()
            self._cut = None
        self._held.clear()
        self._held_size = 0

    def write(self, line: bytes) -> None:
        """Add a line to the part."""
        self._held += (line, b"\n")
        self._held_size += len(line)
        if self._held_size > _HELD:
            if self._cut is None:
                self._file.write(self._frame.flush())
                self._frame = _new_frame()
                self._cut = self._file.tell()
            self._pass_on()

    def keep(self) -> None:
        """The part is complete."""
        self._pass_on()
        self._cut = None

    def close(self) -> None:
        """Keep the part and end the last frame; the file stays open."""
        self.keep()
        self._file.write(self._frame.flush())

    def _pass_on(self) -> None:
        self._file.write(self._frame.compress(b"".join(self._held)))
        self._held.clear()
        self._held_size = 0


def read_lines(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """The lines of a bundle, without their ends.

    Raises:
        NotABundleError: It is something else.
        BundleTruncatedError: It ends early.
        BundleCorruptError: It is damaged.
    """
    pending: list[bytes] = []
    size, longest = 0, _FIRST_LINE
    for piece in _decompressed(file, path):
        start = 0
        while (end := piece.find(b"\n", start)) >= 0:
            pending.append(piece[start:end])
            yield b"".join(pending)
            pending, size, longest = [], 0, _LONGEST_LINE
            start = end + 1
        if start < len(piece):
            pending.append(piece[start:])
            size += len(piece) - start
            if size > longest:
                raise no_bundle(path) if longest == _FIRST_LINE else damaged(path, "a line does not end")
    if pending:
        raise truncated(path)


def no_bundle(path: Path) -> NotABundleError:
    """The error for another kind of file."""
    return NotABundleError(f"{path} is no Memoranda bundle.", "Make one with `memoranda export`.")


def truncated(path: Path) -> BundleTruncatedError:
    """The error for a file that ends early."""
    return BundleTruncatedError(
        f"The bundle {path} was cut off: it ends early.",
        "Copy it again, or export again; nothing was imported from it.",
    )


def damaged(path: Path, what: str) -> BundleCorruptError:
    """The error for a file that does not hold together."""
    return BundleCorruptError(
        f"The bundle {path} is damaged: {what}.", "Copy it again, or export again; nothing was imported from it."
    )


def _new_frame() -> zstandard.ZstdCompressionObj:
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compressobj()


def _decompressed(file: BinaryIO, path: Path) -> Iterator[bytes]:
    head = file.read(len(MAGIC))
    if head != MAGIC:
        raise truncated(path) if head and MAGIC.startswith(head) else no_bundle(path)
    data = head
    while data:
        # Frame by frame: only so does an incomplete one show.
        frame = zstandard.ZstdDecompressor().decompressobj()
        while not frame.eof:
            if not data and not (data := file.read(_READ)):
                raise truncated(path)
            try:
                piece = frame.decompress(data)
            except (zstandard.ZstdError, MemoryError) as error:
                raise damaged(path, str(error)) from None
            data = b""
            if piece:
                yield piece
        data = frame.unused_data or file.read(_READ)
