"""Recording conversations: every message once, in the order of its conversation, whenever it comes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import blake2b
from itertools import groupby
from typing import Any, Final, NamedTuple

import orjson

from memoranda.errors import InvalidValueError
from memoranda.store.changes import Author, Namespace
from memoranda.store.effects import Batch, Body, Operation, Sql, query, transact
from memoranda.store.keys import MAX_KEY_BYTES, MAX_NAME_BYTES, is_plain_text
from memoranda.store.namespaces import encode_namespace, encode_writable
from memoranda.store.operations.context import Context
from memoranda.store.operations.indexing import IndexKind
from memoranda.store.operations.item_passages import NUMBER_MASK, Indexed, unpack_placed
from memoranda.store.operations.tending import tend_all
from memoranda.store.operations.turn_passages import add_turn, indexed_turn
from memoranda.store.operations.workspace import NUMBER_BITS, Scope, Workspace
from memoranda.store.turns import ROLES, RecordedTurns, Turn
from memoranda.store.values import to_datetime, to_microseconds

MOST_AT_ONCE: Final = 256
"""So many turns are recorded in one transaction, so that a long conversation keeps no other writer waiting."""

MOST_BYTES_AT_ONCE: Final = 1 << 20

PLACE_STEP: Final = 1 << 10
"""Between two turns there is room for others that are recorded later."""

_FIRST_PLACE: Final = 1 << 31
_BEFORE_ALL: Final = -(1 << 62)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Who talked, with whom, and in which run.

    Args:
        user: Who talked with the agent.
        org: Whose organisation.
        agent: The agent.
        run_id: The run.
    """

    user: str | None = None
    org: str | None = None
    agent: str | None = None
    run_id: str | None = None


class _Prepared(NamedTuple):
    """A turn as its row will hold it, made before the transaction."""

    turn: Turn
    key: str
    body: bytes
    at: datetime
    passages: list[Indexed] | None


class _Piece(NamedTuple):
    """Turns to record in one transaction, among others that only show where they belong.

    Args:
        keys: The messages, in the order of the conversation.
        turns: Those of them that are to be recorded.
    """

    keys: list[str]
    turns: dict[str, _Prepared]


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

    What was recorded before stays as it is. New turns are put where they stand among the known ones in the list that
    is given, so that the beginning of a conversation may be recorded after its end. Long lists are recorded in several
    transactions, from the beginning on.

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
        How many are new, and how many were known.

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
    given = {_message_key(turn.message_id): _checked(turn) for turn in reversed(turns)}
    if not given:
        return RecordedTurns()
    keys = list(dict.fromkeys(map(_message_key, order)))
    keys += [key for key in reversed(given) if key not in set(keys)]
    known = set[str]()
    if len(given) > MOST_AT_ONCE or sum(len(turn.text) for turn in given.values()) > MOST_BYTES_AT_ONCE:
        known = yield from known_keys(context, labels, thread)
    done = RecordedTurns(0, sum(key in known for key in given))
    now = to_datetime(context.clock())
    for around, wanted in _pieces(keys, given, known):
        piece = _Piece(around, {key: _prepare(context, key, given[key], now) for key in wanted})
        landed, to_tend = yield from transact("write", partial(_record, context, labels, thread, piece, who))
        done += landed
        yield from tend_all(context, to_tend)
    return done


def known_keys(context: Context, labels: str, thread_id: str) -> Operation[set[str]]:
    """The ids under which messages of a conversation are recorded."""
    asked = partial(query, "messages_of_thread", tenant=context.tenant, labels=labels, thread_id=thread_id)
    return {row[0] for row in (yield from transact("read", asked))}


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

    def body() -> Body[tuple[int, list[int]]]:
        work = Workspace(context, Author())
        rows = yield from query("lock_namespace", tenant=context.tenant, labels=labels)
        if not rows:
            return 0, []
        yield from work.open([], {labels})
        forgotten = yield from remove_threads(work.scopes[labels], [thread])
        yield Batch(work.statements(), last=True)
        return forgotten, work.to_tend

    forgotten, to_tend = yield from transact("write", body)
    yield from tend_all(context, to_tend)
    return forgotten


