"""SQLite's errors as Memoranda's."""

from __future__ import annotations

import apsw

from memoranda.errors import (
    SchemaError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
)


def translated(error: apsw.Error, place: str) -> StoreError:
    """The named error for one of SQLite's.

    Args:
        error: What apsw raised.
        place: The file, as it is shown.
    """
    detail = str(error).rstrip(".")
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusyError(
                f"The database {place} is locked by another process.",
                "Try again, or open it with a longer timeout.",
            )
        case apsw.FullError():
            return StoreFullError(
                f"There is no room left for {place}: {detail}.",
                "Free some disk space; nothing was half written.",
            )
        case apsw.CorruptError() | apsw.NotADBError():
            return StoreCorruptError(
                f"{place} is damaged or no SQLite database: {detail}.",
                "Restore a backup or choose another file; the damaged one was left as it is.",
            )
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return StoreReadOnlyError(
                f"{place} cannot be written: {detail}.",
                "Give this process write access to the file and its folder, or choose another file.",
            )
        case apsw.CantOpenError():
            return StoreUnavailableError(
                f"{place} cannot be opened: {detail}.",
                "Check that the folder exists and that this process may use it.",
            )
        case apsw.SQLError() if detail.startswith(("no such table", "no such column")):
            return SchemaError(
                f"{place} does not have the expected schema: {detail}.", "Run `memoranda migrate` on it."
            )
        case apsw.IOError():
            return StoreUnavailableError(
                f"Reading or writing {place} failed: {detail}.", "Check the disk; nothing was half written."
            )
        case _:
            return StoreError(
                f"SQLite refused a statement on {place}: {detail}.", "Please report this with its traceback."
            )


def unreadable(error: UnicodeDecodeError, place: str) -> StoreCorruptError:
    """The named error for a text in the database that is none any more."""
    return StoreCorruptError(
        f"{place} is damaged: a text in it is no UTF-8 at byte {error.start}.",
        "Run `memoranda verify` to see what else is, and restore a backup.",
    )
