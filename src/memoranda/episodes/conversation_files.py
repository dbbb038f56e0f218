"""Conversations out of JSON files: messages with a role and a content, in one list, one for each line, or by thread."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage, convert_to_messages

from memoranda.episodes.messages import Keeping, said_in, time_of
from memoranda.store.turns import Turn
from memoranda.transfer.errors import SourceError

_THREADS: Final = ("thread_id", "thread", "conversation_id")
_TIMES: Final = ("at", "timestamp", "created_at", "sent_at", "created", "ts")
_LISTS: Final = ("conversations", "threads")
_TAKEN: Final = ("content", "name", "id", "tool_calls", "tool_call_id")
_ROLES: Final = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
    "system": "system",
    "developer": "system",
}
_FORM: Final = 'Write {"role": "user", "content": "…", "at": "2026-03-01T12:30Z"}; `at`, `name`, `id` may be left out.'


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of a file.

    Args:
        thread_id: Its id.
        turns: What of it is to be recorded.
        left_out: How many of its messages are no turns, such as system messages.
    """

    thread_id: str
    turns: tuple[Turn, ...]
    left_out: int = 0


def read_conversations(text: str, *, thread_id: str, keeping: Keeping | None = None) -> list[Conversation]:
    r"""Read conversations from the text of a JSON or JSON-lines file.

    A file holds messages, or conversations `{"thread_id": …, "messages": […]}`, in a list or one for each line. A
    message has a role and a content, as chat models take them, and may have a time (`at`), the speaker's name, and an
    id. One without an id gets one that is made from what it says, so that the same file may be read again.

    Args:
        text: What the file holds.
        thread_id: The conversation of those messages that name none.
        keeping: What is kept of each message; None: what agents record by default.

    Returns:
        The conversations, in the order in which they begin in the file.

    Raises:
        SourceError: It is no such file.

    Example:
        >>> (said,) = read_conversations('{"role": "user", "content": "I like tea."}\n', thread_id="t1")
        >>> said.thread_id, [turn.text for turn in said.turns]
        ('t1', ['I like tea.'])
    """
    messages: dict[str, list[BaseMessage]] = {}
    for where, found in _entries(text):
        for thread, place, message in _messages(found, where, thread_id):
            messages.setdefault(thread, []).append(_message(message, place))
    if not messages:
        raise SourceError("It holds no messages.", _FORM)
    keeping = keeping or Keeping()
    conversations: list[Conversation] = []
    for thread, given in messages.items():
        said = [one for one in said_in(given) if keeping.takes(one)]
        conversations.append(Conversation(thread, tuple(keeping.turns(said)), len(given) - len(said)))
    return conversations


def _entries(text: str) -> Iterator[tuple[str, Any]]:
    """The messages and conversations of a file, each with the place where it stands."""
    text = text.removeprefix("\ufeff")
    try:
        whole: Any = json.loads(text)
    except ValueError as error:
        yield from _lines(text, error)
        return
    if isinstance(whole, Mapping):
        known = cast("Mapping[str, Any]", whole)
        whole = next((known[name] for name in _LISTS if isinstance(known.get(name), list)), [known])
    if not isinstance(whole, list):
        raise SourceError(f"The file holds {type(whole).__name__}, and no messages.", _FORM)
    for number, entry in enumerate(cast("list[Any]", whole), 1):
        yield f"entry {number}", entry


def _lines(text: str, error: ValueError) -> Iterator[tuple[str, Any]]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    for number, line in lines:
        try:
            yield f"line {number}", json.loads(line)
        except ValueError as wrong:
            # A file that begins over several lines is meant as one JSON value.
            why = wrong if number > lines[0][0] else error
            raise SourceError(f"Line {number} is no JSON: {why}.", f"Give a JSON or JSON-lines file. {_FORM}") from None


def _messages(entry: Any, where: str, thread_id: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The messages of an entry, which is one, or a conversation of them: the thread, the place, and the message."""
    if not isinstance(entry, Mapping):
        raise SourceError(f"At {where} stands {_shown(entry)}, and no message.", _FORM)
    known = cast("Mapping[str, Any]", entry)
    thread = next((str(known[name]) for name in _THREADS if known.get(name)), None)
    inside = known.get("messages")
    if inside is None:
        yield thread or thread_id, where, known
        return
    if not isinstance(inside, Sequence) or isinstance(inside, str):
        raise SourceError(f"The messages at {where} are no list.", _FORM)
    for number, message in enumerate(cast("Sequence[Any]", inside), 1):
        place = f"message {number} of {where}"
        if not isinstance(message, Mapping):
            raise SourceError(f"At {place} stands {_shown(message)}, and no message.", _FORM)
        yield thread or str(known.get("id") or thread_id), place, cast("Mapping[str, Any]", message)


def _message(given: Mapping[str, Any], where: str) -> BaseMessage:
    named = str(given.get("role") or given.get("type") or "")
    role = _ROLES.get(named.lower())
    if role is None:
        cause = f"The message at {where} has the role {named!r}." if named else f"The message at {where} has no role."
        raise SourceError(cause, f"Use user, assistant, tool or system. {_FORM}")
    plain: dict[str, Any] = {"role": role, **{name: given[name] for name in _TAKEN if given.get(name) is not None}}
    if "content" not in plain and "tool_calls" not in plain:
        raise SourceError(f"The message at {where} has no content.", _FORM)
    plain.setdefault("content", "")
    if role == "tool":
        plain.setdefault("tool_call_id", "")
    if "id" in plain:
        plain["id"] = str(plain["id"])
    try:
        (message,) = convert_to_messages([plain])
    except Exception as error:
        why = " ".join(str(error).split())[:200]
        raise SourceError(f"The message at {where} is none: {why}.", _FORM) from error
    _date(message, given, where)
    return message


def _date(message: BaseMessage, given: Mapping[str, Any], where: str) -> None:
    at = next((given[name] for name in _TIMES if given.get(name) is not None), None)
    if at is None:
        return
    message.additional_kwargs["timestamp"] = at
    if time_of(message) is None:
        raise SourceError(f"{_shown(at)}, at {where}, is no time.", "Write it as 2026-03-01T12:30:00Z.")


def _shown(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=False, default=repr)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
