"""What `recall` answers with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from memoranda.store.changes import Namespace

HitKind: TypeAlias = Literal["file", "item", "turn"]
HIT_KINDS: tuple[HitKind, ...] = ("file", "item", "turn")


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """Where a score comes from; the parts are on one scale, but they do not add up to it exactly.

    Args:
        words: What its words contribute.
        meaning: What its vector contributes; 0 without an embedder.
        context: What its neighbours, its conversation and its speaker contribute.
    """

    words: float = 0.0
    meaning: float = 0.0
    context: float = 0.0


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that answers a query.

    Args:
        kind: `file`, `item` (a JSON document) or `turn` (a message of a conversation).
        namespace: Where it lies.
        key: The path of a file, the key of an item, the message id of a turn.
        revision: The revision of the item that the passage was read from; a turn's position in its namespace.
        first_line: Its first line, from 1.
        last_line: Its last line, included.
        text: The passage.
        heading: The headings above it, outermost first, joined by ` > `; the conversation's thread for a turn.
        score: How well it answers; higher is better, comparable within one answer only.
        at: When the passage was written, or the message sent.
        parts: What the score is made of.
        why: The words of the query that it holds, and what else spoke for it; only with `explain=True`.
        thread_id: The conversation of a turn.
        role: Who spoke: `user`, `assistant`, `tool`; of a turn.
        speaker: The speaker's name, of a turn.
    """

    kind: HitKind
    namespace: Namespace
    key: str
    revision: int
    first_line: int
    last_line: int
    text: str
    heading: str
    score: float
    at: datetime
    parts: ScoreParts = field(default_factory=ScoreParts)
    why: str | None = None
    thread_id: str | None = None
    role: str | None = None
    speaker: str | None = None

    @property
    def place(self) -> str:
        """Where to read on, such as `/notes/tea.md:3-7`."""
        lines = f"{self.first_line}" if self.first_line == self.last_line else f"{self.first_line}-{self.last_line}"
        return f"{self.key}:{lines}"


@dataclass(frozen=True, slots=True)
class Recall:
    """The answer to a query: hits, the best first, and what the reader should know about them.

    Args:
        hits: The passages.
        notices: What was left out or could not be done, such as a query that was cut.
    """

    hits: tuple[Hit, ...] = ()
    notices: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)
