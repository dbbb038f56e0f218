"""Conversations: what is recorded of them, and what reading them gives back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, TypeAlias

from memoranda.store.changes import Namespace
from memoranda.store.recalled import ScoreParts

Role: TypeAlias = Literal["user", "assistant", "tool"]

ROLES: Final[tuple[Role, ...]] = ("user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, to be recorded.

    Args:
        message_id: What tells it from every other message of its thread.
        role: Who spoke: `user`, `assistant` or `tool`.
        text: What was said, in words.
        speaker: The name of who spoke, where there is one.
        at: When it was said; without a zone it is UTC; None: when it is recorded.
        tools: The names of the tools that it called, or the one that answered.
        other_blocks: How many images, files and the like came with it, which are not kept.
        size: Bytes of the text before it was cut; None: it was not.

    Example:
        >>> Turn("m1", "user", "I like green tea.").tools
        ()
    """

    message_id: str
    role: Role
    text: str
    speaker: str | None = None
    at: datetime | None = None
    tools: tuple[str, ...] = ()
    other_blocks: int = 0
    size: int | None = None


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """One message of a conversation as it was recorded.

    Args:
        namespace: Whose it is.
        thread_id: The conversation.
        position: 1, 2, 3 … in its namespace: the order in which turns became visible, for whoever reads on.
        place: Where it stands in its conversation; only the order means something, and it may change.
        message_id: The message's id.
        role: `user`, `assistant` or `tool`.
        text: What was said.
        speaker: The name of who spoke, if it had one.
        at: When it was said, in UTC.
        recorded_at: When it was recorded, in UTC.
        tools: The names of the tools that it called, or the one that answered.
        other_blocks: How many images, files and the like came with it.
        size: Bytes of the text before it was cut.
        user: Who talked with the agent.
        org: Whose organisation.
        agent: The agent.
        run_id: The run that it was said in.
    """

    namespace: Namespace
    thread_id: str
    position: int
    place: int
    message_id: str
    role: Role
    text: str
    speaker: str | None
    at: datetime
    recorded_at: datetime
    tools: tuple[str, ...] = ()
    other_blocks: int = 0
    size: int = 0
    user: str | None = None
    org: str | None = None
    agent: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedTurns:
    """What came of recording turns.

    Args:
        new: How many were recorded.
        known: How many had been before.
    """

    new: int = 0
    known: int = 0

    def __add__(self, other: RecordedTurns) -> RecordedTurns:
        return RecordedTurns(self.new + other.new, self.known + other.known)


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """One conversation in a listing.

    Args:
        namespace: Whose it is.
        thread_id: Its id.
        turns: How many turns it has.
        first_at: When it began, in UTC.
        last_at: When something was last said in it, in UTC.
        title: The first words that the user said.
    """

    namespace: Namespace
    thread_id: str
    turns: int
    first_at: datetime
    last_at: datetime
    title: str


EpisodeOrder: TypeAlias = Literal["relevance", "time"]


@dataclass(frozen=True, slots=True)
class EpisodeHit:
    """A turn that answers a query, and what was said around it.

    Args:
        turn: The turn.
        passage: That of its text which answers best.
        score: How well it answers; higher is better, comparable within one answer only.
        parts: What the score is made of.
        before: The turns before it, in their order.
        behind: The turns after it, in their order.
    """

    turn: RecordedTurn
    passage: str
    score: float
    parts: ScoreParts = field(default_factory=ScoreParts)
    before: tuple[RecordedTurn, ...] = ()
    behind: tuple[RecordedTurn, ...] = ()


@dataclass(frozen=True, slots=True)
class Episode:
    """A conversation in which something was found.

    Args:
        thread: The conversation.
        hits: What was found in it: the best first, or, where the answer is by time, as it was said.
    """

    thread: ThreadSummary
    hits: tuple[EpisodeHit, ...]

    @property
    def score(self) -> float:
        """How well the best of it answers."""
        return max(hit.score for hit in self.hits)


@dataclass(frozen=True, slots=True)
class FoundEpisodes:
    """The conversations that answer a query, and what the reader should know about them.

    Args:
        episodes: The conversations: the one that answers best first, or the one that was held last.
        notices: What was left out or could not be done, such as a query that was cut.
    """

    episodes: tuple[Episode, ...] = ()
    notices: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Episode]:
        return iter(self.episodes)

    def __len__(self) -> int:
        return len(self.episodes)
