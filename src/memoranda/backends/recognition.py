"""Deep Agents takes our backends for its own: `isinstance` holds, and no dependency on it.

Its code asks `isinstance(backend, StateBackend)`, `isinstance(backend, CompositeBackend)` and `isinstance(result,
LsResult)` in places where a lookalike would silently lose features. Its backend classes are abstract base classes,
so ours are registered with them; its results are plain dataclasses, so ours gain them as base classes. Both happen
when `deepagents.backends` is imported, before or after this package.
"""

from __future__ import annotations

from typing import Any

import wrapt

from memoranda.backends import protocol

_RESULTS = (
    "LsResult",
    "ReadResult",
    "GrepResult",
    "GlobResult",
    "WriteResult",
    "EditResult",
    "DeleteResult",
    "FileUploadResponse",
    "FileDownloadResponse",
)


def recognise_when_imported() -> None:
    """Arrange that our classes are known to Deep Agents as soon as both are loaded."""
    wrapt.register_post_import_hook(_recognise, "deepagents.backends")


def _recognise(backends: Any) -> None:
    from memoranda.backends.base import Backend
    from memoranda.backends.composite import CompositeBackend
    from memoranda.backends.state import StateBackend

    theirs: Any = backends.protocol
    theirs.BackendProtocol.register(Backend)
    backends.StateBackend.register(StateBackend)
    backends.CompositeBackend.register(CompositeBackend)
    for name in _RESULTS:
        ours: Any = getattr(protocol, name)
        if getattr(theirs, name) not in ours.__mro__:
            ours.__bases__ = (*ours.__bases__, getattr(theirs, name))
