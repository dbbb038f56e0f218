"""Which messages of a conversation are turns of it, and what of them is kept.

Turns are what people, the agent and its tools said. Not turns are system messages, and messages that no one said
although they look like it: summaries, skills and the like that middleware puts in, which say so in `lc_source`. A
question that was sent again before anything was answered, because a run had failed, is one turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, Final, NamedTuple, cast

from langchain_core.messages import BaseMessage, convert_to_messages

from memoranda.backends.origins import SOURCE_KEY
from memoranda.episodes.masking import mask_secrets
from memoranda.errors import InvalidValueError
from memoranda.store.keys import MAX_NAME_BYTES
from memoranda.store.turns import ROLES, Role, Turn

SEARCH_TOOL: Final = "search_past_conversations"
"""The name of the tool that searches episodes, unless it was given another."""

MAX_BYTES: Final = 16_384
"""How many bytes of a message are kept."""

_LEAST_BYTES: Final = 256
_MARGIN: Final = 4_096
"""So much more of a long text is looked through for secrets than is kept, so that none is cut in two."""

_ROLES: Final[Mapping[str, Role]] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_SUMMARY: Final = "Here is a summary of the conversation to date:"
_TEXT_BLOCKS: Final = frozenset({"text", "input_text", "output_text"})
_NO_CONTENT: Final = frozenset(
    {"tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "server_tool_use", "server_tool_call"}
    | {"function_call", "thinking", "redacted_thinking", "reasoning", "non_standard"}
)
_TIME_KEYS: Final = ("timestamp", "created_at", "sent_at", "created", "ts")
_UUID7: Final = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_IMPRECISION: Final = timedelta(milliseconds=50)
_EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)


class Said(NamedTuple):
    """A message that is a turn of its conversation.

    Args:
        id: Its id, or one that is made from what it says.
        role: Who said it.
        message: It.
    """

    id: str
    role: Role
    message: BaseMessage


def said_in(messages: Iterable[Any]) -> list[Said]:
    """The turns among the messages of a conversation, in their order.

    Args:
        messages: All messages of it, or all that are left. One that has no id is known by its role, its content, and
            how often that was said before in the list.
    """
    found: list[Said] = []
    occurred: dict[str, int] = {}
    for message in _typed(messages):
        role = _role(message)
        if role is None or _was_put_in(message):
            continue
        said = Said(_id_of(message, role, occurred), role, message)
        if not (found and _asks_again(found[-1], said)):
            found.append(said)
    return found


def _typed(messages: Iterable[Any]) -> list[BaseMessage]:
    """Messages as LangChain's; what is none is left out."""
    found: list[BaseMessage] = []
    for message in messages:
        if isinstance(message, BaseMessage):
            found.append(message)
            continue
        try:
            found += convert_to_messages([message])
        except (ValueError, TypeError, NotImplementedError):
            continue
    return found


def _role(message: BaseMessage) -> Role | None:
    kind = str(getattr(message, "role", "")) if message.type in ("chat", "ChatMessageChunk") else message.type
    return _ROLES.get(kind.removesuffix("MessageChunk").lower())


def _was_put_in(message: BaseMessage) -> bool:
    if (message.additional_kwargs or {}).get(SOURCE_KEY):
        return True
    return message.type == "human" and text_of(message).startswith(_SUMMARY)


def _asks_again(before: Said, said: Said) -> bool:
    """Whether a message of the user says the same as the one just before, which nobody had answered."""
    return before.role == said.role == "user" and before.message.content == said.message.content


def _id_of(message: BaseMessage, role: Role, occurred: dict[str, int]) -> str:
    if message.id:
        return str(message.id)
    made = content_id(message, role)
    occurred[made] = occurred.get(made, -1) + 1
    return f"{made}:{occurred[made]}"


def content_id(message: BaseMessage, role: Role) -> str:
    """By what a message is known that has no lasting id, together with how often it was said before."""
    calls = [str(call.get("id")) for call in _tool_calls(message)]
    content: Any = [role, message.content, getattr(message, "tool_call_id", None), calls]
    digest = blake2b(json.dumps(content, default=repr, sort_keys=True).encode("utf-8", "replace"), digest_size=12)
    return f"said:{digest.hexdigest()}"


def text_of(message: BaseMessage) -> str:
    """The words of a message, without what else is in it."""
    content = cast("Any", message.content)
    if isinstance(content, str):
        return content
    texts = [block if isinstance(block, str) else _block_text(block) for block in _blocks(content)]
    return "\n".join(text for text in texts if text)


def _blocks(content: Any) -> list[Any]:
    return [*content] if isinstance(content, (list, tuple)) else []


def _block_text(block: Any) -> str:
    if not isinstance(block, Mapping):
        return ""
    known = cast("Mapping[str, Any]", block)
    text = known.get("text")
    return text if known.get("type") in _TEXT_BLOCKS and isinstance(text, str) else ""


def _other_blocks(message: BaseMessage) -> int:
    """How many images, files and the like are in it: neither words, nor tool calls, nor reasoning."""
    blocks = [cast("Mapping[str, Any]", block) for block in _blocks(message.content) if isinstance(block, Mapping)]
    kinds = [block.get("type") for block in blocks]
    return sum(kind not in _TEXT_BLOCKS and kind not in _NO_CONTENT for kind in kinds)


def _tool_calls(message: BaseMessage) -> list[Mapping[str, Any]]:
    return [*(getattr(message, "tool_calls", None) or ())]


