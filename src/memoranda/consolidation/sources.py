"""What a consolidator reads: the conversations of a scope behind its cursor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memoranda.backends.base import Backend
from memoranda.backends.steps import Steps, ask
from memoranda.store.changes import Namespace
from memoranda.store.store import MemoryStore
from memoranda.store.turns import RecordedTurn

if TYPE_CHECKING:
    from memoranda.consolidation.events import Event
    from memoranda.consolidation.tracing import TracedStage


class ScopeOf(NamedTuple):
    """Whose memory a run tends.

    Args:
        scope: The namespace whose conversations it reads.
        user: Who talked in them; None: several people, or nobody knows.
        org: Whose organisation, likewise.
        agent: With which agent, likewise.
    """

    scope: Namespace
    user: str | None = None
    org: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one run reads.

    Args:
        turns: At most so many turns.
        bytes: Of at most so many bytes of text; a longer turn comes alone.
    """

    turns: int = 200
    bytes: int = 64_000


@dataclass(frozen=True, slots=True)
class Span:
    """A range of turns.

    Args:
        after: The turns behind this position…
        to: …up to this one.
        turns: Those that are to be read.
        more: Whether there are more behind it, or may be.
        is_idle: Whether there is nothing to record where no events are found.
    """

    after: int
    to: int
    turns: tuple[RecordedTurn, ...] = ()
    more: bool = False
    is_idle: bool = False


class Source(Protocol):
    """What a consolidator reads."""

    @property
    def consumer(self) -> str:
        """How a consolidator that reads it is called where it has no name of its own."""
        ...

    @property
    def reads_turns(self) -> bool:
        """Whether the consolidator is given the turns of the range."""
        ...

    @property
    def reads_events(self) -> bool:
        """Whether it is given what agents noted in the target's files."""
        ...

    def span(
        self, store: MemoryStore, consumer: str, scope: Namespace, after: int, limits: Limits
    ) -> Steps[Span | None]:
        """The range that the next run covers; None: nothing is new."""
        ...

    def events(self, files: Backend, limits: Limits) -> Steps[tuple[Event, ...]]:
        """What agents have noted in the target's files since the last run."""
        ...

    def is_due(self, span: Span, events: Sequence[Event]) -> bool:
        """Whether there is anything for the consolidator to do."""
        ...

    def fold(self, files: TracedStage, events: Sequence[Event], run_id: str) -> Steps[None]:
        """Stage the marks that what was noted has been read."""
        ...


@dataclass(frozen=True, slots=True)
class Conversations:
    """The recorded conversations of a scope, each turn once."""

    @property
    def consumer(self) -> str:
        """`consolidation`."""
        return "consolidation"

    @property
    def reads_turns(self) -> bool:
        """Yes."""
        return True

    @property
    def reads_events(self) -> bool:
        """No."""
        return False

    def span(
        self, store: MemoryStore, consumer: str, scope: Namespace, after: int, limits: Limits
    ) -> Steps[Span | None]:
        """The turns behind a position."""
        found = yield from ask(store.turns, scope, None, after=after, limit=limits.turns + 1)
        taken = fitting(found[: limits.turns], limits.bytes)
        if not taken:
            return None
        return Span(after, taken[-1].position, tuple(taken), len(taken) < len(found))

    def events(self, files: Backend, limits: Limits) -> Steps[tuple[Event, ...]]:
        """None."""
        return ()
        yield  # pragma: no cover - makes this a generator

    def is_due(self, span: Span, events: Sequence[Event]) -> bool:
        """Whether anything was said."""
        return bool(span.turns)

    def fold(self, files: TracedStage, events: Sequence[Event], run_id: str) -> Steps[None]:
        """Nothing: the cursor says what was read."""
        return
        yield  # pragma: no cover - makes this a generator


def fitting(turns: Sequence[RecordedTurn], most: int) -> list[RecordedTurn]:
    """The first of some turns that together have no more than so many bytes; one at least."""
    taken: list[RecordedTurn] = []
    size = 0
    for turn in turns:
        size += len(turn.text.encode("utf-8", "surrogatepass"))
        if taken and size > most:
            break
        taken.append(turn)
    return taken


def together(turns: Sequence[RecordedTurn]) -> int:
    """How many of some turns, from the first on, are of the same user, organisation and agent."""
    first = (turns[0].user, turns[0].org, turns[0].agent)
    for number, turn in enumerate(turns):
        if (turn.user, turn.org, turn.agent) != first:
            return number
    return len(turns)


def whose(scope: Namespace, turns: Sequence[RecordedTurn]) -> ScopeOf:
    """Whose turns these are; what they do not agree on is nobody's."""
    users, orgs, agents = (
        {getattr(turn, name) for turn in turns} if turns else {None} for name in ("user", "org", "agent")
    )
    return ScopeOf(scope, *(next(iter(found)) if len(found) == 1 else None for found in (users, orgs, agents)))
