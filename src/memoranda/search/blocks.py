"""Blocks of the index: packed, immutable runs of what is known about the passages of one index scope.

This is the one door to their formats: words (`memoranda.search.wordblocks`), numbers of the dead and the waiting
(`memoranda.search.numbers`), vectors (`memoranda.search.vectors`), and when to merge them (`memoranda.search.tiers`).
Importing it, and packing what one write brings, does not import numpy.
"""

from __future__ import annotations

from memoranda.search.envelope import MAX_PASSAGES
from memoranda.search.merging import merge_words
from memoranda.search.numbers import Waiting, pack_numbers, pack_waiting, unpack_numbers, unpack_waiting
from memoranda.search.tiers import due
from memoranda.search.vectors import VectorBlock, merge_vectors, pack_vectors
from memoranda.search.wordblocks import JSON, QUESTION, Entry, WordBlock, pack_words

__all__ = [
    "JSON",
    "MAX_PASSAGES",
    "QUESTION",
    "Entry",
    "VectorBlock",
    "Waiting",
    "WordBlock",
    "due",
    "merge_vectors",
    "merge_words",
    "pack_numbers",
    "pack_vectors",
    "pack_waiting",
    "pack_words",
    "unpack_numbers",
    "unpack_waiting",
]
