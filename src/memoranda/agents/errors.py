"""What can be wrong with how an agent is set up."""

from __future__ import annotations

from memoranda.errors import MemorandaError


class MissingPackageError(MemorandaError, ImportError):
    """A package that this needs is not installed."""


class UnknownModelError(MemorandaError, ValueError):
    """A model that cannot be set up from what was given."""


class UnknownToolError(MemorandaError, ValueError):
    """A tool that is none, or a name that no tool has."""


class InvalidSubagentError(MemorandaError, ValueError):
    """A specification that makes no subagent."""
