"""Connections to PostgreSQL: one pool for all threads, and one for each event loop."""

from __future__ import annotations

import asyncio
import os
import threading
import warnings
from typing import Any, TypeAlias

import psycopg
from psycopg.types.numeric import Int8BinaryDumper
from psycopg_pool import AsyncConnectionPool, ConnectionPool

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
AsyncConnection: TypeAlias = psycopg.AsyncConnection[tuple[Any, ...]]
Pool: TypeAlias = ConnectionPool[Connection]
AsyncPool: TypeAlias = AsyncConnectionPool[AsyncConnection]

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
        self._loops: dict[asyncio.AbstractEventLoop, AsyncPool] = {}

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

    async def awaiting(self) -> AsyncPool:
        """The pool of the running event loop."""
        loop = asyncio.get_running_loop()
        with self._guard:
            self._forget_parent()
            self._drop_dead_loops()
            pool = self._loops.get(loop)
            if pool is None:
                pool = self._loops[loop] = AsyncConnectionPool(
                    self._url,
                    kwargs=self._settings(),
                    min_size=0,
                    max_size=self._size,
                    timeout=self._timeout,
                    configure=_aconfigure,
                    open=False,
                    name="memoranda",
                )
        await pool.open()
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
                _drop(pool)
            self._loops.clear()

    async def aclose(self) -> None:
        """Close the running loop's pool properly, then the rest."""
        pool = self._loops.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.close(timeout=self._timeout)
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
            _drop(self._loops.pop(loop))


def _adapt(connection: Connection | AsyncConnection) -> None:
    # One width for all integers, or every mix of widths would be prepared as a statement of its own.
    connection.adapters.register_dumper(int, Int8BinaryDumper)


def _configure(connection: Connection) -> None:
    _adapt(connection)


async def _aconfigure(connection: AsyncConnection) -> None:
    _adapt(connection)


def _drop(pool: AsyncPool) -> None:
    """Close the sockets of a pool whose event loop cannot be asked any more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        for connection in list(pool._pool):  # pyright: ignore[reportPrivateUsage]
            connection.pgconn.finish()
        pool._closed = True  # pyright: ignore[reportPrivateUsage]
