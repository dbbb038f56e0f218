"""Searching conversations: the turns that answer a query, by conversation, with what was said around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, get_args

from memoranda.errors import InvalidValueError
from memoranda.search.passages import passages_of_turn
from memoranda.store.changes import Namespace
from memoranda.store.effects import Batch, Body, Operation, Sql, query, transact
from memoranda.store.namespaces import encode_namespace
from memoranda.store.operations.context import Context
from memoranda.store.operations.index_loading import LabelRange
from memoranda.store.operations.indexing import IndexScope
from memoranda.store.operations.recalling import Passed, Wanted, analysed, label_range, rank_wanted
from memoranda.store.operations.turn_passages import session_of
from memoranda.store.operations.turn_reading import recorded, summarised
from memoranda.store.operations.turns import checked_thread
from memoranda.store.operations.workspace import NUMBER_BITS
from memoranda.store.recalled import ScoreParts
from memoranda.store.turns import (
    ROLES,
    Episode,
    EpisodeHit,
    EpisodeOrder,
    FoundEpisodes,
    RecordedTurn,
    Role,
    ThreadSummary,
)
from memoranda.store.values import to_microseconds

_MOST_HITS: Final = 1_000
_MOST_NEIGHBOURS: Final = 100
_LARGEST_PAGE: Final = 1_000
_FEW: Final = 5_000


@dataclass(frozen=True, slots=True)
class _Filter:
    """Which turns are meant."""

    thread: str | None
    without_thread: str | None
    role: Role | None
    user: str | None
    org: str | None
    agent: str | None

    def takes(self, turn: RecordedTurn) -> bool:
        """Whether a turn is among them."""
        wanted = (self.thread, self.role, self.user, self.org, self.agent)
        given = (turn.thread_id, turn.role, turn.user, turn.org, turn.agent)
        return turn.thread_id != self.without_thread and all(
            want is None or want == have for want, have in zip(wanted, given, strict=True)
        )


def search_episodes(
    context: Context,
    scope: Namespace,
    query: str,
    *,
    k: int = 10,
    since: datetime | None = None,
    until: datetime | None = None,
    thread: str | None = None,
    without_thread: str | None = None,
    role: Role | None = None,
    user: str | None = None,
    org: str | None = None,
    agent: str | None = None,
    neighbours: int = 1,
    below: bool = False,
    order: EpisodeOrder = "relevance",
) -> Operation[FoundEpisodes]:
    """Find what was said in conversations: the turns that answer a query best, by conversation.

    Args:
        context: The store's settings.
        scope: Whose conversations: of this namespace exactly.
        query: Words, a question, a few sentences.
        k: How many turns at most.
        since: Only what was said at this time or later; a time without a zone is UTC.
        until: Only what was said before this time.
        thread: Only this conversation.
        without_thread: Not this conversation.
        role: Only what the `user`, the `assistant` or a `tool` said.
        user: Only conversations of this user.
        org: Only those of this organisation.
        agent: Only those with this agent.
        neighbours: How many turns before and after each one come with it.
        below: Search the namespaces below the scope too: an organisation's search is one question.
        order: By `relevance`; or by `time`, the latest conversation first and its turns as they were said.

    Returns:
        The conversations, and notices.

    Raises:
        InvalidValueError: An argument makes no sense.
        SearchUnavailableError: The store was opened with `index=False`.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.store.turns import Turn
        >>> said = [Turn("m1", "user", "Which tea do I like?"), Turn("m2", "assistant", "Green tea, as ever.")]
        >>> with open_store("memory://") as store:
        ...     _ = store.record_turns(("ann",), "t1", said)
        ...     (episode,) = store.search_episodes(("ann",), "green tea", k=1)
        ...     hit = episode.hits[0]
        ...     episode.thread.thread_id, hit.turn.text, [turn.text for turn in hit.before]
        ('t1', 'Green tea, as ever.', ['Which tea do I like?'])
    """
    _check(k, neighbours, role, order)
    chosen = _Filter(None if thread is None else checked_thread(thread), without_thread, role, user, org, agent)
    wanted = Wanted(
        label_range(scope, below=below),
        analysed(context, query),
        frozenset({"turn"}),
        None if since is None else to_microseconds(since),
        None if until is None else to_microseconds(until),
    )
    answer = yield from rank_wanted(context, wanted)
    session = None if thread is None else session_of(thread)
    few: set[int] | None = None
    if any(name is not None for name in (user, org, agent)):
        few = yield from transact("read", lambda: _few_of(context, wanted.where, chosen))
    hits: dict[tuple[Namespace, int], EpisodeHit] = {}
    start, size = 0, 2 * k
    while len(hits) < k and start < len(answer.ranked):
        page = answer.page(start, start + size)
        here = [
            one
            for one in page
            if (session is None or one.passage.session == session) and (few is None or _row_id(one) in few)
        ]
        for hit in (yield from transact("snapshot", lambda here=here: _read(here))):
            if chosen.takes(hit.turn):
                hits.setdefault((hit.turn.namespace, hit.turn.position), hit)
        start, size = start + size, min(2 * size, _LARGEST_PAGE)
    best = list(hits.values())[:k]
    episodes = yield from transact("snapshot", lambda: _grouped(context, best, neighbours))
    return FoundEpisodes(tuple(_ordered(episodes, order)), (*wanted.query.notices, *answer.notices))


def _few_of(context: Context, where: LabelRange, chosen: _Filter) -> Body[set[int] | None]:
    """The rows of somebody's turns, where they are few among those that are ranked; None: they are not."""
    named = (("turns_of_user", chosen.user), ("turns_of_org", chosen.org), ("turns_of_agent", chosen.agent))
    for name, person in named:
        if person is not None:
            place = {"tenant": context.tenant, "low": where.low, "high": where.high}
            rows = yield from query(name, named=person, limit=_FEW + 1, **place)
            return {row[0] for row in rows} if len(rows) <= _FEW else None
    return None


