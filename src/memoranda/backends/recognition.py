"""Deep Agents takes our backends for its own: `isinstance` holds, and no dependency on it.

Its code asks `isinstance(backend, StateBackend)`, `isinstance(backend, CompositeBackend)` and `isinstance(result,
LsResult)` in places where a lookalike would silently lose features. Its backend classes are abstract base classes,
so ours are registered with them; its results are plain dataclasses, so ours gain them as base classes. A backend
around another (a guard, a stage) answers for what it is around. All of it happens when `deepagents.backends` is
imported, before or after this package.
"""

from __future__ import annotations

import logging
from typing import Any

import wrapt

from memoranda.backends import protocol

logger = logging.getLogger(__name__)

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


class AroundState:
    """What Deep Agents is told of a backend around one that keeps files in the state of the thread."""


class AroundComposite:
    """What Deep Agents is told of a backend around a composite."""


class _Around:
    """Becomes a base of the backends that are around another, once Deep Agents is there to ask.

    `isinstance` asks an object for its `__class__` too. The routes themselves are not handed out: whoever went by
    them would go past what is around them.
    """

    backend: Any

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _shown_class(self)

    @property
    def default(self) -> Any:
        """A stand-in that says whether files lie in the state of the thread."""
        from memoranda.backends.base import Backend
        from memoranda.backends.state import StateBackend

        return StateBackend() if _uses_state(self) else Backend()

    @property
    def artifacts_root(self) -> str:
        """That of the composite."""
        return getattr(_innermost(self), "artifacts_root", "/")

    @property
    def routes(self) -> dict[str, Any]:
        """None."""
        return {}

    @property
    def sorted_routes(self) -> list[tuple[str, Any]]:
        """None."""
        return []


def recognise_when_imported() -> None:
    """Arrange that our classes are known to Deep Agents as soon as both are loaded."""
    wrapt.register_post_import_hook(_recognise_or_say, "deepagents.backends")


def _recognise_or_say(backends: Any) -> None:
    try:
        _recognise(backends)
    except Exception:  # whatever another release has changed, importing it must not fail for it
        logger.warning("This release of deepagents does not recognise Memoranda's backends.", exc_info=True)


def _recognise(backends: Any) -> None:
    from memoranda.backends.base import Backend
    from memoranda.backends.composite import CompositeBackend
    from memoranda.backends.guarded import GuardedBackend
    from memoranda.backends.staged import StagedBackend
    from memoranda.backends.state import StateBackend

    theirs: Any = backends.protocol
    theirs.BackendProtocol.register(Backend)
    for kind in (StateBackend, AroundState):
        backends.StateBackend.register(kind)
    for kind in (CompositeBackend, AroundComposite):
        backends.CompositeBackend.register(kind)
    for kind in (GuardedBackend, StagedBackend):
        _add_base(kind, _Around)
    for name in _RESULTS:
        _add_base(getattr(protocol, name), getattr(theirs, name))


def _add_base(kind: Any, base: type) -> None:
    if base not in kind.__mro__:
        kind.__bases__ = (*kind.__bases__, base)


def _innermost(backend: Any) -> Any:
    while (inner := getattr(backend, "backend", None)) is not None:
        backend = inner
    return backend


def _is(backend: Any, name: str) -> bool:
    """Whether a backend, ours or Deep Agents', is of a class of this name; asked so, no import is needed."""
    return any(kind.__name__ == name for kind in type(backend).__mro__)


def _shown_class(backend: Any) -> type:
    inner = _innermost(backend)
    if _is(inner, "CompositeBackend"):
        return AroundComposite
    return AroundState if _is(inner, "StateBackend") else type(backend)  # pyright: ignore[reportUnknownVariableType]


def _uses_state(backend: Any) -> bool:
    inner = _innermost(backend)
    if _is(inner, "CompositeBackend"):
        return any(_uses_state(part) for part in (inner.default, *inner.routes.values()))
    return _is(inner, "StateBackend")
