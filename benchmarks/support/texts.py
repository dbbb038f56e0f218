"""Files as agents write them: Markdown notes of varied sentences, the same for everyone in every run."""

from __future__ import annotations

import random
from collections.abc import Iterator

FOLDERS = 50
RARE = "quokka ledger"
"""Stands in one file of a hundred, for searches over everything."""
RARE_EVERY = 100

_PEOPLE = [
    "Ann",
    "Bruno",
    "Chen",
    "Dalia",
    "Emeka",
    "Farah",
    "Goran",
    "Hana",
    "Ines",
    "Jonas",
    "Kofi",
    "Leila",
    "Mateo",
    "Nadia",
    "Oskar",
    "Priya",
]
_THINGS = [
    "the quarterly report",
    "the deployment checklist",
    "a vegetarian menu",
    "the billing export",
    "the onboarding guide",
    "her flight to Lisbon",
    "the incident review",
    "a birthday present",
    "the staging database",
    "the grant proposal",
    "a piano lesson",
    "the vendor contract",
    "the retention policy",
    "a reading list",
    "the solar panels",
    "the test plan",
]
_VERBS = [
    "prefers to discuss",
    "asked to remember",
    "finished",
    "postponed",
    "wants a summary of",
    "is responsible for",
    "disagreed about",
    "shared notes on",
    "needs help with",
    "has questions about",
    "approved",
    "rewrote",
]
_TAILS = [
    "because the old version was confusing",
    "before the end of the month",
    "after the call with the team",
    "even though the budget is tight",
    "and would like short answers",
    "in the morning, never after six",
    "with a link to the source",
    "unless somebody objects",
    "as agreed in the last meeting",
    "for the third time",
    "which took about {number} minutes",
    "at a cost of {number} euros",
    "see ticket {number} for details",
]
_HEADINGS = [
    "Summary",
    "Decisions",
    "Open questions",
    "Preferences",
    "Background",
    "Next steps",
    "Contacts",
    "Lessons learnt",
]


def _sentences(count: int) -> list[str]:
    chance = random.Random(20_240)
    made: list[str] = []
    for _ in range(count):
        tail = chance.choice(_TAILS).format(number=chance.randrange(3, 9_000))
        parts = (chance.choice(_PEOPLE), chance.choice(_VERBS), chance.choice(_THINGS), tail)
        made.append(" ".join(parts) + ".")
    return made


_POOL = _sentences(5_000)


def folder_of(number: int) -> str:
    """The folder that holds a file."""
    return f"/folder-{number % FOLDERS:02}"


def key_of(number: int) -> str:
    """The path of a file."""
    return f"{folder_of(number)}/note-{number:07}.md"


def status_line(count: int) -> str:
    """The line of a file that edits replace."""
    return f"Status: draft {count}"


def reference_line(number: int) -> str:
    """The line that only this file has."""
    return f"Reference: MEM-{number:07}"


def text_of(number: int, size: int = 2_048) -> str:
    """The text of a file, about `size` bytes long.

    Args:
        number: Which file; the same number always gives the same text.
        size: Bytes.
    """
    chance = random.Random(number)
    lines = [f"# Note {number}", "", reference_line(number), status_line(0)]
    if number % RARE_EVERY == 0:
        lines.append(f"Filed in the {RARE}.")
    length = sum(len(line) + 1 for line in lines)
    while length < size:
        if chance.random() < 0.15:
            line = f"\n## {chance.choice(_HEADINGS)}\n"
        else:
            line = ("- " if chance.random() < 0.5 else "") + chance.choice(_POOL)
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines) + "\n"


def files(count: int, start: int = 0) -> Iterator[tuple[str, str]]:
    """Keys and texts of the files `start` to `start + count`."""
    for number in range(start, start + count):
        yield key_of(number), text_of(number)


def long_text(size: int) -> str:
    """A long file of numbered, distinct lines of about 80 characters."""
    chance = random.Random(7)
    lines: list[str] = []
    length = 0
    while length < size:
        lines.append(f"{len(lines) + 1}. {chance.choice(_POOL)}")
        length += len(lines[-1]) + 1
    return "\n".join(lines) + "\n"
