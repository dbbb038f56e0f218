"""What a glob pattern over a whole tree means inside one of its folders.

`memories/**/*.md` from the root is `**/*.md` from `/memories`, `*/x.md` is `x.md`, and `**/notes/*` is two patterns
there: itself, and `*` if the folder is called `notes`. Braces are written out, the folder's names are consumed one by
one, and what is left of each pattern is what the folder is asked for.
"""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import normalize

from memoranda.errors import InvalidGlobError
from memoranda.files.globbing import compile_glob

# As many as `compile_glob` lets a pattern expand to.
_MAX_ALTERNATIVES = 1_000
# A pattern that is put together stays well below what `compile_glob` accepts.
_MAX_TOGETHER = 2_000
_ESCAPED_OR_BRACE = re.compile(r"\\.|[{},]", re.DOTALL)
_ESCAPED_SLASH = re.compile(r"(\\\\)|\\/")


@lru_cache(maxsize=512)
def patterns_below(pattern: str, folder: str) -> tuple[str, ...]:
    """The patterns that find in a folder what one pattern finds there from further up.

    Args:
        pattern: A glob pattern, as `compile_glob` takes it.
        folder: Where the folder lies below the place that the pattern is about, without slashes around it.

    Returns:
        Patterns that are to be asked for below the folder; what any of them matches, the pattern matched. None, if
        the pattern matches nothing there.

    Raises:
        InvalidGlobError: See `compile_glob`.

    Example:
        >>> patterns_below("/memories/**/*.md", "memories"), patterns_below("*.md", "memories")
        (('/**/*.md',), ('*.md',))
        >>> patterns_below("{memories,notes}/*/x.md", "memories/ann"), patterns_below("/*.md", "memories")
        (('/x.md',), ())
    """
    compile_glob(pattern)
    if "/" not in pattern:  # matches names, at any depth
        return (pattern,)
    rests: dict[str, None] = {}
    for plain in _without_braces(normalize("NFC", pattern).lstrip("/")):
        rests.update(dict.fromkeys(_rests(plain, folder.split("/"))))
    return tuple(_together(list(rests)))


def _without_braces(pattern: str) -> list[str]:
    import bracex

    try:
        return list(bracex.iexpand(pattern, keep_escapes=True, limit=_MAX_ALTERNATIVES))
    except bracex.ExpansionLimitException as error:  # `compile_glob` has refused it already
        raise InvalidGlobError(f"The glob pattern {pattern!r} expands to too many alternatives.") from error


def _rests(pattern: str, names: list[str]) -> list[str]:
    """What is left of a pattern without braces after some folder names, in every way of sharing them out."""
    if (len(pattern) - len(pattern.rstrip("\\"))) % 2:  # a backslash that escapes nothing counts for nothing
        pattern = pattern[:-1]
    *folders, last = _ESCAPED_SLASH.sub(lambda found: found[1] or "/", pattern).split("/")
    if not last:  # matches folders only
        return []
    segments = [*filter(None, folders), last]
    positions = {0}
    for name in names:
        positions = {
            at + (segments[at] != "**")
            for at in _with_skipped(segments, positions)
            if (not name.startswith(".") if segments[at] == "**" else _matches(segments[at], name))
        }
    rests: list[str] = []
    for at in sorted(positions):
        if at < len(segments) and not (at and segments[at - 1] == "**" and at - 1 in positions):
            rests.append("/".join(map(_escaped, segments[at:])))
    return rests


def _with_skipped(segments: list[str], positions: set[int]) -> set[int]:
    """Positions, and those behind a `**` that stands for no folder at all."""
    reached: set[int] = set()
    for start in positions:
        at = start
        while at < len(segments):
            reached.add(at)
            if segments[at] != "**":
                break
            at += 1
    return reached


def _matches(segment: str, name: str) -> bool:
    return compile_glob("/" + _escaped(segment)).matches(name)


def _escaped(segment: str) -> str:
    """A segment whose braces and commas stand for themselves, as they do once braces are written out."""
    return _ESCAPED_OR_BRACE.sub(lambda found: found[0] if len(found[0]) > 1 else "\\" + found[0], segment)


def _together(rests: list[str]) -> list[str]:
    """As few patterns as can say the same: alternatives in braces, as long as they stay short."""
    patterns: list[str] = []
    batch: list[str] = []
    length = 0
    for rest in [*rests, None]:
        if batch and (rest is None or length + len(rest) > _MAX_TOGETHER):
            patterns.append(f"/{batch[0]}" if len(batch) == 1 else f"/{{{','.join(batch)}}}")
            batch, length = [], 0
        if rest is not None:
            batch.append(rest)
            length += len(rest) + 1
    return patterns
