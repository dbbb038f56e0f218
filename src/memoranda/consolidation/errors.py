"""What can go wrong when memory is tended."""

from __future__ import annotations

from memoranda.errors import MemorandaError
from memoranda.knowledge.errors import Attempt as Attempt
from memoranda.knowledge.errors import ModelOutputError as ModelOutputError


class ConsolidationError(MemorandaError):
    """The root of what is wrong with a consolidator, or with one of its runs."""


class InvalidConsolidatorError(ConsolidationError, ValueError):
    """A setting of a consolidator that makes no sense."""


class UnknownTurnError(ConsolidationError, LookupError):
    """A change is said to come from a turn that its task does not hold."""


class WroteOutsideError(ConsolidationError, PermissionError):
    """A consolidator changed, or tried to change, what is not its own: nothing of its run landed."""


class ChangeRefusedError(ConsolidationError, PermissionError):
    """A rule or a hook of the target refused what a consolidator changed: nothing of its run landed."""


class WorkTimeoutError(ConsolidationError, TimeoutError):
    """A consolidator took longer than it may: nothing of its run landed."""


class WorkFailedError(ConsolidationError):
    """A consolidator's own code failed: nothing of its run landed."""


class TooManyConflictsError(ConsolidationError):
    """What a consolidator changed was changed by others each time before it could land."""


class UndoConflictError(ConsolidationError):
    """A run cannot be undone as it is, because what it changed was changed since in the same place."""
