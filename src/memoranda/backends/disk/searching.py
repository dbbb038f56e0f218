"""Looking through the files of a folder: for lines that hold a text, and for passages that answer a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from memoranda.backends.disk.root import DiskRefusalError, Listed, Problem, Root, reason
from memoranda.backends.finding.in_memory import Candidate, Text
from memoranda.backends.places import Place
from memoranda.backends.protocol import GrepResult
from memoranda.backends.tree import Search

_MOST_WARNINGS = 20


def grep(root: Root, limit: int, place: Place, search: Search) -> GrepResult:
    """Find lines.

    Args:
        root: The folder.
        limit: Larger files are passed over, in bytes.
        place: The file or folder to look in.
        search: What is looked for.
    """
    problems: list[Problem] = []
    for item in () if search.is_hopeless else _searched(root, place, problems):
        if not search.wants(item.path):
            continue
        content = _content(root, item.path, limit, problems)
        if content is None or search.needle not in content:
            continue
        try:
            text = content.decode()
        except UnicodeDecodeError:
            continue
        if not search.read(item.path, text):
            break
    return search.result(warnings_of(place, problems))


def candidates(root: Root, place: Place) -> tuple[list[Candidate], tuple[str, ...]]:
    """The files at or below a place, and what could not be looked at."""
    problems: list[Problem] = []
    found = [
        Candidate(place.below(item.path), item.status.st_size, datetime.fromtimestamp(item.status.st_mtime, UTC))
        for item in _searched(root, place, problems)
    ]
    return found, warnings_of(place, problems)


def texts(root: Root, limit: int, files: Sequence[Candidate]) -> Iterator[Text]:
    """Read files; what is no text, or no longer there, is passed over."""
    for file in files:
        content = _content(root, file.place.path, limit, [])
        if content is not None:
            try:
                yield Text(file.place, content.decode(), file.at)
            except UnicodeDecodeError:
                continue


def warnings_of(place: Place, problems: Sequence[Problem]) -> tuple[str, ...]:
    """What to say of what could not be looked at."""
    shown = tuple(f"{place.show(problem.path)} {problem.text}." for problem in problems[:_MOST_WARNINGS])
    more = len(problems) - _MOST_WARNINGS
    return (*shown, f"… and {more} more like these.") if more > 0 else shown


def _content(root: Root, path: str, limit: int, problems: list[Problem]) -> bytes | None:
    try:
        found = root.read(path, limit)
    except (DiskRefusalError, OSError) as error:
        problems.append(Problem(path, reason(error)))
        return None
    return None if found is None else found[0]


def _searched(root: Root, place: Place, problems: list[Problem]) -> Iterator[Listed]:
    """The files at or below a place."""
    try:
        found = root.find(place.path)
    except (DiskRefusalError, OSError) as error:
        problems.append(Problem(place.path, reason(error)))
        return
    if found.entry is not None and found.entry.is_file:
        yield Listed(place.path, found.entry.status, found.entry.is_link)
        return
    for item in root.walk(place.path):
        if isinstance(item, Problem):
            problems.append(item)
        else:
            yield item
