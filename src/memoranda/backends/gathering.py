"""Listing and searching folders of which several backends hold a part, as if they were one tree.

Whoever owns the folder is asked, and every route that begins below it. What the owner keeps under the prefix of a
longer route is not there for anybody: it is left out before anything is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from memoranda.backends.finding.parts import Findable, Question
from memoranda.backends.places import Place
from memoranda.backends.protocol import FileInfo, GlobResult, GrepMatch, GrepResult, LsResult
from memoranda.backends.route_patterns import patterns_below
from memoranda.backends.routes import Route, Routes, asked, failure, tree_path
from memoranda.backends.steps import Steps, together
from memoranda.backends.tree import folder_info, in_order, newest_first
from memoranda.files.globbing import compile_glob
from memoranda.files.path import folder_prefix

R = TypeVar("R", LsResult, GlobResult, GrepResult, Findable)


class Part(NamedTuple):
    """What one backend is asked for: below a place of the composite's tree, by a pattern from there."""

    route: Route
    place: Place
    pattern: str | None = None


def ls(routes: Routes, place: Place) -> Steps[LsResult]:
    """List a folder: what its owner keeps there, and the routes on the way through it."""
    owner = routes.find(place.path)
    inside = folder_prefix(place.path)
    on_the_way = {
        place.show(inside + route.prefix[len(inside) :].partition("/")[0]) for route in routes.below(place.path)
    }
    if not on_the_way:
        return (yield from owner.backend.ls_steps(owner.inside(place)))
    (answer,) = yield from together([asked(lambda: owner.backend.ls_steps(owner.inside(place)))])
    why = failure(answer)
    listed = [] if isinstance(answer, Exception) else answer.entries or []
    warnings = () if isinstance(answer, Exception) else answer.warnings
    if why is not None:
        warnings = (*warnings, _warning(owner, place, why))
    entries = {entry["path"]: entry for entry in listed if _is_of(routes, owner, place, entry["path"])}
    for folder in on_the_way:
        entries[folder + "/"] = folder_info(folder + "/")
    return LsResult(entries=[entries[path] for path in sorted(entries)], warnings=warnings)


def glob(routes: Routes, place: Place, pattern: str) -> Steps[GlobResult]:
    """Find files by a pattern, the last changed first over all backends."""
    parts = _parts(routes, place, pattern)
    answers = yield from together([asked(_glob(part, part.pattern or pattern)) for part in parts])
    given, warnings, error = _sorted_out(parts, answers)
    if error is not None:
        return GlobResult(error=error)
    matches: dict[str, FileInfo] = {}
    for part, answer in given:
        for entry in answer.matches or []:
            if _is_of(routes, part.route, part.place, entry["path"]):
                matches.setdefault(entry["path"], entry)
    reasons = {answer.truncation_reason for _, answer in given}
    if len(given) < len(parts):
        reasons.add("unreadable")
    return GlobResult(
        matches=sorted(matches.values(), key=newest_first),
        truncated=len(given) < len(parts) or any(answer.truncated for _, answer in given),
        truncation_reason=next((reason for reason in ("unreadable", "transport", "budget") if reason in reasons), None),
        warnings=warnings,
    )


def grep(routes: Routes, place: Place, pattern: str, glob: str | None, max_count: int | None) -> Steps[GrepResult]:
    """Find lines, folder by folder over all backends, and no more than asked for in all."""
    parts = _parts(routes, place, glob)
    answers = yield from together([_grep(routes, part, pattern, max_count) for part in parts])
    given, warnings, error = _sorted_out(parts, answers)
    if error is not None:
        return GrepResult(error=error)
    found: dict[tuple[str, int], GrepMatch] = {}
    for _, answer in given:
        for match in answer.matches or []:
            found.setdefault((match["path"], match["line"]), match)
    matches = sorted(found.values(), key=lambda match: (in_order(match["path"]), match["line"]))
    most = len(matches) if max_count is None else max(max_count, 0)
    truncated = len(matches) > most or any(answer.truncated for _, answer in given)
    return GrepResult(matches=matches[:most], truncated=truncated, warnings=warnings)


