"""Every error that Memoranda raises on purpose.

Each one says in a sentence what is wrong (`cause`) and in another what the caller can do (`remedy`), so that
a program can catch the class, a person can read the message, and a model can act on it.
"""

from __future__ import annotations


class MemorandaError(Exception):
    """The root of all errors raised on purpose.

    Args:
        cause: One sentence: what is wrong.
        remedy: One sentence: what the caller can do about it.

    Example:
        >>> str(MemorandaError("The cup is empty.", "Fill it."))
        'The cup is empty. Fill it.'
    """

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(cause, remedy)
        self.cause = cause
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.cause} {self.remedy}".strip()


class InvalidPathError(MemorandaError, ValueError):
    """A file path that cannot be made canonical: it climbs with `..`, is empty, or holds a NUL."""


class InvalidGlobError(MemorandaError, ValueError):
    """A glob pattern that cannot be compiled, or that climbs with `..`."""


class InvalidValueError(MemorandaError, ValueError):
    """A value that is no JSON object, or a file value that is malformed."""


class EditError(MemorandaError, ValueError):
    """An edit that cannot be applied to the text as it is now."""


class TextNotFoundError(EditError):
    """The text to replace does not occur in the file."""


class TextNotUniqueError(EditError):
    """The text to replace occurs more than once and `replace_all` was not asked for."""


class InvalidKeyError(MemorandaError, ValueError):
    """A key that cannot be stored: empty, not a string, or holding a NUL or a lone surrogate."""


class InvalidChangeError(MemorandaError, ValueError):
    """A change set that contradicts itself or asks for something that no store can do."""


class ItemNotFoundError(MemorandaError, LookupError):
    """No item lives under this namespace and key."""


class RevisionNotFoundError(MemorandaError, LookupError):
    """The item has no such revision, or did not exist at that time."""


class ItemExistsError(MemorandaError):
    """The target of a move already exists."""


class ProposalNotFoundError(MemorandaError, LookupError):
    """No proposal has this id."""


class ProposalDecidedError(MemorandaError):
    """The proposal was accepted or rejected already."""


class LeaseLostError(MemorandaError):
    """The job belongs to another worker by now, or to none; nothing of what was to land with it did."""


class JobNotFoundError(MemorandaError, LookupError):
    """No job has this number."""


class InvalidScheduleError(MemorandaError, ValueError):
    """A schedule that can never be due: its cron line, its time zone or its minutes are none."""


class ScheduleNotFoundError(MemorandaError, LookupError):
    """No schedule has this name."""


class RunNotFoundError(MemorandaError, LookupError):
    """No run has this id."""


class RunSettledError(MemorandaError):
    """The run is not in a state in which this can be done with it, for example because it was undone already."""


class StoreError(MemorandaError):
    """The root of the errors that have to do with the database behind a store."""


class StoreUrlError(StoreError, ValueError):
    """A store URL that names no engine, or one that is not installed."""


class StoreUnavailableError(StoreError, ConnectionError):
    """The database cannot be reached or opened."""


class StoreClosedError(StoreError):
    """The store was closed before this call."""


class StoreBusyError(StoreError, TimeoutError):
    """Another writer held the database longer than this store's timeout."""


class StoreReadOnlyError(StoreError, PermissionError):
    """The database cannot be written by this process."""


class StoreFullError(StoreError, OSError):
    """No room is left for the database."""


class StoreCorruptError(StoreError):
    """The database file is damaged, or is no database at all."""


class SchemaError(StoreError):
    """The database holds a schema that this version of Memoranda does not know."""


class SchemaTooNewError(SchemaError):
    """The database was migrated by a newer version of Memoranda."""


class SearchUnavailableError(StoreError, NotImplementedError):
    """The store has no index that could answer this query."""
