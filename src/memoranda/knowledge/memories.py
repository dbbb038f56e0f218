"""Memories: what one is to a reader, and how its versions are kept in a store.

A *version* is a value with the time during which it held. The current one of each lies at `/facts/current/<slot>`,
those that were superseded at `/facts/superseded/<slot>/<id>`. The slot comes from what makes a memory the same
again, its identity or its whole text, so that two writers of the same memory meet at one key.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeVar, cast

from memoranda.errors import MemorandaError
from memoranda.knowledge.errors import InvalidSettingError
from memoranda.store.changes import Delete, Namespace, Write

M = TypeVar("M")

ID: Final = r"m[0-9a-f]{16}-[0-9a-f]{6}"
"""The form of an id."""

CURRENT: Final = "current"
SUPERSEDED: Final = "superseded"


class InvalidMemoryError(MemorandaError, ValueError):
    """What is no memory of a collection: it does not fit the schema, or says nothing."""


class InvalidMomentError(InvalidMemoryError, InvalidSettingError):
    """What is no time at which a memory can be stated, or asked for."""


class MemorySchemaError(MemorandaError, ValueError):
    """A stored memory does not fit the schema of its collection any more."""


@dataclass(frozen=True)  # without slots, so that Memory[int](…) may note its type where it tries
class Memory(Generic[M]):
    """One memory of a collection.

    Args:
        id: Names it, also after it was superseded.
        value: What is remembered: an instance of the collection's schema, or a dictionary.
        text: The same as text, for a model or a person.
        valid_from: Since when it holds, in UTC.
        valid_to: Until when it held; None: it is current.
        sources: The ids of the messages that it came from.
        superseded_by: The id of the memory that took its place.
        score: How well it answers a query; higher is better, comparable within one answer only.
    """

    id: str
    value: M
    text: str
    valid_from: datetime
    valid_to: datetime | None = None
    sources: tuple[str, ...] = ()
    superseded_by: str | None = None
    score: float | None = None

    @property
    def is_current(self) -> bool:
        """Whether nothing has superseded it."""
        return self.valid_to is None


@dataclass(frozen=True, slots=True)
class Version:
    """A memory as it is stored.

    Args:
        id: The slot and a random ending.
        slot: What makes it the same memory again.
        digest: Of its value.
        value: JSON.
        valid_from: Since when it holds.
        valid_to: Until when; None: it is current.
        stated: When it was stated, `valid_from` among them, in order.
        sources: Message ids.
        before: The id of the version before it of the same fact.
        after: The id of the one after it.
        superseded_by: The id of what took its place, of this fact or another.
        is_reworded: Whether the version after it says the same in better words; then it never held itself.
        revision: The revision of the item that it was read from; 0: it is not stored yet.
    """

    id: str
    slot: str
    digest: str
    value: dict[str, Any]
    valid_from: datetime
    valid_to: datetime | None = None
    stated: tuple[datetime, ...] = ()
    sources: tuple[str, ...] = ()
    before: str | None = None
    after: str | None = None
    superseded_by: str | None = None
    is_reworded: bool = False
    revision: int = 0

    def covers(self, moment: datetime) -> bool:
        """Whether it held at a moment."""
        return self.valid_from <= moment and (self.valid_to is None or moment < self.valid_to)

    def same_as(self, other: Version) -> bool:
        """Whether the two are stored alike."""
        return replace(self, revision=0) == replace(other, revision=0)


def new_id(slot: str) -> str:
    """An id for a new version."""
    return f"{slot}-{secrets.token_hex(3)}"


def is_id(text: str) -> bool:
    """Whether a text has the form of an id.

    Example:
        >>> is_id("m0123456789abcdef-a1b2c3"), is_id("../../notes.md")
        (True, False)
    """
    return re.fullmatch(ID, text) is not None


def slot_of(id: str) -> str:
    """The slot that an id names.

    Example:
        >>> slot_of("m0123456789abcdef-a1b2c3")
        'm0123456789abcdef'
    """
    return id.partition("-")[0]


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where the versions of a collection lie in a store.

    Args:
        namespace: The namespace.
        name: The first part of their keys.
    """

    namespace: Namespace
    name: str

    @property
    def folder(self) -> str:
        """The folder of all of them."""
        return f"/{self.name}/"

    @property
    def current_folder(self) -> str:
        """The folder of the current ones."""
        return f"/{self.name}/{CURRENT}/"

    @property
    def superseded_folder(self) -> str:
        """The folder of those that were superseded."""
        return f"/{self.name}/{SUPERSEDED}/"

    def current_key(self, slot: str) -> str:
        """The key of the current version of a slot."""
        return self.current_folder + slot

    def past_folder(self, slot: str) -> str:
        """The folder of the superseded versions of a slot."""
        return f"{self.superseded_folder}{slot}/"

    def key_of(self, version: Version) -> str:
        """The key of a version."""
        if version.valid_to is None:
            return self.current_key(version.slot)
        return self.past_folder(version.slot) + version.id

    def write(self, version: Version, base: int) -> Write:
        """The change that stores a version."""
        # Never merged by field: half of one memory and half of another would be neither.
        return Write(self.namespace, self.key_of(version), to_item(version), base, merge=False, index=["memory"])

    def delete(self, version: Version) -> Delete:
        """The change that takes a version away."""
        return Delete(self.namespace, self.key_of(version), version.revision, missing_ok=False)


