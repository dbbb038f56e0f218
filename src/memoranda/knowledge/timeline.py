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
        return Placed(known.id, _replaced(timeline, known, _confirmed(known, statement)), is_new=False)
    at, ordered = statement.at, list(timeline)
    position = next((place for place, version in enumerate(ordered) if version.covers(at)), None)
    if position is None:
        return _between(ordered, statement)
    covering = ordered[position]
    later = next((moment for moment in covering.stated if moment > at), None)
    until = tuple(moment for moment in covering.stated if moment <= at)
    if later is not None:  # it was said again afterwards, so the new one held in between only
        head = replace(covering, id=new_id(covering.slot), valid_to=at, stated=until, after=None, revision=0)
        middle = _version(statement, later)
        tail = replace(covering, valid_from=later, stated=covering.stated[len(until) :])
        return Placed(middle.id, linked([*ordered[:position], head, middle, tail, *ordered[position + 1 :]]), True)
    ordered[position] = replace(covering, valid_to=at)
    follower = ordered[position + 1] if position + 1 < len(ordered) else None
    if follower is not None and follower.digest == statement.digest and follower.valid_from == covering.valid_to:
        ordered[position + 1] = _since(follower, statement)
        return Placed(follower.id, linked(ordered), is_new=False)
    new = _version(statement, covering.valid_to)
    ordered.insert(position + 1, new)
    return Placed(new.id, linked(ordered), is_new=True)


def find_known(timeline: Sequence[Version], statement: Statement) -> Version | None:
    """The version that says this already: at that time, or from the same messages."""
    alike = [version for version in reversed(timeline) if version.digest == statement.digest]
    told = next((version for version in alike if is_told_again(version, statement)), None)
    if told is not None:
        return told
    return next((one for one in alike if one.covers(statement.at) or statement.at in one.stated), None)


def is_told_again(version: Version, statement: Statement) -> bool:
    """Whether a statement of the same value comes from nothing but messages that the version came from."""
    return bool(statement.sources) and set(statement.sources) <= set(version.sources)


def corrected(timeline: Sequence[Version], old: Version, statement: Statement) -> Placed:
    """Put a better wording in the place of a version: it holds since the old one did, which then never held."""
    at = min(old.valid_from, statement.at)
    new = replace(
        _version(statement, old.valid_to),
        valid_from=at,
        stated=_stated((*old.stated, at, statement.at)),
        sources=_joined(old.sources, statement.sources),
    )
    position = next(place for place, version in enumerate(timeline) if version.id == old.id)
    gone = replace(old, valid_from=at, valid_to=at)
    return Placed(new.id, linked([*timeline[:position], gone, new, *timeline[position + 1 :]]), is_new=True)


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


def linked(versions: Sequence[Version]) -> tuple[Version, ...]:
    """The versions with their links to each other."""
    own = {version.id for version in versions}
    found: list[Version] = []
    for position, version in enumerate(versions):
        before = versions[position - 1].id if position else version.before
        after = versions[position + 1].id if position + 1 < len(versions) else version.after
        by = version.superseded_by
        if version.valid_to is None:
            by = None
        elif by is None or by in own or by == version.after:
            by = after
        found.append(replace(version, before=before, after=after, superseded_by=by))
    return tuple(found)


def _between(ordered: list[Version], statement: Statement) -> Placed:
    """Take in a statement of a time for which nothing is known."""
    position = next((place for place, version in enumerate(ordered) if version.valid_from > statement.at), len(ordered))
    follower = ordered[position] if position < len(ordered) else None
    if follower is not None and follower.digest == statement.digest:
        ordered[position] = _since(follower, statement)
        return Placed(follower.id, linked(ordered), is_new=False)
    new = _version(statement, None if follower is None else follower.valid_from)
    ordered.insert(position, new)
    return Placed(new.id, linked(ordered), is_new=True)


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
        sources=_joined(version.sources, statement.sources),
    )


def _confirmed(version: Version, statement: Statement) -> Version:
    """A version that was stated again, where that says more than is known."""
    stated = version.stated
    if statement.is_dated and version.covers(statement.at):
        stated = _stated((*stated, statement.at))
    return replace(version, stated=stated, sources=_joined(version.sources, statement.sources))


def _replaced(timeline: Sequence[Version], old: Version, new: Version) -> tuple[Version, ...]:
    return tuple(new if version.id == old.id else version for version in timeline)


def _stated(moments: Sequence[datetime]) -> tuple[datetime, ...]:
    ordered = sorted(set(moments))
    return tuple(ordered if len(ordered) <= _MOST_STATED else [ordered[0], *ordered[1 - _MOST_STATED :]])


def _joined(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))
