"""Sentences that more than one backend says."""

from __future__ import annotations

from memoranda.backends.places import Place

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


def refused_as_deleted(cause: str) -> str:
    """What is said of a write to a file that is gone since it was seen."""
    return f"Error: {cause} Write it again to create it anew, or leave it deleted."


def exists_unread(place: Place) -> str:
    """Why a file that this thread never saw is not overwritten."""
    return f"{place.shown} exists already and you have not read it."


def refused_read_only(place: Place) -> str:
    """What is said of a change where a model may only read."""
    return (
        f"Error: permission denied: {place.shown} belongs to the organisation and is read-only here. "
        "Write to another folder, or ask a person to change it."
    )
