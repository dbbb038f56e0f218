"""`MemoryStore`: a LangGraph `BaseStore` with history, on SQLite or PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from langgraph.store.base import (
    NOT_PROVIDED,
    BaseStore,
    MatchCondition,
    NamespacePath,
    NotProvided,
    Op,
    Result,
    SearchItem,
    TTLConfig,
)

from memoranda.store.changes import ChangeSet, Delete, Namespace, Write, current_author
from memoranda.store.effects import Operation
from memoranda.store.embedders import IndexSetting
from memoranda.store.engines.base import Engine, SchemaState
from memoranda.store.faces import Jobs, Runs, Schedules
from memoranda.store.index_status import IndexStatus
from memoranda.store.operations import (
    embedder_indexes,
    episode_searching,
    expiry,
    feed,
    files,
    listing,
    recalling,
    stats,
    turn_reading,
)
from memoranda.store.operations import forget as forgetting
from memoranda.store.operations import history as looking_back
from memoranda.store.operations import proposals as waiting
from memoranda.store.operations import turns as recording
from memoranda.store.operations import verify as checking
from memoranda.store.operations.batch import batch as batch_operation
from memoranda.store.operations.commit import commit as commit_operation
from memoranda.store.operations.context import Context
from memoranda.store.operations.reading import get as get_operation
from memoranda.store.operations.reading import list_namespaces as namespaces_operation
from memoranda.store.operations.reading import search as search_operation
from memoranda.store.pairs import awaiting, blocking
from memoranda.store.sweeping import Sweeper
from memoranda.store.types import StoredItem, StoreStats

if TYPE_CHECKING:
    from memoranda.store.embedding_worker import EmbeddingWorker


class MemoryStore(BaseStore):
    """A memory that lasts: versioned files and JSON documents under namespaces.

    It is a LangGraph `BaseStore`, so it goes wherever `store=` is taken. Beside that contract it keeps the history of
    every item, merges concurrent changes, and lists and searches files. Every method has an async twin with an `a` in
    front. One store serves many threads and event loops, and many processes share one database.

    Open one with `open_store`, or with `from_conn_string`.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("ann",), "/preferences.md", "Likes green tea.")
        ...     store.get(("ann",), "/preferences.md").value["content"]
        'Likes green tea.'
    """

    supports_ttl = True

    __slots__ = ("_sweeper", "_worker", "context", "engine", "identity", "ttl_config", "url")

    def __init__(
        self,
        engine: Engine,
        context: Context,
        *,
        url: str,
        identity: str | None = None,
        ttl: TTLConfig | None = None,
        worker: EmbeddingWorker | None = None,
    ) -> None:
        self.engine = engine
        self.context = context
        self.url = url
        # Which database this is, for every process alike; a new one at the same URL is another.
        self.identity = identity or url
        self.ttl_config = ttl
        self._worker = worker
        self._sweeper = Sweeper()

    def __repr__(self) -> str:
        return f"open_store({self.url!r})"

    # --- opening and closing ------------------------------------------------------------------------------

    @classmethod
    def from_conn_string(
        cls, conn_string: str, *, index: IndexSetting = None, ttl: TTLConfig | None = None
    ) -> MemoryStore:
        """Open a store as LangGraph's stores are opened, with `with` or `async with`.

        Args:
            conn_string: A URL as `open_store` takes it.
            index: Settings of the search index; see `open_store`.
            ttl: How long items live by default, in minutes, and whether reading renews them.

        Returns:
            The open store.

        Example:
            >>> with MemoryStore.from_conn_string("memory://") as store:
            ...     store.setup()
            ...     store.put(("ann",), "profile", {"name": "Ann"})
        """
        from memoranda.store.opening import open_store

        return open_store(conn_string, index=index, ttl=ttl)

    def setup(self) -> None:
        """Bring the schema up to date. `open_store` has done it; calling it again is harmless."""
        self.engine.setup()

    async def asetup(self) -> None:
        """The same from an event loop."""
        await asyncio.to_thread(self.engine.setup)

    def schema(self) -> SchemaState:
        """Say how far the database is migrated."""
        return self.engine.schema()

    def close(self) -> None:
        """Let go of the database; a second call does nothing."""
        self.stop_ttl_sweeper()
        if self._worker is not None:
            self._worker.close()
        self.engine.close()

    async def aclose(self) -> None:
        """The same from an event loop."""
        self.stop_ttl_sweeper()
        if self._worker is not None:
            await asyncio.to_thread(self._worker.close)
        await self.engine.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    # --- LangGraph's contract -----------------------------------------------------------------------------

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Perform LangGraph operations; reads see the state before, writes land together."""
        return self.engine.run(batch_operation(self.context, ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same without blocking the event loop."""
        return await self.engine.arun(batch_operation(self.context, ops))

    def get(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> StoredItem | None:
        """Read one item, its key taken byte for byte.

        Args:
            namespace: Where; a label may hold any character, a `.` too.
            key: The key as it was put. A file's is its canonical path, such as `/notes/tea.md`.
            refresh_ttl: Whether reading restarts the item's time to live; None: as the store is configured.

        Returns:
            The item, which knows its revision, or None.
        """
        return self.engine.run(get_operation(self.context, namespace, str(key), refresh=self._refresh(refresh_ttl)))

    async def aget(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> StoredItem | None:
        """`get` without blocking the event loop."""
        return await self.engine.arun(
            get_operation(self.context, namespace, str(key), refresh=self._refresh(refresh_ttl))
        )

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Set an item, its key taken byte for byte; what was there stays in the history.

        Args:
            namespace: Where.
            key: The key.
            value: A JSON object.
            index: Which fields to index for search, such as `["text", "notes[*].body"]`; False: none; None: those
                that the store indexes.
            ttl: Minutes until the item expires; None: never; left out: the store's default.

        Raises:
            InvalidNamespaceError: The namespace cannot be stored.
            InvalidKeyError: The key cannot be stored.
            InvalidValueError: The value is no JSON object.
        """
        self.engine.run(self._put(namespace, key, value, index, ttl))

    async def aput(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """`put` without blocking the event loop."""
        await self.engine.arun(self._put(namespace, key, value, index, ttl))

    def delete(self, namespace: Namespace, key: str) -> None:
        """Delete an item, its key taken byte for byte; its history stays. A missing one is no error."""
        self.engine.run(self._delete(namespace, key))

    async def adelete(self, namespace: Namespace, key: str) -> None:
        """`delete` without blocking the event loop."""
        await self.engine.arun(self._delete(namespace, key))

    def search(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """Find the items below a namespace prefix that answer a query, or list them all.

        Without a query they are sorted by namespace and then as they were created; rewriting an item does not change
        its place, so pages stay stable. With one, those that answer best come first, each once, with a score; only
        what has anything to do with the query is found. `recall` finds passages instead of whole items.

        Args:
            namespace_prefix: Labels that the namespaces start with; `()` for all.
            query: Words or a question; see `recall`.
            filter: Fields and the values they must have, or `{"$gte": 3}` with `$eq $ne $gt $gte $lt $lte`.
            limit: At most so many items.
            offset: How many to skip.
            refresh_ttl: Whether this restarts the items' time to live; None: as the store is configured.

        Returns:
            The items; each is a `StoredSearchItem`, which knows its revision.

        Raises:
            SearchUnavailableError: A query was given, and the store was opened with `index=False`.
            InvalidValueError: The filter has an unknown operator.
        """
        return self.engine.run(self._search(namespace_prefix, query, filter, limit, offset, refresh_ttl))

    async def asearch(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """`search` without blocking the event loop."""
        return await self.engine.arun(self._search(namespace_prefix, query, filter, limit, offset, refresh_ttl))

    def list_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """List the namespaces that hold something, sorted.

        Args:
            prefix: Labels they start with; `"*"` stands for any one label.
            suffix: Labels they end with; `"*"` stands for any one label.
            max_depth: Cut them after so many labels, each result once.
            limit: At most so many.
            offset: How many to skip.
        """
        return self.engine.run(self._namespaces(prefix, suffix, max_depth, limit, offset))

    async def alist_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """`list_namespaces` without blocking the event loop."""
        return await self.engine.arun(self._namespaces(prefix, suffix, max_depth, limit, offset))

    # --- files and history: each pair from one definition ---------------------------------------------------

    commit, acommit = blocking(files.commit), awaiting(files.commit)
    write, awrite = blocking(files.write), awaiting(files.write)
    edit, aedit = blocking(files.edit), awaiting(files.edit)
    append, aappend = blocking(files.append), awaiting(files.append)
    move, amove = blocking(files.move), awaiting(files.move)
    restore, arestore = blocking(files.restore), awaiting(files.restore)
    delete_prefix, adelete_prefix = blocking(files.delete_prefix), awaiting(files.delete_prefix)

    history, ahistory = blocking(looking_back.history), awaiting(looking_back.history)
    get_at, aget_at = blocking(looking_back.get_at), awaiting(looking_back.get_at)
    diff, adiff = blocking(looking_back.diff), awaiting(looking_back.diff)
    blame, ablame = blocking(looking_back.blame), awaiting(looking_back.blame)

    list_keys, alist_keys = blocking(listing.list_keys), awaiting(listing.list_keys)
    glob, aglob = blocking(listing.glob), awaiting(listing.glob)
    grep, agrep = blocking(listing.grep), awaiting(listing.grep)

    recall, arecall = blocking(recalling.recall), awaiting(recalling.recall)

    propose, apropose = blocking(waiting.propose), awaiting(waiting.propose)
    proposals, aproposals = blocking(waiting.proposals), awaiting(waiting.proposals)
    get_proposal, aget_proposal = blocking(waiting.get_proposal), awaiting(waiting.get_proposal)
    proposal_diff, aproposal_diff = blocking(waiting.proposal_diff), awaiting(waiting.proposal_diff)
    accept_proposal, aaccept_proposal = blocking(waiting.accept_proposal), awaiting(waiting.accept_proposal)
    reject_proposal, areject_proposal = blocking(waiting.reject_proposal), awaiting(waiting.reject_proposal)

    record_turns, arecord_turns = blocking(recording.record_turns), awaiting(recording.record_turns)
    turns, aturns = blocking(turn_reading.turns), awaiting(turn_reading.turns)
    threads, athreads = blocking(turn_reading.threads), awaiting(turn_reading.threads)
    search_episodes = blocking(episode_searching.search_episodes)
    asearch_episodes = awaiting(episode_searching.search_episodes)
    known_messages, aknown_messages = blocking(turn_reading.known_messages), awaiting(turn_reading.known_messages)
    thread_checkpoint = blocking(turn_reading.thread_checkpoint)
    athread_checkpoint = awaiting(turn_reading.thread_checkpoint)
    note_thread_checkpoint = blocking(turn_reading.note_thread_checkpoint)
    anote_thread_checkpoint = awaiting(turn_reading.note_thread_checkpoint)
    forget_thread, aforget_thread = blocking(recording.forget_thread), awaiting(recording.forget_thread)

    forget, aforget = blocking(forgetting.forget), awaiting(forgetting.forget)
    finish_forgetting, afinish_forgetting = (
        blocking(forgetting.finish_forgetting),
        awaiting(forgetting.finish_forgetting),
    )

    changes, achanges = blocking(feed.changes), awaiting(feed.changes)
    verify, averify = blocking(checking.verify), awaiting(checking.verify)
    sweep_ttl, asweep_ttl = blocking(expiry.sweep_ttl), awaiting(expiry.sweep_ttl)

    # --- work that is done later ------------------------------------------------------------------------------

    @property
    def jobs(self) -> Jobs:
        """Work that is done later: queued, claimed by workers, ended."""
        return Jobs(self.engine, self.context)

    @property
    def schedules(self) -> Schedules:
        """When jobs are made by themselves."""
        return Schedules(self.engine, self.context)

    @property
    def runs(self) -> Runs:
        """What was worked through, how far, and what came of it."""
        return Runs(self.engine, self.context)

    # --- the rest -------------------------------------------------------------------------------------------

    def stats(self) -> StoreStats:
        """Say how much the store holds and how much room that takes."""
        namespaces, items, revisions = self.engine.run(stats.totals(self.context))
        return StoreStats(
            namespaces, items, revisions, self.engine.name, self.engine.schema().applied, self.engine.size()
        )

    async def astats(self) -> StoreStats:
        """The same from an event loop."""
        return await asyncio.to_thread(self.stats)

    def index_status(self) -> IndexStatus:
        """Say what the search index holds, and what it still lacks."""
        if self._worker is not None:
            return self._worker.status()
        return self.engine.run(embedder_indexes.status(self.context))

    async def aindex_status(self) -> IndexStatus:
        """The same from an event loop."""
        return await asyncio.to_thread(self.index_status)

    def wait_for_index(self, timeout: float | None = None) -> bool:
        """Wait until every passage written so far has its vector.

        Searching does not need that: what has none yet is found by its words.

        Args:
            timeout: Seconds to wait at most; None: as long as it takes.

        Returns:
            Whether all have one; True at once for a store without an embedder.
        """
        return self._worker is None or self._worker.wait(timeout)

    async def await_for_index(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - as wait_for_index
        """The same from an event loop."""
        return await asyncio.to_thread(self.wait_for_index, timeout)

    def reindex(
        self,
        *,
        progress: Callable[[int, int], None] | None = None,
        keep_old: bool = False,
        rebuild: bool = False,
    ) -> IndexStatus:
        """Bring the search index up to date; stopped at any time, it goes on where it was when called again.

        Indexes what is not indexed yet, makes the words anew where they have another form by now, and embeds what has
        no vector of this store's embedder. Searches and writes go on meanwhile. When all is done the vectors of other
        embedders go.

        Args:
            progress: Told how much is done, and of how much.
            keep_old: Keep the vectors of other embedders, for processes that still use them.
            rebuild: Throw away what the index holds and make all of it anew, where `verify` found it damaged; until
                that is done, searches find less.

        Returns:
            What the index holds now.

        Raises:
            SearchUnavailableError: The store was opened with `index=False`.
            Exception: What the embedder raises, several times in a row.

        Example:
            >>> from memoranda import open_store
            >>> with open_store("memory://") as store:
            ...     _ = store.write(("ann",), "/tea.md", "green")
            ...     store.reindex().passages
            1
        """
        from memoranda.store.reindexing import reindex

        return reindex(self.engine, self.context, self._worker, progress=progress, keep_old=keep_old, rebuild=rebuild)

    async def areindex(
        self,
        *,
        progress: Callable[[int, int], None] | None = None,
        keep_old: bool = False,
        rebuild: bool = False,
    ) -> IndexStatus:
        """The same from an event loop; `progress` is called on another thread."""
        return await asyncio.to_thread(self.reindex, progress=progress, keep_old=keep_old, rebuild=rebuild)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Remove expired items in the background until the store is closed.

        Expired items are hidden from every read at once; sweeping frees their room.

        Args:
            sweep_interval_minutes: Minutes between sweeps; None: as configured, or 5.
        """
        configured = (self.ttl_config or {}).get("sweep_interval_minutes")
        self._sweeper.start(60.0 * (sweep_interval_minutes or configured or 5), self.sweep_ttl)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop removing expired items in the background.

        Args:
            timeout: Seconds to wait for a sweep that runs; None: until it is done.

        Returns:
            Whether it has stopped.
        """
        return self._sweeper.stop(timeout)

    def _refresh(self, refresh_ttl: bool | None) -> bool:
        return self.context.refresh_on_read if refresh_ttl is None else refresh_ttl

    def _put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None,
        ttl: float | NotProvided | None,
    ) -> Operation[Any]:
        minutes = self.context.default_ttl if isinstance(ttl, NotProvided) else ttl
        document = dict(value) if isinstance(value, Mapping) else value  # pyright: ignore[reportUnnecessaryIsInstance]
        change = Write(namespace, str(key), document, ttl=minutes, index=index)
        return commit_operation(self.context, ChangeSet((change,), current_author()), opaque=True)

    def _delete(self, namespace: Namespace, key: str) -> Operation[Any]:
        return commit_operation(self.context, ChangeSet((Delete(namespace, str(key)),), current_author()), opaque=True)

    def _search(
        self,
        prefix: Namespace,
        query: str | None,
        filter: dict[str, Any] | None,
        limit: int,
        offset: int,
        refresh_ttl: bool | None,
    ) -> Operation[list[SearchItem]]:
        return search_operation(
            self.context,
            prefix,
            query=query,
            filter=filter,
            limit=limit,
            offset=offset,
            refresh=self._refresh(refresh_ttl),
        )

    def _namespaces(
        self,
        prefix: NamespacePath | None,
        suffix: NamespacePath | None,
        max_depth: int | None,
        limit: int,
        offset: int,
    ) -> Operation[list[Namespace]]:
        conditions = [MatchCondition("prefix", prefix)] if prefix else []
        conditions += [MatchCondition("suffix", suffix)] if suffix else []
        return namespaces_operation(self.context, conditions, max_depth=max_depth, limit=limit, offset=offset)
