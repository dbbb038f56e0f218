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
# The rows of `WordBlock.columns` that are kept as differences; the last row, the digests, looks random.
_STEPPED = 8
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

    Example:
        >>> block = WordBlock.unpack(pack_words([Entry(7, 1, 0, 0, 0, 1, 0, 0, 2, {99: 2})]))
        >>> len(block), block.number.tolist(), block.terms.tolist()
        (1, [7], [99])
    """
    if not 0 < len(entries) <= MAX_PASSAGES:
        raise ValueError(f"A block holds 1 to {MAX_PASSAGES} passages, not {len(entries)}.")
    entries = sorted(entries, key=itemgetter(0))
    # A posting is one integer (term, local, occurrences), so that sorting them is sorting integers.
    keys: list[int] = []
    for local, entry in enumerate(entries):
        at, terms = local << 8, entry.terms
        if max(terms.values(), default=0) > _U8:
            terms = {term: min(occurs, _U8) for term, occurs in terms.items()}
        keys += [(term & TERM_MASK) << TERM_SHIFT | at | occurs for term, occurs in terms.items()]
    keys.sort()
    # Counter keeps the order of first sight, which is the terms' own.
    frequencies = Counter([key >> TERM_SHIFT for key in keys])
    ids = list(frequencies)
    postings = planes(array("Q", keys))
    steps = planes(array("Q", [term - before for term, before in zip(ids, [0, *ids], strict=False)]))
    width = 1 if len(entries) <= _U8 else 2
    number, source, place, digest, moments, session, speaker, flags, length, _ = zip(*entries, strict=True)
    seconds, micros = zip(*[_clock(moment) for moment in moments], strict=True)
    meta = [(flag & _U8) << 16 | min(tokens, _U16) for flag, tokens in zip(flags, length, strict=True)]
    loose = b"".join(
        (
            u32_planes((number, source, place, seconds, micros, session, speaker, meta)),
            *steps[3:5],
            *planes(array("H", frequencies.values()))[:width],
            *postings[1 : 1 + width],
            postings[0],
        )
    )
    dense = b"".join((little(array(U32, digest)), *steps[:3]))
    return seal(_WORDS, (len(entries), len(ids), len(keys)), dense, loose)


@dataclass(frozen=True, slots=True)
class WordBlock:
    """A words block as arrays: attributes by local (position in the block), postings by term.

    Attributes:
        columns: The attributes as `Columns` reads them, a row each, the passages ascending by number.
        terms: The lower 40 bits of the terms' ids, ascending.
        starts: Where each term's postings begin, and one past the last of all.
        locals: Each posting's passage.
        occurs: How often the term occurs there.
    """

    columns: NDArray[np.uint32]
    terms: NDArray[np.uint64]
    starts: NDArray[np.int64]
    locals: NDArray[np.uint16] | NDArray[np.uint8]
    occurs: NDArray[np.uint8]

    def __len__(self) -> int:
        return self.columns.shape[1]

    @property
    def number(self) -> NDArray[np.uint32]:
        """The passages' numbers."""
        return self.columns[0]

    def terms_at(self, postings: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the terms of some postings, given by their positions."""
        return self.terms[self.starts.searchsorted(postings, side="right") - 1]

    @property
    def nbytes(self) -> int:
        """How many bytes of memory the block takes."""
        arrays = (self.columns, self.terms, self.starts, self.locals, self.occurs)
        return sum(array.nbytes for array in arrays) + 1_000

    @classmethod
    def unpack(cls, body: bytes) -> WordBlock:
        """Read a block that `pack_words` or `merge_words` made.

        Raises:
            StoreCorruptError: The body is damaged.
        """
        import numpy as np

        count, terms, postings = head_of(_WORDS, body)
        width = 1 if count <= _U8 else 2
        if not 0 < count <= MAX_PASSAGES:
            raise corrupt("has counts that cannot be")
        at_terms = 4 * _STEPPED * count
        at_locals = at_terms + (2 + width) * terms
        at_occurs = at_locals + width * postings
        dense, loose = sections(body, 4 * count + 3 * terms, at_occurs + postings)
        columns = np.empty((_STEPPED + 1, count), np.uint32)
        read_u32(loose, _STEPPED, count, columns[:_STEPPED])
        columns[_STEPPED] = np.frombuffer(dense, "<u4", count)
        ids = np.zeros((terms, 8), np.uint8)
        ids.T[:3] = np.frombuffer(dense, np.uint8, 3 * terms, 4 * count).reshape(3, terms)
        ids.T[3:5] = np.frombuffer(loose, np.uint8, 2 * terms, at_terms).reshape(2, terms)
        starts = np.zeros(terms + 1, np.int64)
        read_narrow(loose, width, terms, at_terms + 2 * terms).cumsum(out=starts[1:])
        where = read_narrow(loose, width, postings, at_locals)
        if starts[-1] != postings or (postings and int(where.max()) >= count):
            raise corrupt("has postings that lead nowhere")
        return cls(
            columns,
            ids.view("<u8").ravel().cumsum(dtype=np.uint64),
            starts,
            where,
            np.frombuffer(loose, np.uint8, postings, at_occurs),
        )

    def pack(self) -> bytes:
        """Return the block's body, byte for byte as `pack_words` would make it of the same passages."""
        import numpy as np

        count = len(self)
        width = 1 if count <= _U8 else 2
        steps = write_planes(np.diff(self.terms, prepend=np.uint64(0)), "<u8")
        loose = b"".join(
            (
                write_u32(self.columns[:_STEPPED]),
                steps[3:5].tobytes(),
                write_planes(np.diff(self.starts), "<u2")[:width].tobytes(),
                write_planes(self.locals, "<u2")[:width].tobytes(),
                self.occurs.tobytes(),
            )
        )
        dense = self.columns[_STEPPED].astype("<u4").tobytes() + steps[:3].tobytes()
        return seal(_WORDS, (count, len(self.terms), len(self.locals)), dense, loose)


class Columns:
    """The attributes of passages, of one block or of several laid end to end.

    Args:
        table: `WordBlock.columns`, or several of them side by side.

    Attributes:
        number: The passages' numbers; the other attributes are in the same order.
        source: The numbers of what holds them.
        place: Their order in their sessions.
        session: What their neighbours belong to.
        speaker: Who spoke, 0 for nobody.
        digest: Digest of the text and heading.
        at: Microseconds since 1970.
        flags: `QUESTION` and the like.
        length: Tokens that count for BM25.
    """

    def __init__(self, table: NDArray[np.uint32]) -> None:
        import numpy as np

        self.number, self.source, self.place, seconds, micros, self.session, self.speaker, meta, self.digest = table
        # The shift of a signed number brings the seconds' 12 upper bits back with their sign.
        upper = (micros.view(np.int32) >> 20).astype(np.int64)
        self.at: NDArray[np.int64] = (upper << 32 | seconds) * _MICROSECONDS + (micros & 0xFFFFF)
        self.flags: NDArray[np.uint8] = (meta >> 16).astype(np.uint8)
        self.length: NDArray[np.uint16] = meta.astype(np.uint16)


def _clock(at: int) -> tuple[int, int]:
    # Whole seconds shrink well; the microseconds need 20 bits and leave 12 for the seconds' upper part.
    seconds, micros = divmod(at, _MICROSECONDS)
    return seconds & _U32, micros | (seconds >> 32 & 0xFFF) << 20
