"""Canonical file paths: one file has one name.

A canonical path starts with one slash, has no empty, `.` or `..` segment and no trailing slash, holds neither
NUL nor a lone surrogate, and is in Unicode normal form C. A backslash is a slash, as in Deep Agents' tools.
Taking a leading folder off a canonical path leaves a canonical path, so that routes can strip their prefix.
"""

from __future__ import annotations

from unicodedata import is_normalized, normalize

from memoranda.errors import InvalidPathError

_REMEDY = "Give an absolute path such as /notes/today.md."


def canonical_path(path: str) -> str:
    """Return the one name under which a path is known.

    Args:
        path: Any path in the virtual tree; a missing leading slash is added.

    Returns:
        The canonical path; `/` for the root.

    Raises:
        InvalidPathError: The path is empty, climbs with `..`, starts with `~` or a drive letter, or holds a
            NUL or a lone surrogate.

    Example:
        >>> canonical_path("notes//./today.md/")
        '/notes/today.md'
    """
    # Most paths are canonical already; six substring scans prove it in a fraction of a microsecond.
    if (
        path.isascii()
        and path[:1] == "/"
        and "//" not in path
        and "/." not in path
        and "\\" not in path
        and "\0" not in path
        and (path[-1] != "/" or path == "/")
    ):
        return path
    return _canonicalize(path)


def _canonicalize(path: str) -> str:
    if not path:
        raise InvalidPathError("The path is empty.", _REMEDY)
    if "\0" in path:
        raise InvalidPathError(f"The path {path!r} holds a NUL character.", _REMEDY)
    # Only a path that *starts* with these means somebody's home or drive: /memories/~x may lose its route.
    if path[0] == "~":
        raise InvalidPathError(f"The path {path!r} names a home folder.", _REMEDY)
    if path[1:2] == ":" and path[0].isascii() and path[0].isalpha() and path[2:3] in ("", "/", "\\"):
        raise InvalidPathError(f"The path {path!r} names a drive.", _REMEDY)
    if not path.isascii():
        try:
            path.encode()
        except UnicodeEncodeError:
            raise InvalidPathError(f"The path {path!r} holds a lone surrogate.", _REMEDY) from None
        if not is_normalized("NFC", path):
            path = normalize("NFC", path)
    segments = [segment for segment in path.replace("\\", "/").split("/") if segment not in ("", ".")]
    if ".." in segments:
        raise InvalidPathError(f"The path {path!r} climbs with '..'.", _REMEDY)
    return "/" + "/".join(segments)


def file_path(path: str) -> str:
    """Return the canonical path of a file, which is never the root.

    Args:
        path: Any path in the virtual tree.

    Returns:
        The canonical path.

    Raises:
        InvalidPathError: As `canonical_path`, or the path names the root folder.

    Example:
        >>> file_path("a.md")
        '/a.md'
    """
    canonical = canonical_path(path)
    if canonical == "/":
        raise InvalidPathError(f"The path {path!r} names the root folder, not a file.", _REMEDY)
    return canonical


def parent_of(path: str) -> str:
    """Return the folder that a canonical path lies in; the root is its own parent.

    Args:
        path: A canonical path.

    Returns:
        The canonical path of its folder.

    Example:
        >>> parent_of("/a/b.md"), parent_of("/a")
        ('/a', '/')
    """
    return path[: path.rfind("/")] or "/"


def name_of(path: str) -> str:
    """Return the last segment of a canonical path; empty for the root.

    Args:
        path: A canonical path.

    Returns:
        The name, without any slash.

    Example:
        >>> name_of("/a/b.md")
        'b.md'
    """
    return path[path.rfind("/") + 1 :]


def folder_prefix(path: str) -> str:
    """Return what every path inside a folder starts with.

    Args:
        path: The canonical path of a folder.

    Returns:
        The path with one trailing slash.

    Example:
        >>> folder_prefix("/"), folder_prefix("/a")
        ('/', '/a/')
    """
    return path if path == "/" else path + "/"


def is_within(path: str, folder: str) -> bool:
    """Tell whether a path is a folder or lies anywhere under it.

    Args:
        path: A canonical path.
        folder: The canonical path of a folder.

    Returns:
        True for the folder itself and everything below it.

    Example:
        >>> is_within("/a/b.md", "/a"), is_within("/ab.md", "/a")
        (True, False)
    """
    return path == folder or path.startswith(folder_prefix(folder))
