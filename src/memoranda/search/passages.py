"""Texts cut into passages with their lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import orjson


@dataclass(frozen=True, slots=True)
class Passage:
    """Some lines of a text that are found together."""

    first_line: int
    last_line: int
    text: str
    heading: str
    digest: int


def _passage(first: int, last: int, text: str, heading: str) -> Passage:
    return Passage(first, last, text, heading, crc32(f"{heading}\0{text}".encode("utf-8", "surrogatepass")))


def passages_of(text: str, *, path: str = "") -> list[Passage]:
    """The passages of a file."""
    found: list[Passage] = []
    first, held = 1, list[str]()
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        if line.strip():
            held.append(line)
            continue
        if held:
            found.append(_passage(first, number - 1, "\n".join(held), ""))
        first, held = number + 1, []
    return found


def passages_of_turn(text: str) -> list[Passage]:
    """The passages of a turn of a conversation, usually one."""
    return [_passage(1, text.count("\n") + 1, text, "")] if text.strip() else []


def passages_of_json(value: Mapping[str, Any], fields: Sequence[str]) -> list[Passage]:
    """The passages of a JSON value."""
    text = orjson.dumps(dict(value), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
    return [_passage(1, text.count("\n") + 1, text, "")]


def indexed_text(passage: Passage, *, path: str = "", speaker: str = "", date: str = "") -> str:
    """What is tokenised and embedded of a passage."""
    said = f"{speaker} ({date}): " if speaker and date else f"{speaker}: " if speaker else ""
    return "\n".join(part for part in (path, passage.heading, said + passage.text) if part)
