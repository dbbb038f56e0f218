"""The way of every change through the guard: rules, plan, hooks, then it lands, waits, or is refused."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memoranda.backends.guard.consulting import Consulted, RefusedError, consulted
from memoranda.backends.guard.landing import Landed, land
from memoranda.backends.guard.layers import Layers
from memoranda.backends.guard.looking import look
from memoranda.backends.guard.planning import Asked, Plan, PlanError, is_tangled, paths_of, plan, untangled
from memoranda.backends.guard.telling import Change, tell
from memoranda.backends.guard.tracing import note_read
from memoranda.backends.guard.waiting import (
    approval_of,
    is_approved,
    nowhere_to_propose,
    proposed,
    waits_as_proposal,
    waits_for_approval,
)
from memoranda.backends.permissions import Mode, strictest
from memoranda.backends.places import Place
from memoranda.backends.protocol import (
    SEEN,
    AppendFile,
    ApprovalRequest,
    ChangeResult,
    DeleteFile,
    EditFile,
    MoveFile,
    WriteFile,
)
from memoranda.backends.runtime import in_graph, unnoticed
from memoranda.backends.steps import Steps, block
from memoranda.backends.wording import refused_read_only, refused_unseen

_ATTEMPTS = 60
"""How often a change is checked anew because its file changed meanwhile; each time some other change has landed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of changes that went through the guard.

    Args:
        error: Why they did not land.
        denied: Whether a rule denies them.
        conflict: Whether `error` is about what somebody else wrote meanwhile.
        conflicts: The sentences of a commit about that.
        approvals: What a person has to approve first.
        proposal: The id of the proposal that waits instead.
        results: A result for each change that landed.
        failed: Whether `error` is about the storage, so that the same may work later.
    """

    error: str | None = None
    denied: bool = False
    conflict: bool = False
    conflicts: tuple[str, ...] = ()
    approvals: tuple[ApprovalRequest, ...] = ()
    proposal: str | None = None
    results: tuple[ChangeResult, ...] = ()
    failed: bool = False


def denied(place: Place, operation: str) -> str:
    """What is said of an operation that a rule denies."""
    return (
        f"Error: permission denied for {operation} on '{place.shown}'. A rule of this agent forbids it; "
        "use another path, or go on without it."
    )


def write_modes(layers: Layers, changes: Sequence[Asked]) -> Steps[tuple[list[Mode], Outcome | None]]:
    """What the rules say about changes: for each its mode, and the refusal if one of them is denied."""
    places = [place for asked in changes for place in paths_of(asked.placed)]
    writable = dict(zip(places, (yield from layers.modes("write", places)), strict=True))
    reading = [asked.placed.place for asked in changes if _tells_what_is_there(asked)]
    readable = dict(zip(reading, (yield from layers.modes("read", reading)), strict=True))
    for place, mode in readable.items():
        if mode == "deny":
            unwritable = writable[place] == "deny"
            return [], Outcome(denied(place, "write" if unwritable else "read"), denied=True)
    for place, mode in writable.items():
        if mode == "deny":
            return [], Outcome(denied(place, "write"), denied=True)
    return [strictest(writable[place] for place in paths_of(asked.placed)) for asked in changes], None


def _tells_what_is_there(asked: Asked) -> bool:
    """Whether a change tells by its very success what the file held, so that whoever asks must be able to read it."""
    match asked.placed.change:
        case MoveFile() | EditFile():  # what is moved away, or comes back, can be read at its new place
            return True
        case AppendFile(_, _, base):
            return base is not None
        case WriteFile(_, _, base, _) | DeleteFile(_, base):  # a digest is right for one content only
            return asked.revision is not None or (isinstance(base, str) and base != SEEN)


def marked(layers: Layers, changes: Sequence[Asked]) -> Steps[list[Asked]]:
    """The changes, with those of files that may not be read marked as such."""
    modes = yield from layers.modes("read", [asked.main for asked in changes])
    return [replace(asked, hidden=mode == "deny") for asked, mode in zip(changes, modes, strict=True)]


def change(layers: Layers, changes: Sequence[Asked], modes: Sequence[Mode], *, apart: bool = False) -> Steps[Outcome]:
    """Check changes, and let them land together on exactly the states that were checked.

    Args:
        layers: The rules and hooks.
        changes: What was asked for, each about one file, none of them denied.
        modes: What the rules say about each.
        apart: Whether they may land one after the other where they lie in different places.
    """
    outcome = yield from _changed(layers, changes, modes, apart=apart)
    if outcome.error is not None and outcome.proposal is None and not outcome.approvals:
        yield from note_read(layers, [asked.placed.place for asked in changes])  # a refusal may show what is there
    return outcome


def _changed(layers: Layers, changes: Sequence[Asked], modes: Sequence[Mode], *, apart: bool) -> Steps[Outcome]:
    changes = yield from marked(layers, changes)
    for attempt in range(_ATTEMPTS):
        try:
            plans, plan_modes = yield from _planned(layers, changes, modes)
            checked: list[Consulted] = []
            for one in plans:
                checked.append((yield from consulted(layers, one, repeated=attempt > 0)))
        except PlanError as error:
            if error.shows is not None:
                error.shows.note()
            return Outcome(error.text, conflict=error.conflict, conflicts=(error.text[7:],) if error.conflict else ())
        except RefusedError as error:
            return Outcome(str(error))
        plans = [one.plan for one in checked]
        waiting = yield from _waiting(layers, checked, plan_modes)
        if waiting is not None:
            return waiting
        if not plans:
            return Outcome()
        with unnoticed() as notes:
            landed = yield from land(layers.inner, plans, apart=apart)
        if landed.error is None:
            if not any(map(_holds_unseen, plans)):
                notes.keep()
            yield from tell(layers, _told(plans, landed))
            return Outcome(results=landed.results)
        if landed.results:
            yield from tell(layers, _told(plans[: len(landed.results)], landed))
            if landed.conflict and any(one.asked.hidden for one in plans):
                return _conflict_unseen(plans)
            return Outcome(landed.error, conflict=landed.conflict, failed=landed.failed)
        if not (yield from _changed_meanwhile(layers, plans)):
            if (landed.conflict or landed.conflicts) and any(one.asked.hidden for one in plans):
                return _conflict_unseen(plans)
            notes.keep()
            return Outcome(landed.error, conflict=landed.conflict, conflicts=landed.conflicts, failed=landed.failed)
        if attempt:
            pause = random.uniform(0, 0.002 * min(attempt, 10))
            yield from block(lambda pause=pause: time.sleep(pause))
    return Outcome("Error: the file changes faster than the change can be checked. Try again.", conflict=True)


def _conflict_unseen(plans: Sequence[Plan]) -> Outcome:
    """A conflict about files that may not be read; the sentence of the storage would show what they hold."""
    (first, *_) = [one for one in plans if one.asked.hidden]
    said = refused_unseen(first.main.place, exists=first.main.state.content is not None)
    return Outcome(said, conflict=True, conflicts=(said[7:],))


def _planned(layers: Layers, changes: Sequence[Asked], modes: Sequence[Mode]) -> Steps[tuple[list[Plan], list[Mode]]]:
    if is_tangled(changes):
        changes = yield from marked(layers, (yield from untangled(layers.inner, changes)))
        modes, refusal = yield from write_modes(layers, changes)
        if refusal is not None:
            raise PlanError(refusal.error or "")
    plans: list[Plan] = []
    for asked in changes:
        plans.append((yield from plan(layers.inner, asked)))
    return plans, list(modes)


def _waiting(layers: Layers, checked: Sequence[Consulted], modes: Sequence[Mode]) -> Steps[Outcome | None]:
    """What came of the changes if they may not land now."""
    plans = [one.plan for one in checked]
    holds = [hold for one in checked for hold in one.holds]
    to_propose = "propose" in modes
    if in_graph() and not to_propose:
        for one in plans:
            for touch in one.touches:
                if layers.inner.is_read_only(touch.place):  # nobody need decide on what cannot be
                    return Outcome(refused_read_only(touch.place), denied=True)
    if to_propose or holds:
        reason = " ".join(dict.fromkeys(reason for reason, _ in holds)) or None
        source = holds[0][1] if holds else "permission"
        proposal = yield from proposed(layers.inner, plans, reason, source)
        if proposal is None:
            return Outcome(nowhere_to_propose(plans, reason or "a rule says so"))
        return Outcome(waits_as_proposal(plans, proposal), proposal=proposal)
    inner = layers.inner
    open_to = [mode != "interrupt" or is_approved(inner, one) for one, mode in zip(plans, modes, strict=True)]
    if all(open_to):
        return None
    for one in plans:
        if one.asked.mixed:  # a person would be asked about a text that holds what is hidden
            return Outcome(denied(one.main.place, "read"), denied=True)
    # Changes that belong together wait together: none of them lands while a person has yet to decide on another.
    first = plans[open_to.index(False)]
    return Outcome(waits_for_approval(first), approvals=tuple(approval_of(inner, one) for one in plans))


def _holds_unseen(one: Plan) -> bool:
    """Whether what lands holds something of others that the thread has not seen."""
    if one.merged:
        return True
    if one.asked.revision is not None:
        return True
    return one.main.operation in ("edit", "append", "move") and not one.touches[0].state.is_known


def _changed_meanwhile(layers: Layers, plans: Sequence[Plan]) -> Steps[bool]:
    for one in plans:
        for touch in one.touches:
            if not touch.state.is_same((yield from look(layers.inner, touch.place))):
                return True
    return False


def _told(plans: Sequence[Plan], landed: Landed) -> list[Change]:
    told: list[Change] = []
    for one, result in zip(plans, landed.results, strict=True):
        if result.unchanged:
            continue
        told += [Change(touch.place, touch.operation, 0) for touch in one.touches[:-1]]
        told.append(Change(one.main.place, one.main.operation, result.revision, one.merged))
    return told
