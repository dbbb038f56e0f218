"""The SQLite engine: one writer at a time, readers beside it, on one file or in memory."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import weakref
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, cast

import apsw

from memoranda.errors import StoreClosedError
from memoranda.store.effects import Body, Effect, Operation, Rows, Transact
from memoranda.store.engines.base import Engine, SchemaState, T
from memoranda.store.engines.sqlite.connection import TABLES, Connection, Patience, connect
from memoranda.store.engines.sqlite.errors import translated, unreadable
from memoranda.store.engines.sqlite.locking import FairLock, busy
from memoranda.store.migrations import VERSION_TABLE, migrations, pending
from memoranda.store.statements import Dialect

SQLITE = Dialect(
    "SQLite",
    {
        "identity": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "bigint_key": "INTEGER PRIMARY KEY",
        "feed": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "feed_index": "",
        "feed_function": "",
        "feed_horizon": "9223372036854775807",
        "text": "TEXT",
        "text_type": "TEXT",
        "packed_blocks": "",
        "random_number": "random()",
        "bytes": "BLOB",
        "bigint": "INTEGER",
        "smallint": "INTEGER",
        "float": "REAL",
        "for_update": "",
        "skip_locked": "",
        "by_row": "NOT INDEXED",
        "find_text": "instr",
        "find_bytes": "instr",
        "join_items": "JOIN items i ON",
        "end_of_join": "",
    },
)

_THREADS = 8
_READERS_LEAVE = 5.0
LOG_IN_USE = (
    "Somebody was reading the database, so its write-ahead log and its file may still hold what was removed: run "
    "`memoranda forget --vacuum-only` when that reader has ended."
)
_engines: weakref.WeakSet[SqliteEngine] = weakref.WeakSet()
_abandoned: list[Connection] = []


class SqliteEngine(Engine):
    """A store on one SQLite file, or in memory.

    Blocking callers run on their own thread: writers queue up in order for the one writing connection, readers take
    one of a few reading connections and never wait for a writer. Async callers hand the whole operation to a
    thread in one hop.

    Args:
        path: The file; None keeps everything in memory.
        timeout: Seconds that a writer waits for its turn.
        readers: How many reads run at the same time.
    """

    def __init__(self, path: str | None, *, timeout: float = 30.0, readers: int = 16) -> None:
        self.name = "sqlite" if path is not None else "memory"
        self._path = path if path is not None else ":memory:"
        self._timeout = timeout
        self._readers = readers if path is not None else 0
        self._statements = SQLITE.statements()
        self._closed = False
        self._reset()
        _engines.add(self)

    def _reset(self) -> None:
        self._writing = FairLock()
        self._patience = Patience(self._timeout)
        self._writer: Connection | None = None
        self._idle: SimpleQueue[Connection] = SimpleQueue()
        # A reader that is lost, because Ctrl-C struck between two lines, leaves this by itself.
        self._open_readers: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._threads: dict[bool, ThreadPoolExecutor] = {}
        self._starting = threading.Lock()

    # --- transactions -------------------------------------------------------------------------------------

    def transact(self, effect: Transact) -> Any:
        """Run a body in a transaction on the calling thread."""
        if self._closed:
            raise _closed()
        try:
            if effect.mode == "write":
                return self._write(effect)
            if not self._readers:
                return self._read_in_memory(effect)
            return self._read(effect)
        except apsw.Error as error:
            raise translated(error, self._path) from error
        except UnicodeDecodeError as error:  # every text was UTF-8 when it was written
            raise unreadable(error, self._path) from error

    async def atransact(self, effect: Transact) -> Any:
        """Run a body in a transaction on one of the engine's threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool(effect), self.transact, effect)

    async def arun(self, operation: Operation[T]) -> T:
        """Perform a whole operation on one of the engine's threads."""
        if self._closed:
            raise _closed()
        # Its first effect tells which threads it belongs on.
        try:
            effect = next(operation)
        except StopIteration as stop:
            return cast("T", stop.value)
        # The thread sees the caller's context: who acts is a context variable.
        context = copy_context()
        try:
            work = asyncio.get_running_loop().run_in_executor(
                self._pool(effect), lambda: context.run(self.resume, operation, effect)
            )
        except RuntimeError as error:  # the threads are gone: another thread has just closed the store
            raise _closed() from error
        return await work

    def _write(self, effect: Transact) -> Any:
        with self._exclusive() as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
                result = self._drive(connection, effect.body())
                connection.execute("COMMIT")
            except BaseException:
                _undo(connection)
                raise
            return result

    def _read(self, effect: Transact) -> Any:
        connection = self._reader()
        try:
            _undo(connection)
            if effect.mode == "snapshot":
                connection.execute("BEGIN")
            return self._drive(connection, effect.body())
        finally:
            try:
                _undo(connection)
            finally:
                self._idle.put(connection)
                if self._closed:
                    self._close_readers()

    def _reader(self) -> Connection:
        """An idle reading connection, a new one if there may be more, or the next that comes free."""
        try:
            return self._idle.get_nowait()
        except Empty:
            pass
        with self._starting:
            if len(self._open_readers) < self._readers:
                connection = connect(self._path, Patience(self._timeout), read_only=True)
                self._open_readers.add(connection)
                return connection
        try:
            return self._idle.get(timeout=self._timeout)
        except Empty:
            raise busy(self._timeout) from None

    def _close_readers(self) -> None:
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return

    def _read_in_memory(self, effect: Transact) -> Any:
        with self._exclusive() as connection:
            return self._drive(connection, effect.body())

    def _drive(self, connection: Connection, body: Body[Any]) -> Any:
        execute, statements = connection.execute, self._statements
        try:
            batch = next(body)
            while True:
                rows: list[Rows] = [execute(statements[name], params).fetchall() for name, params in batch.statements]
                batch = body.send(rows)
        except StopIteration as stop:
            return stop.value

    def _open_writer(self) -> Connection:
        self._writer = connect(self._path, self._patience)
        return self._writer

    def _pool(self, effect: Effect) -> ThreadPoolExecutor:
        """The threads for an operation. Writers have their own: they may all have to wait, readers never."""
        writes = isinstance(effect, Transact) and effect.mode == "write"
        with self._starting:
            pool = self._threads.get(writes)
            if pool is None:
                name = f"memoranda-sqlite-{'write' if writes else 'read'}"
                pool = self._threads[writes] = ThreadPoolExecutor(_THREADS, thread_name_prefix=name)
            return pool

    # --- schema -------------------------------------------------------------------------------------------

    def setup(self, progress: Callable[[SchemaState], None] | None = None) -> SchemaState:
        """Open the file and bring its schema up to date, each migration in a transaction of its own."""
        known = migrations()
        while True:
            with self._exclusive() as connection:
                try:
                    applied = self._applied(connection)
                    steps = pending(applied, known)
                    if not steps:
                        return SchemaState(applied, known[-1].number, self._since(connection))
                    if progress is not None:
                        progress(SchemaState(applied, known[-1].number))
                    try:
                        connection.execute("BEGIN IMMEDIATE")
                        # Another process may have been faster.
                        if self._applied(connection) == applied:
                            self._apply(connection, steps[0].number, list(steps[0].statements(SQLITE)))
                        connection.execute("COMMIT")
                    except BaseException:
                        _undo(connection)
                        raise
                except apsw.Error as error:
                    raise translated(error, self._path) from error

    def schema(self) -> SchemaState:
        """Say how far the file is migrated."""
        with self._exclusive() as connection:
            try:
                return SchemaState(self._applied(connection), migrations()[-1].number, self._since(connection))
            except apsw.Error as error:
                raise translated(error, self._path) from error

    @contextmanager
    def _exclusive(self) -> Generator[Connection]:
        """The writing connection, when the queue of this process gets to the caller."""
        deadline = time.monotonic() + self._timeout
        with self._writing.turn(self._timeout):
            if self._closed:
                raise _closed()
            self._patience.deadline = deadline
            connection = self._writer or self._open_writer()
            _undo(connection)
            yield connection

    def _applied(self, connection: Connection) -> int:
        tables = {name for (name,) in connection.execute(TABLES).fetchall()}
        if VERSION_TABLE not in tables:
            return 0
        rows = connection.execute(f"SELECT max(number) FROM {VERSION_TABLE}").fetchall()
        return rows[0][0] or 0

    def _since(self, connection: Connection) -> int:
        if not self._applied(connection):
            return 0
        rows = connection.execute(f"SELECT min(applied_at) FROM {VERSION_TABLE}").fetchall()
        return int(rows[0][0] or 0)

    def _apply(self, connection: Connection, number: int, statements: list[str]) -> None:
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {VERSION_TABLE} (number INTEGER PRIMARY KEY, applied_at INTEGER)"
        )
        for statement in statements:
            connection.execute(statement)
        connection.execute(f"INSERT INTO {VERSION_TABLE} VALUES (?, ?)", (number, time.time_ns() // 1_000))

    # --- the rest -----------------------------------------------------------------------------------------

    def size(self) -> int | None:
        """The size of the file and its write-ahead log, in bytes."""
        if self._path == ":memory:":
            return None
        return sum(part.stat().st_size for part in (Path(self._path), Path(self._path + "-wal")) if part.exists())

    def vacuum(self) -> list[str]:
        """Write the file anew without what was deleted, and empty its log; writers wait meanwhile."""
        with self._exclusive() as connection:
            try:
                # What is in the file should not have to fit into memory.
                connection.execute("PRAGMA temp_store = FILE")
                connection.execute("VACUUM")
                # Copies the log back once no reader needs its older state any more; but none is waited for long.
                self._patience.deadline = time.monotonic() + min(self._timeout, _READERS_LEAVE)
                ((in_use, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except apsw.Error as error:
                raise translated(error, self._path) from error
            finally:
                connection.execute("PRAGMA temp_store = MEMORY")
        if self._path == ":memory:":
            return []
        copies = (
            f"Copies, backups and snapshots of {self._path} that were made before hold what they held: delete them."
        )
        return [copies, *([LOG_IN_USE] if in_use else [])]

    def close(self) -> None:
        """Finish what runs, then close every connection; the last one folds the log back into the file."""
        if self._closed:
            return
        self._closed = True
        for pool in list(self._threads.values()):
            pool.shutdown(wait=True)
        with self._writing.turn(self._timeout):
            self._close_readers()
            if self._writer is not None:
                self._writer.close()
                self._writer = None

    def abandon(self) -> None:
        """After a fork: forget the parent's connections without closing them, which would drop its file locks.

        What is in memory stays with the child, as its own copy.
        """
        if self._path == ":memory:":
            writer = self._writer
            self._reset()
            self._writer = writer
            return
        while True:
            try:
                _abandoned.append(self._idle.get_nowait())
            except Empty:
                break
        if self._writer is not None:
            _abandoned.append(self._writer)
        self._reset()


def _undo(connection: Connection) -> None:
    """Roll back what is open, if anything is: the end of a failed transaction, or the rest of an interrupted one."""
    if not connection.get_autocommit():
        connection.execute("ROLLBACK")


def _closed() -> StoreClosedError:
    return StoreClosedError("The store is closed.", "Open it again with open_store().")


def _after_fork() -> None:
    for engine in list(_engines):
        engine.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
