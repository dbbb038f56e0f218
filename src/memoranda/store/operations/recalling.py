"""Recall: the passages of one scope, or of all below it, that answer a query best."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from memoranda.errors import InvalidValueError, SearchUnavailableError
from memoranda.files.path import canonical_path, is_within
from memoranda.search.blocks import JSON
from memoranda.search.passages import Passage, indexed_text, passages_of_turn
from memoranda.search.query import Query, analyse
from memoranda.search.tokens import terms_of
from memoranda.store.changes import Namespace
from memoranda.store.effects import Batch, Body, Operation, Row, Rows, Sql, call, transact
from memoranda.store.namespaces import decode_namespace, encode_namespace, prefix_range
from memoranda.store.operations.context import Context
from memoranda.store.operations.index_loading import LabelRange, LoadedIndex, load_index, span_below
from memoranda.store.operations.indexing import IndexKind, IndexScope
from memoranda.store.operations.item_passages import NUMBER_MASK, fields_of, passages_of_item
from memoranda.store.operations.past_index import index_in_memory, past_items
from memoranda.store.operations.workspace import NUMBER_BITS
from memoranda.store.recalled import HIT_KINDS, Hit, HitKind, Recall, ScoreParts
from memoranda.store.values import Kind, Stored, to_datetime, to_microseconds

if TYPE_CHECKING:
    from memoranda.search.corpus import Corpus
    from memoranda.search.ranking import Ranked, RankedPassage
    from memoranda.store.meaning import QueryMeaning

INCOMPLETE = "Some of this memory is not indexed yet, so it cannot be found: run `memoranda reindex`."
"""What is said when items lack their passages."""

_MOST_HITS = 1_000
_BYTES_A_PASSAGE = 160
_KINDS = {"file": IndexKind.ITEMS, "item": IndexKind.ITEMS, "turn": IndexKind.TURNS}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a query asks for, once its arguments are checked.

    Args:
        where: The namespaces to look into.
        query: The query, analysed.
        kinds: What kinds of passages.
        since: Not before, in microseconds since the epoch.
        until: Before, likewise.
        path: Only items at or below this canonical path; None: whatever their keys are.
    """

    where: LabelRange
    query: Query
    kinds: frozenset[HitKind]
    since: int | None = None
    until: int | None = None
    path: str | None = None

    @property
    def index_kinds(self) -> tuple[IndexKind, ...]:
        """Which scopes of a namespace that takes."""
        return tuple(sorted({_KINDS[kind] for kind in self.kinds}))


def recall(
    context: Context,
    scope: Namespace,
    query: str,
    *,
    k: int = 10,
    since: datetime | None = None,
    until: datetime | None = None,
    kinds: Collection[HitKind] | None = None,
    as_of: datetime | None = None,
    below: bool = False,
    path: str | None = None,
    explain: bool = False,
) -> Operation[Recall]:
    r"""Find the passages that answer a query best: by words, by meaning where there is an embedder, and by context.

    Args:
        context: The store's settings.
        scope: The namespace to search, exactly; nothing outside of it has any influence on the answer.
        query: Words, a question, a few sentences. Beyond 2,000 characters it is cut, with a notice.
        k: How many passages at most.
        since: Only what was written or said at this time or later; a time without a zone is UTC.
        until: Only what was written or said before this time.
        kinds: Any of `file`, `item` (JSON documents) and `turn` (messages of conversations); None: all.
        as_of: Answer from the files and documents as they were at this time. They are read from the history and
            indexed for this one query, by words alone, so that it takes time in proportion to the scope.
        below: Search the namespaces below the scope too.
        path: Only this file, or the files and documents below this folder: what lies elsewhere gives no hits and no
            context. Turns have no path.
        explain: Say for each hit why it was found.

    Returns:
        The hits, the best first, and notices.

    Raises:
        InvalidValueError: An argument makes no sense.
        InvalidPathError: `path` is no path.
        SearchUnavailableError: The store was opened with `index=False`.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("ann",), "/tea.md", "# Tea\n\nLikes it green.\n\n# Coffee\n\nNever.")
        ...     hit = store.recall(("ann",), "which tea does she like?").hits[0]
        ...     hit.place, hit.heading
        ('/tea.md:3', 'Tea')
    """
    check_count(k)
    wanted = Wanted(
        label_range(scope, below=below),
        analysed(context, query),
        _checked_kinds(kinds, path),
        None if since is None else to_microseconds(since),
        None if until is None else to_microseconds(until),
        None if path is None else canonical_path(path),
    )
    if as_of is None:
        answer = yield from rank_wanted(context, wanted)
        past: Sources = {}
    else:
        answer, past = yield from _rank_past(context, wanted, to_microseconds(as_of))
    hits: list[Hit] = []
    start = 0
    while len(hits) < k and start < len(answer.ranked):
        page = answer.page(start, start + k)
        sources = yield from read_sources(context, page, past)
        hits += [hit for one in page if (hit := _hit(wanted, *one, sources, explain)) is not None]
        start += k
    return Recall(tuple(hits[:k]), (*wanted.query.notices, *answer.notices))