@dataclass(frozen=True)
class Keeping:
    """What is kept of a conversation.

    Args:
        roles: Whose turns.
        max_bytes: How many bytes of each; of longer ones the beginning and the end.
        redact: What every text goes through before it is recorded; None leaves all as it is.
        unrecorded_tools: Tools whose answers are not kept, because they are copies of what is recorded already.

    Raises:
        InvalidValueError: A role is none, or the size is too small.
    """

    roles: Collection[Role] = ROLES
    max_bytes: int = MAX_BYTES
    redact: Callable[[str], str] | None = mask_secrets
    unrecorded_tools: Collection[str] = (SEARCH_TOOL,)

    def __post_init__(self) -> None:
        if isinstance(self.roles, str) or not set(self.roles) <= set(ROLES):
            raise InvalidValueError(f"{self.roles!r} are no roles.", f"Use some of {', '.join(ROLES)}, as a list.")
        if self.max_bytes < _LEAST_BYTES:
            raise InvalidValueError(f"max_bytes is {self.max_bytes}.", f"It has to be at least {_LEAST_BYTES}.")

    def takes(self, said: Said) -> bool:
        """Whether a turn is kept at all: one of these roles in which something was said, shown or called."""
        if said.role not in self.roles:
            return False
        return bool(text_of(said.message).strip() or _tool_calls(said.message) or _other_blocks(said.message))

    def turns(self, said: Sequence[Said], times: Mapping[str, datetime] | None = None) -> list[Turn]:
        """The turns to record.

        Args:
            said: Messages in their order.
            times: When those were said whose messages do not tell; what is in neither gets the time of the next that
                is known, and else that of the recording.
        """
        found: list[Turn] = []
        later: datetime | None = None
        for one in reversed(said):
            at = time_of(one.message) or (times or {}).get(one.id) or later
            if at is not None and later is not None and timedelta() < at - later < _IMPRECISION:
                at = later  # an id holds the time in milliseconds only
            later = at
            found.append(self._turn(one, later))
        return found[::-1]

    def _turn(self, said: Said, at: datetime | None) -> Turn:
        message = said.message
        if said.role == "tool":
            tools = [_name(message.name)]
        else:
            tools = [_name(call.get("name")) for call in _tool_calls(message)]
        hidden = said.role == "tool" and message.name in self.unrecorded_tools
        text, size = ("", None) if hidden else self._kept(text_of(message))
        return Turn(
            message_id=said.id,
            role=said.role,
            text=text,
            speaker=_name(message.name) if said.role != "tool" else None,
            at=at,
            tools=tuple(name for name in tools if name),
            other_blocks=_other_blocks(message),
            size=size,
        )

    def _kept(self, text: str) -> tuple[str, int | None]:
        """What is kept of a text, and its whole size if that is more."""
        size = len(text.encode("utf-8", "replace"))
        window = self.max_bytes + _MARGIN
        if len(text) <= 2 * window:
            head = tail = self._redacted(text)
        else:
            head, tail = self._redacted(text[:window]), self._redacted(text[-window:])
        if size <= self.max_bytes or (head is tail and len(head.encode("utf-8", "replace")) <= self.max_bytes):
            return head, None
        marker = f"\n[… of {size:,} bytes only the beginning and the end are kept …]\n"
        room = self.max_bytes - len(marker.encode())
        at_end = room // 4
        beginning = head.encode("utf-8", "replace")[: room - at_end].decode("utf-8", "ignore")
        end = tail.encode("utf-8", "replace")[-at_end:].decode("utf-8", "ignore")
        return beginning + marker + end, size

    def _redacted(self, text: str) -> str:
        return text if self.redact is None else self.redact(text)


def _name(name: object) -> str | None:
    """The name of a speaker or a tool, in one line, as far as it can be kept."""
    if not name:
        return None
    plain = " ".join(str(name).replace("\x00", "").split()).encode("utf-8", "ignore")
    return plain[:MAX_NAME_BYTES].decode("utf-8", "ignore").strip() or None


def time_of(message: BaseMessage) -> datetime | None:
    """When a message was said, if it tells: by its metadata, or by an id that holds the time."""
    for holder in (message.additional_kwargs, message.response_metadata):
        for key in _TIME_KEYS:
            if (moment := _moment((holder or {}).get(key))) is not None:
                return moment
    found = _UUID7.search(str(message.id or ""))
    return None if found is None else _moment(int(found[1] + found[2], 16) / 1_000)


def _moment(value: Any) -> datetime | None:
    """A time from a text or a number of seconds or milliseconds; None for what is none."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value / 1_000 if value > 1e11 else value, UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return aware if _EARLIEST <= aware <= _LATEST else None


def woven(newer: Sequence[Said], older: Sequence[Said]) -> list[Said]:
    """The turns of two states of one conversation, in one order: what was removed since stands where it stood.

    Args:
        newer: The turns of a state.
        older: Those of an earlier state.

    Example:
        >>> from langchain_core.messages import HumanMessage
        >>> said = {name: Said(name, "user", HumanMessage(name)) for name in "abcd"}
        >>> [one.id for one in woven([said["c"], said["d"]], [said["a"], said["b"], said["c"]])]
        ['a', 'b', 'c', 'd']
    """
    known = {one.id for one in newer}
    if all(one.id in known for one in older):
        return list(newer)
    behind: dict[str | None, list[Said]] = {}
    leading: list[Said] = []
    anchor: str | None = None
    for one in older:
        if one.id in known:
            anchor = one.id
        elif anchor is None:
            leading.append(one)
        else:
            behind.setdefault(anchor, []).append(one)
    first = next((one.id for one in older if one.id in known), None)
    found: list[Said] = [] if first is not None else [*leading]
    for one in newer:
        if one.id == first:
            found += leading
        found.append(one)
        found += behind.get(one.id, ())
    return [
        one for before, one in zip([None, *found], found, strict=False) if not (before and _asks_again(before, one))
    ]
