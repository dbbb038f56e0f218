"""What a forgotten conversation leaves, so that a checkpointer that holds it still does not bring it back.

Of each message that is a salted digest of its id, which says nothing of what was said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final

DIGEST_BYTES: Final = 8


def add_traces(salt: bytes, traces: bytes, message_ids: Iterable[str]) -> bytes:
    """The traces of a conversation with those of more messages, sorted.

    Args:
        salt: The conversation's own.
        traces: What it has left so far.
        message_ids: The ids under which the messages were recorded.
    """
    return b"".join(sorted({*_split(traces), *(_trace(salt, message_id) for message_id in message_ids)}))


def brought_again(salt: bytes, traces: bytes, message_ids: Sequence[str]) -> set[str]:
    """Which messages of a list were there when their conversation was forgotten.

    Those are the ones that have left a trace, and all that stand before the last of them: they were said before it.

    Args:
        salt: The conversation's own.
        traces: What it has left.
        message_ids: The ids under which messages would be recorded, in the order of the conversation.
    """
    known = _split(traces)
    last = next((n for n in reversed(range(len(message_ids))) if _trace(salt, message_ids[n]) in known), -1)
    return set(message_ids[: last + 1])


def _trace(salt: bytes, message_id: str) -> bytes:
    return blake2b(message_id.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES, key=salt).digest()


def _split(traces: bytes) -> set[bytes]:
    return {traces[at : at + DIGEST_BYTES] for at in range(0, len(traces), DIGEST_BYTES)}
