"""Making the words of the index anew, where they have another form by now: a newer version finds other terms in a text.

Passages keep their numbers, so that their vectors stay. A scope's words are made outside of any transaction and swapped
in one, so that every search finds either all the old ones or all the new ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from memoranda.search.blocks import Entry, WordBlock, pack_words
from memoranda.search.tokens import WORDS_VERSION, length_of, terms_of
from memoranda.search.wordblocks import Columns
from memoranda.store.changes import Author
from memoranda.store.effects import Batch, Body, Operation, Sql, call, query, transact
from memoranda.store.operations.context import Context
from memoranda.store.operations.embedding import read_texts
from memoranda.store.operations.indexing import BLOCK_PASSAGES, IndexKind, IndexScope, Part, insert_block, parsed
from memoranda.store.operations.workspace import Workspace

_PAGE = 200
_TRIES = 10
_VERSION = "words"
_PROGRESS = "words_progress"


def reword(context: Context, tell: Callable[[int, int], None]) -> Operation[int]:
    """Make the words of every scope anew that have not the form of this version; it goes on where it stopped.

    Args:
        context: The store's settings.
        tell: Told how many namespaces are done of how many.

    Returns:
        How many namespaces were done.
    """
    version = yield from transact("read", lambda: _setting(context, _VERSION))
    if version == WORDS_VERSION:
        return 0
    progress = yield from transact("read", lambda: _setting(context, _PROGRESS))
    of, _, after = progress.partition("\n")
    namespaces = yield from transact("snapshot", lambda: _namespaces(context, after if of == WORDS_VERSION else ""))
    for done, (namespace_id, labels) in enumerate(namespaces, start=1):
        yield from _cut_anew(context, namespace_id, labels)
        for kind in IndexKind:
            yield from _reword_scope(context, IndexScope(namespace_id, kind))
        yield from transact("write", partial(_note_progress, context, namespace_id, labels))
        tell(done, len(namespaces))
    settled = [_set(context, _VERSION, WORDS_VERSION), _set(context, _PROGRESS, "")]
    yield from transact("write", lambda: _write(settled))
    return len(namespaces)


def _note_progress(context: Context, namespace_id: int, labels: str) -> Body[None]:
    # One that was forgotten meanwhile must leave no name; the lock keeps it from being forgotten just now.
    rows = yield from query("lock_namespace", tenant=context.tenant, labels=labels)
    if rows and rows[0][0] == namespace_id:
        yield Batch([_set(context, _PROGRESS, f"{WORDS_VERSION}\n{labels}")], last=True)


def _cut_anew(context: Context, namespace_id: int, labels: str) -> Operation[None]:
    """Cut every item again: what comes out as before keeps its number."""
    after: str | None = ""
    while after is not None:
        after = yield from transact("write", lambda after=after: _cut_page(context, namespace_id, labels, after))


def _cut_page(context: Context, namespace_id: int, labels: str, after: str) -> Body[str | None]:
    rows = yield from query("keys_to_cut", namespace_id=namespace_id, after=after, limit=_PAGE)
    work = Workspace(context, Author())
    yield from work.open([(labels, key) for (key,) in rows], set())
    kept: list[Sql] = []
    for (key,) in rows:
        item = work.item(labels, key)
        if item.stored is not None:
            work.reindex(item)
            kept.append(work.index_row(item))
    yield Batch(work.statements() + kept, last=True)
    return rows[-1][0] if len(rows) == _PAGE else None


def _reword_scope(context: Context, scope: IndexScope) -> Operation[None]:
    for _ in range(_TRIES):
        blocks = yield from transact("snapshot", lambda: _words(scope))
        if not blocks:
            return
        packed = yield from _packed(context, scope, list(blocks.values()))
        if (yield from transact("write", lambda: _swap(scope, list(blocks), packed))):  # noqa: B023 - run at once
            return
    # Somebody merges them all the time. The old words find what they found; the next reindexing tries again.


def _words(scope: IndexScope) -> Body[dict[int, WordBlock]]:
    rows = yield from query("blocks_of_scope", scope=scope.number)
    ids = [row[1] for row in rows if row[0] == Part.WORDS]
    found = yield Batch([Sql("block_body", {"id": block}) for block in ids])
    return {rows[0][0]: parsed(Part.WORDS, rows[0][1]) for rows in found if rows}


def _packed(context: Context, scope: IndexScope, blocks: list[WordBlock]) -> Operation[list[tuple[int, bytes]]]:
    """New blocks with the same passages; what has no text any more has no terms: it is dead, or dies just now."""
    import numpy as np

    of = Columns(np.concatenate([block.columns for block in blocks], axis=1))
    packed: list[tuple[int, bytes]] = []
    order = np.argsort(of.number)
    for start in range(0, len(order), BLOCK_PASSAGES):
        some = order[start : start + BLOCK_PASSAGES]
        columns = (of.number, of.source, of.place, of.digest, of.at, of.session, of.speaker, of.flags)
        rows = list(zip(*(column[some].tolist() for column in columns), strict=True))
        sources = sorted({(scope, row[1]) for row in rows})
        texts = yield from transact("snapshot", lambda sources=sources: read_texts(context, sources))

        def pack(
            rows: list[tuple[int, ...]] = rows, texts: dict[tuple[IndexScope, int], dict[int, str]] = texts
        ) -> bytes:
            entries: list[Entry] = []
            for number, source, place, digest, at, session, speaker, flags in rows:
                text = texts[scope, source].get(digest)
                terms = terms_of(text) if text is not None else {}
                entries.append(
                    Entry(number, source, place, digest, at, session, speaker, flags, length_of(terms), terms)
                )
            return pack_words(entries)

        body = yield from call(pack)
        packed.append((len(rows), body))
    return packed


def _swap(scope: IndexScope, old: list[int], packed: list[tuple[int, bytes]]) -> Body[bool]:
    """Replace blocks that are all there still; what was written meanwhile stays beside the new ones."""
    yield from query("lock_namespace_by_id", id=scope.namespace_id)
    rows = yield from query("blocks_of_scope", scope=scope.number)
    if not {row[1] for row in rows if row[0] == Part.WORDS}.issuperset(old):
        return False
    written = [Sql("delete_block", {"id": block}) for block in old]
    written += [insert_block(scope, Part.WORDS, 0, count, body) for count, body in packed]
    yield Batch(written, last=True)
    return True


def _namespaces(context: Context, after: str) -> Body[list[tuple[int, str]]]:
    found: list[tuple[int, str]] = []
    while True:
        rows = yield from query("namespaces_to_fill", tenant=context.tenant, after=after, limit=_PAGE)
        found += [(namespace_id, labels) for namespace_id, labels, _ in rows]
        if len(rows) < _PAGE:
            return found
        after = rows[-1][1]


def _setting(context: Context, setting: str) -> Body[str]:
    rows = yield from query("index_setting", tenant=context.tenant, setting=setting)
    return rows[0][0] if rows else ""


def _set(context: Context, name: str, value: str) -> Sql:
    return Sql("set_index_setting", {"tenant": context.tenant, "name": name, "value": value})


def _write(statements: list[Sql]) -> Body[None]:
    yield Batch(statements, last=True)