def analysed(context: Context, query: str) -> Query:
    """A query's terms.

    Raises:
        SearchUnavailableError: There is no index.
        InvalidValueError: The query is no text, or blank.
    """
    if not context.indexing:
        raise SearchUnavailableError(
            "This store was opened with index=False, so it cannot answer a query.",
            "Open it without that argument; text is also found with grep().",
        )
    return checked_query(query)


def checked_query(query: str) -> Query:
    """A query's terms.

    Raises:
        InvalidValueError: The query is no text, or blank.
    """
    if not isinstance(query, str) or not query.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidValueError(f"{str(query)[:80]!r} is no query.", "Pass the words, or the question, to look for.")
    return analyse(query)


def label_range(scope: Namespace, *, below: bool) -> LabelRange:
    """A namespace alone, or with all that lie below it."""
    text = encode_namespace(tuple(scope))
    if below:
        return LabelRange(*prefix_range(tuple(scope)))
    # The labels of a namespace below start with a character behind the terminator.
    return LabelRange(text, text + "\x01")


class Passed(NamedTuple):
    """A ranked passage and the number of the scope that it lies in."""

    scope: int
    passage: RankedPassage


class Answer(NamedTuple):
    """A ranking over the scopes of a query."""

    ranked: Ranked
    scopes: list[int]
    notices: list[str]

    def page(self, start: int, stop: int) -> list[Passed]:
        """Its passages from one rank to another."""
        return [Passed(self.scopes[passage.part], passage) for passage in self.ranked.hits(start, stop)]


def rank_wanted(context: Context, wanted: Wanted) -> Operation[Answer]:
    """Rank everything that a query is asked of, and say what was wanting."""
    meaning = yield from meaning_of_query(context, wanted.query)
    notices = [] if meaning is None or meaning.notice is None else [meaning.notice]
    index_id = None if meaning is None else meaning.index_id
    span = None if wanted.path is None else span_below(wanted.path)
    loaded = yield from load_index(context, wanted.where, wanted.index_kinds, index_id, span)
    if loaded.incomplete:
        notices.append(INCOMPLETE)
    ranked = yield from call(lambda: rank_loaded(context, wanted, loaded, meaning))
    return Answer(ranked, [part.scope for part in loaded.parts], notices)


def meaning_of_query(context: Context, query: Query) -> Operation[QueryMeaning | None]:
    """Embed a query; None without an embedder."""
    embed = context.embed_query
    return None if embed is None else (yield from call(lambda: embed(query.text)))


def rank_loaded(context: Context, wanted: Wanted, loaded: LoadedIndex, meaning: QueryMeaning | None) -> Ranked:
    """Rank the passages of an index that was read."""
    from memoranda.search.ranking import rank

    return rank(
        corpus_of(context, wanted.where, wanted.index_kinds, loaded),
        wanted.query,
        vector=None if meaning is None else meaning.vector,
        floor=0.0 if meaning is None else meaning.floor,
        since=wanted.since,
        until=wanted.until,
        require=JSON if not wanted.kinds - {"item"} else 0,
        exclude=JSON if "item" not in wanted.kinds else 0,
        sources=loaded.sources(),
    )


def corpus_of(context: Context, where: LabelRange, kinds: tuple[IndexKind, ...], loaded: LoadedIndex) -> Corpus:
    """The passages of an index that was read, as arrays."""
    from memoranda.search.corpus import Corpus

    # One is kept for each range that is asked for: with the next write it is of no use to anybody.
    place = (where, kinds)
    kept = context.blocks.get(place) if loaded.key else None
    if kept is not None and kept[0] == loaded.key:
        return kept[1]
    corpus = Corpus(loaded.parts)
    if loaded.key:
        context.blocks.put(place, (loaded.key, corpus), _BYTES_A_PASSAGE * len(corpus))
    return corpus


def _rank_past(context: Context, wanted: Wanted, moment: int) -> Operation[tuple[Answer, Sources]]:
    """Rank what there was at a time: items rebuilt from their history, and the turns recorded by then."""
    wanted = replace(wanted, until=moment + 1 if wanted.until is None else min(wanted.until, moment + 1))
    sources: Sources = {}
    loaded = LoadedIndex()
    if IndexKind.TURNS in wanted.index_kinds:
        loaded = yield from load_index(context, wanted.where, (IndexKind.TURNS,), None)
    if IndexKind.ITEMS in wanted.index_kinds:
        items = yield from past_items(context, wanted.where, moment)
        items = [item for item in items if wanted.path is None or is_within(item.key, wanted.path)]
        loaded.parts = (yield from call(lambda: index_in_memory(items))) + loaded.parts
        for item in items:
            place = (IndexScope(item.namespace_id, IndexKind.ITEMS).number, item.item_id & NUMBER_MASK)
            sources[place] = item_source(item.labels, item.key, item.revision, item.stored, item.fields)
    # What is made for one query is kept for none.
    ranked = yield from call(lambda: rank_loaded(context, wanted, replace(loaded, key=()), None))
    notice = "Answered by words alone: what was there at an earlier time has no vectors."
    notices = [notice] if context.embed_query is not None else []
    return Answer(ranked, [part.scope for part in loaded.parts], notices), sources


