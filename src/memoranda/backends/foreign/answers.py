"""What foreign backends answer, in our words: their paths as the agent knows them, their results as ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from memoranda.backends.finding.parts import Answered, Findable, Question
from memoranda.backends.places import Place
from memoranda.backends.protocol import FileInfo, GlobResult, GrepMatch, GrepResult, LsResult, ReadResult, SearchMatch
from memoranda.backends.routes import tree_path
from memoranda.backends.steps import Steps
from memoranda.backends.wording import with_shown_paths
from memoranda.errors import InvalidPathError, InvalidValueError
from memoranda.files.format import read_file_data
from memoranda.files.path import canonical_path, folder_prefix

_MOST_ASKED = 1_000


def shown_error(place: Place, text: object) -> str | None:
    """A foreign sentence about a place, with the path by which the agent knows it."""
    return None if text is None else with_shown_paths(place, str(text))


def shown_path(place: Place, path: object) -> str | None:
    """How the agent knows a path that a foreign backend names below a place; None for one that lies elsewhere."""
    if not isinstance(path, str) or not path:
        return None
    absolute = path if path.startswith("/") else folder_prefix(place.path) + path
    try:
        canonical = canonical_path(absolute)
    except InvalidPathError:
        return None
    if not place.holds(canonical):
        return None
    shown = place.show(canonical)
    return shown + "/" if path.endswith("/") and shown != "/" else shown


def ls_result(place: Place, result: Any) -> LsResult:
    """A listing as ours."""
    if result.error is not None:
        return LsResult(error=shown_error(place, result.error))
    entries, outside = _entries(place, result.entries)
    inside = [entry for entry in entries if entry["path"].rstrip("/") != place.shown.rstrip("/")]
    unique = {entry["path"]: entry for entry in inside}
    warnings = (*_texts(place, getattr(result, "warnings", ())), *outside)
    return LsResult(entries=[unique[path] for path in sorted(unique)], warnings=warnings)


def glob_result(place: Place, result: Any) -> GlobResult:
    """The files that match a pattern as ours."""
    if result.error is not None:
        return GlobResult(error=shown_error(place, result.error))
    entries, outside = _entries(place, result.matches)
    return GlobResult(
        matches=entries,
        truncated=bool(getattr(result, "truncated", False)),
        truncation_reason=getattr(result, "truncation_reason", None),
        warnings=(*_texts(place, getattr(result, "warnings", ())), *outside),
    )


def grep_result(place: Place, result: Any, max_count: int | None) -> GrepResult:
    """The lines found as ours, at most as many as were asked for."""
    if result.error is not None:
        return GrepResult(error=shown_error(place, result.error))
    matches: list[GrepMatch] = []
    outside = 0
    for match in cast("Iterable[Mapping[str, Any]]", result.matches or ()):
        path = shown_path(place, match.get("path"))
        if path is None:
            outside += 1
        else:
            matches.append(cast("GrepMatch", {**match, "path": path}))
    truncated = bool(getattr(result, "truncated", False))
    if max_count is not None and len(matches) > max(max_count, 0):
        matches, truncated = matches[: max(max_count, 0)], True
    warnings = (*_texts(place, getattr(result, "warnings", ())), *_outside(place, outside))
    return GrepResult(matches=matches, truncated=truncated, warnings=warnings)


def findable_answers(ask: Callable[[int], Steps[Any]], place: Place, question: Question) -> Steps[Findable]:
    """The passages that a backend has ranked by itself, as many as are wanted of those that may be found.

    Args:
        ask: Searches for at most so many passages.
        place: The place that is searched.
        question: What is asked.
    """
    k = question.k
    while True:
        result = yield from ask(k)
        if result.error is not None:
            return Findable(error=shown_error(place, result.error))
        given = cast("Sequence[SearchMatch]", result.matches or ())
        known = [(match, shown_path(place, match.path)) for match in given]
        paths = dict.fromkeys(path for _, path in known if path is not None)
        files = {path: Place(tree_path(place, path), path) for path in paths}
        taken = {file.shown for file in (yield from question.taken_steps(list(files.values())))}
        matches = [replace(match, path=path) for match, path in known if path in taken]
        if len(matches) >= question.k or len(given) < k or k >= _MOST_ASKED:
            texts = [_texts(place, getattr(result, name, ())) for name in ("notices", "warnings")]
            return Findable(answers=[Answered(matches[: question.k])], notices=texts[0], warnings=texts[1])
        k = min(4 * k, _MOST_ASKED)


def read_result(place: Place, result: Any) -> ReadResult:
    """A window of a file as ours."""
    if isinstance(result, str):  # as before the results were objects
        return ReadResult(error=shown_error(place, result)) if result.startswith("Error") else _of_text(result)
    if result.error is not None:
        return ReadResult(error=shown_error(place, result.error))
    if result.file_data is None:
        return ReadResult(error=f"Error: {place.shown} could not be read.")
    try:
        data = read_file_data(result.file_data, lenient=True)
    except InvalidValueError as error:
        return ReadResult(error=f"Error: {error}")
    return ReadResult(
        file_data=data,
        total_lines=getattr(result, "total_lines", None),
        start_line=getattr(result, "start_line", None),
        end_line=getattr(result, "end_line", None),
        next_offset=getattr(result, "next_offset", None),
        no_lines_requested=bool(getattr(result, "no_lines_requested", False)),
        revision=getattr(result, "revision", None),
    )


def _of_text(text: str) -> ReadResult:
    return ReadResult(file_data={"content": text, "encoding": "utf-8"})


def _entries(place: Place, entries: Any) -> tuple[list[FileInfo], tuple[str, ...]]:
    found: list[FileInfo] = []
    outside = 0
    for entry in cast("Iterable[Mapping[str, Any]]", entries or ()):
        path = shown_path(place, entry.get("path"))
        if path is None:
            outside += 1
            continue
        info = cast("FileInfo", {"is_dir": path.endswith("/"), "size": 0, "modified_at": "", **entry, "path": path})
        found.append(info)
    return found, _outside(place, outside)


def _outside(place: Place, count: int) -> tuple[str, ...]:
    return (f"{count} results lay outside {place.shown} and were left out.",) if count else ()


def _texts(place: Place, texts: Iterable[object]) -> tuple[str, ...]:
    return tuple(shown_error(place, text) or "" for text in texts)
