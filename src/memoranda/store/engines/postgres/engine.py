"""The PostgreSQL engine: pooled connections, read committed, as few round trips as the operation allows."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any, LiteralString, cast

import psycopg
from psycopg import errors as pg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg_pool import PoolClosed, PoolTimeout

from memoranda.errors import SchemaError, StoreClosedError, StoreError, StoreUnavailableError, StoreUrlError
from memoranda.store.effects import Transact
from memoranda.store.engines.base import Engine, SchemaState
from memoranda.store.engines.postgres.errors import RETRYABLE, begun_by_another, lost_connection, overtaken, translated
from memoranda.store.engines.postgres.pools import SCHEMA, AsyncConnection, Connection, Pools, session_options
from memoranda.store.engines.postgres.steps import Attempt, Repeat, Statements, Steps
from memoranda.store.migrations import VERSION_TABLE, migrations, pending, unknown_schema
from memoranda.store.statements import Dialect
from memoranda.store.urls import redacted

_TRANSACTION = "CAST(CAST(pg_current_xact_id() AS text) AS bigint)"
# What is added to transaction numbers, so that the feed goes on where it was when a dump is restored into a server
# that counts its transactions anew.
_FEED_OFFSET = (
    "CREATE OR REPLACE FUNCTION feed_offset() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT CAST({} AS bigint)'"
)

POSTGRES = Dialect(
    "PostgreSQL",
    {
        "identity": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "bigint_key": "bigint PRIMARY KEY",
        "feed": f"bigint NOT NULL DEFAULT (feed_offset() + {_TRANSACTION})",
        "feed_index": "CREATE INDEX revisions_by_feed ON revisions (feed, namespace_id, position)",
        "feed_horizon": "(feed_offset() + CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint))",
        "feed_function": _FEED_OFFSET.format(0),
        "text": 'text COLLATE "C"',
        "text_type": "text",
        "random_number": "CAST(random() * 9007199254740992 AS bigint)",
        # Their bodies are compressed already.
        "packed_blocks": "ALTER TABLE blocks ALTER COLUMN body SET STORAGE EXTERNAL",
        "bytes": "bytea",
        "bigint": "bigint",
        "smallint": "smallint",
        "float": "double precision",
        "for_update": "FOR UPDATE",
        "skip_locked": "FOR UPDATE SKIP LOCKED",
        "by_row": "",
        "find_text": "strpos",
        "find_bytes": 'pg_catalog."position"',
        # Lateral and limited, or the planner sorts all items of all namespaces for the first few.
        "join_items": "CROSS JOIN LATERAL (SELECT i.* FROM items i WHERE",
        "end_of_join": "ORDER BY i.id LIMIT :limit + :offset) i",
    },
    pyformat=True,
)

FAILURES = (psycopg.Error, PoolTimeout, PoolClosed)
MINIMUM_VERSION = 14
_LONGEST_PAUSE = 0.25
_TABLES = (
    *("namespaces", "items", "revisions", "turns", "threads"),
    *("blocks", "indexes", "index_settings", "cursors", "proposals", "proposal_scopes"),
    *("jobs", "schedules", "runs"),
)
_ELSEWHERE = (
    "What PostgreSQL keeps beside its tables goes as its owner lets it: the write-ahead log and its archive when they "
    "are recycled, replicas when they have caught up, backups and dumps when they are deleted, the server's log when "
    "it is rotated, and the free room inside the table files when it is overwritten, or at once with `VACUUM FULL`."
)
_ROWS_HELD = (
    "A transaction that began earlier still runs on the server, so the tables may hold old versions of what was "
    "removed: run `memoranda forget --vacuum-only` when it has ended."
)
_STATISTICS: LiteralString = "SELECT DISTINCT tablename FROM pg_stats WHERE schemaname = %s ORDER BY tablename"
_ANALYZE = "They hold samples of what was there until something else is and `ANALYZE` has run."
# After one writer overtook another, all lock first for a while: then waiting is cheaper than trying again.
_CONTENDED = 0.5
_LOCK_KEY = 0x6D656D6F  # "memo": two processes must not migrate at once


class PostgresEngine(Engine):
    """A store on PostgreSQL.

    Args:
        url: A libpq URL.
        timeout: Seconds to wait for a connection or a lock.
    """

    def __init__(self, url: str, *, timeout: float = 30.0) -> None:
        self.name = "postgres"
        self._url = url
        self._timeout = timeout
        self._place = redacted(url)
        self._check_url(url)
        self._pools = Pools(url, timeout=timeout)
        self._statements = Statements(POSTGRES)
        self._contended_until = 0.0
        self._closed = False

    def _check_url(self, url: str) -> None:
        try:
            ports = str(conninfo_to_dict(url).get("port", ""))
            if all(part.isdigit() or not part for part in ports.split(",")):
                return
            detail = f"the port {ports!r} is no number"
        except psycopg.ProgrammingError as error:
            # The driver quotes the URL, password and all.
            detail = str(error).replace(url, self._place).strip().rstrip(".")
        raise StoreUrlError(
            f"{self._place} is no PostgreSQL URL: {detail}.",
            "Write postgresql://user:password@host:5432/database, with anything unusual percent-encoded.",
        )

    # --- transactions -------------------------------------------------------------------------------------

    def transact(self, effect: Transact) -> Any:
        """Run a body in a transaction, blocking."""
        attempt = self._attempt(effect)
        while True:
            try:
                with self._pools.blocking().connection() as connection:
                    return self._drive(connection, effect, attempt)
            except (*FAILURES, Repeat) as error:
                time.sleep(self._pause(attempt, error))
            except KeyboardInterrupt:
                self._pools.renew()
                raise

    async def atransact(self, effect: Transact) -> Any:
        """Run a body in a transaction on the running event loop."""
        attempt = self._attempt(effect)
        while True:
            try:
                async with self._pools.awaiting().connection() as connection:
                    return await self._adrive(connection, effect, attempt)
            except (*FAILURES, Repeat) as error:
                await asyncio.sleep(self._pause(attempt, error))

    def _drive(self, connection: Connection, effect: Transact, attempt: Attempt) -> Any:
        steps = Steps(self._statements, effect, attempt)
        try:
            while queue := steps.queue():
                if len(queue) == 1:
                    cursors = [connection.execute(*queue[0], binary=True)]
                else:
                    with connection.pipeline():
                        cursors = [connection.execute(*statement, binary=True) for statement in queue]
                steps.answer([cursor.fetchall() if _has_rows(cursor) else [] for cursor in cursors])
            return steps.result
        except BaseException as error:
            steps.abandon()
            if not _reusable(error, connection):
                connection.close()
            elif connection.pgconn.transaction_status:
                # Not a plain ROLLBACK: the driver has to forget which statements it prepared meanwhile.
                connection.rollback()
            raise

    async def _adrive(self, connection: AsyncConnection, effect: Transact, attempt: Attempt) -> Any:
        steps = Steps(self._statements, effect, attempt)
        try:
            while queue := steps.queue():
                if len(queue) == 1:
                    cursors = [await connection.execute(*queue[0], binary=True)]
                else:
                    async with connection.pipeline():
                        cursors = [await connection.execute(*statement, binary=True) for statement in queue]
                steps.answer([await cursor.fetchall() if _has_rows(cursor) else [] for cursor in cursors])
            return steps.result
        except BaseException as error:
            steps.abandon()
            if not _reusable(error, connection):
                await connection.close()
            elif connection.pgconn.transaction_status:
                await connection.rollback()
            raise

    def _attempt(self, effect: Transact) -> Attempt:
        if self._closed:
            raise _closed()
        now = time.monotonic()
        optimistic = effect.mode == "write" and not effect.locks and now > self._contended_until
        return Attempt(optimistic, now + self._timeout)

    def _pause(self, attempt: Attempt, error: Exception) -> float:
        """Seconds to wait before the next try; raises the named error if there is none."""
        # With locks nobody can be overtaken: then it is the statement that asks for the impossible.
        if isinstance(error, Repeat) or (attempt.optimistic and overtaken(error)):
            if not isinstance(error, Repeat):
                self._contended_until = time.monotonic() + _CONTENDED
            attempt.optimistic = False
            return 0.0
        if self._closed:
            raise _closed() from error
        attempt.tries += 1
        # A closed pool of an open store was given up because of Ctrl-C in another thread; the next has another.
        again = isinstance(error, (*RETRYABLE, PoolClosed)) or begun_by_another(error)
        again = again or (lost_connection(error) and not attempt.committing)
        if not again or time.monotonic() > attempt.deadline:
            raise self._failure(error, attempt.committing) from error
        return random.uniform(0, min(0.002 * 2**attempt.tries, _LONGEST_PAUSE))

    # --- schema -------------------------------------------------------------------------------------------

    def setup(self, progress: Callable[[SchemaState], None] | None = None) -> SchemaState:
        """Bring the schema up to date, each migration in a transaction of its own, one process at a time."""
        known = migrations()
        try:
            with self._connect() as connection:
                self._check_server(connection)
                if pending(self._applied(connection), known):
                    # One process at a time, and until this session ends. The lock is taken in a transaction of its
                    # own: only one that begins later is sure to see what another process has done meanwhile.
                    connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK_KEY,))
                    for step in pending(self._applied(connection), known):
                        if progress is not None:
                            progress(SchemaState(self._applied(connection), known[-1].number))
                        with connection.transaction():
                            self._apply(connection, step.number, list(step.statements(POSTGRES)))
                self._continue_feed(connection)
                return SchemaState(self._applied(connection), known[-1].number, self._since(connection))
        except pg.DuplicateTable as error:
            raise unknown_schema(self._place) from error
        except psycopg.Error as error:
            raise translated(error, self._place) from error

    def schema(self) -> SchemaState:
        """Say how far the database is migrated."""
        try:
            with self._connect() as connection:
                return SchemaState(self._applied(connection), migrations()[-1].number, self._since(connection))
        except psycopg.Error as error:
            raise translated(error, self._place) from error

    def _connect(self) -> Connection:
        if self._closed:
            raise _closed()
        return psycopg.connect(
            self._url,
            autocommit=True,
            connect_timeout=max(2, int(min(self._timeout, 10))),
            application_name="memoranda",
            options=session_options(self._timeout),
        )

    def _check_server(self, connection: Connection) -> None:
        version = connection.info.server_version // 10_000
        if version < MINIMUM_VERSION:
            raise StoreUnavailableError(
                f"{self._place} runs PostgreSQL {version}.", f"Memoranda needs {MINIMUM_VERSION} or newer."
            )
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise SchemaError(
                f"{self._place} is encoded in {encoding}.",
                "Create a database with ENCODING 'UTF8' and use that.",
            )

    def _applied(self, connection: Connection) -> int:
        found = connection.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.{VERSION_TABLE}",)).fetchone()
        if found is None or found[0] is None:
            return 0
        row = connection.execute(_sql(f"SELECT max(number) FROM {VERSION_TABLE}")).fetchone()
        return row[0] or 0 if row else 0

    def _since(self, connection: Connection) -> int:
        if not self._applied(connection):
            return 0
        row = connection.execute(_sql(f"SELECT min(applied_at) FROM {VERSION_TABLE}")).fetchone()
        return row[0] or 0 if row else 0

    def _continue_feed(self, connection: Connection) -> None:
        """Lift the feed's offset if this server's transaction numbers lie below those that are recorded."""
        behind = f"SELECT max(feed) FROM revisions HAVING max(feed) >= feed_offset() + {_TRANSACTION}"
        if connection.execute(_sql(behind)).fetchone() is None:
            return
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK_KEY,))
            found = connection.execute(_sql(behind)).fetchone()
            if found is not None:
                connection.execute(_sql(_FEED_OFFSET.format(int(found[0]))))

    def _apply(self, connection: Connection, number: int, statements: list[str]) -> None:
        connection.execute(_sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
        connection.execute(
            _sql(f"CREATE TABLE IF NOT EXISTS {VERSION_TABLE} (number integer PRIMARY KEY, applied_at bigint)")
        )
        for statement in statements:
            connection.execute(_sql(statement))
        connection.execute(_sql(f"INSERT INTO {VERSION_TABLE} VALUES (%s, %s)"), (number, time.time_ns() // 1_000))

    # --- the rest -----------------------------------------------------------------------------------------

    def size(self) -> int | None:
        """The size of the store's tables with their indexes, in bytes."""
        try:
            with self._connect() as connection:
                row = connection.execute(
                    "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c"
                    " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r'",
                    (SCHEMA,),
                ).fetchone()
        except psycopg.Error as error:
            raise translated(error, self._place) from error
        return int(row[0]) if row and row[0] is not None else None

    def vacuum(self) -> list[str]:
        """Free what deleted rows took in the tables and their statistics; nobody has to wait for it."""
        warnings: list[str] = []
        try:
            with self._connect() as connection:
                connection.add_notice_handler(lambda notice: warnings.append(notice.message_primary or ""))
                before = connection.execute("SELECT pg_current_xact_id()").fetchone()
                # Statistics hold samples of what is in the columns.
                connection.execute(_sql(f"VACUUM (ANALYZE) {', '.join(_TABLES)}"))
                held = connection.execute(
                    "SELECT pg_snapshot_xmin(pg_current_snapshot()) <= %s", before or (None,)
                ).fetchone()
                # Of an empty table it keeps those that it has.
                sampled = [
                    table
                    for (table,) in connection.execute(_STATISTICS, (SCHEMA,)).fetchall()
                    if table in _TABLES
                    and connection.execute(_sql(f"SELECT 1 FROM {table} LIMIT 1")).fetchone() is None
                ]
        except psycopg.Error as error:
            raise translated(error, self._place) from error
        left = [_ELSEWHERE]
        if sampled:
            left.append(f"PostgreSQL keeps statistics of tables that are empty now: {', '.join(sampled)}. {_ANALYZE}")
        if held is not None and held[0]:
            left.append(_ROWS_HELD)
        return left + [f"PostgreSQL says: {warning}." for warning in warnings if warning]

    def close(self) -> None:
        """Close every connection."""
        self._closed = True
        self._pools.close()

    async def aclose(self) -> None:
        """Close every connection, those of the running event loop properly."""
        self._closed = True
        await self._pools.aclose()

    def _failure(self, error: Exception, committing: bool) -> Exception:
        """The named error for whatever the driver or its pool raised."""
        if isinstance(error, PoolClosed):
            return _closed()
        if isinstance(error, PoolTimeout):
            return StoreUnavailableError(
                f"No connection to {self._place} was free or could be made within {self._timeout:g} s.",
                "Check that the server runs, or open the store with a longer timeout.",
            )
        if isinstance(error, psycopg.Error):
            return translated(error, self._place, committing=committing)
        return StoreError(f"{self._place} failed: {error}.", "")


def _reusable(error: BaseException, connection: Connection | AsyncConnection) -> bool:
    """Whether the connection is in step with its server after this error."""
    # A cancellation or Ctrl-C may strike between a statement and its answer, or in the middle of a pipeline; then
    # not even the driver knows which statements the server has prepared.
    orderly = isinstance(error, (Exception, GeneratorExit))
    return orderly and connection.pgconn.transaction_status != TransactionStatus.ACTIVE


def _has_rows(cursor: psycopg.Cursor[Any] | psycopg.AsyncCursor[Any]) -> bool:
    # Not `cursor.description`, which builds an object for every column.
    return cursor.pgresult is not None and cursor.pgresult.nfields > 0


def _sql(text: str) -> LiteralString:
    """Vouch for a statement that is made of this package's own files and names."""
    return cast("LiteralString", text)


def _closed() -> StoreClosedError:
    return StoreClosedError("The store is closed.", "Open it again with open_store().")
