"""What came of consolidating a scope, and how scopes stand."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from memoranda.store.changes import Namespace
from memoranda.store.runs import Run, RunStatus

Outcome: TypeAlias = Literal["nothing", "preview", "busy", "lost", "failed"] | RunStatus


@dataclass(frozen=True, slots=True)
class RunReport:
    """What came of consolidating a scope.

    Args:
        scope: The namespace whose conversations were read.
        status: `applied`, `unchanged`, `proposed`, `parked`, `undone` or `rejected`, as the last run is recorded;
            `nothing`: nothing was new; `preview`: a dry run. Of the others nothing landed: `busy`: another is at work
            on this scope; `lost`: another has taken it over meanwhile; `failed`: it is to be tried again.
        runs: The runs that were recorded, in order.
        after: The turns behind this position were read…
        to: …up to this one.
        turns: How many turns were read.
        diff: What changed, or would change, as a unified diff.
        summary: What the consolidator says about it.
        error: What went wrong.
        attempts: How often the last range was tried.
        model: The model that was asked.
        tokens_in: Tokens that it read.
        tokens_out: Tokens that it wrote.
        seconds: How long it took.
    """

    scope: Namespace
    status: Outcome
    runs: tuple[Run, ...] = ()
    after: int = 0
    to: int = 0
    turns: int = 0
    diff: str = ""
    summary: str | None = None
    error: str | None = None
    attempts: int = 0
    model: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0

    @property
    def run_id(self) -> str | None:
        """The id of the last run."""
        return self.runs[-1].id if self.runs else None

    @property
    def proposal(self) -> str | None:
        """The id of the last run's proposal."""
        return self.runs[-1].proposal if self.runs else None

    @property
    def ok(self) -> bool:
        """Whether nothing went wrong."""
        return self.status not in ("parked", "failed", "lost") and not any(run.status == "parked" for run in self.runs)

    def __add__(self, later: RunReport) -> RunReport:
        """Both as one: of the same scope, one after the other."""
        if later.status == "nothing":
            return self
        return RunReport(
            self.scope,
            later.status,
            self.runs + later.runs,
            self.after,
            max(self.to, later.to),
            self.turns + later.turns,
            self.diff + later.diff,
            " ".join(filter(None, (self.summary, later.summary))) or None,
            later.error or self.error,
            later.attempts,
            later.model or self.model,
            self.tokens_in + later.tokens_in,
            self.tokens_out + later.tokens_out,
            self.seconds + later.seconds,
        )


@dataclass(frozen=True, slots=True)
class ScopeStatus:
    """How a scope stands with a consolidator.

    Args:
        scope: The namespace.
        position: Up to which turn it was read.
        turns: The position of its last turn.
        turned_at: When a turn was last recorded there; None: unknown.
        parked: Runs of it that failed and wait to be tried again.
        proposed: Runs of it that wait for a reviewer.
        waiting: Jobs for it that wait.
        running: Whether a job for it runs.
        last_run: Its last run.
    """

    scope: Namespace
    position: int
    turns: int
    turned_at: datetime | None = None
    parked: int = 0
    proposed: int = 0
    waiting: int = 0
    running: bool = False
    last_run: Run | None = None

    @property
    def unread(self) -> int:
        """How many turns wait to be read, at most."""
        return max(self.turns - self.position, 0)
