"""Connections to PostgreSQL: one pool for all threads, and one for each event loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8BinaryDumper
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
AsyncConnection: TypeAlias = psycopg.AsyncConnection[tuple[Any, ...]]
Pool: TypeAlias = ConnectionPool[Connection]

SCHEMA = "memoranda"


def session_options(timeout: float) -> str:
    """The settings of every session, which waits for locks at most `timeout` seconds."""
    # 0 would mean for ever.
    return f"-c lock_timeout={max(1, int(timeout * 1000))} -c search_path={SCHEMA}"


class Pools:
    """Opens pools as they are needed and closes them together.

    Args:
        url: A libpq URL.
        timeout: Seconds to wait for a connection, and for a lock.
        size: The most connections of each pool.
    """

    def __init__(self, url: str, *, timeout: float, size: int = 10) -> None:
        self._url = url
        self._timeout = timeout
        self._size = size
        self._guard = threading.Lock()
        self._pid = os.getpid()
        self._pool: Pool | None = None
        self._loops: dict[asyncio.AbstractEventLoop, LoopPool] = {}

    def blocking(self) -> Pool:
        """The pool for blocking callers."""
        pool = self._pool
        if pool is not None and self._pid == os.getpid():
            return pool
        with self._guard:
            self._forget_parent()
            if self._pool is None:
                self._pool = ConnectionPool(
                    self._url,
                    kwargs=self._settings(),
                    min_size=1,
                    max_size=self._size,
                    timeout=self._timeout,
                    configure=_configure,
                    open=True,
                    name="memoranda",
                )
            return self._pool

    def awaiting(self) -> LoopPool:
        """The pool of the running event loop."""
        loop = asyncio.get_running_loop()
        with self._guard:
            self._forget_parent()
            self._drop_dead_loops()
            pool = self._loops.get(loop)
            if pool is None:
                pool = self._loops[loop] = LoopPool(self._url, self._settings(), self._timeout, self._size)
            return pool

    def renew(self) -> None:
        """Give up the pool for blocking callers: after Ctrl-C inside it, it may count a connection that is lost."""
        with self._guard:
            pool, self._pool = self._pool, None
        if pool is not None and self._pid == os.getpid():
            pool.close(timeout=0)

    def close(self) -> None:
        """Close what can be closed from here: pools of other event loops are dropped with their connections."""
        with self._guard:
            if self._pool is not None and self._pid == os.getpid():
                self._pool.close(timeout=self._timeout)
            self._pool = None
            for pool in self._loops.values():
                pool.drop()
            self._loops.clear()

    async def aclose(self) -> None:
        """Close the running loop's pool properly, then the rest."""
        pool = self._loops.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            pool.drop()
        await asyncio.to_thread(self.close)

    def _settings(self) -> dict[str, Any]:
        return {
            "autocommit": True,
            "connect_timeout": max(2, int(self._timeout)),
            "application_name": "memoranda",
            "options": session_options(self._timeout),
        }

    def _forget_parent(self) -> None:
        """After a fork the parent's sockets must not be used, nor closed politely."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._pool = None
            self._loops = {}

    def _drop_dead_loops(self) -> None:
        for loop in [loop for loop in self._loops if loop.is_closed()]:
            self._loops.pop(loop).drop()


class LoopPool:
    """The connections of one event loop.

    It has no tasks of its own (as psycopg's pool has): a loop that ends, as `asyncio.run` does after every call,
    would have to cancel them, and a task that is cancelled while it connects may miss that and keep the loop for ever.

    Args:
        url: A libpq URL.
        settings: Of every connection.
        timeout: Seconds to wait for a connection.
        size: The most connections.
    """

    def __init__(self, url: str, settings: dict[str, Any], timeout: float, size: int) -> None:
        self._url = url
        self._settings = settings
        self._timeout = timeout
        self._free = asyncio.Semaphore(size)
        self._idle: list[AsyncConnection] = []
        self._dropped = False

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[AsyncConnection]:
        """Lend a connection: an idle one, or a new one."""
        try:
            async with asyncio.timeout(self._timeout):
                await self._free.acquire()
        except TimeoutError:
            raise PoolTimeout(f"no connection came free within {self._timeout:g} s") from None
        try:
            if self._dropped:
                raise PoolClosed("the pool is closed")
            connection = self._idle.pop() if self._idle else await self._connect()
            try:
                yield connection
            finally:
                if self._dropped or connection.pgconn.transaction_status != TransactionStatus.IDLE:
                    await connection.close()
                else:
                    self._idle.append(connection)
        finally:
            self._free.release()

    def drop(self) -> None:
        """Close the idle connections, from any thread, and the others when they come back."""
        self._dropped = True
        while self._idle:
            # Closing an idle connection awaits nothing, so that it needs no event loop.
            with suppress(StopIteration):
                self._idle.pop().close().send(None)

    async def _connect(self) -> AsyncConnection:
        connection = await psycopg.AsyncConnection.connect(self._url, **self._settings)
        _adapt(connection)
        return connection


def _adapt(connection: Connection | AsyncConnection) -> None:
    # One width for all integers, or every mix of widths would be prepared as a statement of its own.
    connection.adapters.register_dumper(int, Int8BinaryDumper)


def _configure(connection: Connection) -> None:
    _adapt(connection)
