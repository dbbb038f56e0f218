"""A conversation as a model is shown it that is to learn from it: as data, which cannot pass for instructions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import orjson

from memoranda.backends.origins import is_person
from memoranda.knowledge.errors import InvalidSettingError
from memoranda.store.turns import RecordedTurn, Turn

Conversation: TypeAlias = "str | Sequence[Any]"
"""A text, or messages: LangChain's, pairs of role and text, dictionaries of these, or turns."""

_ROLES: Final[Mapping[str, str]] = {"human": "user", "ai": "assistant", "function": "tool"}


_OWN: Final = ("text", "output_text", "reasoning", "thinking", "redacted_thinking", "refusal")
"""Blocks of a model's message that hold its own words alone."""


@dataclass(frozen=True, slots=True)
class Said:
    """One message, as far as it is words.

    Args:
        role: `user`, `assistant`, `tool` or `system`.
        text: What was said.
        at: When, in ISO 8601; None where that is not known.
    """

    role: str
    text: str
    at: str | None = None


def said_in(conversation: Conversation) -> list[Said]:
    """The messages of a conversation that say something.

    Raises:
        InvalidSettingError: It is no conversation.

    Example:
        >>> said_in([("user", "I drink tea."), {"role": "assistant", "content": "Noted."}])
        [Said(role='user', text='I drink tea.', at=None), Said(role='assistant', text='Noted.', at=None)]
    """
    return heard(conversation)[0]


def heard(conversation: Conversation) -> tuple[list[Said], bool]:
    """The messages of a conversation that say something, and whether something from outside came into it.

    That is what a tool gave, what a message says that no person wrote, and whatever a model said that called tools:
    it may have read anything.

    Raises:
        InvalidSettingError: It is no conversation.
    """
    if isinstance(conversation, str):
        return ([Said("user", conversation)] if conversation.strip() else []), False
    if not isinstance(conversation, Iterable) or isinstance(conversation, (bytes, Mapping)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _no_conversation(conversation)
    found = [_said(message) for message in conversation]
    return [said for said, _ in found if said.text.strip()], any(outside for _, outside in found)


def shown(said: Iterable[Said], tag: str = "conversation") -> str:
    r"""A conversation between two tags, each message a line of JSON in which no tag can occur.

    Example:
        >>> print(shown([Said("user", "Tea.\n</conversation>")]))
        <conversation>
        {"from":"user","text":"Tea.\n\u003c/conversation>"}
        </conversation>
    """
    lines: list[str] = []
    for each in said:
        line: dict[str, str] = {"from": each.role, **({"at": each.at} if each.at else {}), "text": each.text}
        lines.append(as_data(line))
    return "\n".join([f"<{tag}>", *lines, f"</{tag}>"])


def as_data(value: Any) -> str:
    """A value as one line of JSON in which no tag can begin."""
    try:
        encoded = orjson.dumps(value).decode()
    except TypeError as error:  # such as for a lone surrogate
        raise InvalidSettingError(
            f"This cannot be shown to a model: {error}.", "Pass text that UTF-8 can hold."
        ) from None
    return encoded.replace("<", "\\u003c")


def _said(message: Any) -> tuple[Said, bool]:
    """A message, and whether something from outside is in it."""
    if isinstance(message, Said):
        return message, message.role not in ("user", "assistant")
    if isinstance(message, (Turn, RecordedTurn)):
        said = Said(message.role, message.text, message.at.isoformat() if message.at else None)
        return said, message.role == "tool" or bool(message.tools)
    from langchain_core.messages import convert_to_messages

    try:
        (converted,) = convert_to_messages([message])
    except (ValueError, TypeError, NotImplementedError, KeyError):
        raise _no_conversation(message) from None
    kind = converted.type.removesuffix("MessageChunk").lower()
    if kind == "chat":
        kind = str(getattr(converted, "role", kind))
    role = _ROLES.get(kind, kind)
    calls = any(getattr(converted, name, None) for name in ("tool_calls", "invalid_tool_calls"))
    outside = (
        calls or _is_founded(converted.content)
        if role == "assistant"
        else not (role == "user" and is_person(converted))
    )
    return Said(role, str(cast("Any", converted).text)), outside


def _is_founded(content: Any) -> bool:
    """Whether a model's message says what it is founded on: tools that its provider ran, or sources that it cites."""
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    return any(
        isinstance(block, Mapping)
        and (
            cast("Mapping[str, Any]", block).get("type") not in _OWN
            or any(cast("Mapping[str, Any]", block).get(name) for name in ("citations", "annotations"))
        )
        for block in blocks
    )


def _no_conversation(given: object) -> InvalidSettingError:
    shown = repr(given)
    return InvalidSettingError(
        f"{shown if len(shown) <= 80 else shown[:80] + '…'} is no message of a conversation.",
        'Pass a list of LangChain messages, of ("user", "text") pairs, or of turns.',
    )
