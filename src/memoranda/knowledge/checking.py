"""What is checked of a memory before it is kept, and of a version before it is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, cast

import orjson

from memoranda.knowledge.errors import InvalidSettingError
from memoranda.knowledge.memories import ID, InvalidMemoryError, Version, in_utc
from memoranda.store.filters import compile_filter

_LARGEST: Final = 100_000
"""Bytes of a memory as JSON: it is one fact, and whoever finds it shows all of it to a model."""
_RECALLED: Final = re.compile(rf"\s*(?:[-*]\s+)?\[{ID}\]")
_SINCE: Final = re.compile(r"\(since [\d-]+(?: until [\d-]+)?\)\Z")


class Matching:
    """Whether a version was true at a time, and its value passes a filter.

    Args:
        at: The time; None: now.
        filter: As `MemoryStore.search` takes it.
    """

    def __init__(self, at: datetime | None, filter: Mapping[str, Any] | None) -> None:
        self._at = None if at is None else in_utc(at)
        if filter is not None and not isinstance(filter, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidSettingError(
                f"filter={filter!r} is no filter.", 'Pass fields and values: {"subject": "home"}.'
            )
        self._passes = compile_filter(filter) if filter else None

    def __call__(self, version: Version) -> bool:
        """Whether it is one of them."""
        holds = version.valid_to is None if self._at is None else version.covers(self._at)
        return holds and (self._passes is None or self._passes(version.value))


def unquoted(text: str) -> str:
    """A text without the id and the date with which a recalled memory is shown to a model."""
    found = _RECALLED.match(text)
    return _SINCE.sub("", text[found.end() :].strip()).rstrip() if found else text


def check_sources(sources: Any) -> None:
    """Refuse what is no list of message ids.

    Raises:
        InvalidMemoryError: It is none.
    """
    is_list = isinstance(sources, Sequence) and not isinstance(sources, (str, bytes))
    if not is_list or not all(isinstance(source, str) for source in cast("Sequence[Any]", sources)):
        raise InvalidMemoryError(
            f"sources={brief(cast('object', sources))} is no list of message ids.", 'Pass a list: ["message-1"].'
        )


def check_size(fields: Mapping[str, Any]) -> None:
    """Refuse what no store can hold, before anything walks through it, and what is more than one fact.

    Raises:
        InvalidMemoryError: It is too large, or no JSON.
    """
    try:
        size = len(orjson.dumps(dict(fields)))
    except TypeError as error:
        raise InvalidMemoryError(
            f"The memory is no JSON: {error}.", "Pass an instance of the schema, or fields of plain JSON values."
        ) from None
    if size > _LARGEST:
        raise InvalidMemoryError(
            f"The memory takes {size} bytes, more than {_LARGEST}.",
            "Save single facts, and keep a long text in a file.",
        )


def brief(value: object) -> str:
    """The beginning of what a value looks like."""
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:80]}…"


def leaves(value: Any) -> Iterator[Any]:
    """All that a value holds which is no object or list; texts without white space around them."""
    if isinstance(value, Mapping):
        for part in cast("Mapping[str, Any]", value).values():
            yield from leaves(part)
    elif isinstance(value, list):
        for part in cast("list[Any]", value):
            yield from leaves(part)
    else:
        yield value.strip() if isinstance(value, str) else value
