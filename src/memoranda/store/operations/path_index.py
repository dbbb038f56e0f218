"""What a backend searches: the index of the items of one namespace whose keys are paths, as they are shown as files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoranda.search.query import Query
from memoranda.store.changes import Namespace
from memoranda.store.effects import Operation, call
from memoranda.store.operations.context import Context
from memoranda.store.operations.index_loading import PATHLESS, load_index, span_below
from memoranda.store.operations.indexing import IndexKind
from memoranda.store.operations.recalling import INCOMPLETE, corpus_of, label_range, meaning_of_query

if TYPE_CHECKING:
    from memoranda.search.corpus import Corpus
    from memoranda.store.meaning import QueryMeaning

_ITEMS = (IndexKind.ITEMS,)


@dataclass(frozen=True, slots=True)
class PathIndex:
    """The index of the items of one namespace.

    Args:
        corpus: Its passages; it has one part, or none where nothing is indexed.
        keys: The items below the path that was asked for, by their numbers; None: all but `pathless`.
        pathless: The items whose keys are no paths.
        meaning: The meaning of the query; None: the store has no embedder.
        notices: What the reader of the answer should know.
    """

    corpus: Corpus
    keys: dict[int, str] | None
    pathless: frozenset[int]
    meaning: QueryMeaning | None
    notices: tuple[str, ...]


def path_index(
    context: Context, scope: Namespace, query: Query, path: str, *, with_keys: bool = False
) -> Operation[PathIndex]:
    """Read the index of the items at or below a path, to be ranked by the caller.

    Args:
        context: The store's settings.
        scope: The namespace; exactly this one.
        query: The query, for its meaning.
        path: The canonical path.
        with_keys: Whether to name the items even where the path is `/`.
    """
    whole = path == "/" and not with_keys
    where = label_range(scope, below=False)
    meaning = yield from meaning_of_query(context, query)
    index_id = None if meaning is None else meaning.index_id
    loaded = yield from load_index(context, where, _ITEMS, index_id, PATHLESS if whole else span_below(path))
    corpus = yield from call(lambda: corpus_of(context, where, _ITEMS, loaded))
    notices = [] if meaning is None or meaning.notice is None else [meaning.notice]
    if loaded.incomplete:
        notices.append(INCOMPLETE)
    named = {number: key for items in (loaded.items or {}).values() for number, key in items.items()}
    return PathIndex(corpus, None if whole else named, frozenset(named if whole else ()), meaning, tuple(notices))
