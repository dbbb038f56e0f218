"""Memoranda under Deep Agents: its `create_deep_agent` on our backends and our store, its own middleware included.

Our backends are accepted there as they are (see `memoranda.backends.recognition`), so this module is for what a type
checker or a program wants to say in words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from memoranda.backends import Backend, NoBackendError
from memoranda.integrations import NotInstalledError

try:
    import deepagents.backends  # loading both packages is what makes them known to each other
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "deepagents":
        raise
    raise NotInstalledError("Deep Agents is not installed.", "Run `pip install deepagents`.") from error

if TYPE_CHECKING:
    from deepagents.backends.protocol import BackendProtocol

__all__ = ["as_deepagents_backend", "is_recognised"]


def as_deepagents_backend(backend: Backend) -> BackendProtocol:
    """The same backend, typed as Deep Agents' `BackendProtocol`.

    Args:
        backend: Any backend of `memoranda.backends`.

    Returns:
        The object that was given.

    Raises:
        NoBackendError: It is no backend of ours.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.backends import StoreBackend
        >>> with open_store("memory://") as store:
        ...     backend = as_deepagents_backend(StoreBackend(namespace=("ann",), store=store))
        ...     is_recognised(backend)
        True
    """
    if not isinstance(backend, Backend):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are untyped too
        raise NoBackendError(
            f"{backend!r} is no backend of memoranda.backends.", "Pass a StoreBackend, or as_backend(…) of another one."
        )
    return cast("BackendProtocol", backend)


def is_recognised(backend: Any) -> bool:
    """Whether Deep Agents takes an object for one of its backends."""
    return isinstance(backend, deepagents.backends.BackendProtocol)
