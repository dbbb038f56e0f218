"""PostgreSQL's errors as Memoranda's."""

from __future__ import annotations

import psycopg
from psycopg import errors as pg
from psycopg_pool import PoolClosed, PoolTimeout

from memoranda.errors import (
    MemorandaError,
    SchemaError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
)

RETRYABLE = (pg.SerializationFailure, pg.DeadlockDetected)
"""The transaction was undone as a whole and may be tried again as it is."""

_GONE = (pg.AdminShutdown, pg.CrashShutdown, pg.CannotConnectNow, pg.IdleInTransactionSessionTimeout)


def lost_connection(error: BaseException) -> bool:
    """Whether the server went away, so that another connection may do better."""
    if isinstance(error, (PoolClosed, PoolTimeout)):  # no connection was had, so none was lost
        return False
    return isinstance(error, psycopg.OperationalError) and (error.sqlstate is None or isinstance(error, _GONE))


def overtaken(error: BaseException) -> bool:
    """Whether a namespace was written by somebody else between being read and being updated."""
    return isinstance(error, pg.NotNullViolation) and error.diag.column_name == "position"


def begun_by_another(error: BaseException) -> bool:
    """Whether another worker began a job of the same namespace just before, so that a new look finds it running."""
    return isinstance(error, pg.UniqueViolation) and error.diag.constraint_name == "jobs_at_once"


def translated(error: psycopg.Error, place: str, *, committing: bool = False) -> MemorandaError:
    """The named error for one of PostgreSQL's.

    Args:
        error: What psycopg raised.
        place: The database, as it is shown.
        committing: Whether the commit was on its way, so that nobody knows what came of it.
    """
    detail = " ".join(str(error).split()).rstrip(".")
    match error:
        case pg.DiskFull():
            return StoreFullError(
                f"The disk of {place} is full: {detail}.", "Free some disk space; nothing was half written."
            )
        case pg.ReadOnlySqlTransaction() | pg.InsufficientPrivilege():
            return StoreReadOnlyError(
                f"{place} cannot be written: {detail}.",
                "Connect to the primary, as a role that owns the schema `memoranda` or may create it.",
            )
        case pg.LockNotAvailable() | pg.QueryCanceled() | pg.DeadlockDetected() | pg.SerializationFailure():
            return StoreBusyError(f"{place} is busy: {detail}.", "Try again, or open the store with a longer timeout.")
        case pg.UndefinedTable() | pg.UndefinedColumn() | pg.InvalidSchemaName():
            return SchemaError(
                f"{place} does not have the expected schema: {detail}.", "Run `memoranda migrate` on it."
            )
        case pg.DataCorrupted() | pg.IndexCorrupted():
            return StoreCorruptError(f"{place} is damaged: {detail}.", "Restore a backup.")
        case psycopg.OperationalError() if committing and lost_connection(error):
            return StoreUnavailableError(
                f"The connection to {place} broke while a change was committed: {detail}.",
                "Read the item to see whether the change landed before trying again.",
            )
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return StoreUnavailableError(
                f"{place} cannot be reached: {detail}.",
                "Check that the server runs and that the URL is right.",
            )
        case _:
            return StoreError(f"{place} refused a statement: {detail}.", "Please report this with its traceback.")
