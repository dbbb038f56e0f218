"""Writing turns of a conversation in one transaction: finding their places, and their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Final, NamedTuple

import orjson

from memoranda.store.changes import Author
from memoranda.store.effects import Batch, Body, Sql, query
from memoranda.store.operations.context import Context
from memoranda.store.operations.forget_traces import brought_again
from memoranda.store.operations.indexing import IndexKind
from memoranda.store.operations.item_passages import NUMBER_MASK, Indexed, unpack_placed
from memoranda.store.operations.turn_passages import add_turn, indexed_turn
from memoranda.store.operations.workspace import NUMBER_BITS, Scope, Workspace
from memoranda.store.turns import RecordedTurns, Turn
from memoranda.store.values import to_datetime, to_microseconds

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


class Prepared(NamedTuple):
    """A turn as its row will hold it, made before the transaction."""

    turn: Turn
    key: str
    body: bytes
    at: datetime
    passages: list[Indexed] | None


class Piece(NamedTuple):
    """Turns to record in one transaction, among others that only show where they belong.

    Args:
        keys: The messages, in the order of the conversation.
        turns: Those of them that are to be recorded.
        seen: How many turns the namespace had when these were found to be new; while it has no more, they are. None:
            nobody has looked.
        order: All the messages of the list that this is a piece of; what stands in it before one that was forgotten
            was forgotten with it.
    """

    keys: list[str]
    turns: dict[str, Prepared]
    seen: int | None = None
    order: Sequence[str] = ()


@dataclass(slots=True)
class _Thread:
    """A conversation's row."""

    namespace_id: int
    thread_id: str
    turns: int = 0
    first_at: int = 0
    last_at: int = 0
    last_place: int = _FIRST_PLACE - PLACE_STEP
    salt: bytes | None = None
    forgotten: bytes | None = None

    @property
    def place(self) -> dict[str, Any]:
        """What leads to it in a statement."""
        return {"namespace_id": self.namespace_id, "thread_id": self.thread_id}


class Landed(NamedTuple):
    """What came of recording a piece.

    Args:
        turns: How many were new.
        seen: How many turns the namespace has now.
        to_tend: The namespaces whose index is to be tended.
    """

    turns: RecordedTurns
    seen: int
    to_tend: list[int]


def write_turns(context: Context, labels: str, thread_id: str, piece: Piece, who: Circumstances) -> Body[Landed]:
    """Record what is new of a piece, under the lock of its namespace.

    Args:
        context: The store's settings.
        labels: The namespace.
        thread_id: The conversation.
        piece: The turns.
        who: Who talked.
    """
    work = Workspace(context, Author())
    yield from work.open([], {labels})
    scope = work.scopes[labels]
    here = {"namespace_id": scope.id, "thread_id": thread_id}
    known_new = piece.turns if piece.seen == scope.turns else ()
    keys = [key for key in piece.keys if key not in known_new]
    head, *found = yield Batch(
        [Sql("thread_to_extend", here), *(Sql("place_of_message", {**here, "message_id": key}) for key in keys)]
    )
    places = {key: int(rows[0][0]) for key, rows in zip(keys, found, strict=True) if rows}
    thread = _Thread(scope.id, thread_id, *(head[0] if head else ()))
    given = len(piece.turns)
    if thread.salt is not None and thread.forgotten:
        again = brought_again(thread.salt, thread.forgotten, piece.order or piece.keys)
        piece = piece._replace(turns={key: turn for key, turn in piece.turns.items() if key not in again})
    new = [key for key in piece.keys if key in piece.turns and key not in places]
    if not new:
        return Landed(RecordedTurns(0, given), scope.turns, [])
    spans = [thread.first_at, thread.last_at] if thread.turns else []
    written: list[Sql] = []
    for run in _runs(piece, places):
        if written:
            yield Batch(written)
        yield from _lay_out(context, scope, thread, piece.keys, run, places)
        written = [_insert(context, scope, thread, prepared, places[prepared.key], who, work.now) for prepared in run]
        thread.turns += len(run)
    moments = [to_microseconds(piece.turns[key].at) for key in new]
    row = {
        **here,
        "turns": thread.turns,
        "first_at": min(moments + spans),
        "last_at": max(moments + spans),
        "last_place": thread.last_place,
    }
    scope.changed, scope.turned_at = True, work.now
    yield Batch([*written, Sql("put_thread", row), *work.statements()], last=True)
    return Landed(RecordedTurns(len(new), given - len(new)), scope.turns, work.to_tend)


def _runs(piece: Piece, places: Mapping[str, int]) -> list[list[Prepared]]:
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
    run: Sequence[Prepared],
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
                    scope.index, position, thread.thread_id, moved[place], said_at, speaker or role, found
                )
        written.append(Sql("move_turn", {"id": turn_id, "place": moved[place], "passages": passages}))
    yield Batch(written)
    return moved


def _insert(
    context: Context, scope: Scope, thread: _Thread, prepared: Prepared, place: int, who: Circumstances, now: int
) -> Sql:
    scope.turns += 1
    turn, passages = prepared.turn, None
    if prepared.passages is not None:
        passages = add_turn(
            scope.index, scope.turns, thread.thread_id, place, prepared.at, turn.speaker or turn.role, prepared.passages
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
