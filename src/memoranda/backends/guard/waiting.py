"""Changes that wait: for a person who is asked now, or for a reviewer of proposals."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from memoranda.backends.base import Backend
from memoranda.backends.guard.looking import text_or_bytes
from memoranda.backends.guard.planning import Plan
from memoranda.backends.protocol import SEEN, AppendFile, ApprovalRequest, Base, FileChange, MoveFile, WriteFile
from memoranda.backends.runtime import current_tool_call, running_author
from memoranda.backends.steps import Steps, ask
from memoranda.errors import InvalidPathError
from memoranda.files.diff import unified_diff
from memoranda.files.path import canonical_path
from memoranda.store.changes import ChangeSet

_approved: ContextVar[tuple[ApprovalRequest, ...]] = ContextVar("memoranda_approved", default=())


@contextmanager
def approved(*requests: ApprovalRequest) -> Generator[None]:
    """Let changes that a person has approved through rules of the mode `interrupt`, and nothing else.

    A change passes if it is the one of a request, made from the very state that the person saw. Rules that deny,
    hooks, and proposals are not touched by it.

    Args:
        *requests: What was approved.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.backends import FilesystemPermission, GuardedBackend, StoreBackend
        >>> rule = FilesystemPermission(["write"], ["/**"], "interrupt")
        >>> with open_store("memory://") as store:
        ...     files = GuardedBackend(StoreBackend(namespace=("ann",), store=store), [rule])
        ...     request = files.write("/tea.md", "green").approval
        ...     with approved(request):
        ...         files.commit([request.change]).paths
        ('/tea.md',)
    """
    token = _approved.set((*_approved.get(), *requests))
    try:
        yield
    finally:
        _approved.reset(token)


def is_approved(inner: Backend, plan: Plan) -> bool:
    """Whether a person has approved just this change of just this state of just this file."""
    requests = _approved.get()
    if not requests:
        return False
    wanted, location = _comparable(plan.exact.change), inner.location(plan.main.place)
    return any(
        request.base == plan.base
        and request.replaces == _replaces(plan)
        and request.location == location
        and _comparable(request.change) == wanted
        for request in requests
    )


def _replaces(plan: Plan) -> Base | None:
    """The state of what a move would replace."""
    return plan.main.state.base if len(plan.touches) > 1 else None


def _comparable(change: FileChange) -> FileChange:
    """A change without what does not matter for its meaning once the state is known."""
    try:
        change = replace(change, path=canonical_path(change.path))
        if isinstance(change, MoveFile):
            return replace(change, to=canonical_path(change.to))
    except InvalidPathError:
        return change
    if isinstance(change, WriteFile):
        return replace(change, content=text_or_bytes(change.content), base=None, merge=True)
    return replace(change, base=None)


def approval_of(inner: Backend, plan: Plan) -> ApprovalRequest:
    """The request to a person about a change, noted in the tool call at hand."""
    change = plan.exact.change
    if isinstance(change, WriteFile) and change.base == SEEN:
        change = replace(change, base=0)
    main = plan.main
    before, after = main.state.content, _shown_after(plan)
    request = ApprovalRequest(
        change=change,
        base=plan.base,
        diff=_diff(plan),
        before=before if isinstance(before, str) and not plan.asked.hidden else None,
        after=after if isinstance(after, str) else None,
        location=inner.location(main.place),
        replaces=_replaces(plan),
    )
    call = current_tool_call()
    if call is not None:
        call.approvals.append(request)
    return request


def _diff(plan: Plan) -> str:
    main = plan.main
    shown = main.place.shown
    head = f"move {plan.touches[0].place.shown} to {shown}\n" if len(plan.touches) > 1 else ""
    before, after = main.state.content, _shown_after(plan)
    if plan.asked.hidden and before is not None:
        head += f"The agent may not read {shown}, so what it holds now is not shown.\n"
        if after is None:
            return head + f"{shown} would be deleted.\n"
        before = ""
    if isinstance(before, bytes) or isinstance(after, bytes):
        return f"{head}Binary file {shown}: {_size(before)} before, {_size(after)} after.\n"
    return head + unified_diff(
        before or "",
        after or "",
        before_label="/dev/null" if before is None else shown,
        after_label="/dev/null" if after is None else shown,
    )


def _shown_after(plan: Plan) -> str | bytes | None:
    """What a request shows of the file as it would be; of an addition to what is hidden, only what is added."""
    change = plan.exact.change
    return change.text if plan.asked.hidden and isinstance(change, AppendFile) else plan.main.after


def _size(content: str | bytes | None) -> str:
    if content is None:
        return "none"
    return f"{len(content if isinstance(content, bytes) else content.encode('utf-8', 'replace'))} bytes"


def waits_for_approval(plan: Plan) -> str:
    """What the model is told about a change that a person is asked about."""
    return (
        f"Error: the {_noun(plan)} of {plan.touches[0].place.shown} needs a person's approval and is not in effect "
        "yet. Do not repeat it; go on without it."
    )


def waits_as_proposal(plans: Sequence[Plan], proposal: str) -> str:
    """What the model is told about a change that became a proposal."""
    what = f"the {_noun(plans[0])} of {plans[0].touches[0].place.shown}"
    if len(plans) > 1:
        what = f"the set of {len(plans)} changes"
    return (
        f"Error: {what} waits as proposal {proposal} until a reviewer accepts it; it is not in effect yet. "
        "Go on without it."
    )


def _noun(plan: Plan) -> str:
    return {"append": "addition", "delete": "deletion", "restore": "restoration"}.get(
        plan.asked.operation, plan.asked.operation
    )


def proposed(inner: Backend, plans: Sequence[Plan], reason: str | None, source: str) -> Steps[str | None]:
    """Keep changes as one proposal.

    Args:
        inner: The backend that they are about.
        plans: The changes.
        reason: Why they wait.
        source: What made them wait.

    Returns:
        The proposal's id; None if no `MemoryStore` lies behind all of them.
    """
    found = inner.store_changes([plan.later for plan in plans])
    if found is None:
        return None
    store: Any = found[0]
    proposal = yield from ask(store.propose, ChangeSet(found[1], running_author()), reason=reason, source=source)
    return str(proposal.id)


def nowhere_to_propose(plans: Sequence[Plan], reason: str) -> str:
    """What the model is told where proposals cannot be kept."""
    return (
        f"Error: the {_noun(plans[0])} of {plans[0].touches[0].place.shown} would have to wait for a reviewer "
        f"({reason}), but this does not lie in one Memoranda store that keeps proposals, so nothing was changed. "
        "Go on without it."
    )
