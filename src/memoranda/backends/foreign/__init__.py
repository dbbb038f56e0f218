"""Backends that are not ours, and ours whose public methods were overridden, as backends that ours can work with."""

from __future__ import annotations

from typing import Any

from memoranda.backends.base import Backend
from memoranda.backends.factories import BackendOfRuntime, NoBackendError
from memoranda.backends.foreign.asking import spoken_in_public
from memoranda.backends.foreign.changing import ForeignBackend
from memoranda.backends.scopes import Scope

__all__ = ["ForeignBackend", "as_backend"]


def as_backend(backend: Any) -> Backend:
    """Anything that is a backend, as one of ours.

    Args:
        backend: A backend of ours, which comes back as it is unless a subclass overrides its public methods; one
            with Deep Agents' `BackendProtocol`; or a function of the runtime that returns a backend, which is then
            called at every operation.

    Raises:
        NoBackendError: It is none of these.

    Example:
        >>> from memoranda.backends import StateBackend
        >>> as_backend(StateBackend())
        StateBackend()
        >>> as_backend(lambda runtime: StateBackend(runtime))
        BackendOfRuntime(<lambda>)
    """
    if isinstance(backend, Backend):
        return ForeignBackend(backend) if spoken_in_public(backend) else backend
    if not isinstance(backend, type) and all(_has(backend, name) for name in ("read", "write", "ls")):
        return ForeignBackend(backend)
    if isinstance(backend, Scope):
        raise NoBackendError(
            f"{backend!r} says whose files are meant, and is no backend.", f"Pass StoreBackend(namespace={backend!r})."
        )
    if callable(backend):
        return BackendOfRuntime(backend, as_backend)
    raise NoBackendError(
        f"{backend!r} is no backend.", "Pass a StoreBackend, another backend, or a function that returns one."
    )


def _has(backend: Any, name: str) -> bool:
    return callable(getattr(backend, name, None)) or callable(getattr(backend, "a" + name, None))
