"""Deciding on a proposal: its changes land as a commit's do, together with the decision, or nothing happens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from memoranda.errors import InvalidChangeError, ProposalDecidedError, ProposalNotFoundError
from memoranda.files.diff import unified_diff
from memoranda.files.path import folder_prefix
from memoranda.store.changes import (
    Append,
    Author,
    Change,
    CommitResult,
    Committed,
    Conflict,
    ConflictError,
    Delete,
    Edit,
    Move,
    Restore,
    Write,
)
from memoranda.store.effects import Batch, Body, Row, Rows, Sql, query
from memoranda.store.keys import is_plain_text
from memoranda.store.namespaces import decode_namespace, encode_namespace
from memoranda.store.operations.applying import apply_planned, open_planned
from memoranda.store.operations.context import Context
from memoranda.store.operations.planning import Planned, plan
from memoranda.store.operations.preview import Preview
from memoranda.store.operations.runs import settle
from memoranda.store.operations.workspace import ItemState, Workspace
from memoranda.store.recorded_changes import Head, Heads, decode_changes
from memoranda.store.types import Proposal
from memoranda.store.values import to_datetime

_WAY_OUT = "The proposal stays pending: accept it with changes=… that are made from the current text, or reject it."


class Recorded(NamedTuple):
    """A proposal, and the states of the items that it was made from."""

    proposal: Proposal
    heads: Heads


def based(planned: Iterable[Planned], heads: Heads) -> tuple[Change, ...]:
    """The changes under their canonical keys, each write and deletion on the base that is known for its item.

    A change that follows another of the same item has no base: it is made from what that one leaves.
    """
    changes: list[Change] = []
    touched: list[tuple[str, str]] = []
    for step in planned:
        change, here = replace(step.change, key=step.key), _places(step)
        if isinstance(change, Move):
            change = replace(change, to=step.to_key)
        elif isinstance(change, (Write, Delete)) and change.base is None:
            head = heads.get((decode_namespace(step.labels), step.key))
            if head is not None and not _is_touched(here[0], touched):
                change = replace(change, base=head.revision)
        changes.append(change)
        touched += here
    return tuple(changes)


def _is_touched(place: tuple[str, str], touched: list[tuple[str, str]]) -> bool:
    labels, key = place
    return any(labels == scope and (key == name or key.startswith(folder_prefix(name))) for scope, name in touched)


class _Reach:
    """The items that a proposal is about: those it names, and all below the folders that it moves."""

    def __init__(self, proposal: Proposal) -> None:
        self._id = proposal.id
        self._items: set[tuple[str, str]] = set()
        self._folders: list[tuple[str, str]] = []
        for step in map(plan, proposal.changes):
            self._items.update(_places(step))
            if isinstance(step.change, Move):
                self._folders += [(labels, folder_prefix(key)) for labels, key in _places(step)]

    def require(self, places: Iterable[tuple[str, str]]) -> None:
        """Refuse what nobody proposed, and so nobody who looked at the proposal expects."""
        for labels, key in places:
            if (labels, key) in self._items or any(
                labels == scope and key.startswith(prefix) for scope, prefix in self._folders
            ):
                continue
            raise InvalidChangeError(
                f"The proposal {self._id} is not about {key} in {'/'.join(decode_namespace(labels))}, so accepting it "
                "cannot change that; nothing was changed and it stays pending.",
                "Accept it with changes of its own items, and commit whatever else is to change by itself.",
            )


def _places(step: Planned) -> list[tuple[str, str]]:
    here = [(step.labels, step.key)]
    return [*here, (step.to_labels, step.to_key)] if isinstance(step.change, Move) else here


def accept(
    context: Context, id: str, reviewer: Author, note: str | None, own: list[Planned] | None
) -> Body[tuple[CommitResult, list[int]]]:
    """Apply the changes, or the reviewer's own instead, and note the decision; with the namespaces to tend."""
    found = yield from _find_pending(context, id)
    proposer = found.proposal.author
    origin: dict[str, Any] = {"proposal": id}
    if reviewer.actor is not None:
        origin["accepted_by"] = reviewer.actor
    reach: _Reach | None = None
    if own is None:
        author, planned = proposer, [plan(change) for change in found.proposal.changes]
    else:
        # What the reviewer wrote is not the proposer's.
        author = replace(proposer, actor=reviewer.actor, reason=reviewer.reason or proposer.reason)
        reach = _Reach(found.proposal)
        reach.require(place for step in own for place in _places(step))
        planned = [plan(change) for change in based(own, found.heads)]
        if proposer.actor is not None:
            origin["proposed_by"] = proposer.actor
    work = Workspace(context, author, origin=origin)
    committed = yield from _applied(work, planned, found.heads)
    if reach is not None:  # a move may have been one of a whole folder
        reach.require((encode_namespace(done.namespace), done.key) for done in committed)
    decision = _decision(context, id, "accepted", reviewer, note, work.now)
    settled = yield from settle(context, id, "applied", committed, work.revisions_before())
    yield Batch([*work.statements(), decision, *settled], last=True)
    return CommitResult(tuple(committed)), work.to_tend


def reject(context: Context, id: str, reviewer: Author, note: str | None) -> Body[Proposal]:
    """Note that the changes do not land."""
    found = yield from _find_pending(context, id)
    now = context.clock()
    settled = yield from settle(context, id, "rejected")
    yield Batch([_decision(context, id, "rejected", reviewer, note, now), *settled], last=True)
    return replace(found.proposal, status="rejected", decided_by=reviewer.actor, decided_at=to_datetime(now), note=note)


