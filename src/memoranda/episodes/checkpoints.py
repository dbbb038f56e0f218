"""Reading conversations out of a LangGraph checkpointer, whichever it is: page by page, the newest state first."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Final, cast

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from memoranda.backends.steps import Steps, ask
from memoranda.episodes.messages import Said, said_in, woven
from memoranda.errors import InvalidValueError

_PAGE: Final = 50
_CHANNEL: Final = "messages"


class Checkpoints:
    """A checkpointer, read in pages by blocking and by async callers alike.

    Args:
        saver: The checkpointer.

    Raises:
        InvalidValueError: It is none.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        if not isinstance(saver, BaseCheckpointSaver):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are untyped too
            raise InvalidValueError(
                f"{saver!r} is no checkpointer.", "Pass a saver of LangGraph's, such as the agent was compiled with."
            )
        self.saver = saver

    def listed(self, config: Any, before: Any, limit: int | None) -> list[CheckpointTuple]:
        """Some checkpoints, the newest first."""
        loop = getattr(self.saver, "loop", None)
        if loop is not None and not loop.is_running():
            raise InvalidValueError(
                f"{type(self.saver).__name__} works only inside its event loop.", "Await abackfill() there."
            )
        return list(islice(self.saver.list(config, before=before, limit=limit), limit))

    async def alisted(self, config: Any, before: Any, limit: int | None) -> list[CheckpointTuple]:
        """`listed` for an event loop."""
        found: list[CheckpointTuple] = []
        async with aclosing(cast("Any", self.saver.alist(config, before=before, limit=limit))) as checkpoints:
            async for checkpoint in checkpoints:
                found.append(checkpoint)
                if len(found) == limit:
                    break
        return found

    def all_threads(self) -> list[str]:
        """The ids of all conversations, the one that was used last first as far as the checkpointer tells."""
        return list(dict.fromkeys(_thread(one) for one in self.saver.list(None) if not _is_inner(one)))

    async def aall_threads(self) -> list[str]:
        """`all_threads` for an event loop."""
        found: dict[str, None] = {}
        async for one in self.saver.alist(None):
            if not _is_inner(one):
                found[_thread(one)] = None
        return list(found)

    def threads(self) -> Steps[list[str]]:
        """The ids of all conversations."""
        if not type(self.saver).__module__.startswith("langgraph.checkpoint.postgres"):
            return (yield from ask(self.all_threads))
        # It loads all that it lists at once, but lists the threads together in the order of time.
        found: dict[str, None] = {}
        before: Any = None
        while page := (yield from ask(self.listed, None, before, _PAGE)):
            found.update((_thread(one), None) for one in page if not _is_inner(one))
            before = page[-1].config
        return list(found)

    def newest(self, thread_id: str) -> Steps[CheckpointTuple | None]:
        """The newest checkpoint of a conversation."""
        page = yield from ask(self.listed, _place(thread_id), None, 1)
        return page[0] if page else None

    def conversation(self, thread_id: str) -> Steps[Conversation]:
        """All that was said in a conversation, what was trimmed or summarised away since included."""
        found = Conversation()
        before: Any = None
        while page := (yield from ask(self.listed, _place(thread_id), before, _PAGE)):
            for checkpoint in page:
                found.add(checkpoint)
            before = page[-1].config
        found.finish()
        return found


@dataclass(slots=True)
class Conversation:
    """The states of one conversation, added from the newest to the oldest, woven into one.

    Attributes:
        said: Its turns in their order.
        times: When each of them was there first.
    """

    said: list[Said] = field(default_factory=list[Said])
    times: dict[str, datetime] = field(default_factory=dict[str, datetime])
    _version: Any = None
    _written: list[tuple[datetime | None, list[Any]]] = field(default_factory=list[Any])
    _any: bool = False
    _keeps_changes: bool = False

    def add(self, checkpoint: CheckpointTuple) -> None:
        """Take in a checkpoint that is older than those before."""
        at = _time(checkpoint)
        values = checkpoint.checkpoint.get("channel_values") or {}
        # What waits at the newest checkpoint is not part of the conversation yet.
        if self._any:
            self._written.append((at, _written(checkpoint)))
        self._any = True
        version = (checkpoint.checkpoint.get("channel_versions") or {}).get(_CHANNEL)
        if _CHANNEL not in values:
            self._keeps_changes |= version is not None
            return
        state = said_in(_flat(values[_CHANNEL]))
        if version is None or version != self._version:
            self.said = woven(self.said, state)
        self._version = version
        self._date(state, at)

    def finish(self) -> None:
        """Add what is only in the writes, where the channel keeps its changes and a whole state only now and then."""
        if not self._keeps_changes:
            return
        everything = [message for _, messages in reversed(self._written) for message in messages]
        written = said_in(everything)
        self.said = woven(self.said, written)
        for at, messages in self._written:
            self._date(said_in(messages), at)

    def _date(self, said: Sequence[Said], at: datetime | None) -> None:
        if at is None:
            return
        for one in said:
            if one.id not in self.times or at < self.times[one.id]:
                self.times[one.id] = at


def _place(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}


def _thread(checkpoint: CheckpointTuple) -> str:
    return str(checkpoint.config.get("configurable", {})["thread_id"])


def _is_inner(checkpoint: CheckpointTuple) -> bool:
    """Whether it is of a graph inside another, such as a subagent."""
    return bool(checkpoint.config.get("configurable", {}).get("checkpoint_ns"))


def _time(checkpoint: CheckpointTuple) -> datetime | None:
    try:
        return datetime.fromisoformat(checkpoint.checkpoint["ts"])
    except (KeyError, ValueError, TypeError):
        return None


def _written(checkpoint: CheckpointTuple) -> list[Any]:
    """The messages that the step after a checkpoint wrote."""
    writes = checkpoint.pending_writes or ()
    return [message for _, channel, value in writes if channel == _CHANNEL for message in _flat(value)]


def _flat(value: Any) -> list[Any]:
    """The messages of a state or a write: LangGraph's snapshots and overwrites hold them as `value`."""
    inner = getattr(value, "value", value)
    if inner is None:
        return []
    return [*inner] if isinstance(inner, (list, tuple)) and not _is_pair(inner) else [inner]


def _is_pair(value: Any) -> bool:
    """Whether it is a message as `("user", "Hi.")`."""
    found = cast("Sequence[Any]", value)
    return isinstance(value, tuple) and len(found) == 2 and all(isinstance(part, str) for part in found)
