"""The lines of a bundle that are no items: what was said, and what was proposed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, cast

import orjson

from memoranda.errors import MemorandaError
from memoranda.store.changes import Change
from memoranda.store.namespaces import decode_namespace
from memoranda.store.operations.turns import checked_name, checked_thread
from memoranda.store.recorded_changes import change_to_json
from memoranda.store.turns import ROLES, RecordedTurn
from memoranda.store.types import Proposal
from memoranda.store.values import to_datetime, to_microseconds
from memoranda.transfer.bundle_fields import Fields

_WHO: Final = ("speaker", "user", "org", "agent", "run_id")
_AUTHOR: Final = ("actor", "thread_id", "run_id", "tool_call_id", "reason")


@dataclass(frozen=True, slots=True)
class ProposalLine:
    """A proposal as a bundle tells of it, for whoever reads it; nothing is made of it when the bundle is imported.

    Args:
        proposal: The proposal; its changes are those in the namespaces of the bundle.
        partial: Whether it has others, which are not in it.
    """

    proposal: Proposal | None
    partial: bool = False


def dump_turn(turn: RecordedTurn) -> bytes:
    """The line of a turn."""
    fields: dict[str, Any] = {
        "type": "turn",
        "namespace": turn.namespace,
        "thread_id": turn.thread_id,
        "message_id": turn.message_id,
        "role": turn.role,
        "text": turn.text,
        "at": to_microseconds(turn.at),
        "recorded_at": to_microseconds(turn.recorded_at),
        "size": turn.size,
    }
    fields |= {name: value for name in _WHO if (value := getattr(turn, name)) is not None}
    fields |= {"tools": turn.tools} if turn.tools else {}
    fields |= {"other_blocks": turn.other_blocks} if turn.other_blocks else {}
    return orjson.dumps(fields)


def load_turn(given: Fields) -> RecordedTurn:
    """The turn of a line; its position and its place are what they will be where it is recorded.

    Raises:
        ValueError: It is none.
    """
    role = given.text("role")
    if role not in ROLES:
        raise ValueError(f"there is no role {role!r}")
    message = given.text("message_id")
    if not message:
        raise ValueError("a turn has no id")
    try:
        thread = checked_thread(given.text("thread_id"))
        who = {name: checked_name(given.optional_text(name)) for name in _WHO}
    except MemorandaError as error:
        raise ValueError(error.cause) from None
    return RecordedTurn(
        namespace=decode_namespace(given.namespace()),
        thread_id=thread,
        position=0,
        place=0,
        message_id=message,
        role=role,
        text=given.text("text"),
        at=to_datetime(given.time("at")),
        recorded_at=to_datetime(given.time("recorded_at")),
        tools=tuple(given.texts("tools")),
        other_blocks=given.optional_number("other_blocks") or 0,
        size=given.number("size"),
        **cast("Any", who),
    )


def dump_proposal(line: ProposalLine) -> bytes:
    """The line of a proposal."""
    assert line.proposal is not None
    found = line.proposal
    fields: dict[str, Any] = {
        "type": "proposal",
        "id": found.id,
        "status": found.status,
        "created_at": to_microseconds(found.created_at),
        "changes": [change_to_json(change) for change in found.changes],
    }
    fields |= {"partial": True} if line.partial else {}
    fields |= {name: value for name in _AUTHOR if (value := getattr(found.author, name)) is not None}
    named = {
        "waits_for": found.reason,
        "source": found.source,
        "decided_at": None if found.decided_at is None else to_microseconds(found.decided_at),
        "decided_by": found.decided_by,
        "note": found.note,
    }
    return orjson.dumps(fields | {name: value for name, value in named.items() if value is not None})


def load_proposal(given: Fields) -> ProposalLine:
    """The line of a proposal, which is only counted.

    Raises:
        ValueError: It is none.
    """
    given.text("id")
    given.objects("changes")
    return ProposalLine(None)


def part_of(proposal: Proposal, changes: tuple[Change, ...]) -> ProposalLine:
    """A proposal with some of its changes."""
    return ProposalLine(replace(proposal, changes=changes), len(changes) < len(proposal.changes))
