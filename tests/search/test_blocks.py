"""Words, dead and waiting blocks: what goes in comes out, merging keeps it, and damage is told."""

from __future__ import annotations

import struct
import subprocess
import sys
from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from zstandard import ZstdCompressor

from memoranda.errors import StoreCorruptError
from memoranda.search.blocks import (
    MAX_PASSAGES,
    Entry,
    WordBlock,
    merge_words,
    pack_numbers,
    pack_vectors,
    pack_waiting,
    pack_words,
    unpack_numbers,
    unpack_waiting,
)
from memoranda.search.envelope import u32_planes
from memoranda.search.vectors import VectorBlock
from memoranda.search.wordblocks import Columns

U32 = st.integers(0, 2**32 - 1)
# Few different terms, so that passages share them, and both ends of the range.
TERMS = st.sampled_from([0, 1, 5, 2**24, 2**39, 2**40 - 1]) | st.integers(0, 2**40 - 1)
ENTRIES = st.builds(
    Entry,
    number=U32,
    source=U32,
    place=U32,
    digest=U32,
    at=st.integers(-(2**50), 2**53),
    session=U32,
    speaker=U32,
    flags=st.integers(0, 255),
    length=st.integers(0, 70_000),
    terms=st.dictionaries(TERMS, st.integers(1, 300), max_size=12),
)
PASSAGES = st.lists(ENTRIES, min_size=1, max_size=12, unique_by=lambda entry: entry.number)


def entries_of(block: WordBlock) -> list[Entry]:
    """A block read back by walking its postings one by one."""
    columns = Columns(block.columns)
    terms: list[dict[int, int]] = [{} for _ in range(len(block))]
    for row, term in enumerate(block.terms.tolist()):
        for at in range(int(block.starts[row]), int(block.starts[row + 1])):
            terms[int(block.locals[at])][term] = int(block.occurs[at])
    names = ("number", "source", "place", "digest", "at", "session", "speaker", "flags", "length")
    rows = zip(*[getattr(columns, name).tolist() for name in names], strict=True)
    return [Entry(*row, terms) for row, terms in zip(rows, terms, strict=True)]


def kept(entry: Entry) -> Entry:
    """A passage as a block can keep it."""
    terms = {term: min(255, occurs) for term, occurs in entry.terms.items()}
    return entry._replace(length=min(65_535, entry.length), terms=terms)


def plain(number: int, terms: dict[int, int] | None = None) -> Entry:
    return Entry(
        number,
        number,
        number,
        number * 77,
        number * 1_000_003,
        1,
        0,
        0,
        3,
        {number % 7: 1, 9: 2} if terms is None else terms,
    )


@settings(max_examples=40)
@given(PASSAGES)
def test_what_is_packed_comes_back_by_number(entries: list[Entry]) -> None:
    block = WordBlock.unpack(pack_words(entries))

    assert entries_of(block) == [kept(entry) for entry in sorted(entries)]


@settings(max_examples=40)
@given(PASSAGES, st.data())
def test_merging_gives_the_bytes_of_packing_what_is_left(entries: list[Entry], data: st.DataObject) -> None:
    """However the passages were spread over blocks, and whichever of them died."""
    numbers = [entry.number for entry in entries]
    dead = data.draw(st.sets(st.sampled_from([*numbers, 4_000_000_000])))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(entries)), max_size=4)) | {len(entries)})
    blocks = [
        WordBlock.unpack(pack_words(entries[start:stop])) for start, stop in zip([0, *cuts[:-1]], cuts, strict=True)
    ]
    left = [entry for entry in entries if entry.number not in dead]

    assert merge_words(blocks, dead) == (pack_words(left) if left else None)


def test_wide_blocks_keep_every_posting() -> None:
    """Above 255 passages a posting names its passage with two bytes."""
    entries = [plain(number, {number % 13: 1 + number % 3, 99: 1}) for number in range(700)]

    assert entries_of(WordBlock.unpack(pack_words(entries))) == entries
    assert merge_words([WordBlock.unpack(pack_words(entries))], {*range(500)}) == pack_words(entries[500:])


def test_only_the_lower_40_bits_of_a_term_are_kept() -> None:
    block = WordBlock.unpack(pack_words([plain(1, {2**63 + 5: 2})]))

    assert block.terms.tolist() == [5]


@pytest.mark.parametrize("count", [0, MAX_PASSAGES + 1])
def test_a_block_refuses_no_passages_and_too_many(count: int) -> None:
    with pytest.raises(ValueError, match="A block holds"):
        pack_words([plain(0)] * count)


def test_too_many_passages_are_not_merged_into_one() -> None:
    block = WordBlock.unpack(pack_words([plain(number, {}) for number in range(33_000)]))

    with pytest.raises(ValueError, match="A block holds"):
        merge_words([block, block], [])


def test_a_passage_without_terms_is_kept() -> None:
    block = WordBlock.unpack(pack_words([plain(3, {})]))

    assert (len(block), len(block.terms), block.number.tolist()) == (1, 0, [3])


@given(st.lists(U32))
def test_dead_numbers_come_back_ascending_and_once(numbers: list[int]) -> None:
    assert unpack_numbers(pack_numbers(numbers)).tolist() == sorted(set(numbers))


