"""What may be seen: listings and searches without what the rules hide, and reads that they refuse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from memoranda.backends.finding.parts import Findable, Question
from memoranda.backends.guard.changing import denied
from memoranda.backends.guard.layers import Layers, place_below
from memoranda.backends.guard.tracing import note_read
from memoranda.backends.places import Place
from memoranda.backends.protocol import (
    PERMISSION_DENIED,
    FileDownloadResponse,
    GlobResult,
    GrepResult,
    LsResult,
)
from memoranda.backends.steps import Steps

T = TypeVar("T")


def refusal(layers: Layers, place: Place) -> Steps[str | None]:
    """Why a place may not be read; None if it may."""
    return denied(place, "read") if (yield from layers.mode_of("read", place)) == "deny" else None


def visible(layers: Layers, place: Place, entries: Sequence[T], path: str = "path") -> Steps[list[T]]:
    """The entries of a result that may be seen.

    Args:
        layers: The rules.
        place: The place that was asked.
        entries: Mappings with a path.
        path: The key of the path.
    """
    if not layers.restrict_reading or not entries:
        return list(entries)
    paths: dict[str, Place | None] = {}
    for entry in entries:
        shown: str = _get(entry, path)
        if shown not in paths:
            paths[shown] = place_below(place, shown)
    places = list(dict.fromkeys(found for found in paths.values() if found is not None))
    modes = dict(zip(places, (yield from layers.modes("read", places)), strict=True))
    return [entry for entry in entries if (found := paths[_get(entry, path)]) is not None and modes[found] != "deny"]


def _nameless(layers: Layers, warnings: Sequence[str]) -> tuple[str, ...]:
    """Warnings where rules hide names: sentences may name anything, so only that there is something is told."""
    if not layers.restrict_reading or not warnings:
        return tuple(warnings)
    return ("Some entries could not be looked at.",)


def _get(entry: Any, key: str) -> Any:
    return entry[key]


def ls(layers: Layers, place: Place) -> Steps[LsResult]:
    """List a folder."""
    error = yield from refusal(layers, place)
    if error is not None:
        return LsResult(error=error)
    found = yield from layers.inner.ls_steps(place)
    if found.entries is not None:
        found.entries = yield from visible(layers, place, found.entries)
    found.warnings = _nameless(layers, found.warnings)
    return found


def glob(layers: Layers, place: Place, pattern: str) -> Steps[GlobResult]:
    """Find files by a pattern."""
    error = yield from refusal(layers, place)
    if error is not None:
        return GlobResult(error=error)
    found = yield from layers.inner.glob_steps(place, pattern)
    if found.matches is not None:
        found.matches = yield from visible(layers, place, found.matches)
    found.warnings = _nameless(layers, found.warnings)
    return found


def grep(layers: Layers, place: Place, pattern: str, glob: str | None, max_count: int | None) -> Steps[GrepResult]:
    """Find lines; those that may not be seen do not count."""
    found = yield from _grep(layers, place, pattern, glob, max_count)
    shown = dict.fromkeys(match["path"] for match in found.matches or ())
    yield from note_read(layers, [known for path in shown if (known := place_below(place, path)) is not None])
    return found


def _grep(layers: Layers, place: Place, pattern: str, glob: str | None, max_count: int | None) -> Steps[GrepResult]:
    error = yield from refusal(layers, place)
    if error is not None:
        return GrepResult(error=error)
    if not layers.restrict_reading or max_count is None:
        found = yield from layers.inner.grep_steps(place, pattern, glob, max_count)
        if found.matches is not None:
            found.matches = yield from visible(layers, place, found.matches)
        found.warnings = _nameless(layers, found.warnings)
        return found
    wanted, asked = max(max_count, 0), max(max_count, 1)
    while True:
        found = yield from layers.inner.grep_steps(place, pattern, glob, asked)
        if found.error is not None or found.matches is None:
            return found
        matches = yield from visible(layers, place, found.matches)
        if len(matches) > wanted or not found.truncated:
            found.truncated = len(matches) > wanted
            found.matches = matches[:wanted]
            found.warnings = _nameless(layers, found.warnings)
            return found
        asked *= 4


def search(layers: Layers, place: Place, question: Question) -> Steps[Findable]:
    """Offer what can be found; a file that may not be read is as if it were not there."""
    error = yield from refusal(layers, place)
    if error is not None:
        return Findable(error=error)

    def may_be_read(files: Sequence[Place]) -> Steps[list[bool]]:
        known = [place_below(place, file.shown) for file in files]
        modes = iter((yield from layers.modes("read", [one for one in known if one is not None])))
        return [one is not None and next(modes) != "deny" for one in known]

    def note(shown: Sequence[str]) -> Steps[None]:
        return note_read(layers, [known for path in shown if (known := place_below(place, path)) is not None])

    found = yield from layers.inner.search_steps(
        place, question.only(may_be_read) if layers.restrict_reading else question
    )
    found.warnings = _nameless(layers, found.warnings)
    found.tell(note)
    return found


def download(layers: Layers, places: Sequence[Place]) -> Steps[list[FileDownloadResponse]]:
    """Read whole files."""
    modes = yield from layers.modes("read", places)
    allowed = [place for place, mode in zip(places, modes, strict=True) if mode != "deny"]
    given = iter((yield from layers.inner.download_steps(allowed)) if allowed else ())
    yield from note_read(layers, allowed)
    return _merged(places, modes, given)


def _merged(
    places: Sequence[Place], modes: Iterable[str], given: Iterable[FileDownloadResponse]
) -> list[FileDownloadResponse]:
    answers = iter(given)
    return [
        FileDownloadResponse(place.shown, None, PERMISSION_DENIED) if mode == "deny" else next(answers)
        for place, mode in zip(places, modes, strict=True)
    ]
