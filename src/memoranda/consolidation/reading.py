"""Which turns a run reads: the next of a scope behind the cursor, or those of a range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoranda.backends.base import Backend
from memoranda.backends.runtime import acting_for
from memoranda.backends.steps import Steps, ask
from memoranda.consolidation.places import is_resolved
from memoranda.consolidation.reports import RunReport
from memoranda.consolidation.sources import Span, together
from memoranda.store.changes import Namespace
from memoranda.store.turns import RecordedTurn

if TYPE_CHECKING:
    from memoranda.consolidation.consolidator import Consolidator


def next_span(consolidator: Consolidator, scope: Namespace, after: int | None = None) -> Steps[Span | None]:
    """The range that comes next in a scope; None: nothing is new.

    Args:
        consolidator: Whose.
        scope: The scope.
        after: Behind which position; None: where the cursor stands.
    """
    if after is None:
        after = yield from ask(consolidator.store.runs.cursor, consolidator.name, scope)
    span = yield from consolidator.sources.span(
        consolidator.store, consolidator.name, scope, after, consolidator.limits
    )
    return span if span is None else _of_one(consolidator, scope, span)


def _of_one(consolidator: Consolidator, scope: Namespace, span: Span) -> Span:
    """The range cut where it goes on with other people, if the target's files depend on whose the turns are."""
    count = together(span.turns) if span.turns else 0
    if count == len(span.turns):
        return span
    who = consolidator.owner(scope, span.turns)
    with acting_for(user_id=who.user, org_id=who.org, assistant_id=who.agent, store=consolidator.store):
        # What a function makes of nobody cannot be known.
        if isinstance(consolidator.target, Backend) and is_resolved(consolidator.target):
            return span
    return Span(span.after, span.turns[count - 1].position, span.turns[:count], more=True)


def nothing_new(consolidator: Consolidator, scope: Namespace) -> Steps[RunReport]:
    """What is told of a scope in which there is nothing to read: where its cursor stands."""
    at = yield from ask(consolidator.store.runs.cursor, consolidator.name, scope)
    return RunReport(scope, "nothing", after=at, to=at)


def turns_of(consolidator: Consolidator, scope: Namespace, span: Span) -> Steps[tuple[RecordedTurn, ...]]:
    """The turns of a range that are there at present, if the consolidator reads turns."""
    if not consolidator.sources.reads_turns:
        return ()
    found = yield from ask(consolidator.store.turns, scope, None, after=span.after, limit=span.to - span.after)
    return tuple(turn for turn in found if turn.position <= span.to)
