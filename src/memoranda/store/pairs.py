"""The blocking and the async method of a store, both made from one operation."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from memoranda.store.effects import Operation
from memoranda.store.operations.context import Context

if TYPE_CHECKING:
    from memoranda.store.store import MemoryStore

P = ParamSpec("P")
T = TypeVar("T")


def blocking(
    operation: Callable[Concatenate[Context, P], Operation[T]],
) -> Callable[Concatenate[MemoryStore, P], T]:
    """The blocking method of an operation."""

    def method(self: MemoryStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.engine.run(operation(self.context, *args, **kwargs))

    return _named(method, operation, operation.__name__)


def awaiting(
    operation: Callable[Concatenate[Context, P], Operation[T]],
) -> Callable[Concatenate[MemoryStore, P], Coroutine[Any, Any, T]]:
    """The async method of the same operation."""

    async def method(self: MemoryStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.engine.arun(operation(self.context, *args, **kwargs))

    return _named(method, operation, "a" + operation.__name__)


def _named(method: Callable[P, T], operation: Callable[..., Any], name: str) -> Callable[P, T]:
    """Give a method the name and docstring of its operation, less the context, and its signature when asked for."""
    method.__name__ = name
    method.__qualname__ = f"MemoryStore.{name}"
    method.__doc__ = (operation.__doc__ or "").replace("        context: The store's settings.\n", "")
    # The operation's context stands where a method has `self`.
    cast("Any", method).__wrapped__ = operation
    return method
