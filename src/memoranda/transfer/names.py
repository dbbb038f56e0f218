"""Names of files and folders for namespaces and keys, safe on every file system.

What a file system could misread is written as `%XX`, byte by byte, `%` itself included. So a `%` that is not followed
by two digits is free for marks of our own: `%` at the end of a folder's name says that the name goes on in the folder
below (names are limited to 255 bytes), and `%~2`, `%~3` … keep names apart that some file systems hold for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from unicodedata import category, normalize
from urllib.parse import unquote

from memoranda.store.changes import Namespace

_SEPARATOR = ","
_UNSAFE = frozenset('%\\/:*?"<>|')
_UNSEEN = ("Cc", "Cf", "Zl", "Zp")
_LONGEST = 200
_EMPTY = "%00"
_NUMBER = re.compile(r"%~\d+")
# Windows opens devices under these names, whatever their ending; Git does what a folder named `.git` tells it to.
_MEANT_OTHERWISE = re.compile(r"\.git|git~\d+|(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]) *(\..*)?", re.IGNORECASE)


def namespace_folder(labels: Namespace) -> list[str]:
    """The folder of a namespace: its labels joined by commas.

    Example:
        >>> namespace_folder(("acme", "ann@example.com")), namespace_folder(("..", "a,b"))
        (['acme,ann@example.com'], ['..,a%2Cb'])
    """
    pieces: list[str] = []
    for label in labels:
        pieces += [_SEPARATOR] if pieces else []
        pieces += _escaped(label, _SEPARATOR)
    return _cut(pieces)


def namespace_of_folder(parts: Sequence[str]) -> Namespace:
    """The namespace that `namespace_folder` wrote.

    Example:
        >>> namespace_of_folder(["..,a%2Cb"])
        ('..', 'a,b')
    """
    name = "".join(_NUMBER.sub("", part.removesuffix("%")) for part in parts)
    return tuple(unquote(label) for label in name.split(_SEPARATOR))


def key_parts(key: str, ending: str = "") -> list[str]:
    """Where the file of a key lies below its namespace's folder.

    Args:
        key: A path, or any other key.
        ending: What the file's name has to end with; added where it does not yet.

    Example:
        >>> key_parts("/notes/tea.md"), key_parts("/../etc/passwd"), key_parts("profile", ".json")
        (['notes', 'tea.md'], ['%2E%2E', 'etc', 'passwd'], ['profile.json'])
    """
    *folders, name = key.removeprefix("/").split("/")
    if not name.endswith(ending):
        name += ending
    parts: list[str] = []
    for each in (*folders, name):
        parts += _cut(_escaped(each))
    return parts


class Places:
    """Gives every key of one folder a place of its own, also where case and normal forms are not told apart."""

    def __init__(self) -> None:
        self._taken: dict[str, tuple[str, bool]] = {}

    def place(self, parts: Sequence[str]) -> list[str]:
        """Take the place with these names, or one beside it if it is taken."""
        placed: list[str] = []
        above = ""
        for index, part in enumerate(parts):
            mine = (part, index < len(parts) - 1)
            for candidate in _numbered(part):
                spot = above + normalize("NFC", normalize("NFC", candidate).casefold())
                found = self._taken.setdefault(spot, mine)
                if found is mine or (found == mine and mine[1]):
                    placed.append(candidate)
                    above = spot + "/"
                    break
        return placed


def _numbered(name: str) -> Iterator[str]:
    """A name, and others like it."""
    yield name
    goes_on = "%" if name.endswith("%") else ""
    bare = name.removesuffix("%")
    stem, dot, ending = bare.rpartition(".")
    if not stem:
        stem, dot, ending = bare, "", ""
    number = 1
    while True:
        number += 1
        yield f"{stem}%~{number}{dot}{ending}{goes_on}"


def _escaped(name: str, also: str = "") -> list[str]:
    """A name character by character, each as it is or as its escape."""
    return [
        _escape(character) if character in _UNSAFE or character == also or category(character) in _UNSEEN else character
        for character in name
    ]


def _escape(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


def _cut(pieces: Iterable[str]) -> list[str]:
    """Names short enough for a file system, each going on in the next."""
    parts = [""]
    size = 0
    for piece in pieces:
        width = len(piece.encode())
        if size + width > _LONGEST:
            parts.append("")
            size = 0
        parts[-1] += piece
        size += width
    *first, last = (_harmless(part) for part in parts)
    return [*(part + "%" for part in first), last]


def _harmless(part: str) -> str:
    """A name that no file system takes for something else."""
    if not part:
        return _EMPTY
    if part in (".", ".."):
        return part.replace(".", "%2E")
    if _MEANT_OTHERWISE.fullmatch(part):
        part = _escape(part[0]) + part[1:]
    return part[:-1] + _escape(part[-1]) if part[-1] in ". " else part
