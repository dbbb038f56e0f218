"""Forgetting some turns of a namespace that stays: a conversation, or what one person said.

Their passages are taken out of the blocks of the index at once, in the transaction that deletes the rows: a block that
holds one is written anew without it, and without whatever else is gone from it, so that no vector and no term of what
was said stays behind.

A conversation that was named leaves its row and traces of its messages, by which they are known if a checkpointer that
holds it still brings them again. What a person said leaves nothing: there the conversation's id may be their name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from secrets import token_bytes
from typing import Any, Final, Literal, TypeAlias

from memoranda.search import blocks
from memoranda.store.effects import Batch, Body, Operation, Rows, Sql, query, transact
from memoranda.store.forgetting import Removed
from memoranda.store.namespaces import decode_namespace
from memoranda.store.operations.context import Context
from memoranda.store.operations.forget_traces import add_traces
from memoranda.store.operations.forget_work import clear_runs
from memoranda.store.operations.indexing import IndexKind, IndexScope, Part
from memoranda.store.operations.item_passages import NUMBER_MASK, unpack_placed
from memoranda.store.operations.workspace import NUMBER_BITS
from memoranda.store.selection import Selection

Named: TypeAlias = Literal["thread", "user"]

_PAGE: Final = 1_000
_FEW: Final = 16
_READ_AT_ONCE: Final = 16
_SALT_BYTES: Final = 16
_WITH: Final = {"thread": ("namespaces_with_thread", "thread_id"), "user": ("namespaces_with_user", "user_id")}


@dataclass(slots=True)
class _Seen:
    """What was found before the lock was taken.

    Args:
        gone: The numbers of passages that were looked for.
        untouched: Blocks that hold none of them.
    """

    gone: frozenset[int] = frozenset()
    untouched: set[int] = field(default_factory=set[int])


def namespaces_with(context: Context, selection: Selection, named: Named, name: str) -> Operation[list[str]]:
    """The texts of the namespaces in which a conversation, or anything that a person said, is recorded."""
    statement, parameter = _WITH[named]
    place = {"tenant": context.tenant, "low": selection.low, "high": selection.high, parameter: name}
    return [labels for (labels,) in (yield from transact("read", partial(query, statement, **place)))]


def forget_turns(
    context: Context, labels: str, named: Named, name: str, *, dry_run: bool = False
) -> Operation[Removed]:
    """Forget a conversation of a namespace, or what a person said there.

    Args:
        context: The store's settings.
        labels: The namespace.
        named: Whether a thread or a user is named.
        name: Its id.
        dry_run: Whether to count only.

    Returns:
        What is gone.
    """
    removed = Removed(decode_namespace(labels), whole=False)
    more = True
    while more:
        if dry_run:
            return removed + (yield from transact("snapshot", lambda: _count(context, labels, named, name)))
        seen = yield from transact("snapshot", lambda: _look(context, labels, named, name))
        some, more = yield from transact("write", partial(_forget, context, labels, named, name, seen))
        removed += some
    return removed


def _count(context: Context, labels: str, named: Named, name: str) -> Body[Removed]:
    heads = yield from query("namespace_head", tenant=context.tenant, labels=labels)
    rows = (
        yield from query(f"turns_of_{named}_to_forget", **_place(heads[0][0], name), limit=1 << 40)
        if heads
        else _none()
    )
    counts = Counter(row[1] for row in rows)
    threads = [{"namespace_id": heads[0][0], "thread_id": thread} for thread in counts]
    found = (yield Batch([Sql("thread_to_extend", place) for place in threads])) if threads else []
    gone = sum(bool(one) and one[0][0] == counts[at["thread_id"]] for at, one in zip(threads, found, strict=True))
    return Removed(None, False, turns=len(rows), threads=gone)


def _look(context: Context, labels: str, named: Named, name: str) -> Body[_Seen]:
    """Find the blocks of a large index that need not be touched, while nobody waits."""
    heads = yield from query("namespace_head", tenant=context.tenant, labels=labels)
    if not heads:
        return _Seen()
    scope = IndexScope(heads[0][0], IndexKind.TURNS)
    listed = yield from query("blocks_of_turns", scope=scope.number)
    if len(listed) <= _FEW:
        return _Seen()
    rows = yield from query(f"turns_of_{named}_to_forget", **_place(scope.namespace_id, name), limit=_PAGE)
    gone = _numbers(rows) | (yield from _dead(listed))
    untouched = set[int]()
    candidates = [row for row in listed if row[1] in _NUMBERS_OF]
    for start in range(0, len(candidates), _READ_AT_ONCE):
        some = candidates[start : start + _READ_AT_ONCE]
        bodies = yield from _bodies([row[0] for row in some])
        untouched |= {
            block for block, part, _ in some if block in bodies and gone.isdisjoint(_NUMBERS_OF[part](bodies[block]))
        }
    return _Seen(frozenset(gone), untouched)


def _forget(context: Context, labels: str, named: Named, name: str, seen: _Seen) -> Body[tuple[Removed, bool]]:
    locked = yield from query("lock_namespace", tenant=context.tenant, labels=labels)
    if not locked:
        return Removed(None, False), False
    scope = IndexScope(locked[0][0], IndexKind.TURNS)
    place = _place(scope.namespace_id, name)
    rows, listed = yield Batch(
        [
            Sql(f"turns_of_{named}_to_forget", {**place, "limit": _PAGE}),
            Sql("blocks_of_turns", {"scope": scope.number}),
        ]
    )
    numbers = _numbers(rows)
    if not numbers <= seen.gone:
        # Another call has removed some of the page that was looked at, so this one reaches further.
        seen = _Seen()
    rewritten = yield from _without(scope, listed, numbers, seen)
    threads = sorted({row[1] for row in rows})
    gone = 0
    cleared = yield from clear_runs(context, labels, {row[0] & NUMBER_MASK for row in rows})
    if rows:
        places = [{"namespace_id": scope.namespace_id, "thread_id": thread} for thread in threads]
        upto = {**place, "last_row": rows[-1][0]}
        yield Batch([Sql(f"delete_turns_of_{named}_up_to", upto), *(Sql("count_thread_again", at) for at in places)])
        if named == "thread":
            yield from _leave_traces(context, places[0], [row[3] for row in rows])
        ending = "empty_thread" if named == "thread" else "delete_empty_thread"
        answers = yield Batch([Sql(ending, at) for at in places])
        gone = sum(map(len, answers))
    if rewritten:
        yield Batch(rewritten, last=True)
    deleted = sum(statement.name == "delete_block" for statement in rewritten)
    removed = Removed(None, False, turns=len(rows), threads=gone, index_blocks=deleted, cleared_runs=cleared)
    return removed, len(rows) == _PAGE


def _leave_traces(context: Context, at: dict[str, Any], message_ids: list[str]) -> Body[None]:
    """Keep, in the conversation's row, by what these messages are known if they come again."""
    found = yield from query("traces_of_thread", **at)
    salt, traces = found[0] if found and found[0][0] is not None else (token_bytes(_SALT_BYTES), b"")
    traces = add_traces(bytes(salt), bytes(traces), message_ids)
    yield Batch([Sql("leave_traces", {**at, "now": context.clock(), "salt": bytes(salt), "traces": traces})])