def diff(context: Context, id: str) -> Body[str]:
    """What the changes would do now."""
    found = yield from find(context, id)
    _require_pending(found.proposal)
    planned = [plan(change) for change in found.proposal.changes]
    work = Preview(context, found.proposal.author)
    yield from _applied(work, planned, found.heads)
    several = len(found.proposal.namespaces) > 1
    return "".join(_difference(item, id, several) for item in work.changed())


def _applied(work: Workspace, planned: list[Planned], heads: Heads) -> Body[list[Committed]]:
    yield from open_planned(work, planned)
    conflicts = _overtaken(work, planned, heads)
    committed: list[Committed] = []
    if not conflicts:
        committed, conflicts = yield from apply_planned(work, planned)
    if conflicts:
        raise ConflictError([replace(each, remedy=_WAY_OUT) for each in conflicts])
    return committed


def _difference(item: ItemState, id: str, several: bool) -> str:
    name = f"{'/'.join(decode_namespace(item.labels))}:{item.key}" if several else item.key
    before, after = item.loaded, item.stored
    old_label = f"{name} (revision {item.loaded_revision if before is not None else 0})"
    new_label = f"{name} (proposal {id})"
    old, new = "" if before is None else before.text, "" if after is None else after.text
    if old is None or new is None:
        same = before is not None and after is not None and before.body == after.body
        return "" if same else f"Binary {old_label} and {new_label} differ\n"
    return unified_diff(old, new, before_label=old_label, after_label=new_label)


def _overtaken(work: Workspace, planned: list[Planned], heads: Heads) -> list[Conflict]:
    """Conflicts of the changes whose base the commit itself cannot judge.

    These are changes that have none and would replace what the proposer never saw, and those whose item is another by
    now, that took the place of one that has expired.
    """
    conflicts: list[Conflict] = []
    for index, step in enumerate(planned):
        place = (step.to_labels, step.to_key) if isinstance(step.change, Move) else (step.labels, step.key)
        item = work.item(*place)
        head = heads.get((decode_namespace(item.labels), item.key))
        if head is not None and _is_overtaken(step.change, item, head):
            conflicts.append(_changed(index, item, head.revision))
    return conflicts


def _is_overtaken(change: Change, item: ItemState, head: Head) -> bool:
    now = item.revision if item.stored is not None else 0
    another = bool(item.id and head.item_id and item.id != head.item_id)
    match change:
        case Edit(base=None):
            return False  # it applies to whatever text there is
        case Append(base=None):
            return bool(head.revision) and not now
        case Write(base=None) | Delete(base=None) | Restore():
            return another or now != head.revision
        case Move(overwrite=overwrite):
            return overwrite and (another or now != head.revision)
        case Write(base=base) | Edit(base=base) | Append(base=base) | Delete(base=base):
            return another and bool(base)


def _changed(index: int, item: ItemState, base: int) -> Conflict:
    exists = item.stored is not None
    made_from = f"from revision {base}" if base else "when it did not exist"
    now = f"it is now at revision {item.revision}" if exists else "it does not exist now"
    cause = f"{item.key} was changed since this was proposed, {made_from}: {now}."
    reason = "changed" if exists else "deleted"
    revision = item.revision if exists else 0
    return Conflict(index, decode_namespace(item.labels), item.key, reason, cause, "", revision, item.text)


def find(context: Context, id: str, statement: str = "proposal") -> Body[Recorded]:
    """The proposal of this id."""
    rows = yield from query(statement, tenant=context.tenant, id=id) if is_plain_text(id) else _nothing()
    if not rows:
        raise ProposalNotFoundError(f"There is no proposal {id!r}.", "List the proposals to see which there are.")
    return recorded(rows[0])


def _nothing() -> Body[Rows]:
    return []
    yield  # pragma: no cover - makes this a generator


def _find_pending(context: Context, id: str) -> Body[Recorded]:
    found = yield from find(context, id, "lock_proposal")
    _require_pending(found.proposal)
    return found


def _require_pending(proposal: Proposal) -> None:
    if proposal.status == "pending":
        return
    by = f" by {proposal.decided_by}" if proposal.decided_by else ""
    when = f" at {proposal.decided_at:%Y-%m-%d %H:%M:%S} UTC" if proposal.decided_at else ""
    raise ProposalDecidedError(
        f"The proposal {proposal.id} was {proposal.status} already{by}{when}.", "Nothing was changed."
    )


def _decision(context: Context, id: str, status: str, reviewer: Author, note: str | None, now: int) -> Sql:
    return Sql(
        "decide_proposal",
        {
            "tenant": context.tenant,
            "id": id,
            "status": status,
            "decided_at": now,
            "decided_by": reviewer.actor,
            "note": note,
        },
    )


def recorded(row: Row) -> Recorded:
    """A row as callers see it."""
    id, status, created_at, *author, waits_for, source, body, decided_at, decided_by, note = row
    changes, heads = decode_changes(body)
    decided = None if decided_at is None else to_datetime(decided_at)
    proposal = Proposal(
        id,
        changes,
        Author(*author),
        to_datetime(created_at),
        waits_for,
        source,
        status,
        decided_by,
        decided,
        note,
    )
    return Recorded(proposal, heads)
