"""What can go wrong when memory is moved."""

from __future__ import annotations

from memoranda.errors import MemorandaError


class TransferError(MemorandaError):
    """The root of the errors of imports and exports."""


class SourceError(TransferError, LookupError):
    """The source does not exist, cannot be read, or is nothing that can be imported."""


class TargetError(TransferError, OSError):
    """The target of an export cannot be written, or holds something that would be lost."""


class KeyCollisionError(TransferError):
    """Two items of the source would get one key."""


class NotABundleError(TransferError, ValueError):
    """The file is no Memoranda bundle."""


class BundleTooNewError(TransferError):
    """The bundle was written in a format that this version does not know."""


class BundleTruncatedError(TransferError, ValueError):
    """The bundle ends early."""


class BundleCorruptError(TransferError, ValueError):
    """The bundle is damaged."""


class BundleConflictError(TransferError):
    """The store holds other items under keys of the bundle."""
