"""A backend that is made anew from the runtime at every operation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from memoranda.backends.base import Backend
from memoranda.backends.misuse import check_function, dismissed, must_not_be_async
from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.runtime import current_runtime
from memoranda.backends.scopes import ScopeRuntime
from memoranda.errors import MemorandaError
from memoranda.store.changes import Change
from memoranda.store.store import MemoryStore


class NoBackendError(MemorandaError, TypeError):
    """Something was given as a backend that is none, or a function that should return one did not."""


class BackendOfRuntime(Backend):
    """The backend that a function of the runtime gives, asked for at every operation.

    Args:
        function: Called with LangGraph's runtime (None outside a graph); returns a backend.
        adopt: Makes a backend of ours of what the function returns.

    Raises:
        NoBackendError: The function cannot be called with a runtime, or is async.
    """

    def __init__(self, function: Callable[[Any], Any], adopt: Callable[[Any], Backend] | None = None) -> None:
        check_function(function, "backend", NoBackendError)
        self.function = function
        self._adopt = adopt

    def __repr__(self) -> str:
        return f"BackendOfRuntime({getattr(self.function, '__name__', repr(self.function))})"

    def present(self) -> Backend:
        """The backend as it is now.

        Raises:
            NoBackendError: The function failed, or returned none.
        """
        runtime = current_runtime()
        try:
            found = self.function(None if runtime is None else ScopeRuntime(runtime))
        except MemorandaError:
            raise
        except Exception as error:
            where = "" if runtime is not None else " outside a graph"
            raise NoBackendError(
                f"The backend function failed{where} with {type(error).__name__}: {error}.",
                "Pass what it reads from with context=… to invoke, or give the agent a backend instead of a function.",
            ) from error
        if inspect.isawaitable(found):
            dismissed(found)
            raise must_not_be_async("backend", NoBackendError)
        if found is None:
            raise NoBackendError("The backend function returned None.", "Return a backend from it.")
        if self._adopt is None:
            from memoranda.backends.foreign import as_backend

            self._adopt = as_backend
        backend = self._adopt(found)
        if isinstance(backend, BackendOfRuntime):
            raise NoBackendError("The backend function returned another function.", "Return a backend from it.")
        return backend

    # --- what backends around this one ask ------------------------------------------------------------------

    def scope_key(self) -> Hashable | None:
        try:
            return self.present().scope_key()
        except MemorandaError:
            return None

    def is_lasting(self, place: Place) -> bool:
        return self.present().is_lasting(place)

    def location(self, place: Place) -> str | None:
        return self.present().location(place)

    def is_read_only(self, place: Place) -> bool:
        return self.present().is_read_only(place)

    def store_changes(self, changes: Sequence[PlacedChange]) -> tuple[MemoryStore, list[Change]] | None:
        return self.present().store_changes(changes)


def _handed_on(name: str) -> Any:
    def method(self: BackendOfRuntime, *args: Any) -> Any:
        return getattr(self.present(), name)(*args)

    method.__name__ = name
    return method


for _name in [name for name in vars(Backend) if name.endswith("_steps")]:
    setattr(BackendOfRuntime, _name, _handed_on(_name))
