"""Words blocks: passages with their attributes and the inverted index of their terms.

A block is made without numpy when a write packs the few passages of one file or turn (`pack_words`), and with numpy
when blocks are merged (`WordBlock.pack`); both give the same bytes for the same passages. Terms are kept as the lower
40 bits of their 64-bit ids: in a scope of a million different terms, one query term in a million meets a stranger.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from memoranda.search.envelope import (
    MAX_PASSAGES,
    U32,
    corrupt,
    head_of,
    little,
    planes,
    read_narrow,
    read_u32,
    seal,
    sections,
    u32_planes,
    write_planes,
    write_u32,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

QUESTION = 1
"""Flag: the passage ends in a question mark."""
JSON = 2
"""Flag: the passage belongs to an item that is no file."""

TERM_MASK = (1 << 40) - 1
"""A block keeps the lower 40 bits of a term's id: `id & TERM_MASK`."""
TERM_SHIFT = 24
"""Where the term begins in the integer that stands for a posting: above the passage and the occurrences."""

_WORDS = b"W"
_U32, _U16, _U8 = 0xFFFFFFFF, 0xFFFF, 0xFF
_MICROSECONDS = 1_000_000


class Entry(NamedTuple):
    """One passage as the index knows it.

    Attributes:
        number: The passage's number, counted per namespace; 32 bits, as all but `at`, `flags` and `length`.
        source: Number of the item, or position of the turn, that holds the passage.
        place: Order of the passage in its session.
        digest: Digest of the passage's text and heading.
        at: When it was written or said, in microseconds since 1970.
        session: What the passage's neighbours belong to: the item's number, or a hash of the thread's id.
        speaker: Who said it (`speaker_id`), 0 for nobody.
        flags: `QUESTION`, `JSON`, and bits that a caller may define; 8 bits.
        length: How many tokens count for BM25; kept up to 65,535.
        terms: The passage's terms with how often they occur; kept up to 255 times.
    """

    number: int
    source: int
    place: int
    digest: int
    at: int
    session: int
    speaker: int
    flags: int
    length: int
    terms: dict[int, int]


def pack_words(entries: Sequence[Entry]) -> bytes:
    """Pack passages with their terms into a words block, without numpy.

    Args:
        entries: At least one and at most `MAX_PASSAGES` passages, in any order.

    Returns:
        The block's body.

    Raises:
        ValueError: There is no passage, or there are too many.
    """
    if not 0 < len(entries) <= MAX_PASSAGES:
        raise ValueError(f"A block holds 1 to {MAX_PASSAGES} passages, not {len(entries)}.")
    entries = sorted(entries, key=itemgetter(0))
    # A posting is one integer (term, local, occurrences), so that sorting them is sorting integers.
    keys = [
        (term & TERM_MASK) << TERM_SHIFT | local << 8 | (occurs if occurs < _U8 else _U8)
        for local, entry in enumerate(entries)
        for term, occurs in entry.terms.items()
    ]
    keys.sort()
    frequencies = Counter([key >> TERM_SHIFT for key in keys])
    # Counter keeps the order of first sight, which is the terms' own.
    terms = list(frequencies)
    postings = planes(array("Q", keys))
    narrow = len(entries) <= _U8
    steps = planes(array("Q", [term - before for term, before in zip(terms, [0, *terms[:-1]], strict=True)]))
    document_frequencies = planes(array("H", frequencies.values()))
    columns = list(zip(*[entry[:9] for entry in entries], strict=True))
    number, source, place, digest, at, session, speaker, flags, length = columns
    clock = [_clock(moment) for moment in at]
    meta = [(flag & _U8) << 16 | min(tokens, _U16) for flag, tokens in zip(flags, length, strict=True)]
    loose = b"".join(
        (
            u32_planes((number, source, place, *zip(*clock, strict=True), session, speaker, meta)),
            steps[3],
            steps[4],
            *document_frequencies[: 1 if narrow else 2],
            *postings[1 : 2 if narrow else 3],
            postings[0],
        )
    )
    dense = b"".join((little(array(U32, digest)), *steps[:3]))
    return seal(_WORDS, (len(entries), len(terms), len(keys)), dense, loose)


