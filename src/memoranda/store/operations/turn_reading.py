"""Reading conversations: their turns, those around one, and which conversations there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final, cast

from memoranda.store.changes import Namespace
from memoranda.store.effects import Batch, Body, Operation, Row, Sql, query, transact
from memoranda.store.namespaces import decode_namespace, encode_namespace, prefix_range
from memoranda.store.operations.context import Context, countable
from memoranda.store.operations.forget_traces import brought_again
from memoranda.store.operations.item_passages import NUMBER_MASK
from memoranda.store.operations.turns import checked_thread
from memoranda.store.turns import RecordedTurn, ThreadSummary
from memoranda.store.values import stored_json, to_datetime, to_microseconds


@dataclass(frozen=True, slots=True)
class KnownMessages:
    """What is known of a conversation's messages.

    Args:
        recorded: The ids of those that are recorded in its namespace.
        of_run: Those of them that the run that asks has recorded.
        of_others: Those that are recorded in other namespaces, of other users, and of whom.
        salt: What the traces of those that were forgotten are made with.
        traces: These traces.
    """

    recorded: frozenset[str] = frozenset()
    of_run: frozenset[str] = frozenset()
    of_others: Mapping[str, str] = field(default_factory=dict[str, str])
    salt: bytes | None = None
    traces: bytes = b""

    def __contains__(self, message_id: str) -> bool:
        """Whether a message is recorded in its namespace."""
        return message_id in self.recorded

    def forgot(self, message_id: str) -> bool:
        """Whether a message was forgotten with its conversation."""
        return self.salt is not None and bool(brought_again(self.salt, self.traces, [message_id]))


_LONG_AGO: Final = -(1 << 62)
_FAR_AHEAD: Final = 1 << 62
_TITLE_LENGTH: Final = 80


def turns(
    context: Context,
    scope: Namespace,
    thread_id: str | None = None,
    *,
    after: int = 0,
    limit: int | None = 1_000,
) -> Operation[list[RecordedTurn]]:
    """Read recorded messages, exactly of this namespace.

    Without a thread they come in the order in which they became visible: whoever notes the last position and goes on
    after it misses none. With a thread they come as the conversation went.

    Args:
        context: The store's settings.
        scope: Whose conversations.
        thread_id: One conversation; None: all.
        after: Only turns recorded after this position.
        limit: At most so many; None: all.

    Returns:
        The turns.

    Raises:
        InvalidValueError: The thread is none.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.store.turns import Turn
        >>> with open_store("memory://") as store:
        ...     _ = store.record_turns(("ann",), "t1", [Turn("m2", "assistant", "Noted.")])
        ...     said = [Turn("m1", "user", "I like tea."), Turn("m2", "assistant", "Noted.")]
        ...     _ = store.record_turns(("ann",), "t1", said)
        ...     [turn.text for turn in store.turns(("ann",), "t1")], [turn.text for turn in store.turns(("ann",))]
        (['I like tea.', 'Noted.'], ['Noted.', 'I like tea.'])
    """
    params: dict[str, Any] = {
        "tenant": context.tenant,
        "labels": encode_namespace(tuple(scope)),
        "after": min(max(after, 0), NUMBER_MASK),
        "limit": countable(limit),
    }
    name = "turns_after"
    if thread_id is not None:
        name, params["thread_id"] = "turns_of_thread", checked_thread(thread_id)
    rows = yield from transact("read", partial(query, name, **params))
    return [recorded(row) for row in rows]


def threads(
    context: Context,
    scope: Namespace,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    user: str | None = None,
    org: str | None = None,
    agent: str | None = None,
    below: bool = False,
    limit: int | None = 100,
) -> Operation[list[ThreadSummary]]:
    """List conversations, the one in which something was said last before the others.

    Args:
        context: The store's settings.
        scope: Whose conversations: of this namespace exactly.
        since: Only those in which something was said at this time or later; a time without a zone is UTC.
        until: Only those that began before this time.
        user: Only those in which this user talked.
        org: Only those of this organisation.
        agent: Only those with this agent.
        below: Those of the namespaces below the scope too.
        limit: At most so many; None: all.

    Returns:
        The conversations.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.store.turns import Turn
        >>> with open_store("memory://") as store:
        ...     _ = store.record_turns(("ann",), "t1", [Turn("m1", "user", "I like green tea.")])
        ...     [(thread.thread_id, thread.title, thread.turns) for thread in store.threads(("ann",))]
        [('t1', 'I like green tea.', 1)]
    """
    low = encode_namespace(tuple(scope))
    # The labels of a namespace below go on with a character behind \x01.
    low, high = prefix_range(tuple(scope)) if below else (low, low + "\x01")
    asked = partial(
        query,
        "threads_by_time",
        tenant=context.tenant,
        low=low,
        high=high,
        since=_LONG_AGO if since is None else to_microseconds(since),
        until=_FAR_AHEAD if until is None else to_microseconds(until),
        anyone=int(user is None and org is None and agent is None),
        user_id=user or "",
        org_id=org or "",
        agent_id=agent or "",
        limit=countable(limit),
    )
    rows = yield from transact("read", asked)
    return [summarised(row) for row in rows]


def known_messages(
    context: Context,
    scope: Namespace,
    thread_id: str,
    *,
    user: str | None = None,
    run_id: str | None = None,
    recorded: bool = True,
) -> Operation[KnownMessages]:
    """What is known of the messages of a conversation.

    Args:
        context: The store's settings.
        scope: Whose conversation it is.
        thread_id: The conversation.
        user: Who asks: which messages of others are recorded elsewhere.
        run_id: The run that asks: which messages it has recorded.
        recorded: Whether to read what is recorded in this namespace; a long conversation has much of that.

    Returns:
        The ids of the messages.
    """
    place = {"tenant": context.tenant, "labels": encode_namespace(tuple(scope)), "thread_id": checked_thread(thread_id)}
    return (yield from transact("snapshot", partial(_known, place, user, run_id, recorded)))


def _known(place: dict[str, Any], user: str | None, run_id: str | None, recorded: bool) -> Body[KnownMessages]:
    others = [Sql("messages_of_others", {**place, "user_id": user})] if user else []
    own = [Sql("messages_and_runs_of_thread", place)] if recorded else []
    forgotten, *found = yield Batch([Sql("forgotten_of_thread", place), *others, *own], last=True)
    elsewhere, here = found[: len(others)], found[len(others) :]
    rows = here[0] if here else []
    salt, traces = forgotten[0] if forgotten else (None, None)
    return KnownMessages(
        frozenset(message for message, _ in rows),
        frozenset(message for message, run in rows if run_id is not None and run == run_id),
        dict(cast("list[tuple[str, str]]", elsewhere[0])) if elsewhere else {},
        None if salt is None else bytes(salt),
        bytes(traces or b""),
    )


def thread_checkpoint(context: Context, scope: Namespace, thread_id: str) -> Operation[str | None]:
    """Up to which checkpoint of a checkpointer a conversation was taken over; None: it was not."""
    place = {"tenant": context.tenant, "labels": encode_namespace(tuple(scope)), "thread_id": checked_thread(thread_id)}
    rows = yield from transact("read", partial(query, "thread_checkpoint", **place))
    return rows[0][0] if rows else None


def note_thread_checkpoint(context: Context, scope: Namespace, thread_id: str, checkpoint: str) -> Operation[None]:
    """Note up to which checkpoint of a checkpointer a conversation was taken over."""
    place = {"tenant": context.tenant, "labels": encode_namespace(tuple(scope)), "thread_id": checked_thread(thread_id)}
    yield from transact("write", partial(query, "set_thread_checkpoint", **place, checkpoint=checkpoint))


def recorded(row: Row) -> RecordedTurn:
    """A turn from its row."""
    (turn_id, labels, thread_id, message_id, place, role, speaker, user, org, agent, run_id, *rest) = row
    at, recorded_at, tools, other_blocks, size, body = rest
    return RecordedTurn(
        namespace=decode_namespace(labels),
        thread_id=thread_id,
        position=turn_id & NUMBER_MASK,
        place=place,
        message_id=message_id,
        role=role,
        text=body.decode(),
        speaker=speaker,
        at=to_datetime(at),
        recorded_at=to_datetime(recorded_at),
        tools=tuple(stored_json(tools)) if tools else (),
        other_blocks=other_blocks,
        size=size,
        user=user,
        org=org,
        agent=agent,
        run_id=run_id,
    )


def summarised(row: Row) -> ThreadSummary:
    """A conversation from its row."""
    labels, thread, count, first_at, last_at, body = row
    return ThreadSummary(
        decode_namespace(labels), thread, count, to_datetime(first_at), to_datetime(last_at), title_of(body)
    )


def title_of(body: bytes | None) -> str:
    """The first words of a text, in one line."""
    words = " ".join((body or b"")[: 4 * _TITLE_LENGTH + 3].decode("utf-8", "ignore").split())
    return words if len(words) <= _TITLE_LENGTH else words[: _TITLE_LENGTH - 1].rstrip() + "…"
