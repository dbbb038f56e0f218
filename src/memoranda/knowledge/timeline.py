"""The timeline of one fact: which value held when, from statements that may come in any order, and again.

Each version holds from when it was stated until another value is. What is known already changes nothing; what is
stated late takes its place in the past, and never becomes current.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

from memoranda.knowledge.memories import Version, new_id

_MOST_STATED: Final = 64


@dataclass(frozen=True, slots=True)
class Statement:
    """Somebody says that something is so.

    Args:
        slot: What makes it the same memory again.
        digest: Of its value.
        value: JSON.
        at: When it is said.
        sources: Message ids.
        is_dated: Whether the caller said when; else it is said now, and saying it again need not be noted.
    """

    slot: str
    digest: str
    value: dict[str, Any]
    at: datetime
    sources: tuple[str, ...] = ()
    is_dated: bool = False


@dataclass(frozen=True, slots=True)
class Placed:
    """What a statement makes of a timeline.

    Args:
        id: The version that says it.
        versions: The timeline after it, the earliest first.
        is_new: Whether that version is new.
    """

    id: str
    versions: tuple[Version, ...]
    is_new: bool


def place(timeline: Sequence[Version], statement: Statement) -> Placed:
    """Take a statement into a timeline.

    Args:
        timeline: The versions of one fact, the earliest first; the last ones are enough for a statement that is later
            than they begin.
        statement: What is said.
    """
    known = find_known(timeline, statement)
    if known is not None:
        confirmed = _confirmed(known, statement)
        return Placed(known.id, tuple(confirmed if one.id == known.id else one for one in timeline), is_new=False)
    at, (firm, said) = statement.at, _parted(timeline)
    before = timeline[0].before if timeline else None
    position = next((place for place, version in enumerate(firm) if version.covers(at)), None)
    covering = None if position is None else firm[position]
    later = next((moment for moment in covering.stated if moment > at), None) if covering else None
    if position is not None and covering is not None and later is not None:
        # It was said again afterwards, so the new one held in between only.
        until = tuple(moment for moment in covering.stated if moment <= at)
        head = replace(covering, id=new_id(covering.slot), valid_to=at, stated=until, revision=0)
        middle = _version(statement, later)
        tail = replace(covering, valid_from=later, stated=covering.stated[len(until) :])
        firm[position : position + 1] = [head, middle, tail]
        return Placed(middle.id, _joined_up(firm, said, before), is_new=True)
    if position is not None and covering is not None:
        firm[position] = replace(covering, valid_to=at)
        position += 1
    else:
        position = next((place for place, version in enumerate(firm) if version.valid_from > at), len(firm))
    follower = firm[position] if position < len(firm) else None
    until = covering.valid_to if covering else follower.valid_from if follower else None
    if follower is not None and follower.digest == statement.digest and follower.valid_from == until:
        firm[position] = _since(follower, statement)
        return Placed(follower.id, _joined_up(firm, said, before), is_new=False)
    new = _version(statement, until)
    firm.insert(position, new)
    return Placed(new.id, _joined_up(firm, said, before), is_new=True)


def find_known(timeline: Sequence[Version], statement: Statement) -> Version | None:
    """The version that says this already: at that time, or from the same messages."""
    alike = [version for version in reversed(timeline) if version.digest == statement.digest]
    told = find_told(alike, statement)
    return told or next((version for version in alike if version.covers(statement.at)), None)


def find_told(versions: Sequence[Version], statement: Statement) -> Version | None:
    """The version that a statement only tells again: from the same messages, or of the same time."""
    alike = [version for version in versions if version.digest == statement.digest]
    again = (version for version in alike if is_told_again(version, statement))
    return next(again, None) or next((version for version in alike if statement.at in version.stated), None)


def is_told_again(version: Version, statement: Statement) -> bool:
    """Whether a statement of the same value comes from nothing but messages that the version came from."""
    return bool(statement.sources) and set(statement.sources) <= set(version.sources)


def meant(timeline: Sequence[Version], statement: Statement) -> Statement:
    """The statement in the better words that something like it was put into since."""
    said = [place for place, version in enumerate(timeline) if version.digest == statement.digest]
    if not said or not timeline[said[-1]].is_reworded:
        return statement
    better = next((version for version in timeline[said[-1] :] if not version.is_reworded), None)
    if better is None:
        return statement
    return replace(statement, slot=better.slot, digest=better.digest, value=better.value)


def noted(placed: Placed, statement: Statement) -> Placed:
    """Keep that a statement was understood as the version in which it was placed, so that it is known the next time."""
    firm, said = _parted(placed.versions)
    words = said.setdefault(placed.id, [])
    place = next((place for place, version in enumerate(words) if version.digest == statement.digest), None)
    if place is None:
        words.append(replace(_version(statement, None), is_reworded=True))
    else:
        known = words[place]
        words[place] = replace(
            known,
            stated=_stated((*known.stated, statement.at)),
            sources=_united(known.sources, statement.sources),
        )
    return replace(placed, versions=_joined_up(firm, said, placed.versions[0].before))


def corrected(timeline: Sequence[Version], old: Version, statement: Statement) -> Placed:
    """Put a better wording in the place of a version: it holds since the old one did, which then never held."""
    firm, said = _parted(timeline)
    position = next(place for place, version in enumerate(firm) if version.id == old.id)
    # What held before keeps its time.
    at = old.valid_from if position else min(old.valid_from, statement.at)
    new = replace(
        _version(statement, old.valid_to),
        valid_from=at,
        stated=_stated([moment for moment in (*old.stated, at, statement.at) if moment >= at]),
        sources=_united(old.sources, statement.sources),
    )
    firm[position] = new
    said[new.id] = [*said.pop(old.id, []), replace(old, is_reworded=True)]
    return Placed(new.id, _joined_up(firm, said, timeline[0].before), is_new=True)


def closed(version: Version, at: datetime, by: str) -> Version:
    """A version that something of another fact has superseded."""
    return replace(version, valid_to=max(at, version.valid_from), superseded_by=by)


def in_order(versions: Iterable[Version]) -> list[Version]:
    """Versions of one fact, the earliest first; those that never held where their links say."""
    found: list[Version] = []
    waiting = sorted(
        versions, key=lambda each: (each.valid_from, each.valid_to is None, each.valid_to or each.valid_from)
    )
    known = {version.id for version in waiting}
    while waiting:
        # Among those of one moment, the one whose predecessor is already there.
        last = found[-1].id if found else None
        moment = waiting[0].valid_from
        following = [each for each in waiting if each.valid_from == moment]
        free = [each for each in following if each.before == last or (not found and each.before not in known)]
        found.append((free or following)[0])
        waiting.remove(found[-1])
    return found


def is_whole(versions: Sequence[Version]) -> bool:
    """Whether these are all versions of a fact, as of one moment: their links lead from each to the next."""
    if not versions:
        return True
    follow = all(one.after == other.id and other.before == one.id for one, other in pairwise(versions))
    return follow and versions[0].before is None and versions[-1].after is None


def _parted(versions: Sequence[Version]) -> tuple[list[Version], dict[str, list[Version]]]:
    """The versions that held, and those that each of them says in better words."""
    firm: list[Version] = []
    said: dict[str, list[Version]] = {}
    waiting: list[Version] = []
    for version in versions:
        if version.is_reworded:
            waiting.append(version)
            continue
        firm.append(version)
        if waiting:
            said[version.id] = waiting
            waiting = []
    return firm, said


def _joined_up(firm: Sequence[Version], said: dict[str, list[Version]], before: str | None) -> tuple[Version, ...]:
    """All versions in order, linked to each other; the first of them to what is not part of this."""
    ordered: list[Version] = []
    for version in firm:
        moment = version.valid_from
        ordered += [replace(one, valid_from=moment, valid_to=moment) for one in said.get(version.id, ())]
        ordered.append(version)
    own = {version.id for version in ordered}
    found: list[Version] = []
    for position, version in enumerate(ordered):
        after = ordered[position + 1].id if position + 1 < len(ordered) else None
        by = version.superseded_by
        if version.valid_to is None:
            by = None
        elif by is None or by in own or by == version.after:
            by = after
        found.append(replace(version, before=before, after=after, superseded_by=by))
        before = version.id
    return tuple(found)


def _version(statement: Statement, until: datetime | None) -> Version:
    return Version(
        new_id(statement.slot),
        statement.slot,
        statement.digest,
        statement.value,
        statement.at,
        until,
        (statement.at,),
        statement.sources,
    )


def _since(version: Version, statement: Statement) -> Version:
    """A version that held earlier than was known."""
    return replace(
        version,
        valid_from=statement.at,
        stated=_stated((*version.stated, statement.at)),
        sources=_united(version.sources, statement.sources),
    )


def _confirmed(version: Version, statement: Statement) -> Version:
    """A version that was stated again, where that says more than is known."""
    stated = version.stated
    if statement.is_dated and version.covers(statement.at):
        stated = _stated((*stated, statement.at))
    return replace(version, stated=stated, sources=_united(version.sources, statement.sources))


def _stated(moments: Sequence[datetime]) -> tuple[datetime, ...]:
    ordered = sorted(set(moments))
    return tuple(ordered if len(ordered) <= _MOST_STATED else [ordered[0], *ordered[1 - _MOST_STATED :]])


def _united(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))
