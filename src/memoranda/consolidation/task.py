"""`Task`: what a consolidator is given to do in one run."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from memoranda.backends.staged import StagedBackend
from memoranda.consolidation.errors import UnknownTurnError
from memoranda.consolidation.tracing import from_turns
from memoranda.store.changes import Namespace
from memoranda.store.turns import RecordedTurn

if TYPE_CHECKING:
    from memoranda.consolidation.events import Event


@dataclass(slots=True)
class Spent:
    """What a task has cost so far.

    Args:
        model: The model that was asked, where it says its name.
        tokens_in: Tokens that it read.
        tokens_out: Tokens that it wrote.
    """

    model: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What a consolidator is given: what was said, and the files as they are, staged.

    Whatever it does to `files` is seen there at once and lands together when it returns; if it raises, nothing does.

    Args:
        scope: Whose conversations were read.
        run_id: The run, such as `r-7f3k2m`.
        turns: What was said since the last run, in the order in which `text` shows it.
        files: The target's files; changes wait here.
        text: The turns, and the events, in words: each with its label, and with its date and time in `zone`.
        now: The time of the run, in `zone`.
        zone: The time zone that the consolidator works in.
        user: Who talked, where all turns have the same one.
        org: Whose organisation, likewise.
        agent: With which agent, likewise.
        instructions: What the consolidator was told to do.
        events: What agents have appended to the event log since the last run.
        labels: How `text` calls each turn, such as `t12`, and the id of its message.
        spent: What it has cost so far; see `used`.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.backends import StoreBackend
        >>> from memoranda.consolidation import Consolidator
        >>> from memoranda.store.turns import Turn
        >>> def work(task):
        ...     with task.because(task.turns[0].message_id):
        ...         task.files.append("/facts.md", f"- {task.turns[0].text}")
        >>> with open_store("memory://") as store:
        ...     _ = store.record_turns(("ann",), "t1", [Turn("m1", "user", "I like tea.")])
        ...     tending = Consolidator(work, store=store, target=StoreBackend(namespace=("ann",), store=store))
        ...     _ = tending.run(("ann",))
        ...     store.get(("ann",), "/facts.md").value["content"]
        '- I like tea.'
    """

    scope: Namespace
    run_id: str
    turns: tuple[RecordedTurn, ...]
    files: StagedBackend
    text: str
    now: datetime
    zone: tzinfo
    user: str | None = None
    org: str | None = None
    agent: str | None = None
    instructions: str | None = None
    events: tuple[Event, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    spent: Spent = field(default_factory=Spent)

    @contextmanager
    def because(self, *turns: str) -> Generator[None]:
        """Say which turns the changes inside the block come from; without it, all of the task's.

        Args:
            *turns: Ids of messages, or labels as `text` shows them.

        Raises:
            UnknownTurnError: The task has no such turn.
        """
        with from_turns(tuple(dict.fromkeys(self.message_id(turn) for turn in turns))):
            yield

    def message_id(self, turn: str) -> str:
        """The id of a turn's message.

        Args:
            turn: The same id, or the label that `text` shows, with or without its brackets.

        Raises:
            UnknownTurnError: The task has no such turn.
        """
        if any(one.message_id == turn for one in self.turns):
            return turn
        found = self.labels.get(turn.strip("[] "))
        if found is None:
            labels = [*self.labels]
            known = f"there are {labels[0]} to {labels[-1]}" if labels else "there are none"
            raise UnknownTurnError(
                f"{turn!r} is no turn of this task.",
                f"Name a turn by its message's id or by its label; {known}.",
            )
        return found

    def used(self, *, tokens_in: int = 0, tokens_out: int = 0, model: str | None = None) -> None:
        """Note what a call of a model has cost, for the run's record.

        Args:
            tokens_in: Tokens that it read.
            tokens_out: Tokens that it wrote.
            model: Its name.
        """
        self.spent.tokens_in += tokens_in
        self.spent.tokens_out += tokens_out
        self.spent.model = model or self.spent.model
