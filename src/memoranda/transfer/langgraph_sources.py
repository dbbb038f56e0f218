"""Reading the table in which LangGraph's stores keep their items, on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import unquote, urlsplit

from memoranda.store.urls import redacted
from memoranda.transfer.database_files import copied, is_database
from memoranda.transfer.errors import SourceError

if TYPE_CHECKING:
    import apsw
    import psycopg

_COLUMNS = ("prefix", "key", "value", "created_at", "updated_at")
_EXPIRY = ("expires_at", "ttl_minutes")


class SourceRow(NamedTuple):
    """One item of a LangGraph store; times in microseconds since the epoch, None where there is none."""

    prefix: str
    key: str
    value: str
    created_at: int | None
    updated_at: int | None
    expires_at: int | None
    ttl: float | None


class Source(NamedTuple):
    """An open LangGraph store.

    Args:
        name: What it is called in a reason.
        total: How many items it holds.
        places: Iterates over the (prefix, key) of all items.
        rows: Iterates over all items, the least recently changed first.
    """

    name: str
    total: int
    places: Callable[[], Iterator[tuple[str, str]]]
    rows: Callable[[], Iterator[SourceRow]]


def open_source(source: str) -> AbstractContextManager[Source]:
    """Open a LangGraph store by its path or URL.

    Raises:
        SourceError: It cannot be read, or holds no LangGraph store.
    """
    if is_postgres(source):
        return _postgres(source)
    return _sqlite(sqlite_path(source))


def is_postgres(source: str) -> bool:
    """Whether a source is a URL of PostgreSQL."""
    return source.lower().startswith(("postgresql://", "postgres://"))


def sqlite_path(source: str) -> Path:
    """The file that a path or a `sqlite:///` URL names.

    Raises:
        SourceError: The URL is of another kind.

    Example:
        >>> sqlite_path("sqlite:///memory.db").as_posix(), sqlite_path("memory.db").as_posix()
        ('memory.db', 'memory.db')
    """
    scheme, separator, rest = source.partition("://")
    if not separator:
        return Path(source)
    if scheme.lower() == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return Path(unquote(rest[1:])).expanduser()
    raise SourceError(
        f"{redacted(source)!r} is no source that can be read.",
        "Give a path, sqlite:///store.db or postgresql://user@host/database.",
    )


def sqlite_tables(connection: apsw.Connection) -> set[str]:
    """The names of a database's tables."""
    return {name for (name,) in _rows(connection, "SELECT name FROM sqlite_schema WHERE type = 'table'")}


def holds_langgraph(columns: set[str]) -> bool:
    """Whether a table with these columns is that of a LangGraph store."""
    return columns.issuperset(_COLUMNS)


def sqlite_columns(connection: apsw.Connection) -> set[str]:
    """The columns of the table `store`; none if there is no such table."""
    return {row[1] for row in _rows(connection, "PRAGMA table_info(store)")}


def postgres_columns(connection: psycopg.Connection[Any]) -> set[str]:
    """The columns of the table `store`; none if there is no such table."""
    rows = connection.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass('store') AND attnum > 0 AND NOT attisdropped"
    ).fetchall()
    return {name for (name,) in rows}


@contextmanager
def connected(url: str) -> Generator[psycopg.Connection[Any]]:
    """A connection to PostgreSQL for reading.

    Raises:
        SourceError: It cannot be made, or breaks.
    """
    try:
        import psycopg
    except ImportError as error:
        raise SourceError(
            "PostgreSQL needs the psycopg driver, which is not installed.", "Run `pip install 'memoranda[postgres]'`."
        ) from error
    try:
        with psycopg.connect(url, connect_timeout=10, application_name="memoranda") as connection:
            # One snapshot for everything that is read.
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            yield connection
    except psycopg.Error as error:
        detail = " ".join(str(error).split()).rstrip(".")
        raise SourceError(
            f"{redacted(url)} cannot be read: {detail}.", "Check that the server runs and that the URL is right."
        ) from error


@contextmanager
def _sqlite(path: Path) -> Generator[Source]:
    try:
        known = is_database(path)
    except OSError as error:
        raise SourceError(
            f"{path} cannot be read: {error.strerror or error}.", "Give the path of a SQLite file."
        ) from error
    if not known:
        raise SourceError(f"{path} is no SQLite database.", "Give the file of a LangGraph SqliteStore.")
    with copied(path) as connection:
        columns = sqlite_columns(connection)
        if not holds_langgraph(columns):
            raise _no_store(str(path))
        selected = ", ".join(name if name in columns else "NULL" for name in (*_COLUMNS, *_EXPIRY))

        def places() -> Iterator[tuple[str, str]]:
            for prefix, key in _rows(connection, "SELECT prefix, key FROM store"):  # noqa: UP028
                yield prefix, key

        def rows() -> Iterator[SourceRow]:
            statement = f"SELECT {selected} FROM store ORDER BY updated_at, prefix, key"
            for prefix, key, value, created_at, updated_at, expires_at, ttl in _rows(connection, statement):
                text = value.decode() if isinstance(value, bytes) else str(value)
                times = (_parsed(created_at), _parsed(updated_at), _parsed(expires_at))
                yield SourceRow(prefix, key, text, *times, None if ttl is None else float(ttl))

        ((total,),) = _rows(connection, "SELECT count(*) FROM store")
        yield Source(path.name, total, places, rows)


@contextmanager
def _postgres(url: str) -> Generator[Source]:
    with connected(url) as connection:
        columns = postgres_columns(connection)
        if not holds_langgraph(columns):
            raise _no_store(redacted(url))
        selected = ", ".join(
            {"value": "value::text"}.get(name, name) if name in columns else "NULL" for name in (*_COLUMNS, *_EXPIRY)
        )

        def stream(name: str, statement: str) -> Iterator[tuple[Any, ...]]:
            with connection.cursor(name) as cursor:
                cursor.itersize = 200
                cursor.execute(statement.encode())
                yield from cursor

        def places() -> Iterator[tuple[str, str]]:
            for prefix, key in stream("memoranda_places", "SELECT prefix, key FROM store"):  # noqa: UP028
                yield prefix, key

        def rows() -> Iterator[SourceRow]:
            statement = f"SELECT {selected} FROM store ORDER BY updated_at, prefix, key"
            for row in stream("memoranda_rows", statement):
                prefix, key, value, created_at, updated_at, expires_at, ttl = row
                times = (_micros(created_at), _micros(updated_at), _micros(expires_at))
                yield SourceRow(prefix, key, value, *times, None if ttl is None else float(ttl))

        counted = connection.execute("SELECT count(*) FROM store").fetchone()
        yield Source(urlsplit(url).path.lstrip("/") or "PostgreSQL", counted[0] if counted else 0, places, rows)


def _rows(connection: apsw.Connection, statement: str) -> Iterator[tuple[Any, ...]]:
    yield from cast("Any", connection).execute(statement)


def _no_store(place: str) -> SourceError:
    return SourceError(
        f"{place} holds no LangGraph store: it has no table `store` with the usual columns.",
        "Give the database that LangGraph's SqliteStore or PostgresStore uses.",
    )


def _parsed(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return _micros(datetime.fromisoformat(text))
    except ValueError:
        return None


def _micros(at: datetime | None) -> int | None:
    if at is None:
        return None
    since = (at.replace(tzinfo=UTC) if at.tzinfo is None else at) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
