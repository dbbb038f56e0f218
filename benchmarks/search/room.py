"""How many bytes the index takes, by what it holds."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from memoranda import MemoryStore
from memoranda.store.effects import Body, Operation, Rows, query, transact


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes of the index and of what was indexed.

    Args:
        passages: How many passages.
        text: Bytes of their files.
        words: Bytes of the blocks of words.
        vectors: Bytes of the blocks of vectors.
        lists: Bytes of the items' lists of passages.
        dims: Dimensions of a vector.
    """

    passages: int
    text: int
    words: int
    vectors: int
    lists: int
    dims: int

    def to_dict(self) -> dict[str, float]:
        """The figures, and those that promises are about."""
        return asdict(self) | {
            "words_a_passage": (self.words + self.lists) / self.passages,
            "words_by_text": (self.words + self.lists) / self.text,
            "vectors_a_passage": self.vectors / self.passages,
        }

    def in_words(self) -> str:
        """A line for people."""
        found = self.to_dict()
        return (
            f"a passage: {self.text / self.passages:.0f} bytes of text, {found['words_a_passage']:.0f} of words "
            f"({found['words_by_text']:.2f} x text) and {found['vectors_a_passage']:.0f} bytes of vectors"
        )


def room_of(store: MemoryStore) -> Room:
    """Add up what the tables hold; pages and row headers of the database are not counted."""
    (blocks, items) = store.engine.run(_sums())
    held = {int(part): (int(count), int(size)) for part, count, size in blocks}
    words = held.get(0, (1, 0))
    text, lists = items[0]
    return Room(words[0], int(text or 1), words[1], held.get(2, (0, 0))[1], int(lists or 0), 384)


def _sums() -> Operation[tuple[Rows, Rows]]:
    def body() -> Body[tuple[Rows, Rows]]:
        blocks = yield from query("index_room")
        items = yield from query("indexed_room")
        return blocks, items

    return (yield from transact("snapshot", body))
