"""Whatever an agent is given as its backend, as one `Backend`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeAlias

from memoranda.agents.errors import BackendFunctionError
from memoranda.backends.base import Backend
from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.runtime import current_runtime
from memoranda.backends.scopes import ScopeRuntime
from memoranda.backends.state import StateBackend
from memoranda.errors import MemorandaError
from memoranda.store.changes import Change
from memoranda.store.store import MemoryStore

BackendLike: TypeAlias = Any
"""A backend of ours, of Deep Agents' or of the user's; or a function of the runtime that gives one."""


def adopted(backend: BackendLike | None) -> Backend:
    """A backend of whatever kind as one of ours.

    Args:
        backend: It; a function of the runtime is called at every operation; None is the thread's own state.
    """
    if backend is None:
        return StateBackend()
    if _is_function(backend):
        return BackendOfRuntime(backend)
    return _as_backend(backend)


def _is_function(given: Any) -> bool:
    return isinstance(given, type) or (callable(given) and not hasattr(given, "read"))


def _as_backend(given: Any) -> Backend:
    if type(given).__module__.startswith("memoranda.backends"):  # SEAM
        return given
    from memoranda.backends.foreign import as_backend

    return as_backend(given)


class BackendOfRuntime(Backend):
    """The backend that a function of the runtime gives, asked for at every operation.

    Args:
        function: Called with LangGraph's runtime; returns a backend.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def present(self) -> Backend:
        """The backend as it is now.

        Raises:
            BackendFunctionError: The function failed, or gave something else.
        """
        runtime = current_runtime()
        try:
            found = self.function(None if runtime is None else ScopeRuntime(runtime))
        except MemorandaError:
            raise
        except Exception as error:
            where = "" if runtime is not None else " outside a graph"
            raise BackendFunctionError(
                f"The backend function failed{where} with {type(error).__name__}: {error}.",
                "Pass what it reads from with context=… to invoke, or give the agent a backend instead of a function.",
            ) from error
        if found is None:
            raise BackendFunctionError("The backend function returned None.", "Return a backend from it.")
        return _as_backend(found)

    @property
    def artifacts_root(self) -> str:
        """Where large results go, as the present backend says."""
        return artifacts_root(self.present())

    # Every other step is handed on as well; see below.

    def scope_key(self) -> Hashable | None:  # noqa: D102 - documented in the base class, as those below
        try:
            return self.present().scope_key()
        except MemorandaError:
            return None

    def is_lasting(self, place: Place) -> bool:  # noqa: D102
        return self.present().is_lasting(place)

    def is_read_only(self, place: Place) -> bool:  # noqa: D102
        return self.present().is_read_only(place)

    def store_changes(self, changes: Sequence[PlacedChange]) -> tuple[MemoryStore, list[Change]] | None:  # noqa: D102
        return self.present().store_changes(changes)


def _handed_on(name: str) -> Any:
    def method(self: BackendOfRuntime, *args: Any) -> Any:
        return getattr(self.present(), name)(*args)

    method.__name__ = name
    return method


for _name in [name for name in vars(Backend) if name.endswith("_steps")]:
    setattr(BackendOfRuntime, _name, _handed_on(_name))


def artifacts_root(backend: Backend) -> str:
    """The folder below which an agent puts what is too long for its context: the backend's own wish, or `/`."""
    root: Any = getattr(backend, "artifacts_root", "/")
    return root if isinstance(root, str) else "/"
