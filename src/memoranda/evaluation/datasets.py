"""Conversations with questions whose evidence is known, in one shape for every set."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, slots=True)
class Message:
    """One message, the thing to be found.

    Args:
        id: Unique in its scope.
        text: What was said.
        session: The conversation or day that it belongs to.
        speaker: Who said it; empty where nobody is named.
        at: When; where a set has one time for a session, its messages follow each other by a minute.
        role: Whether the person or the assistant said it.
        date: When and where, in the words of the set.
    """

    id: str
    text: str
    session: str
    speaker: str = ""
    at: datetime | None = None
    role: Literal["user", "assistant"] = "user"
    date: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the ids of the messages that hold its answer.

    Args:
        text: The question.
        gold: The messages.
        category: What kind of question the set says it is.
    """

    text: str
    gold: frozenset[str]
    category: str


@dataclass(frozen=True, slots=True)
class Scope:
    """What one person or project has: questions are asked of it alone.

    Args:
        name: Unique in its set.
        messages: In their order, session by session.
        questions: What is asked of them.
    """

    name: str
    messages: tuple[Message, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """A set of scopes.

    Args:
        name: What it is called.
        scopes: What is searched.
        aside: Categories that are measured apart.
    """

    name: str
    scopes: tuple[Scope, ...]
    aside: frozenset[str] = field(default_factory=frozenset[str])

    @property
    def messages(self) -> int:
        """How many messages it has."""
        return sum(len(scope.messages) for scope in self.scopes)

    @property
    def questions(self) -> int:
        """How many questions it has."""
        return sum(len(scope.questions) for scope in self.scopes)

    def cut(self, questions: int) -> Dataset:
        """The same with its first questions only, and what these are asked of."""
        kept: list[Scope] = []
        for scope in self.scopes:
            if questions > 0:
                kept.append(replace(scope, questions=scope.questions[:questions]))
                questions -= len(scope.questions)
        return replace(self, scopes=tuple(kept))