def _without(scope: IndexScope, listed: Rows, numbers: set[int], seen: _Seen) -> Body[list[Sql]]:
    """The statements that write a scope's blocks anew without some passages and without all that are dead."""
    dead = yield from _dead(listed)
    gone = numbers | dead
    if not gone:
        return []
    written: list[Sql] = []
    for block, part, index_id in listed:
        if part not in _NUMBERS_OF or block in seen.untouched:
            continue
        bodies = yield from _bodies([block])
        if not gone.isdisjoint(_NUMBERS_OF[part](bodies[block])):
            written += _anew(scope, block, part, index_id, _REWRITTEN[part](bodies[block], gone))
    # What died since the look may lie in a block that was not read again.
    left = sorted(dead - seen.gone) if seen.untouched else []
    body = (blocks.pack_numbers(left), len(left)) if left else None
    dead_blocks = [block for block, part, _ in listed if part == Part.DEAD]
    written += [Sql("delete_block", {"id": block}) for block in dead_blocks]
    return written + (_anew(scope, None, Part.DEAD, 0, body))


def _anew(scope: IndexScope, old: int | None, part: int, index_id: int, new: tuple[bytes, int] | None) -> list[Sql]:
    written = [] if old is None else [Sql("delete_block", {"id": old})]
    if new is not None:
        body, count = new
        row = {"scope": scope.number, "part": int(part), "index_id": index_id, "count": count, "body": body}
        written.append(Sql("insert_block", row))
    return written


def _dead(listed: Rows) -> Body[set[int]]:
    bodies = yield from _bodies([block for block, part, _ in listed if part == Part.DEAD])
    return {int(number) for body in bodies.values() for number in blocks.unpack_numbers(body)}


def _bodies(ids: list[int]) -> Body[dict[int, bytes]]:
    if not ids:
        return {}
    rows = yield Batch([Sql("block_body", {"id": block}) for block in ids])
    return {int(found[0][0]): found[0][1] for found in rows if found}


def _numbers(rows: Rows) -> set[int]:
    return {entry.number for row in rows for entry in unpack_placed(row[2])}


def _place(namespace_id: int, name: str) -> dict[str, Any]:
    first = namespace_id << NUMBER_BITS
    return {"namespace_id": namespace_id, "named": name, "first_row": first, "last_row": first | NUMBER_MASK}


def _none() -> Body[Rows]:
    return []
    yield  # pragma: no cover - makes this a generator


def _words(body: bytes, gone: Collection[int]) -> tuple[bytes, int] | None:
    merged = blocks.merge_words([blocks.WordBlock.unpack(body)], gone)
    return None if merged is None else (merged, len(blocks.WordBlock.unpack(merged)))


def _vectors(body: bytes, gone: Collection[int]) -> tuple[bytes, int] | None:
    merged = blocks.merge_vectors([blocks.VectorBlock.unpack(body)], gone)
    return None if merged is None else (merged, len(blocks.VectorBlock.unpack(merged)))


def _waiting(body: bytes, gone: Collection[int]) -> tuple[bytes, int] | None:
    kept = [entry for entry in blocks.unpack_waiting(body) if entry.number not in gone]
    return (blocks.pack_waiting(kept), len(kept)) if kept else None


_NUMBERS_OF: Final[dict[int, Callable[[bytes], list[int]]]] = {
    Part.WORDS: lambda body: blocks.WordBlock.unpack(body).number.tolist(),
    Part.VECTORS: lambda body: blocks.VectorBlock.unpack(body).number.tolist(),
    Part.WAITING: lambda body: [entry.number for entry in blocks.unpack_waiting(body)],
}

_REWRITTEN: Final[dict[int, Callable[[bytes, Collection[int]], tuple[bytes, int] | None]]] = {
    Part.WORDS: _words,
    Part.VECTORS: _vectors,
    Part.WAITING: _waiting,
}