def remove_threads(scope: Scope, threads: Sequence[str]) -> Body[int]:
    """Remove conversations of a locked namespace, and take their passages out of its index.

    Args:
        scope: The namespace's row, in a `Workspace`.
        threads: The conversations.

    Returns:
        How many turns there were.
    """
    places = [{"namespace_id": scope.id, "thread_id": thread} for thread in threads]
    found = yield Batch([Sql("turns_to_forget", place) for place in places])
    rows = [row for one in found for row in one]
    scope.index.kill(IndexKind.TURNS, [entry.number for _, packed in rows for entry in unpack_placed(packed)])
    scope.changed = True
    yield Batch([Sql(name, place) for place in places for name in ("delete_turns_of_thread", "delete_thread")])
    return len(rows)


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
    if not is_plain_text(name) or len(name.encode()) > MAX_NAME_BYTES:
        raise InvalidValueError(
            f"{str(name)[:80]!r} is no name.", f"Use at most {MAX_NAME_BYTES} bytes, without NUL characters."
        )
    return name


def _checked(turn: Turn) -> Turn:
    if turn.role not in ROLES:
        raise InvalidValueError(f"{turn.role!r} is no role.", f"Use {', '.join(ROLES)}.")
    if not isinstance(turn.text, str) or not isinstance(turn.message_id, str) or not turn.message_id:  # pyright: ignore[reportUnnecessaryIsInstance] - callers are untyped too
        raise InvalidValueError(f"The turn {turn.message_id!r} has no id or no text.", "Give it both, as strings.")
    checked_name(turn.speaker)
    return turn


