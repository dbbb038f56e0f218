"""The digests that make every byte answerable.

Each item has a chain: every revision's digest covers the one before it, its header (who, when, why, which operation)
and the salted hash of its content. Each namespace has a head: the sum of its items' digests modulo 2^256 (an
incremental multiset hash, after Bellare and Micciancio's AdHash), so that a history cut short shows, that a change
costs one addition, and that an item can be forgotten without touching any other's chain.

The salt goes with the content: once both are gone, the hash that stays behind says nothing about what it covered.
This is evidence against damage and tampering with rows, not against somebody who rewrites the whole database.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import orjson

from memoranda.store.values import Stored

SALT_BYTES = 16
DIGEST_BYTES = 32
EMPTY = bytes(DIGEST_BYTES)

_MODULUS = 1 << (8 * DIGEST_BYTES)


def content_digest(salt: bytes, stored: Stored | None) -> bytes:
    """The salted hash of a value; of nothing, for a deletion."""
    digest = blake2b(salt, digest_size=DIGEST_BYTES)
    if stored is not None:
        digest.update(b"%d %d " % (stored.kind, len(stored.meta)))
        digest.update(stored.meta)
        digest.update(stored.body)
    return digest.digest()


def first_link(labels: str, key: str) -> bytes:
    """What the chain of an item hangs on: its identity."""
    return blake2b(labels.encode() + b"\0" + key.encode(), digest_size=DIGEST_BYTES).digest()


def next_link(link: bytes, header: tuple[Any, ...], content: bytes) -> bytes:
    """The digest of a revision from the digest before it, its header and the hash of its content."""
    return blake2b(link + orjson.dumps(header) + content, digest_size=DIGEST_BYTES).digest()


def replace_in_sum(total: bytes, old: bytes | None, new: bytes | None) -> bytes:
    """A namespace's head after the digest of one of its items went from `old` to `new`."""
    value = int.from_bytes(total)
    if old is not None:
        value -= int.from_bytes(old)
    if new is not None:
        value += int.from_bytes(new)
    return (value % _MODULUS).to_bytes(DIGEST_BYTES)
