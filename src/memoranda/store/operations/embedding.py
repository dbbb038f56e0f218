"""Embedding what waits for it.

Whoever writes leaves a waiting block for each registered index in the same transaction. Whoever embeds takes such
blocks, calls the embedder outside of any transaction, and then, in one, swaps them for vectors. So nothing is lost when
a process ends, and of two that embed the same block the second finds it gone and drops what it has.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from memoranda.search.blocks import Waiting, pack_vectors, pack_waiting
from memoranda.search.embedding import BATCH
from memoranda.search.passages import indexed_text, passages_of_turn
from memoranda.store.effects import Batch, Body, Operation, Row, Sql, call, query, transact
from memoranda.store.operations.context import Context
from memoranda.store.operations.indexing import IndexKind, IndexScope, Part, insert_block, parsed
from memoranda.store.operations.item_passages import fields_of, passages_of_item, unpack_placed
from memoranda.store.operations.turn_passages import date_of
from memoranda.store.operations.workspace import NUMBER_BITS
from memoranda.store.values import Kind, Stored, to_datetime

_LISTED = 256


class Vectors(NamedTuple):
    """What an embedder made of some texts.

    Args:
        rows: The vectors of the texts that it took, in their order.
        taken: Which texts these are.
        refused: Which texts it will never take; the others are asked for again.
    """

    rows: Sequence[Any]
    taken: Sequence[int]
    refused: Sequence[int] = ()


EmbedTexts = Callable[[list[str]], Vectors]


class Step(NamedTuple):
    """What one step of embedding has done.

    Args:
        embedded: Passages that got their vectors.
        found: Whether anything was waiting, so that another step makes sense.
        scopes: The scopes that got a block of vectors.
    """

    embedded: int = 0
    found: bool = False
    scopes: tuple[IndexScope, ...] = ()


class _Block(NamedTuple):
    """A waiting block that was read."""

    id: int
    scope: IndexScope
    entries: list[Waiting]


class _Text(NamedTuple):
    """A passage with the text to embed."""

    block: int
    scope: IndexScope
    entry: Waiting
    text: str


def embed_some(context: Context, index_id: int, embed: EmbedTexts, most: int = BATCH) -> Operation[Step]:
    """Embed some of what waits for an index.

    Args:
        context: The store's settings.
        index_id: The index.
        embed: Embeds texts; what it raises is raised, and nothing is lost.
        most: At most so many texts.

    Returns:
        What was done.
    """
    listed = yield from transact("read", lambda: query("waiting_blocks", index_id=index_id, limit=_LISTED))
    if not listed:
        return Step()
    blocks = yield from transact("read", lambda: _read_waiting(_chosen(listed, most)))
    texts, owed = yield from _texts(context, blocks, most)
    made = Vectors((), ())
    if texts:
        made = yield from call(lambda: embed([text.text for text in texts]))
    done = {*made.taken, *made.refused}
    for position, text in enumerate(texts):
        if position not in done:
            owed[text.block].append(text.entry)
    scopes = yield from transact("write", lambda: _swap(index_id, blocks, texts, made, owed))
    return Step(len(made.taken), True, tuple(scopes))


def _chosen(listed: list[Row], most: int) -> list[int]:
    """Waiting blocks with enough texts for one batch, from a random place on: others choose at the same time."""
    start = random.randrange(len(listed)) if len(listed) > 1 else 0
    chosen: list[int] = []
    count = 0
    for block, _, passages in [*listed[start:], *listed[:start]]:
        if chosen and count + passages > most:
            break
        chosen.append(block)
        count += passages
    return chosen


def _read_waiting(ids: list[int]) -> Body[list[_Block]]:
    found = yield Batch([Sql("waiting_body", {"id": block}) for block in ids], last=True)
    return [
        _Block(block, IndexScope.of(rows[0][0]), parsed(Part.WAITING, rows[0][1]))
        for block, rows in zip(ids, found, strict=True)
        if rows
    ]


def _texts(
    context: Context, blocks: list[_Block], most: int
) -> Operation[tuple[list[_Text], dict[int, list[Waiting]]]]:
    """The texts to embed now, and what has to wait on; passages that are gone are in neither."""
    owed: dict[int, list[Waiting]] = {}
    chosen: list[tuple[_Block, Waiting]] = []
    for block in blocks:
        room = most - len(chosen)
        chosen += [(block, entry) for entry in block.entries[:room]]
        owed[block.id] = block.entries[room:]
    sources = sorted({(block.scope, entry.source) for block, entry in chosen})
    found = yield from transact("snapshot", lambda: read_texts(context, sources))
    texts: list[_Text] = []
    for block, entry in chosen:
        text = found[block.scope, entry.source].get(entry.digest)
        if text is not None:
            texts.append(_Text(block.id, block.scope, entry, text))
    return texts, owed


def read_texts(
    context: Context, sources: list[tuple[IndexScope, int]]
) -> Body[dict[tuple[IndexScope, int], dict[int, str]]]:
    """The texts of the passages of items and turns as they are now, by their digests; as words find them too.

    Args:
        context: The store's settings.
        sources: Scopes, and the numbers of items or positions of turns in them.
    """
    now = context.clock()
    statements: list[Sql] = []
    for scope, source in sources:
        place = {"tenant": context.tenant, "id": scope.namespace_id << NUMBER_BITS | source}
        if scope.kind == IndexKind.ITEMS:
            statements.append(Sql("item_found", {**place, "now": now}))
        else:
            statements.append(Sql("turn_to_embed", place))
    found = yield Batch(statements, last=True)
    texts_of = {IndexKind.ITEMS: _texts_of_item, IndexKind.TURNS: _texts_of_turn}
    return {
        place: texts_of[place[0].kind](context, rows[0]) if rows else {}
        for place, rows in zip(sources, found, strict=True)
    }


def _texts_of_item(context: Context, row: Row) -> dict[int, str]:
    _, _, key, _, kind, _, _, _, meta, body, index_fields = row
    fields = fields_of(index_fields)
    path = key if key.startswith("/") else ""
    passages = passages_of_item(key, Stored(Kind(kind), meta, body), fields)
    return {passage.digest: indexed_text(passage, path=path) for passage in passages}


def _texts_of_turn(context: Context, row: Row) -> dict[int, str]:
    role, speaker, at, body = row
    date = date_of(to_datetime(at))
    passages = passages_of_turn(body.decode())
    return {passage.digest: indexed_text(passage, speaker=speaker or role, date=date) for passage in passages}


def _swap(
    index_id: int, blocks: list[_Block], texts: list[_Text], made: Vectors, owed: dict[int, list[Waiting]]
) -> Body[list[IndexScope]]:
    """Put vectors where passages waited, unless somebody else has."""
    # Under the namespaces' locks, so that no passage dies between the look and the writing.
    namespaces = sorted({block.scope.namespace_id for block in blocks})
    yield Batch([Sql("lock_namespace_by_id", {"id": namespace}) for namespace in namespaces])
    ids = sorted(block.id for block in blocks)
    there, *taken = yield Batch(
        [Sql("index_is_there", {"id": index_id}), *(Sql("take_waiting", {"id": block}) for block in ids)]
    )
    if not there:
        return []
    mine = {block for block, rows in zip(ids, taken, strict=True) if rows}
    embedded = [(texts[position], row) for row, position in enumerate(made.taken) if texts[position].block in mine]
    alive = yield from _alive({(text.scope, text.entry.source) for text, _ in embedded})
    rows_of: dict[IndexScope, list[tuple[int, int]]] = defaultdict(list)
    for text, row in embedded:
        if text.entry.number in alive[text.scope, text.entry.source]:
            rows_of[text.scope].append((text.entry.number, row))
    written = [waiting_block(block.scope, index_id, owed[block.id]) for block in blocks if block.id in mine]
    for scope, rows in rows_of.items():
        body = pack_vectors([number for number, _ in rows], [made.rows[row] for _, row in rows])
        written.append(insert_block(scope, Part.VECTORS, index_id, len(rows), body))
    yield Batch([statement for statement in written if statement is not None], last=True)
    return sorted(rows_of)


def _alive(sources: set[tuple[IndexScope, int]]) -> Body[dict[tuple[IndexScope, int], set[int]]]:
    """The numbers of the passages that these sources have now."""
    ordered = sorted(sources)
    names = {IndexKind.ITEMS: "passages_of_item", IndexKind.TURNS: "passages_of_turn"}
    found = yield Batch(
        [Sql(names[scope.kind], {"id": scope.namespace_id << NUMBER_BITS | source}) for scope, source in ordered]
    )
    return {
        place: {passage.number for (packed,) in rows for passage in unpack_placed(packed)}
        for place, rows in zip(ordered, found, strict=True)
    }


def waiting_block(scope: IndexScope, index_id: int, entries: Sequence[tuple[int, int, int]]) -> Sql | None:
    """The statement that puts passages (number, source, digest) on an index's waiting list; None for none."""
    return insert_block(scope, Part.WAITING, index_id, len(entries), pack_waiting(entries)) if entries else None
