"""Recording conversations: every message once, in the order of its conversation, whenever it comes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import Final

from memoranda.errors import InvalidValueError
from memoranda.store.changes import Namespace
from memoranda.store.effects import Batch, Body, Operation, Sql, call, transact
from memoranda.store.keys import MAX_KEY_BYTES, MAX_NAME_BYTES, is_plain_text
from memoranda.store.namespaces import encode_namespace, encode_writable
from memoranda.store.operations.context import Context
from memoranda.store.operations.forget_turns import forget_turns
from memoranda.store.operations.tending import tend_all
from memoranda.store.operations.turn_passages import indexed_turn
from memoranda.store.operations.turn_writing import Circumstances, Piece, Prepared, write_turns
from memoranda.store.turns import ROLES, RecordedTurns, Turn
from memoranda.store.values import to_datetime, to_microseconds

MOST_AT_ONCE: Final = 256
"""So many turns are recorded in one transaction, so that a long conversation keeps no other writer waiting."""

MOST_BYTES_AT_ONCE: Final = 1 << 20


def record_turns(
    context: Context,
    scope: Namespace,
    thread_id: str,
    turns: Sequence[Turn],
    *,
    user: str | None = None,
    org: str | None = None,
    agent: str | None = None,
    run_id: str | None = None,
    order: Sequence[str] = (),
) -> Operation[RecordedTurns]:
    """Record messages of a conversation, each once by its id, however often it is given.

    What was recorded before stays as it is, and what was forgotten with its conversation stays forgotten. New turns
    are put where they stand among the known ones in the list that is given, so that the beginning of a conversation
    may be recorded after its end. Long lists are recorded in several transactions, from the beginning on.

    Args:
        context: The store's settings.
        scope: Whose conversation it is.
        thread_id: The conversation.
        turns: Messages in their order; all of them, or a part in which some known ones show where it belongs.
        user: Who talked with the agent.
        org: Whose organisation.
        agent: The agent.
        run_id: The run.
        order: The ids of messages, those of the turns among them, in the order of the conversation: of turns that
            are recorded already, the ids are enough to show where others belong. Left out: the order of the turns.

    Returns:
        How many are new, and how many were known, those that stay forgotten among them.

    Raises:
        InvalidNamespaceError: The scope cannot be stored.
        InvalidValueError: A thread, role or name is none.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.store.turns import Turn
        >>> said = [Turn("m1", "user", "I like green tea."), Turn("m2", "assistant", "Noted.")]
        >>> with open_store("memory://") as store:
        ...     store.record_turns(("ann",), "t1", said)
        ...     store.record_turns(("ann",), "t1", said)
        RecordedTurns(new=2, known=0)
        RecordedTurns(new=0, known=2)
    """
    labels = encode_writable(tuple(scope))
    thread = checked_thread(thread_id)
    who = Circumstances(*(checked_name(name) for name in (user, org, agent, run_id)))
    given: dict[str, Turn] = {}
    for turn in turns:
        checked = _checked(turn)
        given.setdefault(_message_key(checked.message_id), checked)
    if not given:
        return RecordedTurns()
    keys = list(dict.fromkeys([*map(_message_key, order), *given]))
    known, seen = set[str](), None
    if len(given) > MOST_AT_ONCE or sum(len(turn.text) for turn in given.values()) > MOST_BYTES_AT_ONCE:
        seen, known = yield from transact("snapshot", partial(_seen, context, labels, thread))
    done = RecordedTurns(0, sum(key in known for key in given))
    now = to_datetime(context.clock())
    for around, wanted in _pieces(keys, given, known):
        prepared = yield from call(partial(_prepare_all, context, {key: given[key] for key in wanted}, now))
        piece = Piece(around, prepared, seen, keys)
        landed = yield from transact("write", partial(write_turns, context, labels, thread, piece, who))
        done += landed.turns
        # As long as nobody else comes between.
        seen = landed.seen if seen is not None and landed.seen == seen + landed.turns.new else None
        yield from tend_all(context, landed.to_tend)
    return done


def _seen(context: Context, labels: str, thread_id: str) -> Body[tuple[int, set[str]]]:
    """How many turns a namespace has, and the ids of those of one conversation."""
    place = {"tenant": context.tenant, "labels": labels}
    count, rows = yield Batch(
        [Sql("count_of_turns", place), Sql("messages_of_thread", {**place, "thread_id": thread_id})], last=True
    )
    return int(count[0][0]) if count else 0, {row[0] for row in rows}


def forget_thread(context: Context, scope: Namespace, thread_id: str) -> Operation[int]:
    """Forget a conversation: its turns are gone, and nothing of them is found any more.

    Args:
        context: The store's settings.
        scope: Whose conversation it is.
        thread_id: The conversation.

    Returns:
        How many turns there were.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.store.turns import Turn
        >>> with open_store("memory://") as store:
        ...     _ = store.record_turns(("ann",), "t1", [Turn("m1", "user", "I like green tea.")])
        ...     store.forget_thread(("ann",), "t1"), store.turns(("ann",))
        (1, [])
    """
    labels, thread = encode_namespace(tuple(scope)), checked_thread(thread_id)

    return (yield from forget_turns(context, labels, "thread", thread)).turns


def checked_thread(thread_id: str) -> str:
    """Return the id of a conversation as it is, if every engine can keep it.

    Raises:
        InvalidValueError: It is none.
    """
    if not is_plain_text(thread_id) or not 0 < len(thread_id.encode()) <= MAX_KEY_BYTES:
        raise InvalidValueError(
            f"{str(thread_id)[:80]!r} is no id of a conversation.",
            f"Pass a text of 1 to {MAX_KEY_BYTES} bytes without NUL characters.",
        )
    return thread_id


def checked_name(name: str | None) -> str | None:
    """Return the name of a user, an organisation, an agent, a run or a speaker as it is; None for none.

    Raises:
        InvalidValueError: No engine can keep it.
    """
    if name is None or name == "":
        return None
    if not is_plain_text(name) or len(name.encode()) > MAX_KEY_BYTES:
        raise InvalidValueError(
            f"{str(name)[:80]!r} is no name.", f"Use at most {MAX_KEY_BYTES} bytes, without NUL characters."
        )
    return name


def _checked(turn: Turn) -> Turn:
    if turn.role not in ROLES:
        raise InvalidValueError(f"{turn.role!r} is no role.", f"Use {', '.join(ROLES)}.")
    if not isinstance(turn.text, str) or not isinstance(turn.message_id, str) or not turn.message_id:  # pyright: ignore[reportUnnecessaryIsInstance] - callers are untyped too
        raise InvalidValueError(f"The turn {turn.message_id!r} has no id or no text.", "Give it both, as strings.")
    for name in (turn.speaker, *turn.tools):
        checked_name(name)
    return turn


def _message_key(message_id: str) -> str:
    """The id under which a message is kept: its own, or where no index takes that, a hash of it."""
    if is_plain_text(message_id) and len(message_id.encode()) <= MAX_NAME_BYTES:
        return message_id
    return "hash:" + blake2b(str(message_id).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _prepare_all(context: Context, turns: Mapping[str, Turn], now: datetime) -> dict[str, Prepared]:
    return {key: _prepare(context, key, turn, now) for key, turn in turns.items()}


def _prepare(context: Context, key: str, turn: Turn, now: datetime) -> Prepared:
    body = turn.text.encode("utf-8", "replace")
    at = now if turn.at is None else to_datetime(to_microseconds(turn.at))
    who = turn.speaker or turn.role
    return Prepared(turn, key, body, at, indexed_turn(body.decode(), who, at) if context.indexing else None)


def _pieces(
    keys: Sequence[str], given: Mapping[str, Turn], known: Collection[str]
) -> Iterator[tuple[list[str], list[str]]]:
    """What to record in one transaction each: all the messages to look up, and those of them that are to be recorded.

    Of those that are recorded already, or are there only to show where others belong, the nearest are enough.
    """
    fixed = [key not in given or key in known for key in keys]
    start = 0
    while start < len(keys):
        if fixed[start]:
            start += 1
            continue
        end, count, size = start, 0, 0
        while end < len(keys) and not (known and fixed[end]) and count < MOST_AT_ONCE and size <= MOST_BYTES_AT_ONCE:
            if not fixed[end]:
                count, size = count + 1, size + len(given[keys[end]].text)
            end += 1
        following = next((keys[index] for index in range(end, len(keys)) if fixed[index]), None)
        around = [*keys[max(start - 1, 0) : end], *([] if following is None else [following])]
        yield around, [keys[index] for index in range(start, end) if not fixed[index]]
        start = end
