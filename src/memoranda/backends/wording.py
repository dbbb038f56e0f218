"""Sentences that more than one backend says."""

from __future__ import annotations

import re

from memoranda.backends.places import Place
from memoranda.errors import MemorandaError, StoreError

# A path in a sentence begins where no name goes on, and ends there too.
_BEFORE = r"(?<![\w.~/:-])"
_AFTER = r"(?![\w-]|\.\w)"
_QUOTED = 40

SHOWN_CONFLICT = 8_000
"""How many characters of the current text an error about a conflict may carry."""


def not_found(place: Place) -> str:
    """What every backend says of a file that is not there."""
    return f"File '{place.shown}' not found"


def refused_with(cause: str, current: str) -> str:
    """What is said of a write that stands against what the file holds now."""
    if len(current) > SHOWN_CONFLICT:
        current = f"{current[:SHOWN_CONFLICT]}\n… (cut; read the file for the rest)"
    return (
        f"Error: {cause} Nothing was written. Carry your change over into the current text, then write again, "
        f"or use edit_file. The current text is:\n{current}"
    )


def refused_unseen(place: Place, *, exists: bool) -> str:
    """What is said of a write that stands against a file which whoever writes it may not read."""
    what = "holds something else than your change was made for" if exists else "does not exist now"
    return (
        f"Error: {place.shown} {what}, and a rule of this agent keeps you from reading it. Nothing was written. "
        "Use another path, or go on without it."
    )


def refused_as_deleted(cause: str) -> str:
    """What is said of a write to a file that is gone since it was seen."""
    return f"Error: {cause} Write it again to create it anew, or leave it deleted."


def exists_unread(place: Place) -> str:
    """Why a file that this thread never saw is not overwritten."""
    return f"{place.shown} exists already and you have not read it."


def refused_read_only(place: Place) -> str:
    """What is said of a change where a model may only read."""
    return (
        f"Error: permission denied: {place.shown} is shared and read-only for you. "
        "Write to another folder, or ask a person to change it."
    )


def with_shown_paths(place: Place, text: str) -> str:
    """A sentence about a place, with the path by which the agent knows it.

    Example:
        >>> with_shown_paths(Place("/a.md", "/memories/a.md"), "File '/a.md' not found; see /a.mdx")
        "File '/memories/a.md' not found; see /a.mdx"
    """
    if place.path == place.shown:
        return text
    # A key that is too long is quoted only in part.
    text = text.replace(f"{place.path[:_QUOTED]!r}…", f"{place.shown[:_QUOTED]!r}…")
    if place.path == "/":
        return re.sub(_BEFORE + r"/(?=([\w.~-])?)", lambda found: place.shown + ("/" if found[1] else ""), text)
    return re.sub(_BEFORE + re.escape(place.path) + _AFTER, lambda _: place.shown, text)


def is_failure(error: Exception) -> bool:
    """Whether an exception is about the storage, so that the same may work later, and not a refusal."""
    return isinstance(error, StoreError) or not isinstance(error, MemorandaError)
