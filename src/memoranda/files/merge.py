"""Join two changes that were made from one base: texts by line, JSON objects by key.

Texts: three-way merge in the manner of diff3 (Khanna, Kunal and Pierce, "A Formal Investigation of Diff3",
2007). JSON: two changes of one member conflict, whatever is inside a list or a scalar being one value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from memoranda.files.matching import opcodes, split_lines


@dataclass(frozen=True, slots=True)
class Overlap:
    """A place that both sides changed, differently."""

    base_start: int
    """Index of the first line of the base that is concerned, from 0."""

    base_lines: tuple[str, ...]
    """What stood there."""

    theirs_lines: tuple[str, ...]
    """What the one side has there now."""

    yours_lines: tuple[str, ...]
    """What the other side has there now."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The outcome of merging two texts."""

    text: str | None
    """The merged text; None if there are conflicts."""

    conflicts: tuple[Overlap, ...] = ()
    """The places that must be decided by somebody, from top to bottom."""


@dataclass(frozen=True, slots=True)
class MergedJson:
    """The outcome of merging two JSON objects."""

    value: dict[str, object] | None
    """The merged object; None if there are conflicts."""

    conflicts: tuple[str, ...] = ()
    """JSON Pointers (RFC 6901) to the members that both sides changed, differently."""


@dataclass(frozen=True, slots=True)
class _Hunk:
    """One side's change: the lines `low` to `high` of the base become `lines`."""

    low: int
    high: int
    lines: list[str]
    yours: bool

    @property
    def grows(self) -> bool:
        return len(self.lines) > self.high - self.low

    def clashes(self, later: _Hunk) -> bool:
        """Tell whether a hunk of the other side that sorts after this one cannot stand beside it."""
        if self.high != later.low:
            return later.low < self.high
        # They touch. Where both insert there, the order of the insertions is anybody's guess; and a last
        # line without an end would run into what follows.
        return (self.grows and later.grows) or (bool(self.lines) and not self.lines[-1].endswith("\n"))


def merge_text(base: str, theirs: str, yours: str) -> Merged:
    r"""Merge two changes of one text, line by line.

    Changes of different lines both land, the same change on both sides lands once. Two different insertions
    at the same place, or two different changes of one line, are a conflict.

    Args:
        base: The text that both sides started from.
        theirs: One side's text.
        yours: The other side's text.

    Returns:
        The merged text, or the conflicts.

    Example:
        >>> merge_text("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n").text
        'A\nb\nC\n'
    """
    if base == theirs or theirs == yours:
        return Merged(yours)
    if base == yours:
        return Merged(theirs)
    lines = split_lines(base)
    hunks = _hunks(lines, split_lines(theirs), yours=False) + _hunks(lines, split_lines(yours), yours=True)
    hunks.sort(key=lambda hunk: (hunk.low, hunk.high))
    merged: list[str] = []
    conflicts: list[Overlap] = []
    position = 0
    for cluster in _clusters(hunks):
        low, high = cluster[0].low, max(hunk.high for hunk in cluster)
        merged += lines[position:low]
        position = high
        ours = _applied(lines, low, high, [hunk for hunk in cluster if hunk.yours])
        other = _applied(lines, low, high, [hunk for hunk in cluster if not hunk.yours])
        if len(cluster) == 1:
            merged += cluster[0].lines
        elif ours == other:
            merged += ours
        else:
            conflicts.append(Overlap(low, tuple(lines[low:high]), tuple(other), tuple(ours)))
    merged += lines[position:]
    return Merged(None, tuple(conflicts)) if conflicts else Merged("".join(merged))


def _hunks(base: Sequence[str], changed: Sequence[str], *, yours: bool) -> list[_Hunk]:
    return [
        _Hunk(step.i1, step.i2, list(changed[step.j1 : step.j2]), yours)
        for step in opcodes(base, changed)
        if step.tag != "equal"
    ]


def _clusters(hunks: list[_Hunk]) -> list[list[_Hunk]]:
    """Group sorted hunks so that different groups can land side by side."""
    clusters: list[list[_Hunk]] = []
    # The last hunk of each side is all that a later one can clash with: one side's hunks never touch.
    last: dict[bool, _Hunk] = {}
    for hunk in hunks:
        other = last.get(not hunk.yours)
        if other is not None and other.clashes(hunk):
            clusters[-1].append(hunk)
        else:
            clusters.append([hunk])
        last[hunk.yours] = hunk
    return clusters


def _applied(base: Sequence[str], low: int, high: int, hunks: list[_Hunk]) -> list[str]:
    lines: list[str] = []
    for hunk in hunks:
        lines += base[low : hunk.low]
        lines += hunk.lines
        low = hunk.high
    return lines + list(base[low:high])


_ABSENT = object()


def merge_json(base: Mapping[str, object], theirs: Mapping[str, object], yours: Mapping[str, object]) -> MergedJson:
    """Merge two changes of one JSON object, member by member and in nested objects too.

    Lists and scalars are one value each. A member that one side deleted and the other changed is a conflict.

    Args:
        base: The object that both sides started from.
        theirs: One side's object.
        yours: The other side's object.

    Returns:
        The merged object (their order of members, then your new ones), or the conflicts.

    Example:
        >>> merge_json({"a": 1}, {"a": 2}, {"a": 1, "b": 3}).value
        {'a': 2, 'b': 3}
    """
    conflicts: list[str] = []
    value = _merge_objects(base, theirs, yours, "", conflicts)
    return MergedJson(None, tuple(conflicts)) if conflicts else MergedJson(value)


def _merge_objects(
    base: Mapping[str, object],
    theirs: Mapping[str, object],
    yours: Mapping[str, object],
    pointer: str,
    conflicts: list[str],
) -> dict[str, object]:
    merged: dict[str, object] = {}
    for key in {**theirs, **yours}:
        was, one, other = base.get(key, _ABSENT), theirs.get(key, _ABSENT), yours.get(key, _ABSENT)
        if _same(one, other) or _same(was, other):
            taken = one
        elif _same(was, one):
            taken = other
        elif isinstance(one, Mapping) and isinstance(other, Mapping):
            taken = _merge_objects(
                cast("Mapping[str, object]", was) if isinstance(was, Mapping) else {},
                cast("Mapping[str, object]", one),
                cast("Mapping[str, object]", other),
                f"{pointer}/{_escaped(key)}",
                conflicts,
            )
        else:
            conflicts.append(f"{pointer}/{_escaped(key)}")
            continue
        if taken is not _ABSENT:
            merged[key] = taken
    return merged


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _same(one: object, other: object) -> bool:
    """Tell whether two JSON values are the same; unlike `==`, 1, 1.0 and true are three values."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        left, right = cast("dict[str, object]", one), cast("dict[str, object]", other)
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(one, list):
        these, those = cast("list[object]", one), cast("list[object]", other)
        return len(these) == len(those) and all(map(_same, these, those))
    return one == other
