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
        labels: How `text` calls each turn, such as `t12`.
        spent: What it has cost so far; see `used`.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.backends import StoreBackend
        >>> from memoranda.consolidation import Consolidator
        >>> from memoranda.store.turns import Turn
        >>> def work(task):
        ...     with task.because(task.turns[0]):
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
    labels: Mapping[str, RecordedTurn] = field(default_factory=dict[str, RecordedTurn])
    spent: Spent = field(default_factory=Spent)

    @contextmanager
    def because(self, *turns: RecordedTurn | str) -> Generator[None]:
        """Say which turns the changes inside the block come from; without it, all of the task's.

        Args:
            *turns: Turns of the task, their labels as `text` shows them, or the ids of their messages.

        Raises:
            UnknownTurnError: The task has no such turn, or several with this id.
        """
        with from_turns(tuple(dict.fromkeys(self.turn(turn).position for turn in turns))):
            yield

    def turn(self, name: RecordedTurn | str) -> RecordedTurn:
        """A turn of the task.

        Args:
            name: The label that `text` shows, with or without its brackets, or the id of its message; or itself.

        Raises:
            UnknownTurnError: The task has no such turn, or several with this id.
        """
        if isinstance(name, RecordedTurn):
            found = [turn for turn in self.turns if turn.position == name.position]
        else:
            # An id is unique in its conversation only.
            found = [turn for turn in self.turns if turn.message_id == name] or [
                turn for label, turn in self.labels.items() if label == name.strip("[] ")
            ]
        if len(found) == 1:
            return found[0]
        if found:
            raise UnknownTurnError(
                f"Several turns of this task have the id {name!r}, in different conversations.",
                "Name the turn by its label, or pass the turn itself.",
            )
        labels = [*self.labels]
        known = f"there are {labels[0]} to {labels[-1]}" if labels else "there are none"
        raise UnknownTurnError(
            f"{name!r} is no turn of this task.", f"Name a turn by its message's id or by its label; {known}."
        )

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
