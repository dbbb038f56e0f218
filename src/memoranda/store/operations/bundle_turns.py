"""Taking what was said and what was proposed out of a store, beside its items."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from memoranda.store.changes import Change
from memoranda.store.effects import Body, Operation, query, transact
from memoranda.store.operations import deciding
from memoranda.store.operations.context import Context
from memoranda.store.operations.forget_namespaces import proposals_selected
from memoranda.store.operations.turn_reading import recorded
from memoranda.store.selection import Selection
from memoranda.store.turns import RecordedTurn
from memoranda.store.types import Proposal, namespaces_of

_PAGE = 200
_BEFORE_ALL = -(1 << 62)


def count_turns(context: Context, selection: Selection) -> Operation[int]:
    """Count the turns of the namespaces that are meant, and those of a person elsewhere."""
    place = {"tenant": context.tenant, **selection.params, "user_id": selection.subject or ""}
    ((count,),) = yield from transact("read", partial(query, "count_turns", **place))
    return count


def dump_turns(namespace_id: int, take: Callable[[RecordedTurn], None], user: str | None = None) -> Body[None]:
    """Read the turns of a namespace, conversation by conversation.

    Args:
        namespace_id: The namespace.
        take: Called with each.
        user: Only those of this user.
    """
    after: tuple[str, int, int] = ("", _BEFORE_ALL, 0)
    while True:
        thread, place, row_id = after
        rows = yield from query(
            "turns_to_dump",
            namespace_id=namespace_id,
            after_thread=thread,
            after_place=place,
            after_id=row_id,
            user_id=user or "",
            limit=_PAGE,
        )
        for row in rows:
            take(recorded(row))
        if len(rows) < _PAGE:
            return
        after = (rows[-1][2], rows[-1][4], rows[-1][0])


def proposals_about(
    context: Context, selection: Selection, take: Callable[[Proposal, tuple[Change, ...]], None]
) -> Operation[None]:
    """Read the proposals about the namespaces that are meant, with those of their changes that are about these."""
    for number in (yield from proposals_selected(context, selection)):
        rows = yield from transact("read", partial(query, "proposal_by_number", number=number))
        if rows:
            proposal = deciding.recorded(rows[0]).proposal
            take(
                proposal,
                tuple(each for each in proposal.changes if any(map(selection.holds, namespaces_of([each])))),
            )