@given(st.lists(st.tuples(U32, U32, U32)))
def test_waiting_passages_come_back_in_their_order(entries: list[tuple[int, int, int]]) -> None:
    assert [tuple(entry) for entry in unpack_waiting(pack_waiting(entries))] == entries


BODIES = {
    "words": (pack_words([plain(number) for number in range(30)]), WordBlock.unpack),
    "one passage": (pack_words([plain(1)]), WordBlock.unpack),
    "dead": (pack_numbers(range(0, 900, 7)), unpack_numbers),
    "waiting": (pack_waiting([(1, 2, 3), (4, 5, 6)]), unpack_waiting),
    "vectors": (pack_vectors([1, 2], [[1.0, 0.5], [0.0, -1.0]]), VectorBlock.unpack),
}


@pytest.mark.parametrize("name", BODIES)
def test_every_cut_and_every_changed_byte_is_told(name: str) -> None:
    body, unpack = BODIES[name]
    damaged = [body[:size] for size in range(len(body))] + [body + b"\0"]
    damaged += [body[:at] + bytes([body[at] ^ 0x55]) + body[at + 1 :] for at in range(len(body))]
    for each in damaged:
        with pytest.raises(StoreCorruptError) as told:
            unpack(each)
        assert "memoranda reindex" in told.value.remedy


@pytest.mark.parametrize("name", BODIES)
@settings(max_examples=40)
@given(data=st.data())
def test_a_forged_body_with_a_right_checksum_fails_cleanly_or_not_at_all(name: str, data: st.DataObject) -> None:
    """Whoever can write the database can make a checksum; that must not crash a reader or take its memory."""
    body, unpack = BODIES[name]
    forged = bytearray(body)
    for _ in range(data.draw(st.integers(1, 4))):
        forged[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    forged[16:20] = struct.pack("<I", crc32(forged[20:], crc32(forged[:16])))
    try:
        found = unpack(bytes(forged))
    except StoreCorruptError:
        return
    if isinstance(found, WordBlock):
        merge_words([found], [])


def test_postings_that_lead_nowhere_are_told() -> None:
    block = WordBlock.unpack(pack_words([plain(1), plain(2)]))
    beyond = replace(block, locals=block.locals + np.uint8(1))
    missing = replace(block, starts=block.starts * 2)

    for forged in (beyond, missing):
        with pytest.raises(StoreCorruptError, match="nowhere"):
            WordBlock.unpack(forged.pack())


def test_a_frame_that_states_its_own_size_is_not_opened() -> None:
    """It could claim terabytes; ours never state one."""
    numbers = range(0, 9_000, 7)
    loose = u32_planes((numbers,))
    for state_size in (False, True):
        frame = ZstdCompressor(write_content_size=state_size).compress(loose)
        head = struct.pack("<2sBBIII", b"MD", 1, 1, len(numbers), 0, 0)
        body = head + struct.pack("<I", crc32(frame, crc32(head))) + frame
        if state_size:
            with pytest.raises(StoreCorruptError, match="another maker"):
                unpack_numbers(body)
        else:
            assert unpack_numbers(body).tolist() == [*numbers]


def test_a_claim_of_too_much_is_not_believed() -> None:
    head = struct.pack("<2sBBIII", b"MD", 1, 1, 2**32 - 1, 0, 0)
    with pytest.raises(StoreCorruptError, match="shorter"):
        unpack_numbers(head + struct.pack("<I", crc32(b"x", crc32(head))) + b"x")


@pytest.mark.parametrize("name", BODIES)
def test_one_kind_is_not_read_as_another(name: str) -> None:
    body, unpack = BODIES[name]
    for other, (_, foreign) in BODIES.items():
        if foreign != unpack:
            with pytest.raises(StoreCorruptError, match="kind"):
                foreign(body)
            assert other != name


def test_packing_what_a_write_brings_does_not_import_numpy() -> None:
    program = (
        "import sys\n"
        "from memoranda.search.blocks import Entry, due, pack_numbers, pack_waiting, pack_words\n"
        "pack_words([Entry(1, 1, 1, 1, 1, 1, 1, 1, 1, {1: 1})]), pack_numbers([1]), pack_waiting([(1, 2, 3)])\n"
        "due([(1, 2)])\n"
        "sys.exit('numpy' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_times_keep_their_microseconds_before_1970_and_after_2106() -> None:
    times = [-62_135_596_800_000_000, -1, 0, 1_700_000_000_123_456, 253_402_300_799_999_999]
    entries = [plain(number)._replace(at=at) for number, at in enumerate(times)]

    assert Columns(WordBlock.unpack(pack_words(entries)).columns).at.tolist() == times


def test_blocks_stay_small() -> None:
    """A merged block of English takes less than half of a typical turn's 143 bytes, on terms like a text's."""
    random = np.random.default_rng(3)
    ids = random.integers(0, 2**40, 20_000)
    entries = [
        plain(number, {int(ids[at]): 1 for at in (random.pareto(0.6, 30) % 20_000).astype(int)})
        for number in range(1_024)
    ]

    assert len(pack_words(entries)) / len(entries) < 71