def _read(page: Sequence[Passed]) -> Body[list[EpisodeHit]]:
    """The turns of ranked passages; what was forgotten since is not among them."""
    places = list(dict.fromkeys(_row_id(one) for one in page))
    found = yield Batch([Sql("turn_by_id", {"id": place}) for place in places])
    turns = {place: recorded(rows[0]) for place, rows in zip(places, found, strict=True) if rows}
    hits: list[EpisodeHit] = []
    for one in page:
        turn, ranked = turns.get(_row_id(one)), one.passage
        texts = {} if turn is None else {passage.digest: passage.text for passage in passages_of_turn(turn.text)}
        if turn is not None and ranked.digest in texts:
            parts = ScoreParts(ranked.words, ranked.meaning, ranked.context)
            hits.append(EpisodeHit(turn, texts[ranked.digest], ranked.score, parts))
    return hits


def _row_id(one: Passed) -> int:
    return (IndexScope.of(one.scope).namespace_id << NUMBER_BITS) | one.passage.source


def _grouped(context: Context, hits: Sequence[EpisodeHit], neighbours: int) -> Body[list[Episode]]:
    """Hits by conversation, each with its neighbours."""
    threads = list(dict.fromkeys((hit.turn.namespace, hit.turn.thread_id) for hit in hits))
    asked = [Sql("thread_to_show", _place(context, *thread)) for thread in threads]
    if neighbours:
        for hit in hits:
            place = {**_place(context, hit.turn.namespace, hit.turn.thread_id), "place": hit.turn.place}
            asked.append(Sql("turns_up_to_place", {**place, "limit": neighbours}))
            asked.append(Sql("turns_from_place", {**place, "limit": neighbours + 1}))
    rows = yield Batch(asked)
    around = rows[len(threads) :]
    if neighbours:
        hits = [
            replace(
                hit,
                before=tuple(recorded(row) for row in reversed(before)),
                behind=tuple(recorded(row) for row in behind[1:]),
            )
            for hit, before, behind in zip(hits, around[::2], around[1::2], strict=True)
        ]
    summaries: dict[tuple[Namespace, str], ThreadSummary] = {
        thread: summarised(found[0]) for thread, found in zip(threads, rows, strict=False) if found
    }
    return [
        Episode(summary, tuple(hit for hit in hits if (hit.turn.namespace, hit.turn.thread_id) == thread))
        for thread, summary in summaries.items()
    ]


def _place(context: Context, namespace: Namespace, thread_id: str) -> dict[str, str]:
    return {"tenant": context.tenant, "labels": encode_namespace(namespace), "thread_id": thread_id}


def _ordered(episodes: Iterable[Episode], order: EpisodeOrder) -> list[Episode]:
    if order == "relevance":
        return sorted(episodes, key=lambda episode: -episode.score)
    in_order = [
        replace(episode, hits=tuple(sorted(episode.hits, key=lambda hit: hit.turn.place))) for episode in episodes
    ]
    return sorted(in_order, key=lambda episode: episode.thread.last_at, reverse=True)


def _check(k: int, neighbours: int, role: Role | None, order: EpisodeOrder) -> None:
    for name, number, least, most in (("k", k, 1, _MOST_HITS), ("neighbours", neighbours, 0, _MOST_NEIGHBOURS)):
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidValueError(f"{name}={number!r} is too few or too many.", f"Pass {least} to {most}.")
    if role is not None and role not in ROLES:
        raise InvalidValueError(f"{role!r} is no role.", f"Use {', '.join(ROLES)}.")
    if order not in get_args(EpisodeOrder):
        raise InvalidValueError(f"{order!r} is no order.", f"Use {' or '.join(get_args(EpisodeOrder))}.")