@dataclass(frozen=True, slots=True)
class WordBlock:
    """A words block as arrays: attributes by local (position in the block), postings by term.

    Attributes:
        number: Each passage's number, as the other attributes in the order of the locals.
        at: Microseconds since 1970.
        terms: The lower 40 bits of the terms' ids, ascending.
        starts: Where each term's postings begin, and one past the last of all.
        locals: Each posting's passage.
        occurs: How often the term occurs there.
    """

    number: NDArray[np.uint32]
    source: NDArray[np.uint32]
    place: NDArray[np.uint32]
    digest: NDArray[np.uint32]
    at: NDArray[np.int64]
    session: NDArray[np.uint32]
    speaker: NDArray[np.uint32]
    flags: NDArray[np.uint8]
    length: NDArray[np.uint16]
    terms: NDArray[np.uint64]
    starts: NDArray[np.int64]
    locals: NDArray[np.uint16] | NDArray[np.uint8]
    occurs: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.number)

    @property
    def nbytes(self) -> int:
        """How many bytes of memory the block takes, roughly."""
        return 41 * len(self.number) + 16 * len(self.terms) + 3 * len(self.locals) + 2_000

    @classmethod
    def unpack(cls, body: bytes) -> WordBlock:
        """Read a block that `pack_words` or `merge_words` made.

        Raises:
            StoreCorruptError: The body is damaged.
        """
        import numpy as np

        count, terms, postings = head_of(_WORDS, body)
        width = 1 if count <= _U8 else 2
        if not 0 < count <= MAX_PASSAGES or terms > postings:
            raise corrupt("has counts that cannot be")
        at = (32 * count, 2 * terms, width * terms, width * postings)
        dense, loose = sections(body, 4 * count + 3 * terms, sum(at) + postings)
        columns = read_u32(loose, 8, count)
        ids = np.zeros((terms, 8), np.uint8)
        ids[:, :3] = np.frombuffer(dense, np.uint8, 3 * terms, 4 * count).reshape(3, terms).T
        ids[:, 3:5] = np.frombuffer(loose, np.uint8, 2 * terms, at[0]).reshape(2, terms).T
        starts = np.zeros(terms + 1, np.int64)
        begin = at[0] + at[1]
        np.cumsum(read_narrow(loose, width, terms, begin), out=starts[1:])
        begin += at[2]
        where = read_narrow(loose, width, postings, begin)
        if starts[-1] != postings or (postings and int(where.max()) >= count):
            raise corrupt("has postings that lead nowhere")
        meta = columns[7]
        return cls(
            number=columns[0],
            source=columns[1],
            place=columns[2],
            digest=np.frombuffer(dense, "<u4", count),
            at=_moments(columns[3], columns[4]),
            session=columns[5],
            speaker=columns[6],
            flags=(meta >> 16).astype(np.uint8),
            length=meta.astype(np.uint16),
            terms=np.cumsum(ids.view("<u8").ravel(), dtype=np.uint64),
            starts=starts,
            locals=where,
            occurs=np.frombuffer(loose, np.uint8, postings, begin + at[3]),
        )

    def pack(self) -> bytes:
        """Return the block's body, byte for byte as `pack_words` would make it of the same passages."""
        import numpy as np

        count, postings = len(self.number), len(self.locals)
        width = 1 if count <= _U8 else 2
        seconds = self.at // _MICROSECONDS
        micros = (self.at - seconds * _MICROSECONDS) | (seconds >> 32 & 0xFFF) << 20
        meta = self.flags.astype(np.uint32) << np.uint32(16) | self.length
        columns = (self.number, self.source, self.place, seconds, micros, self.session, self.speaker, meta)
        steps = write_planes(np.diff(self.terms, prepend=np.uint64(0)), "<u8")
        loose = b"".join(
            (
                write_u32(columns),
                steps[3:5].tobytes(),
                write_planes(np.diff(self.starts), "<u2")[:width].tobytes(),
                write_planes(self.locals, "<u2")[:width].tobytes(),
                self.occurs.tobytes(),
            )
        )
        dense = self.digest.astype("<u4").tobytes() + steps[:3].tobytes()
        return seal(_WORDS, (count, len(self.terms), postings), dense, loose)


def _clock(at: int) -> tuple[int, int]:
    # Whole seconds shrink well; the microseconds need 20 bits and leave 12 for the seconds' upper part.
    seconds, micros = divmod(at, _MICROSECONDS)
    return seconds & _U32, micros | (seconds >> 32 & 0xFFF) << 20


def _moments(seconds: NDArray[np.uint32], micros: NDArray[np.uint32]) -> NDArray[np.int64]:
    import numpy as np

    # The shift of a signed number brings the 12 upper bits back with their sign.
    upper = (micros.view(np.int32) >> 20).astype(np.int64)
    return (upper << 32 | seconds) * _MICROSECONDS + (micros & 0xFFFFF)
