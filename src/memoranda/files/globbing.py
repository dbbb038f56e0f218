"""Glob patterns over paths, with the meaning that Deep Agents gives them.

A pattern without a slash matches the name at any depth; one with a slash matches the path below the search
root, which a leading slash only makes explicit. `**` crosses folders, `{a,b}` are alternatives, case counts.
Names that start with a dot are reached only by a segment that starts with one, unless `dotmatch` is set.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from unicodedata import normalize

from memoranda.errors import InvalidGlobError

# What can make a segment match something other than itself (a backslash escapes).
_SPECIAL = re.compile(r"[*?\[\]{}\\]")
# How wcmatch writes a `**` that has segments after it, without and with `dotmatch`.
_GLOBSTAR = re.compile(
    "("
    + re.escape(r"(?:(?!(?:[/]|^)\.).)*?(?:^|[/]+)")
    + "|"
    + re.escape(r"(?:(?!(?:[/]|^)(?:\.{1,2})(?:$|[/])).)*?(?:^|[/]+)")
    + ")"
)
# Longer patterns are no use to anybody, and bound what the translation may cost.
_MAX_LENGTH = 4096


@dataclass(frozen=True, slots=True)
class Glob:
    """A compiled glob pattern.

    Example:
        >>> glob = compile_glob("/notes/**/*.md")
        >>> glob.matches("notes/2026/may.md"), glob.literal_prefix
        (True, 'notes/')
    """

    pattern: str
    """The pattern as it was given."""

    dotmatch: bool
    """Whether wildcards reach names that start with a dot."""

    literal_prefix: str
    """What every matching path starts with: a folder with its trailing slash, or nothing."""

    _by_name: bool = field(repr=False)
    _expression: re.Pattern[str] = field(repr=False)

    def matches(self, relative_path: str) -> bool:
        """Tell whether a path matches.

        Args:
            relative_path: A path relative to the search root, without a leading slash.

        Returns:
            True if the pattern includes it.
        """
        if self._by_name:
            relative_path = relative_path[relative_path.rfind("/") + 1 :]
        return self._expression.fullmatch(relative_path) is not None


@lru_cache(maxsize=512)
def compile_glob(pattern: str, *, dotmatch: bool = False) -> Glob:
    """Compile a glob pattern; the same pattern is compiled once.

    Args:
        pattern: The pattern.
        dotmatch: Let wildcards reach names that start with a dot, as a permission rule must.

    Returns:
        The compiled pattern.

    Raises:
        InvalidGlobError: The pattern climbs with `..`, is too long, or expands to too many alternatives.

    Example:
        >>> compile_glob("*.{md,txt}").matches("notes/today.md")
        True
    """
    if len(pattern) > _MAX_LENGTH:
        raise InvalidGlobError(f"The glob pattern has {len(pattern)} characters.", f"Use at most {_MAX_LENGTH}.")
    if ".." in pattern.replace("\\", "/").split("/"):
        raise InvalidGlobError(
            f"The glob pattern {pattern!r} climbs with '..'.", "Search from a folder further up instead."
        )
    # Canonical paths are in normal form C, so another form could never match.
    relative = normalize("NFC", pattern).lstrip("/")
    anchored = "/" in pattern
    return Glob(
        pattern=pattern,
        dotmatch=dotmatch,
        literal_prefix=_literal_prefix(relative) if anchored else "",
        _by_name=not anchored,
        _expression=_expression(pattern, relative, dotmatch),
    )


def _expression(pattern: str, relative: str, dotmatch: bool) -> re.Pattern[str]:
    from wcmatch import glob

    flags = glob.BRACE | glob.GLOBSTAR | glob.FORCEUNIX | (glob.DOTGLOB if dotmatch else 0)
    try:
        # The expressions themselves rather than wcmatch's matcher: the same answers several times faster.
        included, _ = glob.translate(relative, flags=flags)
        return re.compile("|".join(map(_without_retries, included)) or r"(?!)")
    except Exception as error:  # wcmatch raises classes that it does not export
        raise InvalidGlobError(
            f"The glob pattern {pattern!r} cannot be compiled: {error}.", "Use fewer alternatives in braces."
        ) from error


def _without_retries(expression: str) -> str:
    """Make every `**` but the last keep the first place where what follows it fits.

    Without that, several of them try every way to share out a path: `**/a/**/a/**/a/**/b` could hold the
    process for hours. The first fit is as good as any: the next `**` can cross whatever a later fit would
    have taken, and dot names come first there as well. Within a segment wcmatch treats `*` so by itself.
    """
    first, *rest = _GLOBSTAR.split(expression)
    if len(rest) < 4:  # each `**` gives itself and what follows it
        return expression
    *earlier, star, last = rest
    atoms = [f"(?>{star}{piece})" for star, piece in zip(earlier[::2], earlier[1::2], strict=True)]
    return first + "".join(atoms) + star + last


def _literal_prefix(relative: str) -> str:
    """Return the leading folders of a pattern that stand for themselves alone."""
    *folders, _ = relative.split("/")
    literal: list[str] = []
    for folder in folders:
        # wcmatch reads an empty segment as none; a dot segment is left to it as well.
        if folder in ("", ".") or _SPECIAL.search(folder):
            break
        literal.append(folder + "/")
    return "".join(literal)
