"""Proposals: changes that wait until a reviewer accepts or rejects them, and then land as any commit does."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from memoranda.errors import InvalidChangeError
from memoranda.store.changes import (
    Author,
    Change,
    ChangeSet,
    CommitResult,
    ConflictError,
    CursorMove,
    Namespace,
    current_author,
)
from memoranda.store.companions import Companion, Landed, waiting_companion
from memoranda.store.effects import Batch, Body, Operation, Sql, query, transact
from memoranda.store.keys import is_plain_text
from memoranda.store.namespaces import decode_namespace, encode_namespace
from memoranda.store.operations import deciding, tending
from memoranda.store.operations.commit import RefusedError
from memoranda.store.operations.context import Context, countable
from memoranda.store.operations.cursors import advance
from memoranda.store.operations.planning import Planned, check_change_set, checked_author, plan, plan_moves
from memoranda.store.recorded_changes import Head, Heads, encode_changes
from memoranda.store.types import Proposal, namespaces_of
from memoranda.store.values import to_datetime

_STATUSES = ("pending", "accepted", "rejected")
_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # nothing that looks like something else
_ID_LENGTH = 6


def propose(
    context: Context, changes: ChangeSet, *, reason: str | None = None, source: str | None = None
) -> Operation[Proposal]:
    """Let changes wait for a reviewer. Nothing of them is in effect; its cursors, if any, move at once.

    A write or deletion without a base is recorded with the item's current revision as its base, so that what others
    write until it is accepted is merged or refused, and never overwritten.

    Args:
        context: The store's settings.
        changes: What to change, by whom, and which cursors move now.
        reason: Why it waits instead of landing.
        source: What made it wait, for example `permission` or `hook:secrets`.

    Returns:
        The proposal, with its id.

    Raises:
        InvalidChangeError: There is no change in it, or one makes no sense whatever the state.
        ConflictError: A cursor does not stand where it was expected; nothing was recorded.

    Example:
        >>> from memoranda import Author, ChangeSet, Write, open_store
        >>> with open_store("memory://") as store:
        ...     change = Write(("acme",), "/policy.md", "Be kind.")
        ...     waiting = store.propose(ChangeSet([change], Author("agent:helper")), reason="policy is shared")
        ...     before = store.get(("acme",), "/policy.md")
        ...     _ = store.accept_proposal(waiting.id, author=Author("user:ann"))
        ...     before, store.get(("acme",), "/policy.md").value["content"]
        (None, 'Be kind.')
    """
    check_change_set(changes)
    if not changes.changes:
        raise InvalidChangeError("There is nothing in this proposal.", "Put at least one change into it.")
    planned = [plan(change) for change in changes.changes]
    author = checked_author(changes.author or current_author())
    for text in (reason, source):
        _check_words(text)
    companion = waiting_companion(context)
    moves = plan_moves(changes.advance if companion is None else [*changes.advance, *companion.advance])
    try:
        proposal = yield from transact(
            "write", lambda: _propose(context, planned, author, (reason, source), moves, companion)
        )
    except RefusedError as refused:
        raise ConflictError(refused.result.conflicts) from None
    if companion is not None:
        companion.taken = True
    return proposal


def proposals(
    context: Context, namespace: Namespace | None = None, *, status: str | None = "pending", limit: int | None = None
) -> Operation[list[Proposal]]:
    """List proposals, oldest first.

    Args:
        context: The store's settings.
        namespace: Only those that would change something in exactly this namespace; None: all.
        status: `pending`, `accepted` or `rejected`; None: all.
        limit: At most so many; None: all.

    Returns:
        The proposals.
    """
    if status is not None and status not in _STATUSES:
        raise InvalidChangeError(
            f"{status!r} is no status of a proposal.", "Use 'pending', 'accepted', 'rejected' or None."
        )
    if namespace is not None:
        name = "proposals_in_namespace"
        params: dict[str, Any] = {"labels": encode_namespace(namespace), "status": status or ""}
    elif status is not None:
        name, params = "proposals_of_status", {"status": status}
    else:
        name, params = "all_proposals", {}
    asked = partial(query, name, tenant=context.tenant, limit=countable(limit), **params)
    rows = yield from transact("read", asked)
    return [deciding.recorded(row).proposal for row in rows]


def get_proposal(context: Context, id: str) -> Operation[Proposal]:
    """Read one proposal, decided or not.

    Args:
        context: The store's settings.
        id: Its id.

    Returns:
        The proposal.

    Raises:
        ProposalNotFoundError: There is none of this id.
    """
    return (yield from transact("read", lambda: deciding.find(context, id))).proposal


def proposal_diff(context: Context, id: str) -> Operation[str]:
    """Show what accepting a proposal now would change, as a unified diff against the current state.

    Args:
        context: The store's settings.
        id: The proposal's id.

    Returns:
        The diff, merged with what others have written since it was proposed.

    Raises:
        ProposalNotFoundError: There is none of this id.
        ProposalDecidedError: It was decided already, so it changes nothing any more.
        ConflictError: It cannot be accepted as it is; the error carries the texts.
    """
    return (yield from transact("snapshot", lambda: deciding.diff(context, id)))


def accept_proposal(
    context: Context,
    id: str,
    *,
    author: Author | None = None,
    note: str | None = None,
    changes: Sequence[Change] | None = None,
) -> Operation[CommitResult]:
    """Let the changes of a proposal land, in one transaction with the decision.

    The revisions it makes are the proposer's; their origin names the proposal and who accepted it. Of several
    reviewers exactly one decides.

    Args:
        context: The store's settings.
        id: The proposal's id.
        author: Who accepts; None takes `acting_as`.
        note: What to say about it.
        changes: The reviewer's own changes of the items that the proposal is about, to land instead; their revisions
            are the reviewer's.

    Returns:
        The revisions made, and which of them were merged with what others have written meanwhile.

    Raises:
        ProposalNotFoundError: There is none of this id.
        ProposalDecidedError: It was decided already; the error says by whom.
        InvalidChangeError: The reviewer's own changes are none, or would change an item that the proposal is not about;
            it stays pending.
        ConflictError: Something was changed meanwhile in a way that cannot be merged; nothing landed, and the
            proposal stays pending. The error carries the current text.
    """
    reviewer = _reviewer(author, note)
    own = None if changes is None else _own(changes)
    return (yield from tending.write(context, lambda: deciding.accept(context, id, reviewer, note, own)))


def reject_proposal(
    context: Context, id: str, *, author: Author | None = None, note: str | None = None
) -> Operation[Proposal]:
    """Decide that a proposal does not land. It can still be read; cursors that moved with it stay where they are.

    Args:
        context: The store's settings.
        id: The proposal's id.
        author: Who rejects; None takes `acting_as`.
        note: Why.

    Returns:
        The proposal as it is now.

    Raises:
        ProposalNotFoundError: There is none of this id.
        ProposalDecidedError: It was decided already; the error says by whom.
    """
    reviewer = _reviewer(author, note)
    return (yield from transact("write", lambda: deciding.reject(context, id, reviewer, note)))


def _reviewer(author: Author | None, note: str | None) -> Author:
    _check_words(note)
    return checked_author(author or current_author())


def _own(changes: Sequence[Change]) -> list[Planned]:
    check_change_set(ChangeSet(changes))
    if not changes:
        raise InvalidChangeError("There is no change to land instead.", "Reject the proposal, or name changes.")
    return [plan(change) for change in changes]


def _check_words(text: object) -> None:
    if text is not None and not is_plain_text(text):
        raise InvalidChangeError(f"{text!r} is no plain text.", "Use a string without NUL characters.")


def _propose(
    context: Context,
    planned: list[Planned],
    author: Author,
    words: tuple[str | None, str | None],
    moves: list[tuple[CursorMove, str]],
    companion: Companion | None,
) -> Body[Proposal]:
    now = context.clock()
    places = dict.fromkeys((step.labels, step.key) for step in planned)
    places |= dict.fromkeys((step.to_labels, step.to_key) for step in planned if step.to_labels)
    rows = yield Batch(
        [
            Sql("item_head", {"tenant": context.tenant, "labels": labels, "key": key, "now": now})
            for labels, key in places
        ]
    )
    heads = {
        (decode_namespace(labels), key): Head(*found[0]) if found else Head()
        for (labels, key), found in zip(places, rows, strict=True)
    }
    changes = deciding.based(planned, heads)
    _check_bases(changes, heads)
    reason, source = words
    while True:
        id = "p-" + "".join(secrets.choice(_ALPHABET) for _ in range(_ID_LENGTH))
        inserted = yield from query(
            "insert_proposal",
            tenant=context.tenant,
            id=id,
            created_at=now,
            actor=author.actor,
            thread_id=author.thread_id,
            run_id=author.run_id,
            tool_call_id=author.tool_call_id,
            reason=author.reason,
            waits_for=reason,
            source=source,
            body=encode_changes(changes, heads),
        )
        if inserted:
            break
    ((number,),) = inserted
    statements = [
        Sql("insert_proposal_scope", {"tenant": context.tenant, "labels": labels, "number": number})
        for labels in sorted({encode_namespace(namespace) for namespace in namespaces_of(changes)})
    ]
    conflicts = yield from advance(context, moves, statements, now)
    if conflicts:
        raise RefusedError(CommitResult(conflicts=tuple(conflicts)))
    if companion is not None:
        before = {place: head.revision for place, head in heads.items()}
        statements += yield from companion.body(context, Landed((), id, now, before))
    yield Batch(statements, last=True)
    return Proposal(id, changes, author, to_datetime(now), reason, source)


def _check_bases(changes: Iterable[Change], heads: Heads) -> None:
    for change in changes:
        base = getattr(change, "base", None)
        head = heads[tuple(change.namespace), change.key]
        if base is not None and head.revision and not 0 <= base <= head.revision:
            raise InvalidChangeError(
                f"{change.key} has no revision {base} to build on; it is at revision {head.revision}.",
                "Pass the revision that the change was made from.",
            )