def to_item(version: Version) -> dict[str, Any]:
    """A version as the JSON of its item."""
    return {
        "memory": version.value,
        "id": version.id,
        "digest": version.digest,
        "valid_from": version.valid_from.isoformat(),
        "valid_to": None if version.valid_to is None else version.valid_to.isoformat(),
        "stated": [moment.isoformat() for moment in version.stated],
        "sources": list(version.sources),
        "before": version.before,
        "after": version.after,
        "superseded_by": version.superseded_by,
        "is_reworded": version.is_reworded,
    }


def from_item(value: Mapping[str, Any], revision: int) -> Version | None:
    """The version that an item holds; None where somebody else has written something else there."""
    try:
        return Version(
            str(value["id"]),
            slot_of(str(value["id"])),
            str(value["digest"]),
            dict(cast("Mapping[str, Any]", value["memory"])),
            datetime.fromisoformat(value["valid_from"]),
            None if value["valid_to"] is None else datetime.fromisoformat(value["valid_to"]),
            tuple(map(datetime.fromisoformat, value["stated"])),
            tuple(map(str, value["sources"])),
            value["before"],
            value["after"],
            value["superseded_by"],
            bool(value["is_reworded"]),
            revision,
        )
    except (KeyError, TypeError, ValueError):
        return None


def in_utc(moment: datetime | None) -> datetime:
    """A moment in UTC; one without a zone is taken as UTC, None as now.

    Raises:
        InvalidMomentError: It is no moment, or one that no calendar has in UTC.
    """
    if moment is None:
        return datetime.now(UTC)
    if not isinstance(moment, datetime):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidMomentError(f"at={moment!r} is no datetime.", "Pass one, for example datetime.fromisoformat(…).")
    try:
        return moment.replace(tzinfo=UTC) if moment.utcoffset() is None else moment.astimezone(UTC)
    except OverflowError:
        raise InvalidMomentError(f"at={moment} is outside of the years 1 to 9999 in UTC.", "Pass another.") from None


def text_of(value: Mapping[str, Any]) -> str:
    """A value as text: the only field alone, several with their names.

    Example:
        >>> text_of({"text": "Likes tea."}), text_of({"city": "Rome", "since": 2020, "note": None})
        ('Likes tea.', 'city: Rome; since: 2020')
    """
    import json

    said = {name: part for name, part in value.items() if part is not None}
    shown = [part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in said.values()]
    if len(said) == 1 and isinstance(next(iter(said.values())), str):
        return shown[0]
    return "; ".join(f"{name}: {part}" for name, part in zip(said, shown, strict=True))
