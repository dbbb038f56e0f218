"""Whatever an agent is given as its backend, as one `Backend`."""

from __future__ import annotations

from typing import Any, TypeAlias

from memoranda.backends.base import Backend
from memoranda.backends.factories import BackendOfRuntime
from memoranda.backends.foreign import as_backend
from memoranda.backends.guarded import GuardedBackend
from memoranda.backends.state import StateBackend
from memoranda.errors import MemorandaError

BackendLike: TypeAlias = Any
"""A backend of ours, of Deep Agents' or of the user's; or a function of the runtime that gives one."""


def adopted(backend: BackendLike | None) -> Backend:
    """A backend of whatever kind as one of ours.

    Args:
        backend: It; a function of the runtime is called at every operation; None is the thread's own state.

    Raises:
        NoBackendError: It is none.
    """
    return StateBackend() if backend is None else as_backend(backend)


def artifacts_root(backend: Backend) -> str:
    """The folder below which an agent puts what is too long for its context: the backend's own wish, or `/`."""
    inner = backend.guard.inner if isinstance(backend, GuardedBackend) else backend
    if isinstance(inner, BackendOfRuntime):
        try:
            inner = inner.present()
        except MemorandaError:
            return "/"
    root: Any = getattr(inner, "artifacts_root", "/")
    return root if isinstance(root, str) else "/"
