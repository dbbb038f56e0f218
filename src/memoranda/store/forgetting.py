"""What forgetting gives back: a receipt of what is gone, where it was, and what could not be reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, Literal, TypeAlias

from memoranda.store.changes import Namespace

How: TypeAlias = Literal["actor", "thread", "moved from", "moved to"]
"""In what way a revision names the one who was forgotten."""

MOST_MENTIONS = 1_000
"""A receipt lists at most so many; `mentioned` counts all."""

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Removed:
    """What was removed from one namespace.

    Args:
        namespace: Where; None for the rest of what an earlier call had begun to remove when it was stopped.
        whole: Whether the namespace itself is gone.
        items: Items, deleted ones included.
        revisions: Revisions of these items.
        turns: Recorded messages.
        threads: Conversations of which nothing is left.
        index_blocks: Parts of the search index, words and vectors, that were deleted or written anew.
        cleared_runs: Runs that stay, without what they said about turns that are gone.
    """

    namespace: Namespace | None
    whole: bool = True
    items: int = 0
    revisions: int = 0
    turns: int = 0
    threads: int = 0
    index_blocks: int = 0
    cleared_runs: int = 0

    def __add__(self, other: Removed) -> Removed:
        return Removed(self.namespace, self.whole, *(self._count(n) + other._count(n) for n in COUNTED))

    def __bool__(self) -> bool:
        return any(self._count(name) for name in COUNTED)

    @property
    def rows(self) -> int:
        """How many rows that is."""
        return sum(self._count(name) for name in COUNTED)

    def _count(self, name: str) -> int:
        return int(getattr(self, name))


COUNTED = tuple(field.name for field in fields(Removed) if field.name not in ("namespace", "whole"))


@dataclass(frozen=True, slots=True)
class Mention:
    """A revision of another namespace that names the one who was forgotten, and stays as it is.

    Every revision's digest covers who made it and where it came from, so these cannot be changed without breaking the
    proof of the namespace they are in.

    Args:
        namespace: Where it is.
        key: Of which item.
        revision: Which revision.
        how: `actor`: as who wrote, proposed or accepted it; `thread`: as the conversation it was written in; `moved
            from` or `moved to`: as the other end of a move.
    """

    namespace: Namespace
    key: str
    revision: int
    how: How


@dataclass(frozen=True, slots=True)
class Receipt:
    """What `forget` did, or with `dry_run` would do.

    Args:
        scope: The namespace that was named; None: none was.
        below: Whether the namespaces below it were meant too.
        thread: The conversation that was named.
        subject: The person who was named.
        at: When it was done, in UTC.
        removed: What is gone, for each namespace.
        proposals: How many proposals are gone, with what was decided about them.
        shared_proposals: How many of those would have changed other namespaces too.
        cursors: How many cursors are gone: how far consumers had read there.
        jobs: How many jobs are gone, done or not.
        runs: How many runs of consolidators are gone.
        schedules: How many schedules are gone, that were for these namespaces alone.
        threads: The ids of the conversations that were recorded there, or that something there was written in.
        checkpoints: Of how many of them the checkpoints are gone; None: no checkpointer was given.
        mentions: Revisions elsewhere that name whom or what was forgotten, `MOST_MENTIONS` at most.
        mentioned: How many there are.
        vacuumed: Whether the room was freed and overwritten.
        unreached: What is left and where, a sentence each.
        dry_run: Whether nothing was done.
    """

    scope: Namespace | None
    below: bool
    thread: str | None
    subject: str | None
    at: datetime
    removed: tuple[Removed, ...] = ()
    proposals: int = 0
    shared_proposals: int = 0
    cursors: int = 0
    threads: tuple[str, ...] = ()
    checkpoints: int | None = None
    mentions: tuple[Mention, ...] = ()
    mentioned: int = 0
    vacuumed: bool = False
    unreached: tuple[str, ...] = ()
    dry_run: bool = False
    jobs: int = 0
    runs: int = 0
    schedules: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """How much is gone in all, by kind."""
        total = sum(self.removed, Removed(None))
        whole = sum(each.whole and each.namespace is not None for each in self.removed)
        found = {"namespaces": whole, **{name: int(getattr(total, name)) for name in COUNTED}}
        found |= {"proposals": self.proposals, "cursors": self.cursors}
        found |= {"jobs": self.jobs, "runs": self.runs, "schedules": self.schedules}
        return found if self.checkpoints is None else {**found, "checkpoints": self.checkpoints}

    @property
    def empty(self) -> bool:
        """Whether there was nothing to remove."""
        return not any(self.counts.values())

    def to_dict(self) -> dict[str, Any]:
        """Everything in it as JSON has it; times as ISO 8601.

        Example:
            >>> from memoranda import open_store
            >>> with open_store("memory://") as store:
            ...     _ = store.write(("ann",), "/tea.md", "green")
            ...     store.forget(("ann",)).to_dict()["counts"]["revisions"]
            1
        """
        given = asdict(self)
        return {**given, "at": self.at.isoformat(), "counts": self.counts}

    def __str__(self) -> str:
        """The same for people."""
        when = f"{self.at:%Y-%m-%d %H:%M:%S} UTC"
        lines = [f"{'Would forget' if self.dry_run else 'Forgot'} {self.what}, {when}:"]
        if self.empty:
            lines = [f"There was nothing of {self.what} to forget, {when}."]
        lines += [f"  {_described(each)}" for each in self.removed[:_SHOWN]]
        lines += _more(self.removed)
        for count, noun in (
            (self.proposals, "proposal"),
            (self.cursors, "cursor"),
            (self.jobs, "job"),
            (self.runs, "run"),
            (self.schedules, "schedule"),
            (self.checkpoints or 0, "conversation's checkpoints"),
        ):
            if count:
                lines.append(f"  {_counted(count, noun)}")
        if self.mentions:
            lines.append(f"Named still, in the history of other namespaces ({self.mentioned}):")
            lines += [
                f"  {_place(each.namespace)} {each.key} r{each.revision} ({each.how})"
                for each in self.mentions[:_SHOWN]
            ]
            lines += _more(self.mentions, self.mentioned)
        if self.unreached:
            lines.append("Not reached:")
            lines += [f"  {sentence}" for sentence in self.unreached]
        return "\n".join(lines)

    @property
    def what(self) -> str:
        """What was named, in words."""
        said: list[str] = []
        if self.thread is not None:
            said.append(f"the conversation {self.thread}")
        if self.subject is not None:
            said.append(f"{self.subject}")
        if self.scope is not None:
            place = _place(self.scope) if self.scope else "everything"
            place += " with all below it" if self.below and self.scope else ""
            said.append(f"in {place}" if said else place)
        return " ".join(said) or "what earlier calls had left"


def _described(each: Removed) -> str:
    where = "left by an earlier call" if each.namespace is None else _place(each.namespace)
    counts = [
        _counted(getattr(each, name), name.replace("_", " ").removesuffix("s"))
        for name in COUNTED
        if getattr(each, name)
    ]
    return f"{where}: {', '.join(counts) or 'nothing but its name'}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 or noun.endswith('s') else 's'}"


def _place(namespace: Namespace) -> str:
    return "/".join(label.replace("%", "%25").replace("/", "%2F") for label in namespace)


def _more(listed: Sequence[object], count: int | None = None) -> list[str]:
    hidden = (len(listed) if count is None else count) - _SHOWN
    return [f"  … and {hidden:,} more"] if hidden > 0 else []
