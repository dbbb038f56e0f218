"""A run: one range of a conversation that was worked through, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, TypeAlias

from memoranda.store.changes import Namespace

RunStatus: TypeAlias = Literal["applied", "unchanged", "proposed", "rejected", "parked", "undone"]

RUN_STATUSES: Final = ("applied", "unchanged", "proposed", "rejected", "parked", "undone")


@dataclass(frozen=True, slots=True)
class RunChange:
    """One item that a run changed.

    Args:
        namespace: Where.
        key: The item's key.
        operation: `write`, `edit`, `append`, `delete`, `move` or `restore`.
        revision: The revision that it made; 0 while it is proposed. Of a move, that of the new place.
        before: The revision before it; 0: the item did not exist.
        to: The key that it moved to; None: it stayed.
        sources: The positions of the turns that it came from.
        lines: For lines that it added: a digest of the line, and the positions of the turns that it came from.
    """

    namespace: Namespace
    key: str
    operation: str
    revision: int = 0
    before: int = 0
    to: str | None = None
    sources: tuple[int, ...] = ()
    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What is to be recorded of a run, before it is known what lands.

    Args:
        id: Its id, from `runs.new_id()`; a parked run that is made again keeps its own.
        consumer: Whose cursor moves.
        scope: The namespace that was read.
        after: It covers the turns behind this position…
        to: …up to this one.
        turns: How many turns those are.
        started_at: When it began.
        changes: What it changes; the revisions are filled in when they land.
        model: The model that did it.
        tokens_in: Tokens that the model read.
        tokens_out: Tokens that the model wrote.
        attempts: How often it was tried.
        summary: What it did, in words.
        error: Why it was parked.
    """

    id: str
    consumer: str
    scope: Namespace
    after: int
    to: int
    turns: int
    started_at: datetime
    changes: tuple[RunChange, ...] = ()
    model: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    attempts: int = 1
    summary: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One range of turns that was worked through, and what came of it.

    Args:
        id: Its id, such as `r-7f3k2m9q`.
        consumer: Whose cursor moved.
        scope: The namespace that was read.
        after: It covers the turns behind this position…
        to: …up to this one.
        status: `applied`; `unchanged`: nothing came of it; `proposed` or `rejected`: what came of it waits for a
            reviewer, or was refused by one; `parked`: it failed, and may be tried again; `undone`.
        turns: How many turns it read.
        changes: What it changed.
        model: The model that did it.
        tokens_in: Tokens that the model read.
        tokens_out: Tokens that the model wrote.
        attempts: How often it was tried.
        started_at: When it began.
        ended_at: When it was recorded.
        proposal: The id of its proposal.
        undone_by: Who undid it.
        error: Why it was parked.
        summary: What it did, in words.
        job: The number of its job.
    """

    id: str
    consumer: str
    scope: Namespace
    after: int
    to: int
    status: RunStatus
    turns: int
    changes: tuple[RunChange, ...]
    model: str | None
    tokens_in: int
    tokens_out: int
    attempts: int
    started_at: datetime
    ended_at: datetime
    proposal: str | None = None
    undone_by: str | None = None
    error: str | None = None
    summary: str | None = None
    job: int | None = None


@dataclass(frozen=True, slots=True)
class Unread:
    """A scope with turns that a consumer has not read.

    Args:
        namespace: The scope.
        position: Where the consumer's cursor stands.
        turns: The position of the last turn.
        turned_at: When a turn was last recorded there.
    """

    namespace: Namespace
    position: int
    turns: int
    turned_at: datetime
