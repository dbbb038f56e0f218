"""Keys: opaque names for `put` and `get`, canonical paths for file operations."""

from __future__ import annotations

from memoranda.errors import InvalidKeyError
from memoranda.files.path import file_path

MAX_KEY_BYTES = 1_024
"""A key and its folder share an index entry, and PostgreSQL's end at 2,704 bytes."""

MAX_NAME_BYTES = 255
"""The name of a tenant or a consumer shares an index entry with a namespace."""

_BEHIND_ALL = "\U0010ffff" * (MAX_KEY_BYTES // 4 + 1)


def checked_key(key: str) -> str:
    """Return a key as it is, if every engine can keep it exactly.

    Raises:
        InvalidKeyError: It is no string, empty, too long, or holds a NUL or a lone surrogate.
    """
    if not isinstance(key, str) or not key:  # pyright: ignore[reportUnnecessaryIsInstance] - callers are untyped too
        raise InvalidKeyError(f"The key {key!r} is no non-empty string.", "Name the item.")
    if "\x00" in key:
        raise InvalidKeyError(f"The key {key[:80]!r} holds a NUL character.", "Remove it.")
    try:
        size = len(key) if key.isascii() else len(key.encode())
    except UnicodeEncodeError:
        raise InvalidKeyError(
            f"The key {key[:80]!r} holds a lone surrogate.", "Decode the name as UTF-8 first."
        ) from None
    if size > MAX_KEY_BYTES:
        raise InvalidKeyError(f"The key {key[:40]!r}… takes {size} bytes.", f"Keep keys to {MAX_KEY_BYTES} bytes.")
    return key


def is_plain_text(text: object) -> bool:
    r"""Whether every engine can keep this exactly: a string without NUL characters and lone surrogates.

    Example:
        >>> is_plain_text("käse"), is_plain_text("a\0b"), is_plain_text(7)
        (True, False, False)
    """
    if not isinstance(text, str) or "\x00" in text:
        return False
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def file_key(key: str) -> str:
    """Return the key that a file operation means: a path made canonical, or an opaque name as it is.

    A key is a path when it starts with a slash (or a backslash). Other keys are names that `put` gave, so that
    `history` and `diff` reach those too.

    Raises:
        InvalidPathError: The path climbs with `..` or names no file.
        InvalidKeyError: See `checked_key`.

    Example:
        >>> file_key("//notes/./tea.md"), file_key("profile")
        ('/notes/tea.md', 'profile')
    """
    checked_key(key)
    return checked_key(file_path(key)) if key[0] in "/\\" else key


def folder_of(key: str) -> str:
    """The folder part of a key with its slash, `""` for a name that is no path.

    With the slash, folders sort as their entries in a listing do.

    Example:
        >>> folder_of("/notes/tea.md"), folder_of("/a.md"), folder_of("profile")
        ('/notes/', '/', '')
    """
    return key[: key.rfind("/") + 1]


def range_end(prefix: str) -> str:
    """The end of the half-open range of strings below a folder prefix, which ends with a slash; `""` is below all.

    Example:
        >>> range_end("/notes/")
        '/notes0'
    """
    return prefix[:-1] + "0" if prefix else _BEHIND_ALL
