"""Opening a store from a URL."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from langgraph.store.base import TTLConfig

from memoranda.errors import InvalidValueError, SchemaError, StoreUrlError
from memoranda.store.embedders import IndexSetting, IndexSettings, index_settings
from memoranda.store.engines.base import Engine, SchemaState
from memoranda.store.migrations import migrations, pending
from memoranda.store.operations.context import Context, checked_tenant, checked_ttl
from memoranda.store.store import MemoryStore
from memoranda.store.urls import redacted

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://", re.ASCII)
_FILE = re.compile(r"^(sqlite3?|file):", re.ASCII)
# As LangGraph has them; what has expired is always omitted here.
_TTL_SETTINGS = {"default_ttl", "omit_expired", "refresh_on_read", "sweep_interval_minutes"}
_LONGEST_TIMEOUT = 1_000_000
_KNOWN = "sqlite:///memory.db, memory:// or postgresql://user@host/database"


def open_store(
    url: str,
    *,
    index: IndexSetting = None,
    ttl: TTLConfig | None = None,
    tenant: str = "",
    timeout: float = 30.0,
    migrate: bool = True,
) -> MemoryStore:
    """Open a store, making or migrating its schema where needed.

    Args:
        url: `sqlite:///relative.db`, `sqlite:////absolute.db`, `memory://`, or `postgresql://user@host/database`
            (any libpq URL). A leading `~` stands for the home folder.
        index: How memory is found. None: by words, with no model; False: not at all; "local" or a mapping
            `{"embed": …, "dims": …, "fields": […]}`: by words and by meaning.
        ttl: `default_ttl` in minutes, `refresh_on_read`, `sweep_interval_minutes`, as in LangGraph.
        tenant: A hard wall inside one database: a store sees its own tenant only.
        timeout: Seconds to wait for the database, for another writer too.
        migrate: Bring an older schema up to date; False refuses one instead.

    Returns:
        The store; close it, or use it as a context manager.

    Raises:
        StoreUrlError: The URL names no engine, or one that is not installed.
        StoreUnavailableError: The database cannot be reached or opened.
        StoreCorruptError: The file is damaged or no database.
        StoreReadOnlyError: The database cannot be written.
        SchemaTooNewError: A newer version of Memoranda has migrated it.
        SchemaError: It holds somebody else's tables, or an older schema with `migrate=False`.

    Example:
        >>> with open_store("memory://") as store:
        ...     store.put(("ann",), "profile", {"name": "Ann"})
        ...     store.get(("ann",), "profile").value
        {'name': 'Ann'}
    """
    settings = index_settings(index)
    context = _context(tenant, ttl, settings)
    engine = open_engine(url, timeout=timeout)
    try:
        state = engine.setup() if migrate else _require_current(engine)
    except BaseException:
        engine.close()
        raise
    identity = _identity(url, engine, state)
    context = replace(context, database=identity)
    worker = None
    if settings.embedder is not None:
        from memoranda.store.embedding_worker import with_embedder

        context, worker = with_embedder(engine, context, settings.embedder)
    return MemoryStore(engine, context, url=redacted(url), identity=identity, ttl=ttl, worker=worker)


async def aopen_store(
    url: str,
    *,
    index: IndexSetting = None,
    ttl: TTLConfig | None = None,
    tenant: str = "",
    timeout: float = 30.0,  # noqa: ASYNC109 - the database's patience, not this call's
    migrate: bool = True,
) -> MemoryStore:
    """`open_store` without blocking the event loop.

    Example:
        >>> import asyncio
        >>> async def remember():
        ...     async with await aopen_store("memory://") as store:
        ...         await store.awrite(("ann",), "/tea.md", "green")
        ...         return (await store.aget(("ann",), "/tea.md")).value["content"]
        >>> asyncio.run(remember())
        'green'
    """
    return await asyncio.to_thread(
        open_store, url, index=index, ttl=ttl, tenant=tenant, timeout=timeout, migrate=migrate
    )


def _context(tenant: str, ttl: TTLConfig | None, settings: IndexSettings) -> Context:
    config: Mapping[str, Any] = {} if ttl is None else ttl
    if not isinstance(config, Mapping) or (unknown := config.keys() - _TTL_SETTINGS):  # pyright: ignore[reportUnnecessaryIsInstance]
        what = f"{ttl!r} is no mapping" if not isinstance(config, Mapping) else f"{sorted(unknown)} is not known"  # pyright: ignore
        raise InvalidValueError(f"In the settings of ttl, {what}.", f"Use {', '.join(sorted(_TTL_SETTINGS))}.")
    return Context(
        tenant=checked_tenant(tenant),
        default_ttl=checked_ttl(config.get("default_ttl")),
        refresh_on_read=config.get("refresh_on_read", True),
        indexing=settings.indexing,
        index_fields=settings.fields,
    )


def open_engine(url: str, *, timeout: float = 30.0) -> Engine:
    """The engine behind a URL, without looking at its schema: for migrating it, and for asking how far it is.

    Raises:
        StoreUrlError: The URL names no engine, or one that is not installed.
    """
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 <= timeout <= _LONGEST_TIMEOUT:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidValueError(f"The timeout {timeout!r} is no number of seconds.", "Pass seconds, for example 30.")
    match = _SCHEME.match(url) if isinstance(url, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    scheme = match[1].lower() if match else ""
    if match is None:
        hint = f"Did you mean sqlite:///{_FILE.sub('', url)}? " if _looks_like_a_file(url) else ""
        raise StoreUrlError(f"{url!r} is no store URL.", f"{hint}Use {_KNOWN}.")
    if scheme == "memory":
        if url[match.end() :]:
            raise StoreUrlError(f"{url!r} names something, but memory has no names.", "Write memory://.")
        from memoranda.store.engines.sqlite.engine import SqliteEngine

        return SqliteEngine(None, timeout=timeout)
    if scheme == "sqlite":
        from memoranda.store.engines.sqlite.engine import SqliteEngine

        return SqliteEngine(sqlite_path(url), timeout=timeout)
    if scheme in ("postgresql", "postgres"):
        try:
            from memoranda.store.engines.postgres.engine import PostgresEngine
        except ImportError as error:
            raise StoreUrlError(
                "PostgreSQL needs the psycopg driver, which is not installed.",
                "Run `pip install 'memoranda[postgres]'`.",
            ) from error
        return PostgresEngine(url, timeout=timeout)
    raise StoreUrlError(f"The scheme {scheme!r} of {redacted(url)!r} names no engine.", f"Use {_KNOWN}.")


def sqlite_path(url: str) -> str | None:
    """The file that a SQLite URL names; None if it names memory.

    Raises:
        StoreUrlError: The URL is malformed.

    Example:
        >>> sqlite_path("sqlite:///memory.db"), sqlite_path("sqlite:////var/memory.db")
        ('memory.db', '/var/memory.db')
    """
    rest = url.partition("://")[2]
    path, options, _ = rest.partition("?")
    if options:
        raise StoreUrlError(
            f"{url!r} has options, which SQLite URLs do not take.", "Remove everything from the `?` on."
        )
    if path in ("", "/", "/:memory:", ":memory:"):
        if path in ("", "/"):
            raise StoreUrlError(f"{url!r} names no file.", "Write sqlite:///memory.db, or memory:// for none.")
        return None
    if not path.startswith("/"):
        raise StoreUrlError(
            f"{url!r} has a host where a file belongs.",
            f"Write sqlite:///{path} (three slashes) for a relative path.",
        )
    return str(Path(unquote(path[1:])).expanduser())


def _looks_like_a_file(url: object) -> bool:
    return isinstance(url, str) and url.endswith((".db", ".sqlite", ".sqlite3")) and "://" not in url


def _identity(url: str, engine: Engine, state: SchemaState) -> str:
    """What tells this database from all others, whichever process opens it: a new one at an old place is another."""
    if engine.name == "memory":
        return f"memory:{uuid4().hex}"
    place = os.path.realpath(sqlite_path(url) or "") if engine.name == "sqlite" else redacted(url)
    return f"{place}#{state.since:x}"


def _require_current(engine: Engine) -> SchemaState:
    state = engine.schema()
    if pending(state.applied, migrations()):
        raise SchemaError(
            f"The database has schema {state.applied}; this version needs {state.known}.",
            "Run `memoranda migrate`, or open it with migrate=True.",
        )
    return state