def _message_key(message_id: str) -> str:
    """The id under which a message is kept: its own, or where no index takes that, a hash of it."""
    if is_plain_text(message_id) and len(message_id.encode()) <= MAX_NAME_BYTES:
        return message_id
    return "hash:" + blake2b(str(message_id).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _prepare(context: Context, key: str, turn: Turn, now: datetime) -> _Prepared:
    body = turn.text.encode("utf-8", "replace")
    at = now if turn.at is None else to_datetime(to_microseconds(turn.at))
    who = turn.speaker or turn.role
    return _Prepared(turn, key, body, at, indexed_turn(body.decode(), who, at) if context.indexing else None)


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


@dataclass(slots=True)
class _Thread:
    """A conversation's row."""

    namespace_id: int
    thread_id: str
    turns: int = 0
    first_at: int = 0
    last_at: int = 0
    last_place: int = _FIRST_PLACE - PLACE_STEP

    @property
    def place(self) -> dict[str, Any]:
        """What leads to it in a statement."""
        return {"namespace_id": self.namespace_id, "thread_id": self.thread_id}


def _record(
    context: Context, labels: str, thread_id: str, piece: _Piece, who: Circumstances
) -> Body[tuple[RecordedTurns, list[int]]]:
    work = Workspace(context, Author())
    yield from work.open([], {labels})
    scope = work.scopes[labels]
    here = {"namespace_id": scope.id, "thread_id": thread_id}
    keys = piece.keys
    head, *found = yield Batch(
        [Sql("thread_to_extend", here), *(Sql("place_of_message", {**here, "message_id": key}) for key in keys)]
    )
    places = {key: int(rows[0][0]) for key, rows in zip(keys, found, strict=True) if rows}
    thread = _Thread(scope.id, thread_id, *(head[0] if head else ()))
    new = [key for key in keys if key in piece.turns and key not in places]
    if not new:
        return RecordedTurns(0, len(piece.turns)), []
    written: list[Sql] = []
    for run in _runs(piece, places):
        if written:
            yield Batch(written)
        yield from _lay_out(context, scope, thread, keys, run, places)
        written = [_insert(context, scope, thread, prepared, places[prepared.key], who, work.now) for prepared in run]
        thread.turns += len(run)
    moments = [to_microseconds(piece.turns[key].at) for key in new]
    row = {
        **here,
        "turns": thread.turns,
        "first_at": min([*moments, *([thread.first_at] if head else [])]),
        "last_at": max([*moments, *([thread.last_at] if head else [])]),
        "last_place": thread.last_place,
    }
    scope.changed = True
    yield Batch([*written, Sql("put_thread", row), *work.statements()], last=True)
    return RecordedTurns(len(new), len(piece.turns) - len(new)), work.to_tend


def _runs(piece: _Piece, places: Mapping[str, int]) -> list[list[_Prepared]]:
    """The new turns, those together that stand together."""
    known = set(places)
    keys = [key for key in piece.keys if key in known or key in piece.turns]
    runs = groupby(keys, key=lambda key: key in known)
    return [[piece.turns[key] for key in run] for is_known, run in runs if not is_known]


def _lay_out(
    context: Context,
    scope: Scope,
    thread: _Thread,
    keys: Sequence[str],
    run: Sequence[_Prepared],
    places: dict[str, int],
) -> Body[None]:
    """Find places for new turns that stand together: before the known one that follows them, or else by their time."""
    start, count = keys.index(run[0].key), len(run)
    before = next((places[key] for key in reversed(keys[:start]) if key in places), _BEFORE_ALL)
    behind = next((places[key] for key in keys[start + count :] if key in places), None)
    if behind is None and thread.turns:
        # Some of the conversation may have left the list, and what is given now may be its beginning.
        at = to_microseconds(run[0].at)
        later = yield from query("first_place_later", **thread.place, place=before, at=at)
        behind = int(later[0][0]) if later else None
    if behind is None:
        for number, prepared in enumerate(run, start=1):
            places[prepared.key] = thread.last_place + PLACE_STEP * number
        thread.last_place += PLACE_STEP * count
        return
    earlier = yield from query("last_place_before", **thread.place, place=behind)
    low = int(earlier[0][0]) if earlier else None
    if low is not None and behind - low <= count:
        moved = yield from _renumber(context, scope, thread)
        places.update({key: moved[place] for key, place in places.items()})
        behind = moved[behind]
        low = behind - PLACE_STEP
    if low is None:
        low, step = behind - PLACE_STEP * (count + 1), PLACE_STEP
    else:
        # Close behind what precedes them: more may come, and it comes behind them.
        step = max(min(PLACE_STEP // 16, (behind - low) // (4 * (count + 1))), 1)
    places.update({prepared.key: low + step * number for number, prepared in enumerate(run, start=1)})


def _renumber(context: Context, scope: Scope, thread: _Thread) -> Body[dict[int, int]]:
    """Make room between the turns of a conversation; returns the new place for each old one."""
    rows = yield from query("turns_to_move", **thread.place)
    moved: dict[int, int] = {}
    written: list[Sql] = []
    for number, (turn_id, place, at, speaker, role, passages, body) in enumerate(rows):
        moved[place] = thread.last_place = _FIRST_PLACE + PLACE_STEP * number
        if passages is not None:
            said_at = to_datetime(at)
            scope.index.kill(IndexKind.TURNS, [entry.number for entry in unpack_placed(passages)])
            passages = None
            if context.indexing:
                found = indexed_turn(body.decode(), speaker or role, said_at)
                position = turn_id & NUMBER_MASK
                passages = add_turn(
                    scope.index, position, thread.thread_id, moved[place], said_at, speaker or "", found
                )
        written.append(Sql("move_turn", {"id": turn_id, "place": moved[place], "passages": passages}))
    yield Batch(written)
    return moved


def _insert(
    context: Context, scope: Scope, thread: _Thread, prepared: _Prepared, place: int, who: Circumstances, now: int
) -> Sql:
    scope.turns += 1
    turn, passages = prepared.turn, None
    if prepared.passages is not None:
        passages = add_turn(
            scope.index, scope.turns, thread.thread_id, place, prepared.at, turn.speaker or "", prepared.passages
        )
    row: dict[str, Any] = {
        "id": (scope.id << NUMBER_BITS) | scope.turns,
        "namespace_id": scope.id,
        "thread_id": thread.thread_id,
        "message_id": prepared.key,
        "place": place,
        "role": turn.role,
        "speaker": turn.speaker,
        "user_id": who.user,
        "org_id": who.org,
        "agent_id": who.agent,
        "run_id": who.run_id,
        "at": to_microseconds(prepared.at),
        "recorded_at": now,
        "tools": orjson.dumps(turn.tools).decode() if turn.tools else None,
        "other_blocks": turn.other_blocks,
        "size": len(prepared.body) if turn.size is None else turn.size,
        "passages": passages,
        "body": prepared.body,
    }
    return Sql("insert_turn", row)