class Source(NamedTuple):
    """What a passage was cut from, as it is now."""

    labels: str
    kind: HitKind
    key: str
    revision: int
    passages: dict[int, Passage]
    """By their digests."""
    thread_id: str | None = None
    role: str | None = None
    speaker: str | None = None


Sources = dict[tuple[int, int], Source]


def read_sources(context: Context, page: Sequence[Passed], known: Sources | None = None) -> Operation[Sources]:
    """Read what passages were cut from; what was deleted since they were ranked is not among it."""
    sources = {} if known is None else known
    wanted = list(dict.fromkeys((scope, passage.source) for scope, passage in page))
    wanted = [place for place in wanted if place not in sources]
    if not wanted:
        return sources
    return sources | (yield from transact("snapshot", lambda: _read_sources(context, wanted)))


def _read_sources(context: Context, wanted: list[tuple[int, int]]) -> Body[Sources]:
    now = context.clock()
    statements: list[Sql] = []
    for number, source in wanted:
        scope = IndexScope.of(number)
        row_id = scope.namespace_id << NUMBER_BITS | source
        if scope.kind == IndexKind.ITEMS:
            statements.append(Sql("item_found", {"tenant": context.tenant, "id": row_id, "now": now}))
        else:
            statements.append(Sql("turn_found", {"tenant": context.tenant, "id": row_id}))
    found: list[Rows] = yield Batch(statements, last=True)
    sources: Sources = {}
    for place, rows in zip(wanted, found, strict=True):
        if rows:
            kind = IndexScope.of(place[0]).kind
            sources[place] = _item(rows[0]) if kind == IndexKind.ITEMS else _turn(rows[0])
    return sources


def _item(row: Row) -> Source:
    _, labels, key, revision, kind, _, _, _, meta, body, index_fields = row
    return item_source(labels, key, revision, Stored(Kind(kind), meta, body), fields_of(index_fields))


def item_source(labels: str, key: str, revision: int, stored: Stored, fields: tuple[str, ...]) -> Source:
    """An item as the source of its passages."""
    kind: HitKind = "item" if stored.kind == Kind.JSON else "file"
    passages = passages_of_item(key, stored, fields)
    return Source(labels, kind, key, revision, {passage.digest: passage for passage in passages})


def _turn(row: Row) -> Source:
    turn_id, labels, thread_id, message_id, role, speaker, body = row
    passages = {passage.digest: passage for passage in passages_of_turn(body.decode())}
    return Source(labels, "turn", message_id, turn_id & NUMBER_MASK, passages, thread_id, role, speaker)


def _hit(wanted: Wanted, scope: int, ranked: RankedPassage, sources: Sources, explain: bool) -> Hit | None:
    source = sources.get((scope, ranked.source))
    passage = source.passages.get(ranked.digest) if source is not None else None
    if source is None or passage is None or source.kind not in wanted.kinds:
        return None
    if wanted.path is not None and not is_within(source.key, wanted.path):  # it has moved since it was ranked
        return None
    return Hit(
        source.kind,
        decode_namespace(source.labels),
        source.key,
        source.revision,
        passage.first_line,
        passage.last_line,
        passage.text,
        passage.heading,
        ranked.score,
        to_datetime(ranked.at),
        ScoreParts(ranked.words, ranked.meaning, ranked.context),
        _why(wanted.query, passage, source, ranked) if explain else None,
        source.thread_id,
        source.role,
        source.speaker,
    )


def _why(query: Query, passage: Passage, source: Source, ranked: RankedPassage) -> str:
    path = source.key if source.key.startswith("/") and source.kind == "file" else ""
    terms = terms_of(indexed_text(passage, path=path, speaker=source.speaker or ""))
    held = dict.fromkeys(term.text for term in query.terms if term.id in terms)
    reasons = [f"holds {', '.join(held)}"] if held else []
    if ranked.meaning > 0:
        reasons.append(f"is close in meaning ({ranked.meaning:.2f})")
    if ranked.context > 0:
        reasons.append(f"stands beside what answers ({ranked.context:.2f})")
    return "; ".join(reasons) or "has words in common with what answers best"


def check_count(k: int) -> None:
    """Refuse what is no number of hits.

    Raises:
        InvalidValueError: It is none.
    """
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= _MOST_HITS:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidValueError(f"k={k!r} is no number of hits.", f"Pass a whole number from 1 to {_MOST_HITS}.")


def _checked_kinds(kinds: Collection[HitKind] | None, path: str | None) -> frozenset[HitKind]:
    if kinds is not None and (isinstance(kinds, str) or not kinds or not set(kinds) <= set(HIT_KINDS)):
        raise InvalidValueError(f"kinds={kinds!r} is not known.", f"Pass any of {', '.join(HIT_KINDS)}, as a list.")
    found = frozenset(kinds or HIT_KINDS) - (frozenset({"turn"}) if path is not None else frozenset())
    if not found:
        raise InvalidValueError("Turns of conversations have no path.", "Leave out `path`, or ask for other kinds.")
    return found
