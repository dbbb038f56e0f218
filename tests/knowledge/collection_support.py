"""What the tests of collections share: a schema of facts, days, and how memories read."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from pydantic import BaseModel

from memoranda.knowledge.memories import Memory

ANN = ("ann",)


class Fact(BaseModel):
    subject: str
    property: str
    value: str
    since: date | None = None


def day(number: int) -> datetime:
    return datetime(2024, 5, number, tzinfo=UTC)


def texts(memories: list[Memory[Any]]) -> list[str]:
    return [memory.text for memory in memories]


def city(name: str) -> Fact:
    return Fact(subject="Ann", property="city", value=name)
