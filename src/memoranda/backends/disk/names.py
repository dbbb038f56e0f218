"""Names on disk and names in paths: which stand for each other, and which cannot be addressed."""

from __future__ import annotations

import os
from unicodedata import is_normalized, normalize

TEMPORARY = ".memoranda-writing.tmp"
"""What a file is written to before it takes its place. Only the holder of the lock makes one, so one name will do."""

_RESERVED_ON_WINDOWS = frozenset(
    ["con", "prn", "aux", "nul", *(f"com{number}" for number in range(10)), *(f"lpt{number}" for number in range(10))]
)


def path_name(name: str) -> str | None:
    r"""The name in a path that stands for a name on disk; None if no path can name it.

    Example:
        >>> path_name("tea.md"), path_name("a\\b"), path_name("e\u0301") == "\u00e9"
        ('tea.md', None, True)
    """
    if name == TEMPORARY or "\\" in name:
        return None
    if name.isascii():
        return name
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8
        return None
    if is_normalized("NFC", name):
        return name
    composed = normalize("NFC", name)
    # An exotic spelling of plain letters must not pass for them.
    return None if composed.isascii() else composed


def cannot_be_created(name: str) -> str | None:
    """Why no file of this name can be made on this machine."""
    if name == TEMPORARY:
        return "is a name that is kept for writing files"
    if len(name.encode()) > 255:
        return "has a name that is too long for a disk"
    if os.name == "nt":
        stem = name.partition(".")[0].lower()
        if any(sign in '<>:"|?*' or sign < " " for sign in name) or name[-1] in ". " or stem in _RESERVED_ON_WINDOWS:
            return "has a name that Windows does not allow"
    return None


def other_case(name: str) -> str:
    """The name with upper and lower case exchanged: another file, except where a disk does not tell them apart."""
    return name.swapcase()