def search(routes: Routes, place: Place, question: Question) -> Steps[Findable]:
    """What can be found in all backends."""
    parts = _parts(routes, place, None)
    answers = yield from together([asked(_search(routes, part, question)) for part in parts])
    given, warnings, error = _sorted_out(parts, answers)
    if error is not None:
        return Findable(error=error)
    found = Findable(warnings=warnings)
    for _, answer in given:
        found.add(answer)
    return found


def _search(routes: Routes, part: Part, question: Question) -> Callable[[], Steps[Findable]]:
    route = part.route
    if routes.below(part.place.path):
        question = question.where(lambda path: routes.find(path) is route)
    return lambda: route.backend.search_steps(route.inside(part.place), question.inside(route.outside))


def _parts(routes: Routes, place: Place, pattern: str | None) -> list[Part]:
    """Whom to ask; nobody who cannot hold anything that the pattern matches."""
    parts: list[Part] = []
    owner = routes.find(place.path)
    below = routes.below(place.path)
    literal = compile_glob(pattern).literal_prefix if pattern is not None else ""
    if not below or routes.find((folder_prefix(place.path) + literal).rstrip("/") or "/") is owner:
        parts.append(Part(owner, place, pattern))
    for route in below:
        start = place.below(route.prefix)
        if pattern is None:
            parts.append(Part(route, start))
        else:
            folder = route.prefix[len(folder_prefix(place.path)) :]
            parts.extend(Part(route, start, rest) for rest in patterns_below(pattern, folder))
    return parts


def _glob(part: Part, pattern: str) -> Callable[[], Steps[GlobResult]]:
    return lambda: part.route.backend.glob_steps(part.route.inside(part.place), pattern)


def _grep(routes: Routes, part: Part, pattern: str, max_count: int | None) -> Steps[GrepResult]:
    """Lines of one backend, up to the cap without those that a longer route hides."""
    route, start = part.route, part.route.inside(part.place)

    def ask(most: int | None) -> Steps[GrepResult]:
        return route.backend.grep_steps(start, pattern, part.pattern, most)

    if not routes.below(part.place.path):
        return (yield from ask(max_count))
    return (yield from grep_without(ask, lambda shown: not _is_of(routes, route, part.place, shown), max_count))


def grep_without(
    ask: Callable[[int | None], Steps[GrepResult]], is_hidden: Callable[[str], bool], max_count: int | None
) -> Steps[GrepResult]:
    """Lines without those of some files, which do not count.

    Args:
        ask: Searches, up to a cap.
        is_hidden: Whether the lines of a file, given as it is shown, do not count.
        max_count: At least so many of the others, if there are so many; one more says that there are more.
    """
    most = None if max_count is None else max(max_count, 0) + 1
    while True:
        answer = yield from ask(most)
        if answer.error is not None or answer.matches is None:
            return answer
        kept = [match for match in answer.matches if not is_hidden(match["path"])]
        if not answer.truncated or most is None or max_count is None or len(kept) > max_count:
            return GrepResult(matches=kept, truncated=answer.truncated, warnings=answer.warnings)
        most *= 4


def _is_of(routes: Routes, route: Route, place: Place, shown: str) -> bool:
    """Whether what a backend gave is its own to give, rather than hidden by a longer route."""
    return routes.find(tree_path(place, shown)) is route


def _sorted_out(
    parts: Sequence[Part], answers: Iterable[R | Exception]
) -> tuple[list[tuple[Part, R]], tuple[str, ...], str | None]:
    """The answers that hold something, what to say of the others, and the error if there are only others."""
    given: list[tuple[Part, R]] = []
    warnings: dict[str, None] = {}
    error: str | None = None
    for part, answer in zip(parts, answers, strict=True):
        why = failure(answer)
        if why is None and not isinstance(answer, Exception):
            given.append((part, answer))
            warnings.update(dict.fromkeys(answer.warnings))
        elif why is not None:
            error = error or why
            warnings[_warning(part.route, part.place, why)] = None
    return given, tuple(warnings), None if given else error


def _warning(route: Route, place: Place, why: str) -> str:
    where = place.shown if place.shown.endswith("/") else place.shown + "/"
    except_mounts = "" if route.prefix else " outside the other mounts"
    return f"Files in {where}{except_mounts} are missing here: {why.removeprefix('Error: ')}"
