"""The sets of `memoranda.evaluation` as contenders get them, and those that are made of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memoranda import evaluation
from memoranda.evaluation import Dataset, Message, Question, Scope

FILES = {"locomo": "locomo*.json", "memdaily": "memdaily*.json", "beam": "beam*.json"}


@dataclass(frozen=True, slots=True)
class Sessions(Scope):
    """A scope of which whole sessions are to be found, each of them one message.

    Args:
        said: The messages in them.
    """

    said: tuple[Message, ...]


def said(scope: Scope) -> tuple[Message, ...]:
    """The messages one by one, also where whole sessions are to be found."""
    return scope.said if isinstance(scope, Sessions) else scope.messages


def full(message: Message) -> str:
    """The text that every contender indexes."""
    around = f"{message.speaker} ({message.date})" if message.speaker and message.date else message.speaker
    if around:
        return f"{around}: {message.text}"
    return f"({message.date}) {message.text}" if message.date else message.text


def whole_sessions(dataset: Dataset) -> Dataset:
    """The same with sessions to be found instead of messages."""
    return replace(dataset, name=f"{dataset.name}-sessions", scopes=tuple(map(_sessions, dataset.scopes)))


def _sessions(scope: Scope) -> Sessions:
    where = {message.id: message.session for message in scope.messages}
    whole = tuple(
        Message(name, "\n".join(map(full, messages)), name, at=messages[0].at, date=messages[0].date)
        for name, messages in _by_session(scope.messages).items()
    )
    asked = tuple(replace(each, gold=frozenset(where[one] for one in each.gold)) for each in scope.questions)
    return Sessions(scope.name, whole, asked, scope.messages)


def mixed(dataset: Dataset) -> Dataset:
    """As many scopes with sessions of all kinds in each, not of one kind that ask nearly the same."""
    held = _by_session([message for scope in dataset.scopes for message in scope.messages])
    where = {message.id: name for name, messages in held.items() for message in messages}
    asked: dict[str, list[Question]] = {}
    for question in (question for scope in dataset.scopes for question in scope.questions):
        asked.setdefault(where[min(question.gold)], []).append(question)
    names, count = list(held), len(dataset.scopes)
    scopes = tuple(
        Scope(
            f"scope {start + 1}",
            tuple(message for name in names[start::count] for message in held[name]),
            tuple(question for name in names[start::count] for question in asked.get(name, ())),
        )
        for start in range(count)
    )
    return replace(dataset, name=f"{dataset.name}-mixed", scopes=scopes)


def named_by_role(dataset: Dataset) -> Dataset:
    """The same where `user` and `assistant` stand for the names that nobody has."""
    return replace(
        dataset,
        scopes=tuple(
            replace(scope, messages=tuple(replace(each, speaker=each.speaker or each.role) for each in scope.messages))
            for scope in dataset.scopes
        ),
    )


def first_scope(dataset: Dataset, questions: int) -> Dataset:
    """A small part of it: the first questions of its first scope."""
    scope = dataset.scopes[0]
    return replace(dataset, scopes=(replace(scope, questions=scope.questions[:questions]),))


_MADE: dict[str, tuple[str, Callable[[Dataset], Dataset]]] = {
    "locomo-sessions": ("locomo", whole_sessions),
    "memdaily-mixed": ("memdaily", mixed),
    "beam": ("beam", named_by_role),
}


def load(name: str, folder: Path) -> Dataset:
    """The set of that name from the first file in a folder whose name fits.

    Raises:
        FileNotFoundError: There is none.
    """
    origin, change = _MADE.get(name, (name, None))
    for path in sorted(folder.glob(FILES[origin])):
        found = evaluation.load(origin, path)
        return change(found) if change else found
    raise FileNotFoundError(f"no {FILES[origin]} in {folder}")


def _by_session(messages: Sequence[Message]) -> dict[str, list[Message]]:
    found: dict[str, list[Message]] = {}
    for message in messages:
        found.setdefault(message.session, []).append(message)
    return found
