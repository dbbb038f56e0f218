"""The passages of a turn of a conversation, as the index takes them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b

from memoranda.search.blocks import QUESTION, Entry
from memoranda.search.focus import is_question
from memoranda.search.passages import indexed_text, passages_of_turn
from memoranda.search.tokens import length_of, speaker_id, terms_of
from memoranda.store.operations.indexing import IndexKind, ScopeIndex
from memoranda.store.operations.item_passages import NUMBER_MASK, Indexed, Placed, pack_placed
from memoranda.store.values import to_microseconds


def session_of(thread_id: str) -> int:
    """The number that stands for a conversation in the index: 32 bits of a hash of its id."""
    return int.from_bytes(blake2b(thread_id.encode(), digest_size=4).digest(), "little")


def date_of(at: datetime) -> str:
    """The date that is indexed with a turn; `indexed_text` spells it out."""
    return at.date().isoformat()


def indexed_turn(text: str, who: str, at: datetime) -> list[Indexed]:
    """Cut a turn into passages and find their terms: everything that can be done before a transaction begins.

    Args:
        text: What was said.
        who: The speaker's name, or the role where there is none.
        at: When.
    """
    unique = {passage.digest: passage for passage in passages_of_turn(text)}
    date = date_of(at)
    return [Indexed(passage, terms_of(indexed_text(passage, speaker=who, date=date))) for passage in unique.values()]


def add_turn(
    index: ScopeIndex, position: int, thread_id: str, place: int, at: datetime, who: str, found: Sequence[Indexed]
) -> bytes:
    """Put a turn's passages into the index.

    Args:
        index: The index of its namespace.
        position: The turn's position there.
        thread_id: Its conversation.
        place: Its place in that.
        at: When it was said.
        who: The speaker's name, or the role where there is none.
        found: Its passages.

    Returns:
        What the turn's row keeps of them.
    """
    session, moment = session_of(thread_id), max(to_microseconds(at), 0)
    said_by = speaker_id(who)
    placed: list[Placed] = []
    entries: list[Entry] = []
    for offset, (passage, terms) in enumerate(found):
        last = offset == len(found) - 1
        asks = QUESTION if last and is_question(passage.text) else 0
        entry = Placed(index.next_number(), min(max(place + offset, 0), NUMBER_MASK), passage.digest)
        placed.append(entry)
        entries.append(
            Entry(
                number=entry.number,
                source=position,
                place=entry.place,
                digest=entry.digest,
                at=moment,
                session=session,
                speaker=said_by,
                flags=asks,
                length=length_of(terms),
                terms=terms,
            )
        )
    index.add(IndexKind.TURNS, entries)
    return pack_placed(placed)
