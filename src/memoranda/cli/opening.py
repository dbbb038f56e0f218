"""Opening the store that a command works on.

A command that only reads never makes a store, so that a mistyped URL is told and not answered with emptiness; and no
command but `migrate` changes the schema of a store that holds something.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from memoranda.cli.settings import WORDS_ONLY, Settings, default_file
from memoranda.errors import SchemaError, SchemaTooNewError, StoreUnavailableError, StoreUrlError
from memoranda.store.urls import redacted

if TYPE_CHECKING:
    from memoranda.store.engines.base import Engine
    from memoranda.store.store import MemoryStore

_HELLO = "`memoranda write -n you /hello.md 'Hello.'`"


def store_url(settings: Settings) -> str:
    """The URL of the store that the settings name.

    Raises:
        StoreUrlError: It is the path of a file, or nearly a URL.
    """
    return file_url(default_file()) if settings.store is None else require_url(settings.store)


def require_url(text: str) -> str:
    """A URL as it is; what is nearly one is answered with what is most likely meant.

    Raises:
        StoreUrlError: It is the path of a file, or lacks slashes.
    """
    scheme, _, rest = text.partition(":")
    if "://" in text:
        meant = file_url(rest[2:]) if scheme.lower() == "sqlite" and rest.startswith("//~") else None
    elif scheme.lower() in ("sqlite", "sqlite3", "file"):
        meant = file_url(rest) if rest.strip("/") else "sqlite:///memory.db"
    elif scheme.lower() in ("postgresql", "postgres"):
        meant = f"postgresql://{rest.lstrip('/')}"
    else:  # a single letter is a drive
        meant = file_url(text) if len(scheme) == 1 or ":" not in text else None
    if meant is None:
        return text
    raise StoreUrlError(f"{redacted(text)!r} is no store URL.", f"Write {redacted(meant)}.")


def file_url(path: str | Path) -> str:
    """The URL of a SQLite file; `~` is the home folder, and one that is a folder gets the usual file in it.

    Example:
        >>> file_url("memory.db"), file_url("/var/my memory.db")
        ('sqlite:///memory.db', 'sqlite:////var/my%20memory.db')
    """
    path = Path(path).expanduser()
    return "sqlite:///" + quote(str(path / "memory.db" if path.is_dir() else path), safe="/\\:@")


def open_to_read(settings: Settings) -> MemoryStore:
    """Open a store that is there.

    Raises:
        StoreUnavailableError: There is none.
        SchemaError: It has to be migrated first.
        StoreError: See `open_store`.
    """
    require_existing(settings)
    try:
        return _open(settings, migrate=_in_memory(settings))
    except SchemaTooNewError:
        raise
    except SchemaError:
        if not _is_empty(settings):
            raise
        raise SchemaError(
            f"There is no store in {redacted(store_url(settings))} yet.",
            f"Check --store, or start one by writing to it: {_HELLO}.",
        ) from None


def require_existing(settings: Settings) -> None:
    """Refuse to go on where there is no store.

    Raises:
        StoreUnavailableError: There is none.
    """
    missing = missing_file(settings)
    if missing is not None:
        raise StoreUnavailableError(
            f"There is no store at {missing} yet.", f"Check --store, or start one by writing to it: {_HELLO}."
        )


def make_room(settings: Settings) -> None:
    """Make the folder of the store that is used where none is named."""
    if settings.store is None:
        default_file().parent.mkdir(parents=True, exist_ok=True)


def open_to_write(settings: Settings, *, dry_run: bool = False) -> MemoryStore:
    """Open a store, or make one where there is none.

    Args:
        settings: They name it.
        dry_run: Make none; where there is none an empty one in memory stands for it.

    Raises:
        SchemaError: It has to be migrated first.
        StoreError: See `open_store`.
    """
    if dry_run and missing_file(settings) is not None:
        return _open(replace(settings, store="memory://"), migrate=True)
    make_room(settings)
    if _in_memory(settings) or missing_file(settings) is not None:
        return _open(settings, migrate=True)
    try:
        return _open(settings, migrate=False)
    except SchemaTooNewError:
        raise
    except SchemaError:
        if not _is_empty(settings):
            raise
    return _open(settings, migrate=True)


def open_engine(settings: Settings) -> Engine:
    """Open the database below a store, whatever its schema; close it."""
    from memoranda.store import opening

    return opening.open_engine(store_url(settings), timeout=settings.timeout or 0.0)


def _open(settings: Settings, *, migrate: bool) -> MemoryStore:
    from memoranda.store.opening import open_store

    return open_store(
        store_url(settings),
        index=index_setting(settings),
        tenant=settings.tenant or "",
        timeout=settings.timeout or 0.0,
        migrate=migrate,
    )


def index_setting(settings: Settings) -> str | None:
    """What `open_store` takes as `index`."""
    return None if settings.embed in (None, WORDS_ONLY) else settings.embed


def _is_empty(settings: Settings) -> bool:
    """Whether the database is there and holds no store."""
    engine = open_engine(settings)
    try:
        return engine.schema().applied == 0
    finally:
        engine.close()


def _in_memory(settings: Settings) -> bool:
    return store_url(settings).lower().startswith("memory:")


def missing_file(settings: Settings) -> Path | None:
    """The SQLite file that should be there and is not."""
    url = store_url(settings)
    if not url.lower().startswith("sqlite://"):
        return None
    from memoranda.store.opening import sqlite_path

    path = sqlite_path(url)
    return Path(path) if path is not None and not Path(path).exists() else None
